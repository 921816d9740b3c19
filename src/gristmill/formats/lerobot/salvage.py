"""Parquet files without a footer, as a crash leaves them: what was written whole is made readable again.

A footer only says where the pages are, so it can be written anew: the pages follow each other from the start of
the file, each behind its own header, and a pattern (another file of the corpus, or the declared features) says
which columns they belong to. Row groups that are not complete are left out. Nothing on disk is changed: the file
is read through a view with the new footer behind it. See the Apache Parquet format, parquet.thrift.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.formats.lerobot.compact import BINARY, I32, I64, LIST, STRUCT, MalformedError, Reader, Struct, encode

_MAGIC = b"PAR1"
_HEADER_BYTES = 1 << 16
_MAX_PAGE_BYTES = 256 << 20
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_DICTIONARY_ENCODINGS = (2, 8)
_CODECS = {1: "snappy", 6: "zstd", 2: "gzip", 7: "lz4_raw", 4: "brotli"}
_REPEATED = 2


class Leaf(NamedTuple):
    """One column of numbers or bytes; `width` is its values a row, None when that differs from row to row."""

    path: tuple[bytes, ...]
    type: int
    width: int | None


@dataclass(frozen=True)
class Pattern:
    """What the columns of a damaged file should be."""

    schema: tuple[int, list[Struct]]
    notes: tuple[int, list[Struct]] | None
    leaves: tuple[Leaf, ...]

    @classmethod
    def of_file(cls, path: Path, widths: Mapping[str, int]) -> Pattern | None:
        """The pattern of an intact file, or None when it is not intact.

        Args:
            path: a Parquet file.
            widths: values a row of columns that hold lists.
        """
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 8))
            tail = file.read(8)
            length = int.from_bytes(tail[:4], "little")
            if tail[4:] != _MAGIC or length > size - 12:
                return None
            file.seek(size - 8 - length)
            return cls._of_footer(file.read(length), widths)

    @classmethod
    def of_schema(cls, schema: pa.Schema, widths: Mapping[str, int]) -> Pattern | None:
        """The pattern of a file that pyarrow would write with this schema."""
        sink = io.BytesIO()
        pq.write_table(schema.empty_table(), sink)
        data = sink.getvalue()
        length = int.from_bytes(data[-8:-4], "little")
        return cls._of_footer(data[-8 - length : -8], widths)

    @classmethod
    def _of_footer(cls, footer: bytes, widths: Mapping[str, int]) -> Pattern | None:
        try:
            meta = Reader(footer).struct()
            elements = meta[2][1][1]
            return cls(meta[2][1], meta[5][1] if 5 in meta else None, tuple(_leaves(elements, widths)))
        except (MalformedError, KeyError, IndexError, TypeError):
            return None


class _Page(NamedTuple):
    at: int
    size: int  # header and body
    body: int  # offset of the body
    kind: int
    values: int
    encoding: int
    packed: int  # bytes of the body that are compressed
    unpacked: int


def recover(path: Path, pattern: Pattern | None) -> pa.PythonFile | None:
    """A readable view of what is complete in the file, or None when there is nothing."""
    if pattern is None or not pattern.leaves:
        return None
    try:
        file = path.open("rb")
    except OSError:
        return None
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    groups: list[list[list[_Page]]] = []
    if file.read(4) == _MAGIC:
        at = 4
        while group := _group(file, at, size, pattern.leaves):
            groups.append(group)
            at = group[-1][-1].at + group[-1][-1].size
    if not groups:
        file.close()
        return None
    codec = _codec(file, [page for column in groups[0] for page in column])
    footer = _footer(groups, pattern, codec)
    return pa.PythonFile(_Extended(file, size, footer), mode="r")


def _leaves(elements: Sequence[Struct], widths: Mapping[str, int]) -> list[Leaf]:
    leaves: list[Leaf] = []
    waiting = iter(elements[1:])

    def walk(children: int, above: tuple[bytes, ...], repeated: bool) -> None:
        for _ in range(children):
            element = next(waiting)
            path = (*above, element[4][1])
            many = repeated or element.get(3, (I32, 0))[1] == _REPEATED
            if 5 in element and element[5][1] > 0:
                walk(element[5][1], path, many)
            else:
                width = widths.get(path[0].decode("utf-8", "replace")) if many else 1
                leaves.append(Leaf(path, element[1][1], width))

    walk(elements[0][5][1], (), False)
    return leaves


def _page(file: io.BufferedReader, at: int, size: int) -> _Page | None:
    """The page at an offset, if a whole one lies there."""
    file.seek(at)
    reader = Reader(file.read(_HEADER_BYTES))
    try:
        head = reader.struct()
        kind, unpacked, packed = (_integer(head, field) for field in (1, 2, 3))
        inner_type, inner = head[{_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}[kind]]
        if inner_type != STRUCT:
            return None
        values, encoding = _integer(inner, 1), _integer(inner, 4 if kind == _DATA_V2 else 2)
        levels = _integer(inner, 5) + _integer(inner, 6) if kind == _DATA_V2 else 0
    except (MalformedError, KeyError):
        return None
    body = at + reader.at
    if not 0 <= levels <= packed <= size - body or not 0 <= unpacked <= _MAX_PAGE_BYTES or values < 0:
        return None
    if kind == _DATA_V2:  # its levels stand uncompressed before the values
        return _Page(at, body + packed - at, body + levels, kind, values, encoding, packed - levels, unpacked - levels)
    return _Page(at, body + packed - at, body, kind, values, encoding, packed, unpacked)


def _integer(struct: Struct, field: int) -> int:
    kind, value = struct[field]
    if kind != I32:
        raise MalformedError(f"field {field} is no integer")
    return value


def _group(file: io.BufferedReader, at: int, size: int, leaves: Sequence[Leaf]) -> list[list[_Page]] | None:
    """The pages of the row group at an offset, by column, if all of them are there.

    How many rows it has is not known; each number of pages that the first column can have proposes one, and only
    the true one lets every column end where the next one begins.
    """
    pages: list[_Page] = []

    def page(i: int) -> _Page | None:
        while len(pages) <= i:
            found = _page(file, pages[-1].at + pages[-1].size if pages else at, size)
            if found is None:
                return None
            pages.append(found)
        return pages[i]

    counted, i = 0, 0
    first = next((leaf.width for leaf in leaves[:1]), None)
    while first and (found := page(i)) is not None:
        i += 1
        if found.kind == _DICTIONARY:
            if counted:
                return None
            continue
        counted += found.values
        if counted and counted % first == 0 and (columns := _assign(page, leaves, counted // first)):
            return columns
    return None


def _assign(page: Callable[[int], _Page | None], leaves: Sequence[Leaf], rows: int) -> list[list[_Page]] | None:
    """The pages by column if the row group has so many rows, else None."""
    columns: list[list[_Page]] = []
    i = 0
    for leaf in leaves:
        column: list[_Page] = []
        found = page(i)
        if found is not None and found.kind == _DICTIONARY:
            column.append(found)
            i += 1
        wanted = None if leaf.width is None else rows * leaf.width
        counted = 0
        while (wanted is None or counted < wanted) and (found := page(i)) is not None and found.kind != _DICTIONARY:
            # Where the number of values is not known, a column ends with its dictionary's last page.
            if wanted is None and counted and (len(column) == 1 or found.encoding not in _DICTIONARY_ENCODINGS):
                break
            column.append(found)
            counted += found.values
            i += 1
        if (wanted is not None and counted != wanted) or not counted:
            return None
        columns.append(column)
    return columns


def _codec(file: io.BufferedReader, pages: Sequence[_Page]) -> int:
    """Which compression the pages have; the footer alone would say."""
    for page in pages:
        if page.packed == page.unpacked or not page.packed:
            continue
        file.seek(page.body)
        data = file.read(page.packed)
        for number, name in _CODECS.items():
            try:
                if len(pa.Codec(name).decompress(data, page.unpacked)) == page.unpacked:
                    return number
            except (pa.ArrowException, OSError, ValueError):
                continue
    return 0


def _footer(groups: Sequence[list[list[_Page]]], pattern: Pattern, codec: int) -> bytes:
    written: list[Struct] = []
    total = 0
    for group in groups:
        leaf, pages = next((lf, p) for lf, p in zip(pattern.leaves, group, strict=True) if lf.width)
        rows = sum(p.values for p in pages if p.kind != _DICTIONARY) // (leaf.width or 1)
        total += rows
        columns = [_chunk(lf, p, codec) for lf, p in zip(pattern.leaves, group, strict=True)]
        size = sum(c[3][1][6][1] for c in columns)
        written.append({1: (LIST, (STRUCT, columns)), 2: (I64, size), 3: (I64, rows)})
    meta: Struct = {1: (I32, 2), 2: (LIST, pattern.schema), 3: (I64, total), 4: (LIST, (STRUCT, written))}
    if pattern.notes is not None:
        meta[5] = (LIST, pattern.notes)
    data = encode(meta)
    return data + len(data).to_bytes(4, "little") + _MAGIC


def _chunk(leaf: Leaf, pages: Sequence[_Page], codec: int) -> Struct:
    data = [p for p in pages if p.kind != _DICTIONARY]
    encodings = sorted({p.encoding for p in pages} | {3})  # 3: RLE, of the levels
    packed = sum(p.size for p in pages)
    unpacked = sum(p.size - p.packed + p.unpacked for p in pages)
    meta: Struct = {
        1: (I32, leaf.type),
        2: (LIST, (I32, encodings)),
        3: (LIST, (BINARY, list(leaf.path))),
        4: (I32, codec),
        5: (I64, sum(p.values for p in data)),
        6: (I64, unpacked),
        7: (I64, packed),
        9: (I64, data[0].at),
    }
    if pages[0].kind == _DICTIONARY:
        meta[11] = (I64, pages[0].at)
    return {2: (I64, pages[0].at), 3: (STRUCT, meta)}


class _Extended(io.RawIOBase):
    """A file with bytes behind its end."""

    def __init__(self, file: io.BufferedReader, size: int, tail: bytes) -> None:
        self._file = file
        self._size = size
        self._tail = tail
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size + len(self._tail)}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int = -1) -> bytes:
        stop = self._size + len(self._tail) if size is None or size < 0 else self._at + size
        data = b""
        if self._at < self._size:
            self._file.seek(self._at)
            data = self._file.read(min(stop, self._size) - self._at)
        if stop > self._size:
            data += self._tail[max(0, self._at - self._size) : stop - self._size]
        self._at += len(data)
        return data

    def close(self) -> None:
        self._file.close()
        super().close()
