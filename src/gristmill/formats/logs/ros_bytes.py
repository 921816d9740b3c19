"""ROS messages as bytes: where in a message each number and text lies, and many messages at once.

Messages of one topic nearly always have the same layout: the same lengths of texts and arrays, so the same place for
every number. The first one is walked field by field; the others are compared with it in those bytes that decide the
layout, and their numbers are cut out of all of them in one step. ROS 1 packs without padding; ROS 2 writes CDR (OMG
DDS-XTypes 1.3, 7.4): aligned to a value's size, counted from behind the four bytes that name the representation.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gristmill.errors import RecordingError
from gristmill.formats.logs.definitions import Struct
from gristmill.types import IntArray

Texts = Mapping[str, str | tuple[str, ...]]
_MAX_LEAVES = 20_000
# Representation -> (little endian, largest alignment). XCDR2 aligns 8-byte values to 4.
_REPRESENTATIONS = {0x00: (False, 8), 0x01: (True, 8), 0x06: (False, 4), 0x07: (True, 4)}


class MessageError(RecordingError):
    """A message that does not match its definition."""


class Leaf(NamedTuple):
    """A number or an array of numbers in a message."""

    dtype: np.dtype
    offset: int
    count: int


@dataclass(eq=False)
class Layout:
    """Where everything lies in messages of one length."""

    size: int
    numbers: dict[str, Leaf] = field(default_factory=dict)  # path -> where
    arrays: set[str] = field(default_factory=set)  # paths of `numbers` that are arrays
    texts: dict[str, str | tuple[str, ...]] = field(default_factory=dict)  # arrays are equal in all, single ones not
    decisive: IntArray = field(default_factory=lambda: np.empty(0, np.intp))  # bytes that decide the layout
    fingerprint: bytes = b""  # what these bytes are


class Group(NamedTuple):
    """Messages of one layout."""

    rows: IntArray  # (n,) which of the messages
    numbers: Mapping[str, np.ndarray]  # path -> (n, count)
    texts: Texts
    layout: object  # equal for equal layouts
    arrays: Collection[str]  # paths in `numbers` that the message has as arrays, of whatever length


class RosDecoder:
    """Decodes messages of one type.

    Args:
        root: its definition.
        cdr: ROS 2's encoding, else ROS 1's.
    """

    def __init__(self, root: Struct, *, cdr: bool) -> None:
        self._root, self._cdr = root, cdr
        self._newest: Layout | None = None

    def one(self, data: memoryview) -> Group:
        """One message; its numbers are views of `data`.

        Raises:
            MessageError: it does not match the definition.
        """
        layout = walk(self._root, data, cdr=self._cdr)
        numbers = {
            path: np.frombuffer(data, leaf.dtype, leaf.count, leaf.offset)[None]
            for path, leaf in layout.numbers.items()
        }
        return Group(np.zeros(1, np.intp), numbers, layout.texts, layout, layout.arrays)

    def many(self, payloads: Sequence[bytes | memoryview]) -> Iterator[Group]:
        """Many messages, by layout.

        Raises:
            MessageError: one does not match the definition.
        """
        sizes = np.array([len(p) for p in payloads])
        for size in np.unique(sizes).tolist():
            rows = np.flatnonzero(sizes == size)
            joined = b"".join(payloads) if len(rows) == len(payloads) else b"".join(payloads[i] for i in rows.tolist())
            table = np.frombuffer(joined, np.uint8).reshape(len(rows), size)
            while len(rows):
                layout = self._layout(table[0])
                same = (table[:, layout.decisive] == np.frombuffer(layout.fingerprint, np.uint8)).all(axis=1)
                everything = bool(same.all())
                part = table if everything else table[same]
                numbers = _Cut(part, layout.numbers)
                yield Group(rows if everything else rows[same], numbers, layout.texts, layout, layout.arrays)
                if everything:
                    break
                rows, table = rows[~same], table[~same]

    def _layout(self, first: np.ndarray) -> Layout:
        newest = self._newest
        if newest is None or newest.size != len(first) or first[newest.decisive].tobytes() != newest.fingerprint:
            newest = self._newest = walk(self._root, memoryview(first.tobytes()), cdr=self._cdr)
        return newest


class _Cut(Mapping[str, np.ndarray]):
    """Numbers (n, count) by path, cut out of messages (n, size) when they are asked for."""

    def __init__(self, table: np.ndarray, leaves: Mapping[str, Leaf]) -> None:
        self._table, self._leaves = table, leaves

    def __getitem__(self, path: str) -> np.ndarray:
        dtype, offset, count = self._leaves[path]
        if not count:
            return np.empty((len(self._table), 0), dtype)
        return np.ascontiguousarray(self._table[:, offset : offset + dtype.itemsize * count]).view(dtype)

    def __iter__(self) -> Iterator[str]:
        return iter(self._leaves)

    def __len__(self) -> int:
        return len(self._leaves)


def walk(root: Struct, data: memoryview, *, cdr: bool) -> Layout:
    """The layout of one message.

    Raises:
        MessageError: it is shorter than its definition asks for, or holds what cannot be read.
    """
    walker = _Walker(data, cdr)
    walker.struct(root, "")
    layout = walker.layout
    spans = [np.arange(start, stop) for start, stop in walker.spans if stop > start]
    layout.decisive = np.concatenate(spans) if spans else np.empty(0, np.intp)
    layout.fingerprint = np.frombuffer(data, np.uint8)[layout.decisive].tobytes()
    return layout


class _Walker:
    def __init__(self, data: memoryview, cdr: bool) -> None:
        self._data, self._cdr = data, cdr
        self.layout = Layout(len(data))
        self.spans: list[tuple[int, int]] = []
        self._at, self._origin, self._align, order = 0, 0, 1, "<"
        if cdr:
            if len(data) < 4 or data[1] not in _REPRESENTATIONS or data[0]:
                what = bytes(data[:2]).hex() or "nothing"
                raise MessageError(f"CDR representation {what} is not known; plain CDR is 0000 or 0001")
            little, self._align = _REPRESENTATIONS[data[1]]
            order = "<" if little else ">"
            self._at = self._origin = 4
            self.spans.append((0, 2))
        self._order = order
        self._length = struct.Struct(f"{order}I")
        self._leaves = 0

    def struct(self, of: Struct, path: str) -> None:
        self._leaf()  # empty ones count too: a short definition can nest them without end
        if self._cdr and not of.fields:
            self._take(1)  # IDL has no empty structs: ROS 2 puts a byte
        for f in of.fields:
            inner = f"{path}.{f.name}" if path else f.name
            if f.number:
                self._numbers(inner, np.dtype(self._order + f.number), f.length)
            elif f.text:
                self._text(inner, f.text, f.length)
            elif f.struct is not None and f.length is None:
                self.struct(f.struct, inner)
            elif f.struct is not None:
                for i in range(self._count(f.length or 0, 1 if f.struct.fields or self._cdr else 0)):
                    self.struct(f.struct, f"{inner}[{i}]")

    def _numbers(self, path: str, dtype: np.dtype, length: int | None) -> None:
        count = 1 if length is None else self._count(length, dtype.itemsize)
        if count:
            self._pad(dtype.itemsize)
        start = self._take(dtype.itemsize * count)
        self._leaf()
        self.layout.numbers[path] = Leaf(dtype, start, count)
        if length is not None:
            self.layout.arrays.add(path)

    def _text(self, path: str, kind: str, length: int | None) -> None:
        if kind == "wstring":
            raise MessageError(f"field {path} is a wstring, which is written in different ways; it cannot be read")
        if length is None:
            start, stop = self._string()
            self.layout.texts[path] = self._decoded(start, stop)
            return
        texts = []
        for _ in range(self._count(length, 4)):
            start, stop = self._string()
            self.spans.append((start, stop))
            texts.append(self._decoded(start, stop))
            self._leaf()
        self.layout.texts[path] = tuple(texts)

    def _string(self) -> tuple[int, int]:
        size = self._uint32()
        start = self._take(size)
        # CDR counts the NUL at the end.
        return start, start + (size - 1 if self._cdr and size else size)

    def _decoded(self, start: int, stop: int) -> str:
        return bytes(self._data[start:stop]).decode("utf-8", "replace")

    def _count(self, length: int, least: int) -> int:
        """Elements of an array; never more than the message has room for."""
        count = length if length >= 0 else self._uint32()
        if count * max(least, 1) > len(self._data) - self._at:
            raise MessageError(f"an array of {count} elements does not fit into a message of {len(self._data)} bytes")
        return count

    def _uint32(self) -> int:
        self._pad(4)
        start = self._take(4)
        self.spans.append((start, start + 4))
        return self._length.unpack_from(self._data, start)[0]

    def _pad(self, size: int) -> None:
        if self._cdr:
            size = min(size, self._align)
            self._at += -(self._at - self._origin) % size

    def _take(self, size: int) -> int:
        start = self._at
        self._at += size
        if self._at > len(self._data):
            raise MessageError(f"a message of {len(self._data)} bytes is shorter than its definition asks for")
        return start

    def _leaf(self) -> None:
        self._leaves += 1
        if self._leaves > _MAX_LEAVES:
            raise MessageError(f"a message has more than {_MAX_LEAVES} fields")
