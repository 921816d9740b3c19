"""The wire format of `tf.train.Example`, as far as it is needed: named lists of bytes, float32 or int64.

    Example { Features features = 1; }          Features { map<string, Feature> feature = 1; }
    Feature { BytesList = 1 | FloatList = 2 | Int64List = 3 }       each list { repeated value = 1; }

Sources: `tensorflow/core/example/{example,feature}.proto`; the encoding of messages,
https://protobuf.dev/programming-guides/encoding. Numbers are taken out with array operations. Everything takes any
buffer that can be indexed and sliced, so that a mapped file is read only where it is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LISTS = {1: "bytes", 2: "float", 3: "int"}
_LONGEST_VARINT = 10
_MOST_FEATURES = 100_000


class MalformedError(ValueError):
    """The bytes are no Example."""


class Feature(NamedTuple):
    """One list of an Example, not decoded: where its message lies in the buffer."""

    kind: str  # "bytes", "float", "int", or "" for a feature that holds no list
    start: int
    stop: int


def features(data: Any, start: int, stop: int) -> dict[str, Feature]:
    """The features of the Example in `data[start:stop]`, by name.

    Raises:
        MalformedError: these bytes are no Example.
    """
    found: dict[str, Feature] = {}
    for number, kind, a, b in _fields(data, start, stop):
        if (number, kind) != (1, _BYTES):
            continue  # fields of later versions are passed over, as protobuf's readers do
        for inner, inner_kind, c, d in _fields(data, a, b):
            if (inner, inner_kind) == (1, _BYTES):
                name, feature = _entry(data, c, d)
                found[name] = feature
                if len(found) > _MOST_FEATURES:
                    raise MalformedError(f"it has more than {_MOST_FEATURES:,} features")
    return found


def floats(data: Any, feature: Feature) -> np.ndarray:
    """The values of a list of float32 (n,)."""
    return _numbers(data, feature, "float")


def ints(data: Any, feature: Feature) -> np.ndarray:
    """The values of a list of int64 (n,)."""
    return _numbers(data, feature, "int")


def entries(data: Any, feature: Feature) -> list[tuple[int, int]]:
    """Where each entry of a list of bytes lies in the buffer: start and stop."""
    if feature.kind not in ("bytes", ""):
        raise MalformedError(f"a list of {feature.kind} stands where bytes are expected")
    return [(a, b) for n, kind, a, b in _fields(data, feature.start, feature.stop) if (n, kind) == (1, _BYTES)]


def count(data: Any, feature: Feature) -> int:
    """How many values a list holds, looking at no more than is needed."""
    if feature.kind == "float":
        spans = list(_fields(data, feature.start, feature.stop))
        return sum((b - a) // 4 if kind == _BYTES else 1 for n, kind, a, b in spans if n == 1)
    return len(ints(data, feature)) if feature.kind == "int" else len(entries(data, feature))


def _entry(data: Any, start: int, stop: int) -> tuple[str, Feature]:
    """Name and value of one entry of the map; of repeated parts the last one holds."""
    name, feature = "", Feature("", start, start)
    for number, kind, a, b in _fields(data, start, stop):
        if kind != _BYTES:
            continue
        if number == 1:
            try:
                name = bytes(data[a:b]).decode("utf-8")
            except UnicodeDecodeError:
                raise MalformedError("the name of a feature is no text") from None
        elif number == 2:
            feature = Feature("", a, a)
            for which, inner_kind, c, d in _fields(data, a, b):
                if which in _LISTS and inner_kind == _BYTES:
                    feature = Feature(_LISTS[which], c, d)
    return name, feature


def _numbers(data: Any, feature: Feature, kind: str) -> np.ndarray:
    if feature.kind not in (kind, ""):
        raise MalformedError(f"a list of {feature.kind} stands where {kind} is expected")
    dtype, single = (np.dtype("<f4"), _FIXED32) if kind == "float" else (np.dtype("<i8"), _VARINT)
    parts: list[np.ndarray] = []
    for number, wire, a, b in _fields(data, feature.start, feature.stop):
        if number != 1 or wire not in (_BYTES, single):
            continue
        raw = np.frombuffer(data[a:b], np.uint8)
        if kind == "int":
            parts.append(_varints(raw))
        elif len(raw) % 4:
            raise MalformedError("a list of float32 ends within a number")
        else:
            parts.append(raw.view(dtype))
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _varints(raw: np.ndarray) -> np.ndarray:
    """All numbers of a run of varints, at once: 7 bits a byte, lowest first, the high bit says that more follow."""
    last = raw < 0x80
    if last.all():
        return raw.astype(np.int64)
    if not last[-1]:
        raise MalformedError("a list of int64 ends within a number")
    stops = np.flatnonzero(last) + 1
    starts = np.concatenate(([0], stops[:-1]))
    if (stops - starts).max() > _LONGEST_VARINT:
        raise MalformedError("a number takes more than 10 bytes")
    place = np.arange(len(raw)) - np.repeat(starts, stops - starts)
    bits = (raw & 0x7F).astype(np.uint64) << (7 * place).astype(np.uint64)
    return np.bitwise_or.reduceat(bits, starts).view(np.int64)


def _fields(data: Any, start: int, stop: int) -> Iterator[tuple[int, int, int, int]]:
    """Number, wire type and payload (start, stop) of each field of a message."""
    at = start
    while at < stop:
        tag, at = _varint(data, at, stop)
        kind = tag & 7
        if kind == _BYTES:
            size, at = _varint(data, at, stop)
            end = at + size
        elif kind == _VARINT:
            end = _varint(data, at, stop)[1]
        elif kind in (_FIXED32, _FIXED64):
            end = at + (4 if kind == _FIXED32 else 8)
        else:
            raise MalformedError(f"byte {at - start} begins a field of the unknown wire type {kind}")
        if end > stop:
            raise MalformedError("a field reaches beyond its message")
        yield tag >> 3, kind, at, end
        at = end


def _varint(data: Any, at: int, stop: int) -> tuple[int, int]:
    value = shift = 0
    while at < stop and shift < 7 * _LONGEST_VARINT:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise MalformedError("a number ends within itself")
