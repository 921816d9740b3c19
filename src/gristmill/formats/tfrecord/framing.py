"""TFRecord framing: where each record of a shard lies, and its bytes with their checksum verified.

A record is its length (uint64, little-endian), the masked CRC-32C of these 8 bytes, the data, and the masked CRC-32C
of the data. Source: `tensorflow/core/lib/io/record_writer.h` ("Format of a single record").
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import NamedTuple

from gristmill.errors import CorpusError, RecordingError

HEAD = struct.Struct("<QI")  # length, checksum of the length
FOOT = struct.Struct("<I")  # checksum of the data
_GZIP = b"\x1f\x8b"
_MASK_DELTA = 0xA282EAD8


class Record(NamedTuple):
    """One record's data within its shard."""

    number: int  # from 0
    offset: int  # of the data
    size: int


class Scan(NamedTuple):
    """What a shard holds, up to where it breaks."""

    records: list[Record]
    lost: str  # why the rest of the shard cannot be read, or ""


def looks_framed(path: Path) -> bool:
    """Whether a file begins like a TFRecord: a length that fits into the file, and is not empty."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD.size)
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return False
    return len(head) == HEAD.size and HEAD.unpack(head)[0] + HEAD.size + FOOT.size <= size


def scan(path: Path) -> Scan:
    """Find the records of a shard by hopping from length to length.

    Raises:
        CorpusError: the file cannot be opened, is compressed as a whole, or the checksum's library is absent.
    """
    masked = checksum()
    records: list[Record] = []
    try:
        with path.open("rb") as file:
            size, at = os.fstat(file.fileno()).st_size, 0
            if os.pread(file.fileno(), 2, 0) == _GZIP:
                raise CorpusError(f"{path.name} is compressed with gzip as a whole; unpack it with gunzip first")
            while at < size:
                head = os.pread(file.fileno(), HEAD.size, at)
                if len(head) < HEAD.size:
                    return Scan(records, f"the file ends within the length of record {len(records)}")
                length, check = HEAD.unpack(head)
                if masked(head[:8]) != check:
                    return Scan(records, f"the length of record {len(records)} does not match its checksum")
                stop = at + HEAD.size + length + FOOT.size
                if stop > size:
                    return Scan(records, f"the file ends {stop - size} bytes before the end of record {len(records)}")
                records.append(Record(len(records), at + HEAD.size, length))
                at = stop
    except OSError as error:
        raise CorpusError(f"{path.name} cannot be read ({error.strerror}); make it readable") from None
    return Scan(records, "")


def read(path: Path, record: Record, where: str) -> bytes:
    """The data of a record.

    Raises:
        RecordingError: the file is shorter than it was, or the data does not match its checksum.
    """
    try:
        with path.open("rb") as file:
            data = os.pread(file.fileno(), record.size, record.offset)
            foot = os.pread(file.fileno(), FOOT.size, record.offset + record.size)
    except OSError as error:
        raise RecordingError(f"{where} cannot be read ({error.strerror}); make the file readable") from None
    if len(data) < record.size or len(foot) < FOOT.size:
        raise RecordingError(f"{where}: the file became shorter while it was read; restore it")
    if checksum()(data) != FOOT.unpack(foot)[0]:
        raise RecordingError(f"{where} does not match its checksum; restore the file or leave the episode out")
    return data


def checksum():
    """The masked CRC-32C that TFRecords use, as a function of bytes.

    Raises:
        CorpusError: the library that computes it is not installed.
    """
    try:
        import google_crc32c
    except ImportError:
        raise CorpusError("reading TFRecords needs google-crc32c; pip install 'gristmill[rlds]'") from None

    value = google_crc32c.value

    def masked(data: bytes) -> int:
        crc = value(data)
        return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF

    return masked
