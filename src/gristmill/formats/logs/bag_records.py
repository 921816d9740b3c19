"""Records of a ROS 1 bag, each checked against the bytes that are there."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from gristmill.errors import CorpusError
from gristmill.formats.logs.blocks import decompress
from gristmill.formats.logs.stream import Entries, LogDamageError, Loss, joined

MESSAGE, HEADER, INDEX, CHUNK, CHUNK_INFO, CONNECTION = 2, 3, 4, 5, 6, 7
_U32 = struct.Struct("<I")
_MAX_HEADER_BYTES = 1 << 20


class Record(NamedTuple):
    """A record's header fields, and where its data lies in the file."""

    fields: Mapping[bytes, bytes]
    start: int
    size: int

    @property
    def end(self) -> int:
        """Where the next record begins."""
        return self.start + self.size

    @property
    def op(self) -> int:
        """What kind of record it is."""
        return self.number(b"op", 1)

    def number(self, name: bytes, size: int) -> int:
        """A field as a number; 0 where it is missing or of another size."""
        value = self.fields.get(name, b"")
        return int.from_bytes(value, "little") if len(value) == size else 0


class Connection(NamedTuple):
    """One publisher of one topic."""

    topic: str
    type: str
    definition: bytes


@dataclass(frozen=True)
class BagFile:
    """The open bag."""

    file: BinaryIO
    path: Path
    size: int

    def at(self, start: int, size: int) -> bytes:
        """`size` bytes from byte `start`, fewer at the end of the file."""
        self.file.seek(min(start, self.size))  # it comes from the file, and may be any number of 64 bits
        return self.file.read(min(size, max(self.size - start, 0)))

    def record(self, start: int) -> Record | None:
        """The record at byte `start`; None when the file ends before it does, or there is none."""
        head = self.at(start, 4)
        length = _U32.unpack(head)[0] if len(head) == 4 else _MAX_HEADER_BYTES + 1
        if length > _MAX_HEADER_BYTES:
            return None
        data = self.at(start + 4, length + 4)
        fields = header_fields(data[:length])
        if len(data) < length + 4 or fields is None:
            return None
        record = Record(fields, start + 8 + length, _U32.unpack_from(data, length)[0])
        return record if record.end <= self.size else None

    def chunk(self, start: int) -> bytes:
        """The decompressed content of the chunk whose record begins at byte `start`.

        Raises:
            LogDamageError: there is none, or it does not decompress.
        """
        record = self.record(start)
        if record is None or record.op != CHUNK:
            raise LogDamageError(f"{self.path}: there is no whole chunk at byte {start}; run rosbag reindex")
        compression = record.fields.get(b"compression", b"").decode("ascii", "replace")
        where = f"{self.path}, chunk at byte {start}"
        size = record.number(b"size", 4)
        return decompress(self.at(record.start, record.size), compression, size, where)


def header_fields(data: bytes) -> dict[bytes, bytes] | None:
    """`name=value` fields, each behind its length; None when they do not fit."""
    fields: dict[bytes, bytes] = {}
    at = 0
    while at + 4 <= len(data):
        (size,) = _U32.unpack_from(data, at)
        name, found, value = data[at + 4 : at + 4 + size].partition(b"=")
        at += 4 + size
        if not found or at > len(data):
            return None
        fields[name] = value
    return fields


def connection(record: Record, data: bytes) -> Connection | None:
    """The connection that a record declares; None when it is damaged."""
    inner = header_fields(data)
    if inner is None or b"type" not in inner:
        return None
    # The record's own topic counts: the inner one is that before a remapping.
    topic = record.fields.get(b"topic", inner.get(b"topic", b"")).decode("utf-8", "replace")
    definition = inner.get(b"message_definition", b"")
    return Connection(topic, inner[b"type"].decode("utf-8", "replace"), definition)


@dataclass
class Scan:
    """What a scan found; blocks are called by where their chunk begins."""

    connections: dict[int, Connection]
    entries: dict[int, Entries]
    losses: tuple[Loss, ...]


def scan(bag: BagFile, start: int) -> Scan:
    """Find all messages in whole chunks; nothing is decoded.

    Raises:
        CorpusError: there is none, though the bag holds something.
    """
    connections: dict[int, Connection] = {}
    parts: dict[int, list[Entries]] = {}
    losses: list[Loss] = []
    at = start
    while (record := bag.record(at)) is not None:
        if record.op == CHUNK:
            try:
                data = bag.chunk(at)
            except LogDamageError as error:
                losses.append(Loss("log_damaged", f"{error}; its messages are left out", "Restore the file."))
            else:
                for number, entries in walk(data, at, connections).items():
                    parts.setdefault(number, []).append(entries)
        elif record.op == CONNECTION:
            made = connection(record, bag.at(record.start, record.size))
            if made is not None:
                connections[record.number(b"conn", 4)] = made
        at = record.end
    entries = {number: joined(found) for number, found in parts.items() if number in connections}
    kept = sum(map(len, entries.values()))
    if not kept and at < bag.size:
        raise CorpusError(f"{bag.path}: the bag is cut off before its first whole chunk; restore it")
    if at < bag.size:
        message = (
            f"{bag.path.name} is cut off at byte {at} of {bag.size}; {kept} complete messages before that are read"
        )
        losses.append(Loss("log_truncated", message, "Copy the bag again from the robot, or keep what is left."))
    return Scan(connections, entries, tuple(losses))


def walk(data: bytes, block: int, connections: dict[int, Connection] | None = None) -> dict[int, Entries]:
    """Where the messages of the chunk at byte `block` lie, by connection; connections in it are noted."""
    places: dict[int, tuple[array, array]] = {}
    at = 0
    while at + 4 <= len(data):
        (length,) = _U32.unpack_from(data, at)
        body = at + 4 + length
        fields = header_fields(data[at + 4 : body])
        if fields is None or body + 4 > len(data):
            break
        (size,) = _U32.unpack_from(data, body)
        record = Record(fields, body + 4, size)
        if record.end > len(data):
            break
        number = record.number(b"conn", 4)
        if record.op == MESSAGE:
            time = fields.get(b"time", b"").ljust(8, b"\0")
            times, offsets = places.setdefault(number, (array("q"), array("q")))
            times.append(int.from_bytes(time[:4], "little") * 1_000_000_000 + int.from_bytes(time[4:8], "little"))
            offsets.append(at)
        elif record.op == CONNECTION and connections is not None:
            made = connection(record, data[record.start : record.end])
            if made is not None:
                connections[number] = made
        at = record.end
    return {
        number: joined([Entries(np.array(t), np.full(len(t), block), np.array(o), np.full(len(t), number))])
        for number, (t, o) in places.items()
    }
