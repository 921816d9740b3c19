"""The compact protocol of Thrift, in which Parquet writes its page headers and footers.

Only what is needed to read the headers of a damaged file and to write a footer for it. Structs become
`{field id: (type, value)}`; see the Thrift specification, thrift-compact-protocol.md.
"""

from __future__ import annotations

from typing import Any, TypeAlias

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
Struct: TypeAlias = dict[int, tuple[int, Any]]

_MAX_DEPTH = 32
_INTEGERS = (I16, I32, I64)


class MalformedError(ValueError):
    """These bytes are not a struct in the compact protocol."""


class Reader:
    """Reads structs from bytes; `at` is the position behind what was read."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self.at = at

    def struct(self, depth: int = 0) -> Struct:
        """The struct at the current position.

        Raises:
            MalformedError: the bytes are none, or end within it.
        """
        if depth > _MAX_DEPTH:
            raise MalformedError("nested too deeply")
        found: Struct = {}
        field = 0
        while (head := self._byte()) != 0:
            field = field + (head >> 4) if head >> 4 else self._zigzag()
            kind = head & 0x0F
            found[field] = (kind, kind == TRUE if kind in (TRUE, FALSE) else self._value(kind, depth))
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._zigzag()
        if kind == BINARY:
            return self._take(self._varint())
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind in (LIST, SET):
            return self._list(depth)
        if kind in (BYTE, TRUE, FALSE):
            return self._byte()  # within lists, booleans are a byte each
        if kind == DOUBLE:
            return self._take(8)
        raise MalformedError(f"type {kind}")

    def _list(self, depth: int) -> tuple[int, list[Any]]:
        if depth > _MAX_DEPTH:
            raise MalformedError("nested too deeply")
        head = self._byte()
        size = head >> 4
        if size == 15:
            size = self._varint()
        if size > len(self._data) - self.at:
            raise MalformedError("a list longer than the data")
        return head & 0x0F, [self._value(head & 0x0F, depth + 1) for _ in range(size)]

    def _byte(self) -> int:
        if self.at >= len(self._data):
            raise MalformedError("cut off")
        self.at += 1
        return self._data[self.at - 1]

    def _take(self, size: int) -> bytes:
        if size > len(self._data) - self.at:
            raise MalformedError("cut off")
        self.at += size
        return self._data[self.at - size : self.at]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise MalformedError("a number of more than 64 bits")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


def encode(struct: Struct) -> bytes:
    """The struct in the compact protocol."""
    out = bytearray()
    last = 0
    for field in sorted(struct):
        kind, value = struct[field]
        if kind in (TRUE, FALSE):
            kind = TRUE if value else FALSE
        if 0 < field - last < 16:
            out.append((field - last) << 4 | kind)
        else:
            out.append(kind)
            out += _varint(_zigzag(field))
        last = field
        if kind not in (TRUE, FALSE):
            out += _value(kind, value)
    out.append(0)
    return bytes(out)


def _value(kind: int, value: Any) -> bytes:
    if kind in _INTEGERS:
        return _varint(_zigzag(value))
    if kind == BINARY:
        return _varint(len(value)) + value
    if kind == STRUCT:
        return encode(value)
    if kind in (LIST, SET):
        item, values = value
        size = len(values)
        head = bytes([size << 4 | item]) if size < 15 else bytes([0xF0 | item]) + _varint(size)
        return head + b"".join(_value(item, v) for v in values)
    return value if isinstance(value, bytes) else bytes([value])


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
