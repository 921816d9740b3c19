"""What an array's `.zarray` or `zarr.json` declares, checked before Zarr is allowed to act on it.

Sources: Zarr v2 (https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html), Zarr v3
(https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html) and its codec for shards
(https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/index.html).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Literal

import numpy as np

from gristmill.errors import CorpusError, UnsafeCorpusError

PICTURE_CODEC = "imagecodecs_jpegxl"
# Codecs that turn bytes into bytes or numbers into numbers, and name no class of their own.
_V2_CODECS = frozenset(
    {"blosc", "zstd", "lz4", "zlib", "gzip", "shuffle", "delta", "fixedscaleoffset", "quantize", "packbits"}
    | {"crc32", "crc32c", "adler32", "fletcher32", PICTURE_CODEC}
)
_V3_CODECS = frozenset({"bytes", "transpose", "blosc", "zstd", "gzip", "crc32c"})
_V3_PREFIX = "numcodecs."
# Codecs of Python objects: decoding a pickle runs what it holds.
_OBJECT_CODECS = frozenset({"pickle", "json", "json2", "msgpack", "msgpack2", "categorize", "vlen-array"})
_NUMBER = re.compile(r"[<>|](b1|[iu][1248]|f[248])")
_V3_NUMBERS = frozenset(
    {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
    | {"float16", "float32", "float64"}
)
_MAX_AXES = 8
_MAX_LENGTH = 1 << 40  # rows of an array; no recording has more
_MAX_CHUNK_BYTES = 2 << 30  # what the largest chunk that blosc can hold takes
_MAX_CHUNKS = 50_000_000  # of one array
_SHARD_INDEX = ["bytes", "crc32c"]

Codec = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class ArrayMeta:
    """One array, as declared. `why` says why it cannot be read; then it is never decoded."""

    name: str  # within the group: "data/action"
    version: Literal[2, 3]
    shape: tuple[int, ...]
    dtype: np.dtype
    stored: tuple[int, ...]  # shape of what lies in one file: a chunk, or a shard of chunks
    chunk: tuple[int, ...]  # shape of what is decoded at once
    codecs: tuple[Codec, ...]  # in the order of encoding
    key_prefix: str  # "c/" or ""
    separator: str  # between a chunk's coordinates
    sharded: bool = False  # whether a file holds several chunks and an index of them
    index_at_end: bool = True  # of a shard
    has_fill: bool = True  # whether something is declared to stand for chunks that are not there
    why: str = ""

    @cached_property
    def chunk_bytes(self) -> int:
        """Size of a decoded chunk."""
        return prod(self.chunk) * self.dtype.itemsize

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """Chunks along each axis."""
        return tuple(-(-n // c) for n, c in zip(self.shape, self.chunk, strict=True))

    @cached_property
    def file_grid(self) -> tuple[int, ...]:
        """Files along each axis."""
        return tuple(-(-n // c) for n, c in zip(self.shape, self.stored, strict=True))

    @cached_property
    def chunks_per_file(self) -> tuple[int, ...]:
        """Chunks of one file along each axis; ones without shards."""
        return tuple(s // c for s, c in zip(self.stored, self.chunk, strict=True))

    def coordinates(self, member: str) -> tuple[int, ...] | None:
        """Where in the grid of files a file below the array's folder belongs; None when it is no chunk of it."""
        if not member.startswith(self.key_prefix):
            return None
        parts = member[len(self.key_prefix) :].split(self.separator)
        if len(parts) != len(self.shape) or not all(p.isascii() and p.isdigit() and len(p) < 16 for p in parts):
            return None
        found = tuple(map(int, parts))
        if any(str(n) != p for n, p in zip(found, parts, strict=True)):
            return None  # "007" is no name of a chunk
        return found if all(i < n for i, n in zip(found, self.file_grid, strict=True)) else None


