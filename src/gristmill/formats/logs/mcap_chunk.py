"""One chunk of an MCAP file, checked and decompressed."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

from gristmill.formats.logs.blocks import decompress
from gristmill.formats.logs.stream import LogDamageError

_CHUNK = struct.Struct("<QQQI")
_CHUNK_OP = 0x06


def read_chunk(file: Any, path: Path, start: int, file_size: int) -> bytes:
    """The records of the chunk whose record begins at byte `start`.

    Raises:
        LogDamageError: there is no chunk, it is cut off, or its content does not match its checksum.
    """
    where = f"{path}, chunk at byte {start}"
    file.seek(start)
    head = file.read(9 + _CHUNK.size + 4)
    if len(head) < 41 or head[0] != _CHUNK_OP:
        raise LogDamageError(f"{where}: there is none; write the file's index anew")
    _, _, size, crc = _CHUNK.unpack_from(head, 9)
    named = struct.unpack_from("<I", head, 9 + _CHUNK.size)[0]
    compression = file.read(min(named, 64))
    stored = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))[0]
    if named > 64 or stored > file_size - file.tell():
        raise LogDamageError(f"{where}: it is cut off; restore the file")
    data = decompress(file.read(stored), compression.decode("ascii", "replace"), size, where)
    if crc and zlib.crc32(data) != crc:
        raise LogDamageError(f"{where}: its content does not match its checksum; restore the file")
    return data
