"""MCAP files: index first, messages by their place. https://mcap.dev/spec

The summary at the end of the file and the message indexes behind each chunk tell where every message lies. Where
they are missing or the file is cut off, one scan that decodes nothing finds the same.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gristmill.errors import CorpusError
from gristmill.formats.logs.mcap_chunk import read_chunk
from gristmill.formats.logs.mcap_scan import Scan, scan
from gristmill.formats.logs.stream import (
    LAST_NS,
    NONE,
    Entries,
    Format,
    LogDamageError,
    Loss,
    Message,
    Topic,
    checked_times,
    joined,
    opened,
)

MAGIC = b"\x89MCAP0\r\n"
_FOOTER = struct.Struct("<BQQQI8s")
_RECORD = struct.Struct("<BQ")
_MESSAGE = struct.Struct("<BQHIQQ")
_MESSAGE_OP, _INDEX_OP = 0x05, 0x07
_SCHEMA_OP, _CHANNEL_OP, _CHUNK_INDEX_OP, _STATISTICS_OP, _DATA_END_OP = 0x03, 0x04, 0x08, 0x0B, 0x0F
_ENTRY = np.dtype([("time", "<u8"), ("offset", "<u8")])
MAX_SUMMARY_BYTES = 1 << 29  # a hundred thousand chunks with all their channels
OUTSIDE = -1  # the block of messages that lie in no chunk; other blocks are called by where their chunk begins


@dataclass(frozen=True)
class _Summary:
    schemas: dict[int, Any]
    channels: dict[int, Any]
    chunks: list[Any]
    counts: dict[int, int] | None


class McapLog:
    """One MCAP file.

    Raises:
        CorpusError: it is no MCAP file, or nothing of it can be read.
    """

    container = "MCAP"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = opened(path)
        self._size = os.fstat(self._file.fileno()).st_size
        if self._file.read(8) != MAGIC:
            self._file.close()
            raise CorpusError(f"{path}: no MCAP file, its first bytes differ; give a file that a recorder wrote")
        self._kept: tuple[int, bytes] = (-2, b"")
        self._scan: Scan | None = None
        try:
            self._summary = self._read_summary()
            if self._summary is None:
                self._scan = scan(self._file, path, self._size)
            self.losses: tuple[Loss, ...] = self._scan.losses if self._scan else ()
            self.topics: Mapping[str, Topic] = self._topics()
        except BaseException:
            self._file.close()
            raise

    def _topics(self) -> dict[str, Topic]:
        """Topics by name, in order of their names."""
        source = self._scan or self._summary
        assert source is not None
        formats: dict[str, dict[int, Format]] = {}
        for number, channel in sorted(source.channels.items()):
            schema = source.schemas.get(channel.schema_id)
            formats.setdefault(channel.topic, {})[number] = Format(
                type=schema.name if schema else "",
                encoding=channel.message_encoding,
                schema_encoding=schema.encoding if schema else "",
                schema=schema.data if schema else b"",
            )
        return {
            name: Topic(name=name, formats=formats[name], count=sum(self._count(c) for c in formats[name]))
            for name in sorted(formats)
        }

    def entries(self, topic: str) -> Entries:
        """The places of a topic's messages, from the message indexes."""
        channels = self.topics[topic].formats
        try:
            return joined([self._entries(channel) for channel in channels])
        except LogDamageError as error:
            self._without_index(error)
            return joined([self._entries(channel) for channel in channels])

    def _without_index(self, error: LogDamageError) -> None:
        """Find the messages by a scan, because the index is damaged; raises the error where a scan says so itself."""
        if self._scan is not None:
            raise error
        self._scan = scan(self._file, self.path, self._size)
        loss = Loss("log_index_damaged", f"{error}; its messages were found without it", "Write its index anew.")
        self.losses = (*self._scan.losses, loss)

    def read(self, entries: Entries) -> Iterator[Message]:
        """These messages; the chunk that was read last is kept."""
        unpack, fixed = _MESSAGE.unpack_from, _MESSAGE.size
        current, view = -2, memoryview(b"")
        for _, block, offset, of_channel in entries.rows():
            if block == OUTSIDE:
                at, current, view = 0, -2, self._outside(offset)
            else:
                at = offset
                if block != current:
                    current, view = block, memoryview(self._chunk(block))
            try:
                op, length, channel, _, log_ns, publish_ns = unpack(view, at)
            except struct.error:
                op, length, channel, log_ns, publish_ns = 0, 0, 0, 0, 0
            end = at + 9 + length
            if op != _MESSAGE_OP or end > len(view) or length < fixed - 9 or channel != of_channel:
                raise LogDamageError(f"{self.path}: there is no message where the index says; write its index anew")
            # Beyond the year 2262 there is no time; the index has been checked, and its times are what counts.
            log_ns = min(log_ns, LAST_NS)
            publish_ns = publish_ns if publish_ns <= LAST_NS else log_ns
            yield Message(channel, log_ns, publish_ns, view[at + fixed : end])

    def close(self) -> None:
        """Let go of the file and the chunk that is kept."""
        self._file.close()
        self._kept = (-2, b"")

    # -- inner ---------------------------------------------------------------------------------------

    def _read_summary(self) -> _Summary | None:
        """The summary section; None where it is missing, damaged or says too little."""
        tail = self._at(self._size - _FOOTER.size, _FOOTER.size) if self._size > 8 + _FOOTER.size else b""
        if len(tail) < _FOOTER.size or tail[-8:] != MAGIC or tail[0] != 0x02:
            return None
        start = _FOOTER.unpack(tail)[2]
        stop = self._size - _FOOTER.size
        if not 8 <= start < stop or stop - start > MAX_SUMMARY_BYTES:
            return None
        try:
            found = _parse_summary(self._at(start, stop - start))
        except (struct.error, ValueError):
            return None
        complete = found.chunks or found.counts == {} or (found.counts and not any(found.counts.values()))
        channels = set(found.counts or ()) | {c for chunk in found.chunks for c in chunk.message_index_offsets}
        indexed = all(chunk.message_index_offsets for chunk in found.chunks)
        inside = all(8 <= chunk.chunk_start_offset < stop for chunk in found.chunks)
        told = complete and indexed and inside and channels <= set(found.channels)
        return found if told and self._all_in_chunks(found.chunks, start) else None

    def _all_in_chunks(self, chunks: Sequence[Any], stop: int) -> bool:
        """Whether no message lies between the chunks, where no index tells of it; nothing within them is read."""
        spans = sorted((c.chunk_start_offset, c.chunk_start_offset + c.chunk_length) for c in chunks)
        at = 8
        for start, end in (*spans, (stop, stop)):
            while at < start:
                head = self._at(at, _RECORD.size)
                op, length = _RECORD.unpack(head) if len(head) == _RECORD.size else (_MESSAGE_OP, 0)
                if op == _MESSAGE_OP or length > stop - at:
                    return False
                at += _RECORD.size + length
                if op == _DATA_END_OP:
                    return True
            at = max(at, end)
        return True

    def _count(self, channel: int) -> int:
        if self._summary is not None and self._summary.counts is not None:
            return self._summary.counts.get(channel, 0)
        try:
            return len(self._entries(channel))
        except LogDamageError as error:
            self._without_index(error)
            return len(self._entries(channel))

    def _entries(self, channel: int) -> Entries:
        if self._scan is not None:
            return self._scan.entries.get(channel, NONE)
        assert self._summary is not None
        parts = []
        for chunk in self._summary.chunks:
            at = chunk.message_index_offsets.get(channel)
            if at is not None:
                index = self._message_index(at, channel)
                times = checked_times(index["time"], self.path)
                first, last = chunk.message_start_time, chunk.message_end_time
                if len(times) and (first or last) and not first <= int(times.min()) <= int(times.max()) <= last:
                    raise LogDamageError(
                        f"{self.path}: the message index at byte {at} has times outside of its chunk's; write the "
                        "file's index anew"
                    )
                offsets = index["offset"].astype(np.int64)
                parts.append(
                    Entries(times, np.full(len(index), chunk.chunk_start_offset), offsets, np.full(len(index), channel))
                )
        found, counts = joined(parts), self._summary.counts
        if counts is not None and len(found) != counts.get(channel, 0):
            raise LogDamageError(
                f"{self.path}: its indexes list {len(found)} messages of channel {channel}, its statistics "
                f"{counts.get(channel, 0)}; write the file's index anew"
            )
        return found

    def _message_index(self, at: int, channel: int) -> np.ndarray:
        head = self._at(at, 15)
        if len(head) == 15:
            op, _, number, size = struct.unpack("<BQHI", head)
            body = self._at(at + 15, size) if size <= self._size else b""
            if op == _INDEX_OP and number == channel and size % 16 == 0 and len(body) == size:
                return np.frombuffer(body, _ENTRY)
        raise LogDamageError(f"{self.path}: a message index at byte {at} is damaged; write the file's index anew")

    def _chunk(self, block: int) -> bytes:
        if self._kept[0] != block:
            self._kept = (-2, b"")  # lets go of the old one before the new one is made
            self._kept = (block, read_chunk(self._file, self.path, block, self._size))
        return self._kept[1]

    def _outside(self, offset: int) -> memoryview:
        head = self._at(offset, 9)
        length = _RECORD.unpack(head)[1] if len(head) == 9 else 0
        return memoryview(self._at(offset, 9 + length)) if length <= self._size else memoryview(b"")

    def _at(self, start: int, size: int) -> bytes:
        self._file.seek(min(start, self._size))
        return self._file.read(min(size, self._size))