def parse(name: str, content: bytes) -> ArrayMeta | None:
    """The declaration of an array; None for that of a group.

    Args:
        name: of the array within the group.
        content: of `.zarray` or `zarr.json`.

    Raises:
        CorpusError: it cannot be read any way, or names a codec that is not known.
        UnsafeCorpusError: reading it would unpickle objects.
    """
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{name}: its metadata is not valid JSON ({str(error)[:100]}); restore the file") from None
    if not isinstance(found, dict) or found.get("zarr_format") not in (2, 3):
        raise CorpusError(f"{name}: its metadata is no declaration of Zarr v2 or v3; restore the file")
    if found["zarr_format"] == 3:
        return _v3(name, found) if found.get("node_type") != "group" else None
    return _v2(name, found)


def _v2(name: str, found: Mapping[str, Any]) -> ArrayMeta:
    filters, compressor = found.get("filters") or [], found.get("compressor")
    if not isinstance(filters, list):
        raise CorpusError(f"{name}: filters is {_brief(filters)}; expected a list of codecs")
    codecs = [_codec(name, c, "id") for c in (*filters, *([compressor] if compressor is not None else []))]
    for codec, _ in codecs:
        _known(name, codec, codec if codec in _V2_CODECS else "")
    dtype = found.get("dtype")
    if isinstance(dtype, str) and dtype[-1:] == "O":
        raise UnsafeCorpusError(f"{name}: holds Python objects (dtype {dtype!r}), which would be unpickled; remove it")
    numbers = isinstance(dtype, str) and _NUMBER.fullmatch(dtype) is not None
    separator = found.get("dimension_separator", ".")
    if separator not in (".", "/"):
        raise CorpusError(f"{name}: dimension_separator is {_brief(separator)}; expected '.' or '/'")
    shape = _sizes(name, "shape", found.get("shape"), low=0)
    chunks = _sizes(name, "chunks", found.get("chunks"), low=1)
    return _checked(
        ArrayMeta(
            name=name,
            version=2,
            shape=shape,
            dtype=np.dtype(dtype if numbers else "u1"),
            stored=chunks,
            chunk=chunks,
            codecs=tuple(codecs),
            key_prefix="",
            separator=separator,
            has_fill=found.get("fill_value") is not None,
            why="" if numbers else f"of dtype {_brief(dtype)}; no check reads it",
        )
    )


def _v3(name: str, found: Mapping[str, Any]) -> ArrayMeta:
    grid, encoding = found.get("chunk_grid"), found.get("chunk_key_encoding", {"name": "default"})
    if not isinstance(grid, Mapping) or grid.get("name") != "regular":
        raise CorpusError(f"{name}: chunk_grid is {_brief(grid)}; only regular grids are read")
    if not isinstance(encoding, Mapping) or encoding.get("name") not in ("default", "v2"):
        raise CorpusError(f"{name}: chunk_key_encoding is {_brief(encoding)}; expected default or v2")
    if found.get("storage_transformers"):
        raise CorpusError(f"{name}: has storage transformers, which are not known; write the array without")
    default = encoding["name"] == "default"
    separator = _configuration(encoding).get("separator", "/" if default else ".")
    if separator not in (".", "/"):
        raise CorpusError(f"{name}: the separator of chunk keys is {_brief(separator)}; expected '.' or '/'")
    shape = _sizes(name, "shape", found.get("shape"), low=0)
    stored = _sizes(name, "chunk_shape", _configuration(grid).get("chunk_shape"), low=1)
    codecs = [_codec(name, c, "name") for c in _list(name, found.get("codecs"))]
    chunk, at_end = stored, True
    sharded = len(codecs) == 1 and codecs[0][0] == "sharding_indexed"
    if sharded:
        inside = codecs[0][1]
        chunk = _sizes(name, "chunk_shape of its shards", inside.get("chunk_shape"), low=1)
        if len(chunk) != len(stored) or any(s % c for s, c in zip(stored, chunk, strict=True)):
            raise CorpusError(f"{name}: shards of {list(stored)} cannot be cut into chunks of {list(chunk)}")
        index = [_codec(name, c, "name")[0] for c in _list(name, inside.get("index_codecs"))]
        at_end = inside.get("index_location", "end") == "end"
        if index != _SHARD_INDEX:
            raise CorpusError(f"{name}: the index of its shards is coded with {index}; expected {_SHARD_INDEX}")
        codecs = [_codec(name, c, "name") for c in _list(name, inside.get("codecs"))]
    for codec, _ in codecs:
        plain = codec.removeprefix(_V3_PREFIX)
        known = codec in _V3_CODECS or (codec.startswith(_V3_PREFIX) and plain in _V2_CODECS - {PICTURE_CODEC})
        _known(name, plain, codec if known else "", told=codec)
    dtype = found.get("data_type")
    numbers = isinstance(dtype, str) and dtype in _V3_NUMBERS
    return _checked(
        ArrayMeta(
            name=name,
            version=3,
            shape=shape,
            dtype=np.dtype(dtype if numbers else "u1"),
            stored=stored,
            chunk=chunk,
            codecs=tuple(codecs),
            key_prefix=("c" + separator) if default else "",
            separator=separator,
            index_at_end=at_end,
            sharded=sharded,
            why="" if numbers else f"of dtype {_brief(dtype)}; no check reads it",
        )
    )


