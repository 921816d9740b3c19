"""Messages that describe themselves as trees (JSON, protobuf), flattened to numbers and texts by path."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gristmill.errors import CorpusError
from gristmill.formats.logs.ros_bytes import Group, MessageError
from gristmill.formats.logs.stream import Format

_MAX_DEPTH = 24
_MAX_LEAVES = 20_000


class _Flat:
    """Numbers and texts of one message, as they are met."""

    def __init__(self) -> None:
        self.numbers: dict[str, np.ndarray] = {}
        self.texts: dict[str, str | tuple[str, ...]] = {}
        self.arrays: set[str] = set()

    def group(self) -> Group:
        layout = tuple((path, v.shape[1]) for path, v in self.numbers.items())
        names = tuple((path, t) for path, t in self.texts.items() if isinstance(t, tuple))
        return Group(np.zeros(1, np.intp), self.numbers, self.texts, (layout, names), self.arrays)

    def number(self, path: str, values: Any, dtype: Any = None, *, is_array: bool = True) -> None:
        if is_array:
            self.arrays.add(path)
        try:
            array = np.asarray(values, dtype)
        except (ValueError, TypeError, OverflowError) as error:
            raise MessageError(f"{path} holds what is no number ({error})") from None
        if array.dtype.kind not in "biuf":
            array = array.astype(np.float64)  # integers beyond 64 bits
        self.numbers[path] = array.reshape(1, -1)
        self._limit()

    def text(self, path: str, value: str | tuple[str, ...]) -> None:
        self.texts[path] = value
        self._limit()

    def _limit(self) -> None:
        if len(self.numbers) + len(self.texts) > _MAX_LEAVES:
            raise MessageError(f"a message has more than {_MAX_LEAVES} fields")


class JsonDecoder:
    """JSON objects: nested numbers by path, lists of numbers as arrays, lists of objects by number."""

    def one(self, data: memoryview) -> Group:
        """One message.

        Raises:
            MessageError: it is no JSON object.
        """
        import orjson

        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise MessageError(f"a message is not valid JSON ({error})") from None
        if not isinstance(value, dict):
            raise MessageError("a message is JSON, but no object")
        flat = _Flat()
        _json(value, "", flat, 0)
        return flat.group()

    def many(self, payloads: Sequence[bytes | memoryview]) -> Iterator[Group]:
        """The messages, one by one."""
        return _one_by_one(self, payloads)


def _json(value: Any, path: str, flat: _Flat, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise MessageError(f"a message is nested more than {_MAX_DEPTH} deep")
    if isinstance(value, dict):
        for key, inner in value.items():
            _json(inner, f"{path}.{key}" if path else key, flat, depth + 1)
    elif isinstance(value, bool | int | float):
        flat.number(path, [value], is_array=False)
    elif isinstance(value, str):
        flat.text(path, value)
    elif isinstance(value, list):
        if all(isinstance(v, bool | int | float) or v is None for v in value):
            # JSON has no NaN: writers put null in its place.
            flat.number(
                path, [np.nan if v is None else v for v in value] if None in value else value, None if value else float
            )
        elif all(isinstance(v, str) for v in value):
            flat.text(path, tuple(value))
        else:
            for i, inner in enumerate(value):
                _json(inner, f"{path}[{i}]", flat, depth + 1)


class ProtobufDecoder:
    """Protobuf messages by their FileDescriptorSet.

    Raises:
        MessageError: the schema is damaged or lacks the message's type.
        CorpusError: the library is not installed.
    """

    def __init__(self, form: Format) -> None:
        try:
            from google.protobuf.message import DecodeError
            from mcap.exceptions import McapError
            from mcap.records import Schema
            from mcap_protobuf.decoder import DecoderFactory
        except ModuleNotFoundError as error:
            raise CorpusError(f"{error.name} is not installed; run pip install 'gristmill[logs]'") from None
        self._damaged = (DecodeError, ValueError)
        schema = Schema(id=1, name=form.type, encoding=form.schema_encoding, data=form.schema)
        try:
            self._decode = DecoderFactory().decoder_for(form.encoding, schema)
        except (DecodeError, McapError, TypeError, KeyError, ValueError, RecursionError) as error:
            raise MessageError(f"the protobuf schema of {form.type} cannot be read ({_line(error)})") from None
        if self._decode is None:
            raise MessageError(f"a protobuf topic has a schema of kind {form.schema_encoding!r}, not protobuf")

    def one(self, data: memoryview) -> Group:
        """One message.

        Raises:
            MessageError: it is damaged.
        """
        assert self._decode is not None
        try:
            message = self._decode(bytes(data))
        except self._damaged as error:
            raise MessageError(f"a protobuf message is damaged ({_line(error)})") from None
        flat = _Flat()
        _protobuf(message, "", flat, 0)
        return flat.group()

    def many(self, payloads: Sequence[bytes | memoryview]) -> Iterator[Group]:
        """The messages, one by one."""
        return _one_by_one(self, payloads)


def _protobuf(message: Any, path: str, flat: _Flat, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise MessageError(f"a message is nested more than {_MAX_DEPTH} deep")
    for f in message.DESCRIPTOR.fields:
        inner = f"{path}.{f.name}" if path else f.name
        value = getattr(message, f.name)
        if f.is_repeated:
            if f.message_type is not None and f.message_type.GetOptions().map_entry:
                continue  # maps have no order, so no columns
            _repeated(f, list(value), inner, flat, depth)
        elif f.message_type is not None:
            if message.HasField(f.name):
                _protobuf(value, inner, flat, depth + 1)
        elif f.type == f.TYPE_STRING:
            flat.text(inner, value)
        elif f.type == f.TYPE_BYTES:
            flat.number(inner, np.frombuffer(value, np.uint8))
        else:
            flat.number(inner, [value], is_array=False)


def _repeated(f: Any, values: list[Any], path: str, flat: _Flat, depth: int) -> None:
    if f.message_type is not None:
        for i, value in enumerate(values):
            _protobuf(value, f"{path}[{i}]", flat, depth + 1)
    elif f.type == f.TYPE_STRING:
        flat.text(path, tuple(values))
    elif f.type != f.TYPE_BYTES:
        flat.number(path, values, None if values else np.float64)


def _one_by_one(decoder: Any, payloads: Sequence[bytes | memoryview]) -> Iterator[Group]:
    for row, data in enumerate(payloads):
        group = decoder.one(memoryview(data))
        yield group._replace(rows=np.array([row]))


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
