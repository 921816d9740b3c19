"""How large a chunk says that it will become, asked before anything is unpacked: a small file can claim to be huge.

Every format below either states the size at its start or is counted without being kept. Sources: blosc
(https://github.com/Blosc/c-blosc/blob/main/README_CHUNK_FORMAT.rst), zstd (RFC 8878, 3.1.1), lz4 and zlib as numcodecs
writes them, JPEG XL (ISO/IEC 18181-1, SizeHeader; 18181-2, boxes).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from gristmill.errors import RecordingError
from gristmill.formats.zarr_buffer.metadata import PICTURE_CODEC, ArrayMeta, Codec

# Filters may change sizes a little, and checksums add some bytes.
_AT_MOST, _SLACK = 2, 1 << 16
_DEFLATE_AT_MOST = 1032
_WORTH_COUNTING = 256 << 20  # bytes that deflated data may become without being counted first
_BLOSC_HEADER = 16
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_BLOCK = 128 << 10
_CHECKSUM, _ONE_BYTE_REPEATED = 4, 1  # a flag of a zstd frame, and a type of its blocks
_RATIOS = ((1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1))  # of width to height in a JPEG XL SizeHeader


def limit(meta: ArrayMeta) -> int:
    """Bytes that a chunk may have at most, packed or not."""
    return _AT_MOST * meta.chunk_bytes + _SLACK


def check(meta: ArrayMeta, data: bytes | memoryview) -> None:
    """Refuse a chunk that would become larger than it should.

    Raises:
        RecordingError: it would, or its start is not what its codec writes.
    """
    most = limit(meta)
    claimed = len(data) if len(data) > most else claim(meta.codecs, data, most)
    if claimed > most:
        raise RecordingError(
            f"a chunk of {meta.name} claims {claimed:,} bytes where {meta.chunk_bytes:,} are expected; restore it"
        )


def claim(codecs: Sequence[Codec], data: bytes | memoryview, most: int) -> int:
    """Bytes that the last codec of the chain says it unpacks `data` into; at least that many, when more than `most`.

    Raises:
        RecordingError: the data does not begin as the codec writes it.
    """
    names = [name.removeprefix("numcodecs.") for name, _ in codecs]
    while names and names[-1] in ("crc32", "crc32c", "adler32", "fletcher32"):
        # Checksums stand before or after the data; what they cover is at most four bytes longer.
        name = names.pop()
        data = data[4:] if name in ("crc32", "adler32") else data[:-4]
    last = names[-1] if names else ""
    try:
        if last == "blosc":
            return _blosc(data)
        if last == "lz4":
            return int.from_bytes(data[:4], "little")
        if last == "zstd":
            return _zstd(data)
        if last in ("zlib", "gzip"):
            return _deflated(data, most)
        if last == PICTURE_CODEC:
            height, width = jpegxl_size(bytes(data[:4096]))
            return height * width  # at least: a pixel takes a byte or more
    except (IndexError, ValueError, zlib.error) as error:
        raise RecordingError(f"a chunk is damaged ({str(error)[:80]}); restore it") from None
    return len(data)


def shard_index(data: bytes, count: int) -> np.ndarray:
    """Offset and size of each chunk of a shard (count, 2), both -1 where there is none.

    Raises:
        ValueError: the index is cut short or does not match its checksum.
    """
    from google_crc32c import value

    if len(data) != index_bytes(count):
        raise ValueError("its index is cut short")
    if value(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise ValueError("its index does not match its checksum")
    return np.frombuffer(data[:-4], "<i8").reshape(count, 2)


def index_bytes(count: int) -> int:
    """Size of the index of a shard of so many chunks."""
    return 16 * count + 4


def _damaged() -> int:
    raise ValueError("it is cut short")


def _blosc(data: bytes | memoryview) -> int:
    """The size in a chunk's header; that of the packed chunk, which stands there too, has to be true."""
    if len(data) < _BLOSC_HEADER or int.from_bytes(data[12:16], "little") > len(data):
        _damaged()
    return int.from_bytes(data[4:8], "little")


def _zstd(data: bytes | memoryview) -> int:
    """The content size of a frame, or what its blocks can hold at most."""
    if data[:4] != _ZSTD_MAGIC:
        raise ValueError("it is no zstd frame")
    descriptor = data[4]
    single = descriptor >> 5 & 1
    at = 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3]
    size = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
    if len(data) < at + size:
        _damaged()
    claimed = int.from_bytes(data[at : at + size], "little") + (256 if size == 2 else 0)
    at += size
    # Of a frame that is cut short, numcodecs gives what it unpacked so far without a word, so the blocks are walked.
    blocks = last = 0
    while not last:
        if at + 3 > len(data):
            _damaged()
        header = int.from_bytes(data[at : at + 3], "little")
        last, kind = header & 1, header >> 1 & 3
        at += 3 + (1 if kind == _ONE_BYTE_REPEATED else header >> 3)
        blocks += 1
    if at + (4 if descriptor & _CHECKSUM else 0) > len(data):
        _damaged()
    return claimed if size else max(0, blocks - 1) * _ZSTD_BLOCK


def _deflated(data: bytes | memoryview, most: int) -> int:
    if len(data) * _DEFLATE_AT_MOST <= max(most, _WORTH_COUNTING):
        return 0  # cannot become large enough to matter; the codec itself says when the size is wrong
    unpack = zlib.decompressobj(47)  # zlib or gzip, by its start
    total, rest = 0, bytes(data)
    while rest and total <= most and not unpack.eof:
        total += len(unpack.decompress(rest, 1 << 20))
        rest = unpack.unconsumed_tail
    return total


def jpegxl_size(data: bytes) -> tuple[int, int]:
    """Height and width of a JPEG XL image.

    Raises:
        ValueError: it is none.
    """
    if data[:12] == b"\0\0\0\x0cJXL \r\n\x87\n":
        data = _codestream(data)
    if data[:2] != b"\xff\x0a":
        raise ValueError("it is no JPEG XL image")
    bits, at = int.from_bytes(data[2:18], "little"), 0

    def take(count: int) -> int:
        nonlocal at
        at += count
        return bits >> (at - count) & ((1 << count) - 1)

    def size(small: int) -> int:
        return 8 * (take(5) + 1) if small else take((9, 13, 18, 30)[take(2)]) + 1

    small = take(1)
    height = size(small)
    ratio = take(3)
    if not ratio:
        return height, size(small)
    numerator, denominator = _RATIOS[ratio - 1]
    return height, height * numerator // denominator


def _codestream(data: bytes) -> bytes:
    """The image within a file of boxes."""
    at = 12
    while at + 8 <= len(data):
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        begin = at + (16 if size == 1 else 8)
        if kind in (b"jxlc", b"jxlp"):
            return data[begin + (4 if kind == b"jxlp" else 0) :]
        if size < 8:
            break
        at += size
    raise ValueError("its box of a JPEG XL image is missing")
