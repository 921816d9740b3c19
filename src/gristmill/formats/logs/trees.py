"""Messages that describe themselves as trees (JSON, protobuf), flattened to numbers and texts by path."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Sequence
from math import isnan
from typing import Any

import numpy as np

from gristmill.errors import CorpusError
from gristmill.formats.logs.ros_bytes import Group, MessageError
from gristmill.formats.logs.stream import Format

_MAX_DEPTH = 24
_MAX_LEAVES = 20_000
_NUMBERS = {bool, int, float, type(None)}


class _Flat:
    """Numbers and texts of one message, as they are met."""

    def __init__(self) -> None:
        self.numbers: dict[str, Any] = {}  # lists of numbers, or bytes
        self.texts: dict[str, str | tuple[str, ...]] = {}
        self.arrays: set[str] = set()

    @property
    def layout(self) -> tuple:
        """Equal for messages whose numbers lie alike."""
        named = tuple([(path, t) for path, t in self.texts.items() if isinstance(t, tuple)])
        return tuple(self.numbers), tuple(map(len, self.numbers.values())), frozenset(self.arrays), named

    def limit(self) -> None:
        """Refuse messages that would take more memory than any robot's state."""
        if len(self.numbers) + len(self.texts) > _MAX_LEAVES:
            raise MessageError(f"a message has more than {_MAX_LEAVES} fields")


def _group(rows: list[int], flats: Sequence[_Flat]) -> Group:
    """Messages of one layout together."""
    numbers = {path: _stacked(path, [flat.numbers[path] for flat in flats]) for path in flats[0].numbers}
    return Group(np.array(rows, np.intp), numbers, flats[0].texts, flats[0].layout, flats[0].arrays)