def _parse_summary(data: bytes) -> _Summary:
    from io import BytesIO

    from mcap.data_stream import ReadDataStream
    from mcap.records import Channel, ChunkIndex, Schema, Statistics

    kinds: dict[int, Any] = {
        _SCHEMA_OP: Schema,
        _CHANNEL_OP: Channel,
        _CHUNK_INDEX_OP: ChunkIndex,
        _STATISTICS_OP: Statistics,
    }
    found = _Summary({}, {}, [], None)
    at = 0
    while at < len(data):
        op, length = _RECORD.unpack_from(data, at)
        at += 9
        if length > len(data) - at:
            raise ValueError("a record of the summary is cut off")
        if op in kinds:
            try:
                record = kinds[op].read(ReadDataStream(BytesIO(data[at : at + length])))  # bounded by its own bytes
            except Exception as error:  # noqa: BLE001 - whatever the library says of damaged bytes
                raise ValueError(f"a record of the summary is damaged ({error})") from None
            if op == _SCHEMA_OP:
                found.schemas[record.id] = record
            elif op == _CHANNEL_OP:
                found.channels[record.id] = record
            elif op == _CHUNK_INDEX_OP:
                found.chunks.append(record)
            else:
                found = _Summary(found.schemas, found.channels, found.chunks, dict(record.channel_message_counts))
        at += length
    return found
