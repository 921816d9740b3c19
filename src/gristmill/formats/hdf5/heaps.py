"""Global heaps, in which HDF5 keeps texts: a damaged one can keep the library busy for ever.

HDF5 file format specification, III.E: a heap is a chain of objects, each with its size. The library (2.0 and before)
steps from one to the next and does not notice a step of no length or a step back, as zeros in a damaged file make it.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

_SIGNATURE = b"GCOL\x01\0\0\0"
_HEAD = 16  # bytes of a heap's header, and of an object's
_WRAPS = 1 << 64
# Attributes of a whole recording are written first or added last; what lies between is not looked through.
_LOOKED_AT_BYTES = 2 << 20


def endless(path: Path) -> int | None:
    """Where the first heap lies that the library would not get through, or None.

    Args:
        path: an HDF5 file that is not empty.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        for start in sorted({0, max(0, size - _LOOKED_AT_BYTES)}):
            file.seek(start)
            data = file.read(_LOOKED_AT_BYTES)
            at = data.find(_SIGNATURE)
            while at >= 0:
                if stuck(data, at):
                    return start + at
                at = data.find(_SIGNATURE, at + 1)
    return None


def stuck(data: memoryview | bytes, at: int) -> bool:
    """Whether the chain of the heap at this place has a step of no length, or a step back."""
    if at + _HEAD > len(data) or data[at : at + len(_SIGNATURE)] != _SIGNATURE:
        return False
    (size,) = struct.unpack_from("<Q", data, at + 8)
    stop = min(at + size, len(data))
    at += _HEAD
    while at + _HEAD <= stop:
        index, length = struct.unpack_from("<H6xQ", data, at)
        step = (_HEAD + (length + 7) // 8 * 8) % _WRAPS if index else length
        if not 0 < step < _WRAPS // 2:
            return True
        at += step
    return False
