"""Declarations of arrays: what is read, and what is refused before Zarr sees it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from gristmill.errors import CorpusError, UnsafeCorpusError
from gristmill.formats.zarr_buffer.metadata import parse

V2: dict[str, Any] = {
    "zarr_format": 2, "shape": [100, 3], "chunks": [30, 3], "dtype": "<f4", "fill_value": 0.0, "order": "C",
    "filters": None, "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
}  # fmt: skip
V3: dict[str, Any] = {
    "zarr_format": 3, "node_type": "array", "shape": [100, 3], "data_type": "float32", "fill_value": 0.0,
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [30, 3]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {}}],
}  # fmt: skip
SHARDS = {
    "name": "sharding_indexed",
    "configuration": {
        "chunk_shape": [10, 3], "codecs": [{"name": "bytes"}, {"name": "zstd"}],
        "index_codecs": [{"name": "bytes"}, {"name": "crc32c"}], "index_location": "end",
    },
}  # fmt: skip


def read(document: Any, **changes: Any):
    return parse("data/a", json.dumps(document | changes).encode())


def test_both_versions_say_the_same() -> None:
    for meta in (read(V2), read(V3)):
        assert meta is not None
        assert (meta.shape, meta.stored, meta.chunk, meta.dtype) == ((100, 3), (30, 3), (30, 3), np.dtype("<f4"))
        assert meta.grid == (4, 1)
        assert meta.chunk_bytes == 360
        assert (meta.sharded, meta.why) == (False, "")
    assert read(V2).codecs[0][0] == "blosc"  # type: ignore[union-attr]
    assert [c for c, _ in read(V3).codecs] == ["bytes", "zstd"]  # type: ignore[union-attr]


def test_shards_hold_chunks() -> None:
    meta = read(V3, codecs=[SHARDS])
    assert meta is not None
    assert (meta.sharded, meta.stored, meta.chunk) == (True, (30, 3), (10, 3))
    assert (meta.grid, meta.file_grid, meta.chunks_per_file) == ((10, 1), (4, 1), (3, 1))


@pytest.mark.parametrize(
    ("document", "changes", "keys"),
    [
        (V2, {}, ["0.0", "3.0"]),
        (V2, {"dimension_separator": "/"}, ["0/0", "3/0"]),
        (V3, {}, ["c/0/0", "c/3/0"]),
        (V3, {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}}, ["c.0.0", "c.3.0"]),
        (V3, {"chunk_key_encoding": {"name": "v2"}}, ["0.0", "3.0"]),
    ],
)
def test_names_of_chunks(document: dict, changes: dict, keys: list[str]) -> None:
    meta = read(document, **changes)
    assert meta is not None
    assert [meta.coordinates(k) for k in keys] == [(0, 0), (3, 0)]
    for other in (".zarray", keys[1].replace("3", "4"), keys[0] + keys[0][-2:], keys[0].replace("0", "00"), "x", ""):
        assert meta.coordinates(other) is None


def test_a_group_is_no_array() -> None:
    assert parse("data", b'{"zarr_format": 3, "node_type": "group"}') is None


UNSAFE = [
    (V2, {"dtype": "|O"}, r"Python objects \(dtype '\|O'\)"),
    (V2, {"dtype": "|O", "filters": [{"id": "vlen-utf8"}]}, "is not known|Python objects"),
    (V2, {"filters": [{"id": "pickle", "protocol": 5}]}, "'pickle' decodes Python objects"),
    (V2, {"compressor": {"id": "json2"}}, "'json2' decodes Python objects"),
    (V2, {"filters": [{"id": "msgpack2"}]}, "'msgpack2' decodes Python objects"),
    (V3, {"codecs": [{"name": "numcodecs.pickle"}]}, "decodes Python objects"),
    (
        V3,
        {"codecs": [SHARDS | {"configuration": SHARDS["configuration"] | {"codecs": [{"name": "pickle"}]}}]},
        "objects",
    ),
]


@pytest.mark.parametrize(("document", "changes", "says"), UNSAFE)
def test_objects_are_refused(document: dict, changes: dict, says: str) -> None:
    with pytest.raises(CorpusError, match=says) as caught:
        read(document, **changes)
    assert isinstance(caught.value, UnsafeCorpusError) or "vlen" in str(caught.value)
    assert str(caught.value).startswith("data/a: ")


BAD = [
    (V2, {"compressor": {"id": "my_codec"}}, "the codec 'my_codec' is not known; known: adler32, blosc"),
    (V2, {"compressor": {"id": "os.system"}}, "the codec 'os.system' is not known"),
    (V2, {"compressor": "blosc"}, "a codec is 'blosc'"),
    (V2, {"filters": {"id": "delta"}}, "filters is"),
    (V2, {"shape": [-1, 3]}, "shape is [-1, 3]"),
    (V2, {"shape": [2.5, 3]}, "shape is [2.5, 3]"),
    (V2, {"shape": "many"}, "shape is 'many'"),
    (V2, {"shape": []}, "is a single value"),
    (V2, {"shape": [100, 3, 3]}, "do not fit together"),
    (V2, {"shape": [1 << 50, 3]}, "is absurd"),
    (V2, {"shape": [1 << 39, 3], "chunks": [1, 3]}, "is absurd"),
    (V2, {"shape": [True, 3]}, "shape is [True, 3]"),
    (V2, {"chunks": [0, 3]}, "chunks is [0, 3]"),
    (V2, {"chunks": [1 << 30, 3]}, "takes more than 2 GB"),
    (V2, {"dimension_separator": ".."}, "dimension_separator is '..'"),
    (V2, {"zarr_format": 1}, "no declaration of Zarr v2 or v3"),
    (V3, {"chunk_grid": {"name": "rectilinear"}}, "only regular grids"),
    (V3, {"chunk_key_encoding": {"name": "mine"}}, "expected default or v2"),
    (V3, {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "../"}}}, "separator of chunk keys"),
    (V3, {"codecs": []}, "codecs is []"),
    (V3, {"codecs": [{"name": "numcodecs.mine"}]}, "'numcodecs.mine' is not known"),
    (V3, {"storage_transformers": [{"name": "x"}]}, "storage transformers"),
    (V3, {"codecs": [SHARDS | {"configuration": SHARDS["configuration"] | {"chunk_shape": [7, 3]}}]}, "cannot be cut"),
    (V3, {"codecs": [SHARDS | {"configuration": SHARDS["configuration"] | {"index_codecs": ["bytes"]}}]}, "the index"),
]


@pytest.mark.parametrize(("document", "changes", "says"), BAD, ids=[b[2] for b in BAD])
def test_what_cannot_be_read_is_one_line(document: dict, changes: dict, says: str) -> None:
    with pytest.raises(CorpusError) as caught:
        read(document, **changes)
    assert says in str(caught.value)
    assert str(caught.value).startswith("data/a: ")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff", b"7", b"null"])
def test_what_is_no_declaration_is_one_line(content: bytes) -> None:
    with pytest.raises(CorpusError, match=r"^data/a: its metadata is"):
        parse("data/a", content)


@pytest.mark.parametrize("dtype", ["<U8", "|S4", "<M8[s]", "|V8", [["a", "<f4"]], None, "float"])
def test_what_is_no_number_is_left_unread(dtype: Any) -> None:
    meta = read(V2, dtype=dtype)
    assert meta is not None
    assert "no check reads it" in meta.why
    meta = read(V3, data_type="string")
    assert meta is not None
    assert meta.why == "of dtype 'string'; no check reads it"
