"""What chunks claim to become, against what their codecs write."""

from __future__ import annotations

import gzip
import json
import zlib

import imagecodecs
import numcodecs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import RecordingError
from gristmill.formats.zarr_buffer import claims
from gristmill.formats.zarr_buffer.metadata import parse

SIZE = 40_000
DATA = np.arange(SIZE // 4, dtype="<i4") % 500
SIZED = {
    "blosc": numcodecs.Blosc(),
    "blosc of zstd": numcodecs.Blosc(cname="zstd", clevel=9),
    "zstd": numcodecs.Zstd(level=3),
    "lz4": numcodecs.LZ4(),
}


@pytest.mark.parametrize("name", SIZED)
def test_the_claim_is_the_size(name: str) -> None:
    codec = SIZED[name]
    assert claims.claim([(codec.codec_id, {})], bytes(codec.encode(DATA)), SIZE) == SIZE
    checked = numcodecs.CRC32C(location="end").encode(codec.encode(DATA))
    assert claims.claim([(codec.codec_id, {}), ("crc32c", {})], bytes(checked), SIZE) == SIZE


@pytest.mark.parametrize("size", [100, 255, 256, 300, 65_791, 65_792, 400_000])
def test_zstd_frames_of_every_kind_of_header(size: int) -> None:
    data = np.random.default_rng(1).integers(0, 4, size, dtype=np.uint8).tobytes()
    assert claims.claim([("zstd", {})], bytes(numcodecs.Zstd().encode(data)), size) == size


def test_zstd_frames_without_a_size_are_counted_by_their_blocks() -> None:
    zstandard = pytest.importorskip("zstandard")
    compressor = zstandard.ZstdCompressor().compressobj()
    small = compressor.compress(DATA.tobytes()) + compressor.flush()
    assert claims.claim([("zstd", {})], small, SIZE) <= SIZE
    compressor = zstandard.ZstdCompressor().compressobj()
    bomb = b"".join(compressor.compress(bytes(1 << 20)) for _ in range(64)) + compressor.flush()
    assert len(bomb) < 20_000
    assert claims.claim([("zstd", {})], bomb, SIZE) > 60 << 20


def declared(codec: str):
    document = {
        "zarr_format": 2, "shape": [SIZE // 4], "chunks": [SIZE // 4], "dtype": "<i4", "fill_value": 0,
        "filters": None, "order": "C", "compressor": {"id": codec},
    }  # fmt: skip
    meta = parse("data/a", json.dumps(document).encode())
    assert meta is not None
    return meta


@pytest.mark.parametrize("codec", ["zlib", "gzip"])
def test_deflated_bombs_are_counted_and_honest_chunks_pass(codec: str) -> None:
    pack = zlib.compress if codec == "zlib" else gzip.compress
    claims.check(declared(codec), pack(DATA.tobytes()))
    bomb = pack(bytes(270 << 20))
    assert len(bomb) > claims.limit(declared(codec))
    assert claims.claim([(codec, {})], bomb, 1 << 20) > 1 << 20
    with pytest.raises(RecordingError, match="a chunk of data/a claims"):
        claims.check(declared(codec), bomb)


@pytest.mark.parametrize("name", ["blosc", "zstd", "lz4"])
def test_a_chunk_that_claims_too_much_is_refused(name: str) -> None:
    bomb = bytes(SIZED[name].encode(np.zeros(30_000_000, np.uint8)))
    with pytest.raises(RecordingError, match="claims 30,000,000 bytes where 40,000 are expected"):
        claims.check(declared(name), bomb)


@given(st.integers(1, 70_000), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_sizes_of_jpeg_xl_images(height: int, width: int) -> None:
    for shape in ((height, width), (width, height)):
        if height * width < 200_000:
            data = imagecodecs.jpegxl_encode(np.zeros((*shape, 3), np.uint8), effort=1)
            assert claims.jpegxl_size(data) == shape


@pytest.mark.parametrize("shape", [(224, 224), (480, 640), (100, 120), (90, 160), (150, 100), (128, 160), (40, 80)])
def test_sizes_of_jpeg_xl_images_by_ratio_and_in_boxes(shape: tuple[int, int]) -> None:
    picture = np.zeros((*shape, 3), np.uint8)
    assert claims.jpegxl_size(imagecodecs.jpegxl_encode(picture)) == shape
    assert claims.jpegxl_size(imagecodecs.jpegxl_encode(picture, usecontainer=True)) == shape


def test_a_huge_picture_in_a_small_chunk_is_refused() -> None:
    bomb = imagecodecs.jpegxl_encode(np.zeros((4000, 4000, 3), np.uint8), effort=1)
    assert len(bomb) < 50_000
    with pytest.raises(RecordingError, match="claims 16,000,000 bytes"):
        claims.check(declared("imagecodecs_jpegxl"), bomb)


@pytest.mark.parametrize("codec", ["blosc", "zstd", "zlib", "gzip", "lz4", "imagecodecs_jpegxl"])
@given(data=st.binary(max_size=64))
@settings(max_examples=40, deadline=None)
def test_damaged_starts_are_errors_and_nothing_else(codec: str, data: bytes) -> None:
    try:
        claims.check(declared(codec), data)
    except RecordingError as error:
        assert "\n" not in str(error)


def test_the_index_of_a_shard_is_verified() -> None:
    good = np.array([[0, 10], [-1, -1]], "<i8").tobytes()
    crc = numcodecs.CRC32C(location="end").encode(np.frombuffer(good, np.uint8))
    data = bytes(crc)
    assert claims.shard_index(data, 2).tolist() == [[0, 10], [-1, -1]]
    with pytest.raises(ValueError, match="cut short"):
        claims.shard_index(data[1:], 2)
    with pytest.raises(ValueError, match="does not match its checksum"):
        claims.shard_index(b"\x01" + data[1:], 2)