def _stacked(path: str, values: Sequence[Any]) -> np.ndarray:
    """(n, count) of n lists of numbers."""
    if isinstance(values[0], bytes):
        return np.stack([np.frombuffer(v, np.uint8) for v in values])
    try:
        array = np.array(values, None if len(values[0]) else np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise MessageError(f"{path} holds what is no number ({error})") from None
    # Integers beyond 64 bits come as objects.
    return array if array.dtype.kind in "biuf" else array.astype(np.float64)


def _many(flatten: Callable[[bytes | memoryview], _Flat], payloads: Sequence[bytes | memoryview]) -> Iterator[Group]:
    """Many messages, by layout."""
    groups: dict[tuple, tuple[list[int], list[_Flat]]] = {}
    for row, data in enumerate(payloads):
        flat = flatten(data)
        rows, flats = groups.setdefault(flat.layout, ([], []))
        rows.append(row)
        flats.append(flat)
    for rows, flats in groups.values():
        yield _group(rows, flats)


class JsonDecoder:
    """JSON objects: nested numbers by path, lists of numbers as arrays, lists of objects by number."""

    def one(self, data: memoryview) -> Group:
        """One message.

        Raises:
            MessageError: it is no JSON object.
        """
        return _group([0], [self._flat(data)])

    def many(self, payloads: Sequence[bytes | memoryview]) -> Iterator[Group]:
        """Many messages, by layout.

        Raises:
            MessageError: one is no JSON object.
        """
        return _many(self._flat, payloads)

    def _flat(self, data: bytes | memoryview) -> _Flat:
        import orjson

        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            value = _with_nan(bytes(data))
            if value is None:
                raise MessageError(f"a message is not valid JSON ({error})") from None
        if not isinstance(value, dict):
            raise MessageError("a message is JSON, but no object")
        flat = _Flat()
        _json(value, "", flat, 0)
        return flat


def _with_nan(data: bytes) -> Any:
    """JSON with NaN and Infinity, which Python's json writes although JSON knows no such numbers; else None."""
    if b"NaN" not in data and b"Infinity" not in data:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _json(value: Any, path: str, flat: _Flat, depth: int) -> None:
    if isinstance(value, float) and isnan(value):
        return  # missing, as null is
    if isinstance(value, bool | int | float):
        flat.numbers[path] = [value]
    elif isinstance(value, str):
        flat.texts[path] = value
    elif depth > _MAX_DEPTH:
        raise MessageError(f"a message is nested more than {_MAX_DEPTH} deep")
    elif isinstance(value, dict):
        for key, inner in value.items():
            _json(inner, f"{path}.{key}" if path else key, flat, depth + 1)
        flat.limit()
    elif isinstance(value, list):
        _json_list(value, path, flat, depth)


def _json_list(value: list[Any], path: str, flat: _Flat, depth: int) -> None:
    kinds = set(map(type, value))
    if kinds <= _NUMBERS:
        # JSON has no NaN: writers put null in its place.
        flat.numbers[path] = [np.nan if v is None else v for v in value] if type(None) in kinds else value
        flat.arrays.add(path)
    elif kinds == {str}:
        flat.texts[path] = tuple(value)
    else:
        for i, inner in enumerate(value):
            _json(inner, f"{path}[{i}]", flat, depth + 1)
            flat.limit()


class ProtobufDecoder:
    """Protobuf messages by their FileDescriptorSet.

    Raises:
        MessageError: the schema is damaged or lacks the message's type.
        CorpusError: the library is not installed.
    """

    def __init__(self, form: Format) -> None:
        try:
            from mcap.records import Schema
            from mcap_protobuf.decoder import DecoderFactory
        except ModuleNotFoundError as error:
            raise CorpusError(f"{error.name} is not installed; run pip install 'gristmill[logs]'") from None
        self._known: dict[str, list[tuple[str, str, bool]]] = {}
        schema = Schema(id=1, name=form.type, encoding=form.schema_encoding, data=form.schema)
        try:
            self._decode = DecoderFactory().decoder_for(form.encoding, schema)
        except Exception as error:  # noqa: BLE001 - whatever the libraries say of damaged bytes
            raise MessageError(f"the protobuf schema of {form.type} cannot be read ({_line(error)})") from None
        if self._decode is None:
            raise MessageError(f"a protobuf topic has a schema of kind {form.schema_encoding!r}, not protobuf")

    def one(self, data: memoryview) -> Group:
        """One message.

        Raises:
            MessageError: it is damaged.
        """
        return _group([0], [self._flat(data)])

    def many(self, payloads: Sequence[bytes | memoryview]) -> Iterator[Group]:
        """Many messages, by layout.

        Raises:
            MessageError: one is damaged.
        """
        return _many(self._flat, payloads)

    def _flat(self, data: bytes | memoryview) -> _Flat:
        assert self._decode is not None
        try:
            message = self._decode(bytes(data))
        except Exception as error:  # noqa: BLE001 - whatever the library says of damaged bytes
            raise MessageError(f"a protobuf message is damaged ({_line(error)})") from None
        flat = _Flat()
        self._walk(message, "", flat, 0)
        return flat

    def _walk(self, message: Any, path: str, flat: _Flat, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise MessageError(f"a message is nested more than {_MAX_DEPTH} deep")
        for name, sort, repeated in self._fields(message.DESCRIPTOR):
            inner = f"{path}.{name}" if path else name
            value = getattr(message, name)
            if sort == "message":
                if repeated:
                    for i, part in enumerate(value):
                        self._walk(part, f"{inner}[{i}]", flat, depth + 1)
                        flat.limit()
                elif message.HasField(name):
                    self._walk(value, inner, flat, depth + 1)
            elif sort == "text":
                flat.texts[inner] = tuple(value) if repeated else value
            elif repeated or sort == "bytes":
                flat.numbers[inner] = value if sort == "bytes" else list(value)
                flat.arrays.add(inner)
            else:
                flat.numbers[inner] = [value]
        flat.limit()

    def _fields(self, descriptor: Any) -> list[tuple[str, str, bool]]:
        """(name, sort, whether it is repeated) of a message's fields that can be columns or texts."""
        known = self._known.get(descriptor.full_name)
        if known is None:
            known = []
            for f in descriptor.fields:
                is_map = f.message_type is not None and f.message_type.GetOptions().map_entry
                special = {f.TYPE_STRING: "text", f.TYPE_BYTES: "bytes"}.get(f.type, "number")
                sort = "message" if f.message_type is not None else special
                if not is_map and not (sort == "bytes" and f.is_repeated):  # maps have no order, so no columns
                    known.append((f.name, sort, bool(f.is_repeated)))
            self._known[descriptor.full_name] = known
        return known


def unpacked_base64(text: str) -> bytes:
    """Bytes that a JSON message holds as text.

    Raises:
        MessageError: it is no base64.
    """
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MessageError(f"an image's data is not base64 ({error})") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
