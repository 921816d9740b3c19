"""Decompressing one block of a log, never beyond what it declares."""

from __future__ import annotations

import bz2
from collections.abc import Callable
from pathlib import Path

from gristmill.errors import CorpusError
from gristmill.formats.logs.stream import MAX_BLOCK_BYTES, LogDamageError


def decompress(data: bytes, compression: str, size: int, where: str) -> bytes:
    """The block's `size` bytes.

    Args:
        data: as stored.
        compression: "" or "none", "lz4", "zstd" or "bz2".
        size: what the block declares to hold.
        where: how errors name it.

    Raises:
        LogDamageError: it holds more or less than it declares, or is no such compression.
        CorpusError: a library for it is missing.
    """
    if size > MAX_BLOCK_BYTES:
        raise LogDamageError(
            f"{where}: a block declares {size / 1e6:.0f} MB, more than {MAX_BLOCK_BYTES >> 20} MiB; "
            "write the log again with smaller chunks"
        )
    if compression in ("", "none"):
        found = data
    elif compression in _METHODS:
        try:
            found = _METHODS[compression](data, size)
        except ModuleNotFoundError as error:
            raise CorpusError(f"{where}: {error.name} is not installed; run pip install 'gristmill[logs]'") from None
        except Exception as error:  # noqa: BLE001 - whatever the library says of damaged bytes
            raise LogDamageError(f"{where}: a block does not decompress as {compression} ({error})") from None
    else:
        raise LogDamageError(f"{where}: compression {compression!r} is not known; write the log again with zstd or lz4")
    if len(found) != size:
        raise LogDamageError(f"{where}: a block holds {len(found)} bytes or more where it declares {size}")
    return found


def _zstd(data: bytes, size: int) -> bytes:
    import zstandard

    try:
        # A frame that states its size is decompressed in one go, but only if it states the block's.
        if zstandard.get_frame_parameters(data).content_size == size:
            return zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
        with zstandard.ZstdDecompressor().stream_reader(data) as stream:
            return stream.read(size + 1)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None


def _lz4(data: bytes, size: int) -> bytes:
    import lz4.frame

    return lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1)


def _bz2(data: bytes, size: int) -> bytes:
    return bz2.BZ2Decompressor().decompress(data, max_length=size + 1)


_METHODS: dict[str, Callable[[bytes, int], bytes]] = {"zstd": _zstd, "lz4": _lz4, "bz2": _bz2}


def zstd_message(data: bytes, path: Path) -> bytes:
    """One message that rosbag2 has compressed by itself; it has to state its size."""
    import zstandard

    try:
        size = zstandard.get_frame_parameters(data).content_size
    except Exception as error:  # noqa: BLE001 - whatever the library says of damaged bytes
        raise LogDamageError(f"{path}: a compressed message is damaged ({error})") from None
    return decompress(data, "zstd", size, str(path))