def _checked(meta: ArrayMeta) -> ArrayMeta:
    name = meta.name
    if not meta.shape:
        raise CorpusError(f"{name}: is a single value; arrays of a replay buffer have time first")
    if len(meta.shape) > _MAX_AXES or len(meta.shape) != len(meta.stored):
        raise CorpusError(f"{name}: shape {list(meta.shape)} and chunks {list(meta.stored)} do not fit together")
    if max(meta.shape) > _MAX_LENGTH or prod(meta.grid) > _MAX_CHUNKS:
        raise CorpusError(f"{name}: shape {list(meta.shape)} in chunks of {list(meta.chunk)} is absurd; correct it")
    if prod(meta.stored) * meta.dtype.itemsize > _MAX_CHUNK_BYTES:
        raise CorpusError(
            f"{name}: a chunk of {list(meta.stored)} takes more than {_MAX_CHUNK_BYTES >> 30} GB; rewrite it smaller"
        )
    return meta


def _known(name: str, plain: str, known: str, told: str = "") -> None:
    if plain in _OBJECT_CODECS:
        raise UnsafeCorpusError(f"{name}: the codec {told or plain!r} decodes Python objects; remove the array")
    if not known:
        codecs = ", ".join(sorted(_V2_CODECS | _V3_CODECS))
        raise CorpusError(f"{name}: the codec {_brief(told or plain)} is not known; known: {codecs}")


def _codec(name: str, value: Any, key: str) -> Codec:
    if isinstance(value, str) and key == "name":
        return value, {}
    if not isinstance(value, Mapping) or not isinstance(value.get(key), str):
        raise CorpusError(f"{name}: a codec is {_brief(value)}; expected an object with {key!r}")
    return value[key], value if key == "id" else _configuration(value)


def _configuration(value: Mapping[str, Any]) -> Mapping[str, Any]:
    found = value.get("configuration")
    return found if isinstance(found, Mapping) else {}


def _list(name: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list) or not 0 < len(value) <= 16:
        raise CorpusError(f"{name}: codecs is {_brief(value)}; expected a list of codecs")
    return value


def _sizes(name: str, what: str, value: Any, *, low: int) -> tuple[int, ...]:
    if not isinstance(value, list) or any(type(n) is not int or n < low for n in value):
        raise CorpusError(f"{name}: {what} is {_brief(value)}; expected a list of sizes such as [1000, 2]")
    return tuple(value)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def arrays(documents: Mapping[str, bytes]) -> Iterator[ArrayMeta]:
    """All arrays among metadata files, by the name of their folder, sorted.

    Args:
        documents: "data/action" -> content of its `.zarray` or `zarr.json`.
    """
    for name in sorted(documents):
        meta = parse(name, documents[name])
        if meta is not None:
            yield meta
