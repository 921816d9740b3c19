"""One pass over an MCAP file that has no usable index: where its messages lie, up to where it ends."""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from gristmill.errors import CorpusError
from gristmill.formats.logs.mcap_chunk import read_chunk
from gristmill.formats.logs.stream import Entries, LogDamageError, Loss, checked_times, joined

_RECORD = struct.Struct("<BQ")
_MESSAGE = struct.Struct("<HIQQ")
_SCHEMA_OP, _CHANNEL_OP, _MESSAGE_OP, _CHUNK_OP, _FOOTER_OP = 0x03, 0x04, 0x05, 0x06, 0x02
_OUTSIDE = -1
_MAX_SCHEMA_BYTES = 16 << 20
_LEFT_OUT = "; its messages are left out"


@dataclass
class Scan:
    """What a scan found. A block is called by where its chunk begins, -1 outside of chunks."""

    schemas: dict[int, Any] = field(default_factory=dict)
    channels: dict[int, Any] = field(default_factory=dict)
    entries: dict[int, Entries] = field(default_factory=dict)  # channel -> its messages
    losses: tuple[Loss, ...] = ()


class _Places:
    """Times, blocks and offsets of one channel's messages, as they come."""

    def __init__(self) -> None:
        self.times, self.blocks, self.offsets = array("Q"), array("q"), array("q")

    def add(self, time_ns: int, block: int, offset: int) -> None:
        self.times.append(time_ns)
        self.blocks.append(block)
        self.offsets.append(offset)

    def entries(self, channel: int, path: Path) -> Entries:
        times = checked_times(np.array(self.times, np.uint64), path)
        return joined(
            [Entries(times, np.array(self.blocks), np.array(self.offsets), np.full(len(times), channel, np.int64))]
        )


def scan(file: Any, path: Path, size: int) -> Scan:
    """Find all complete messages; nothing but chunks is decompressed, nothing is decoded.

    Raises:
        CorpusError: there is no complete message, and the file is cut off or damaged; the text says which.
    """
    found = Scan()
    places: dict[int, _Places] = {}
    losses: list[Loss] = []
    at, ended = 8, False
    while at + 9 <= size:
        file.seek(at)
        op, length = _RECORD.unpack(file.read(9))
        if op == 0 or length > size - at - 9:
            break
        if op == _CHUNK_OP:
            try:
                data = read_chunk(file, path, at, size)
            except LogDamageError as error:
                losses.append(Loss("log_damaged", f"{error}{_LEFT_OUT}", "Restore the file."))
            else:
                _walk(data, found, places, at)
        elif op == _MESSAGE_OP and length >= _MESSAGE.size:
            channel, _, log_ns, _ = _MESSAGE.unpack(file.read(_MESSAGE.size))
            places.setdefault(channel, _Places()).add(log_ns, _OUTSIDE, at)
        elif op in (_SCHEMA_OP, _CHANNEL_OP) and length <= _MAX_SCHEMA_BYTES:
            _note(op, file.read(length), found)
        elif op == _FOOTER_OP:
            ended = True
            break
        at += 9 + length
    found.entries = {c: p.entries(c, path) for c, p in places.items() if c in found.channels}
    kept = sum(map(len, found.entries.values()))
    if losses and not kept:
        raise CorpusError(f"{losses[0].message.removesuffix(_LEFT_OUT)}; nothing else in the file holds a message")
    if not ended:
        if not kept:
            raise CorpusError(f"{path}: the file is cut off before its first complete message; restore it")
        losses.append(
            Loss(
                "log_truncated",
                f"{path.name} is cut off at byte {at} of {size}; {kept} complete messages before that are read",
                "Copy the file again from the robot, or keep what is left.",
            )
        )
    found.losses = tuple(losses)
    return found


def _walk(data: bytes, found: Scan, places: dict[int, _Places], block: int) -> None:
    at = 0
    while at + 9 <= len(data):
        op, length = _RECORD.unpack_from(data, at)
        if length > len(data) - at - 9:
            return
        if op == _MESSAGE_OP and length >= _MESSAGE.size:
            channel, _, log_ns, _ = _MESSAGE.unpack_from(data, at + 9)
            places.setdefault(channel, _Places()).add(log_ns, block, at)
        elif op in (_SCHEMA_OP, _CHANNEL_OP):
            _note(op, data[at + 9 : at + 9 + length], found)
        at += 9 + length


def _note(op: int, body: bytes, found: Scan) -> None:
    from mcap.data_stream import ReadDataStream
    from mcap.records import Channel, Schema

    stream = ReadDataStream(BytesIO(body))
    try:
        if op == _SCHEMA_OP:
            schema = Schema.read(stream)
            found.schemas[schema.id] = schema
        else:
            channel = Channel.read(stream)
            found.channels[channel.id] = channel
    except Exception:  # noqa: BLE001 - whatever the library says of damaged bytes
        return  # its messages belong to no known channel, and are left out
