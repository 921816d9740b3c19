"""ROS 1 bags, format 2.0: index first, messages by their place. http://wiki.ros.org/Bags/Format/2.0

A bag that was not closed has no index; one scan that decodes nothing finds its messages up to where it ends.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from gristmill.errors import CorpusError
from gristmill.formats.logs.bag_records import CONNECTION, INDEX, BagFile, Connection, Record, connection, scan, walk
from gristmill.formats.logs.stream import NONE, Entries, Format, LogDamageError, Loss, Message, Topic, joined, opened

MAGIC = b"#ROSBAG V2.0\n"
_U32 = struct.Struct("<I")
_ENTRY = np.dtype([("s", "<u4"), ("ns", "<u4"), ("offset", "<u4")])


class BagLog:
    """One ROS 1 bag.

    Raises:
        CorpusError: it is no bag of this format, is encrypted, or nothing of it can be read.
    """

    container = "ROS 1 bag"

    def __init__(self, path: Path) -> None:
        self.path = path
        file = opened(path)
        self._file = BagFile(file, path, os.fstat(file.fileno()).st_size)
        self._kept: tuple[int, bytes] = (-2, b"")
        self.losses: tuple[Loss, ...] = ()
        self._places: dict[int, Entries] = {}
        self._chunks: list[int] = []
        try:
            self._open()
            self.topics: Mapping[str, Topic] = self._topics()
        except BaseException:
            file.close()
            raise

    def _open(self) -> None:
        if self._file.at(0, len(MAGIC)) != MAGIC:
            first = self._file.at(0, 16).split(b"\n")[0].decode("ascii", "replace")
            raise CorpusError(f"{self.path}: {first!r} is no ROS bag of version 2.0; convert it with rosbag fix")
        head = self._file.record(len(MAGIC))
        if head is None:
            raise CorpusError(f"{self.path}: the bag ends within its header; restore it")
        if head.fields.get(b"encryptor"):
            raise CorpusError(f"{self.path}: the bag is encrypted; decrypt it with rosbag decrypt")
        self._start = head.end
        index = self._index(head)
        if index is not None:
            self._connections, self._chunks, self._counts = index
            self._places = self._read_places()
            counted = {c: len(entries) for c, entries in self._places.items()}
            if counted == {c: n for c, n in self._counts.items() if n} and set(counted) <= set(self._connections):
                return
        self._places = self._scanned()
        code, what = ("log_index_damaged", "its index is damaged") if index else ("log_unclosed", "it was not closed")
        kept = sum(map(len, self._places.values()))
        told = f"{self.path.name}: {what}; {kept} complete messages were found without the index"
        # A bag that is cut off has no index either, and says so already.
        cut = any(loss.code == "log_truncated" for loss in self.losses)
        self.losses = self.losses if cut else (Loss(code, told, "Run rosbag reindex."), *self.losses)

    def _topics(self) -> dict[str, Topic]:
        """Topics by name, in order of their names."""
        by_topic: dict[str, dict[int, Format]] = {}
        for number, c in sorted(self._connections.items()):
            form = Format(type=c.type, encoding="ros1", schema_encoding="ros1msg", schema=c.definition)
            by_topic.setdefault(c.topic, {})[number] = form
        return {
            name: Topic(name=name, formats=by_topic[name], count=sum(self._counts.get(c, 0) for c in by_topic[name]))
            for name in sorted(by_topic)
        }

    def entries(self, topic: str) -> Entries:
        """The places of a topic's messages, from the index records behind each chunk."""
        return joined([self._places.get(c, NONE) for c in self.topics[topic].formats])

    def read(self, entries: Entries) -> Iterator[Message]:
        """These messages; the chunk that was read last is kept."""
        current, view, head = -2, memoryview(b""), _U32.unpack_from
        for time_ns, block, offset, channel in entries.rows():
            if block != current:
                current, view = block, memoryview(self._chunk(block))
            try:
                at = offset + 4 + head(view, offset)[0]
                stop = at + 4 + head(view, at)[0]
            except struct.error:
                stop = len(view) + 1
            if stop > len(view):
                raise LogDamageError(f"{self.path}: there is no message where the index says; run rosbag reindex")
            yield Message(channel, time_ns, time_ns, view[at + 4 : stop])

    def close(self) -> None:
        """Let go of the file and the chunk that is kept."""
        self._file.file.close()
        self._kept = (-2, b"")

    # -- inner ---------------------------------------------------------------------------------------

    def _scanned(self) -> dict[int, Entries]:
        found = scan(self._file, self._start)
        self._connections, self.losses = found.connections, found.losses
        self._counts = {number: len(entries) for number, entries in found.entries.items()}
        return found.entries

    def _index(self, head: Record) -> tuple[dict[int, Connection], list[int], dict[int, int]] | None:
        """Connections, chunks and counts from the end of the bag; None where they are missing or damaged."""
        at = head.number(b"index_pos", 8)
        connections, chunks = head.number(b"conn_count", 4), head.number(b"chunk_count", 4)
        if not connections and not chunks and self._file.size == head.end:
            return {}, [], {}
        if not at or at >= self._file.size:
            return None
        found: dict[int, Connection] = {}
        places: list[int] = []
        counts: dict[int, int] = {}
        for _ in range(connections + chunks):
            record = self._file.record(at)
            if record is None:
                return None
            data = self._file.at(record.start, record.size)
            if record.op == CONNECTION:
                made = connection(record, data)
                if made is None:
                    return None
                found[record.number(b"conn", 4)] = made
            else:
                places.append(record.number(b"chunk_pos", 8))
                for number, count in struct.iter_unpack("<II", data[: len(data) // 8 * 8]):
                    counts[number] = counts.get(number, 0) + count
            at = record.end
        inside = all(self._file.record(place) is not None for place in places)
        return (found, sorted(places), counts) if inside else None

    def _read_places(self) -> dict[int, Entries]:
        parts: dict[int, list[Entries]] = {}
        for start in self._chunks:
            chunk = self._file.record(start)
            at = chunk.end if chunk else self._file.size
            indexed = False
            while (record := self._file.record(at)) is not None and record.op == INDEX:
                indexed = True
                number = record.number(b"conn", 4)
                data = self._file.at(record.start, record.size)
                index = np.frombuffer(data[: len(data) // 12 * 12], _ENTRY)
                times = index["s"].astype(np.int64) * 1_000_000_000 + index["ns"]
                n = len(index)
                parts.setdefault(number, []).append(
                    Entries(times, np.full(n, start), index["offset"].astype(np.int64), np.full(n, number))
                )
                at = record.end
            if not indexed:
                for number, entries in walk(self._chunk(start), start).items():
                    parts.setdefault(number, []).append(entries)
        return {number: joined(entries) for number, entries in parts.items()}

    def _chunk(self, block: int) -> bytes:
        if self._kept[0] != block:
            self._kept = (-2, b"")  # lets go of the old one before the new one is made
            self._kept = (block, self._file.chunk(block))
        return self._kept[1]
