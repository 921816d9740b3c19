"""Datasets that are looked at before they are read, and read without more than one copy."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from math import prod
from typing import Literal, NamedTuple

import h5py
import numpy as np
from h5py import h5d, h5g, h5p, h5s, h5t, h5z  # pyright: ignore[reportAttributeAccessIssue] - compiled, without stubs

from gristmill.errors import RecordingError, UnsafeCorpusError
from gristmill.formats.hdf5 import tree
from gristmill.formats.hdf5.opening import DAMAGE

# What no recording has: limits that keep a lie in the header from filling memory.
MAX_ROWS = 10_000_000
MAX_BYTES = 1 << 30  # of one episode's values in one dataset
MAX_FRAME_BYTES = 256 << 20
_MAX_CHUNK_BYTES = 1 << 30

_CACHE_BYTES = 64 << 20
_CHUNK_SLOTS = 12289  # a prime, larger than the number of chunks kept

Kind = Literal["numbers", "encoded", "other"]


class Stored(NamedTuple):
    """What a dataset's header says."""

    shape: tuple[int, ...]
    dtype: np.dtype
    kind: Kind
    chunk_rows: int  # rows that are unpacked together; 1 when nothing is packed
    written: bool  # whether any value was ever written
    why: str = ""  # why it cannot be read

    @property
    def rows(self) -> int:
        """Length of the first axis."""
        return self.shape[0] if self.shape else 0

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of one row."""
        return self.shape[1:]

    @property
    def row_bytes(self) -> int:
        """Bytes of one row in memory."""
        return prod(self.row_shape) * self.dtype.itemsize


def describe(dataset: tree.Dataset, where: str) -> Stored:
    """Look at a dataset without reading it.

    Raises:
        UnsafeCorpusError: its values lie in another file.
        RecordingError: its header is broken.
    """
    try:
        shape = dataset.shape
        if dataset.get_offset() is not None:
            # One block within this very file, and nothing packed: most datasets are, and need no closer look.
            return _stored(dataset, shape, (), (), written=True)
        plist = dataset.get_create_plist()
        layout = plist.get_layout()
        if plist.get_external_count():
            raise UnsafeCorpusError(
                f"{where} keeps its values in another file; nothing was read of it, copy them into this one"
            )
        if layout == h5d.VIRTUAL:
            _within(dataset, plist, where)
        chunk: tuple[int, ...] = plist.get_chunk() if layout == h5d.CHUNKED else ()
        filters = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())] if chunk else []
        written = layout == h5d.VIRTUAL or not prod(shape) or dataset.get_storage_size() > 0
    except DAMAGE as error:
        raise RecordingError(f"{where} has a broken header ({' '.join(str(error).split())[:200]})") from None
    return _stored(dataset, shape, chunk, filters, written=written)


def _stored(
    dataset: tree.Dataset, shape: tuple[int, ...], chunk: tuple[int, ...], filters: Sequence[int], *, written: bool
) -> Stored:
    try:
        dtype = dataset.dtype
    except DAMAGE:
        return Stored(shape, np.dtype(np.void), "other", 1, written, "is of a type that NumPy lacks")
    kind = _kind(dtype)
    why = "" if kind != "other" else f"holds {_what(dtype)}, which are not read"
    absent = [code for code in filters if not _available(code)] if filters else ()
    if absent:
        why = f"is packed by HDF5's filter {absent[0]}, which is not installed; run pip install hdf5plugin"
    elif not why and ((shape and shape[0] > MAX_ROWS) or prod(chunk) * dtype.itemsize > _MAX_CHUNK_BYTES):
        why = f"has the shape {shape} in chunks of {chunk or shape}, which no recording has"
    return Stored(shape, dtype, kind, chunk[0] if chunk and filters else 1, written, why)


def whole(group: tree.Group, path: str, dtype: str, rows: int, width: int, where: str) -> np.ndarray:
    """The first rows of a dataset that was looked at before, as (rows, width) in native byte order.

    Raises:
        RecordingError: it cannot be read, or is not as it was.
    """
    try:
        dataset = h5d.open(group, path.encode("utf-8", "surrogateescape"))
        native, memory = _memory(dtype)
        # A block of just this size holds just these values, whatever its shape.
        fits = dataset.get_offset() is not None and dataset.get_storage_size() == rows * width * native.itemsize
        if not fits:
            shape = dataset.shape
            if not shape or shape[0] < rows or prod(shape[1:]) != width:
                raise RecordingError(f"{where} changed while it was read; start again")
            fits = shape[0] == rows and rows * width > 0
        if fits:
            out = np.empty((rows, width), native)
            dataset.read(h5s.ALL, h5s.ALL, out, memory)
            return out
    except DAMAGE as error:
        raise RecordingError(f"{where} cannot be read ({' '.join(str(error).split())[:200]})") from None
    return values(dataset, describe(dataset, where), where, (0, rows)).reshape(rows, width)


def values(dataset: tree.Dataset, stored: Stored, where: str, rows: tuple[int, int] | None = None) -> np.ndarray:
    """Numbers of a dataset (rows, ...) in native byte order, all or rows start..stop.

    Raises:
        RecordingError: they cannot be read; the text begins with `where`.
    """
    start, stop = rows or (0, stored.rows)
    shape = (stop - start, *stored.row_shape)
    if prod(shape) * stored.dtype.itemsize > MAX_BYTES:
        raise RecordingError(
            f"{where} has the shape {stored.shape}, more than {MAX_BYTES >> 30} GiB; split the episode"
        )
    out = np.empty(shape, stored.dtype.newbyteorder("="))
    if out.size:
        try:
            if (start, stop) == (0, stored.rows):
                dataset.read(h5s.ALL, h5s.ALL, out)
            else:
                space = dataset.get_space()
                space.select_hyperslab((start, *(0,) * (len(shape) - 1)), shape)
                dataset.read(h5s.create_simple(shape), space, out)
        except DAMAGE as error:
            raise RecordingError(f"{where} cannot be read ({' '.join(str(error).split())[:200]})") from None
    return out


def kept(group: tree.Group, path: str, stored: Stored, dataset: tree.Dataset) -> tree.Dataset:
    """A dataset that was looked at, opened so that what is unpacked together is unpacked once.

    HDF5 keeps unpacked chunks while their dataset is open, but by default too few for pictures.
    """
    if stored.chunk_rows <= 1:
        return dataset
    access = h5p.create(h5p.DATASET_ACCESS)
    # Chunks that were read to their end go first.
    access.set_chunk_cache(_CHUNK_SLOTS, min(max(2 * stored.chunk_rows * stored.row_bytes, 1 << 20), _CACHE_BYTES), 1.0)
    return h5d.open(group, path.encode("utf-8", "surrogateescape"), access)


def payloads(dataset: tree.Dataset, stored: Stored, where: str, rows: tuple[int, int]) -> list[bytes]:
    """Encoded images of rows start..stop, without the zeros that pad them.

    They are kept as rows of bytes (t, n), as byte strings (t,), or as byte arrays of different lengths (t,).

    Raises:
        RecordingError: they cannot be read.
    """
    if stored.kind == "numbers":
        return [row.tobytes().rstrip(b"\0") for row in values(dataset, stored, where, rows)]
    try:
        found = h5py.Dataset(dataset)[slice(*rows)]
    except DAMAGE as error:
        raise RecordingError(f"{where} cannot be read ({' '.join(str(error).split())[:200]})") from None
    return [(row if isinstance(row, bytes) else np.asarray(row).tobytes()).rstrip(b"\0") for row in found]


def last_byte(dataset: tree.Dataset) -> int:
    """Where the values of a dataset end in its file."""
    if dataset.get_create_plist().get_layout() == h5d.CHUNKED:
        infos = [dataset.get_chunk_info(i) for i in range(dataset.get_num_chunks())]
        return max((i.byte_offset + i.size for i in infos), default=0)
    offset = dataset.get_offset()
    return 0 if offset is None else offset + dataset.get_storage_size()


def _within(dataset: tree.Dataset, plist, where: str) -> None:
    """A virtual dataset has to be made of plain datasets of its own file."""
    top = h5g.open(dataset, b"/")
    for i in range(plist.get_virtual_count()):
        inside = plist.get_virtual_filename(i) == "."
        source = tree.find(top, plist.get_virtual_dsetname(i), where) if inside else None
        if source is None or not isinstance(source, h5d.DatasetID):
            raise UnsafeCorpusError(
                f"{where} is a virtual dataset made of another file; nothing was read of it, copy the values into it"
            )
        inner = source.get_create_plist()
        if inner.get_layout() == h5d.VIRTUAL or inner.get_external_count():
            raise UnsafeCorpusError(f"{where} is a virtual dataset made of no plain one; copy the values into it")


@lru_cache(maxsize=64)
def _memory(dtype: str) -> tuple[np.dtype, h5t.TypeID]:
    """A type as NumPy and as HDF5 has it in memory."""
    return np.dtype(dtype), h5t.py_create(np.dtype(dtype))


def _kind(dtype: np.dtype) -> Kind:
    if dtype.kind in "biuf" and dtype.itemsize <= 8:
        return "numbers"
    inner = h5py.check_vlen_dtype(dtype)
    text = h5py.check_string_dtype(dtype)
    return "encoded" if text is not None or (inner is not None and inner == np.uint8) else "other"


def _what(dtype: np.dtype) -> str:
    if h5py.check_ref_dtype(dtype) is not None:
        return "references"
    if h5py.check_vlen_dtype(dtype) is not None:
        return "lists of different lengths"
    return {"O": "objects", "V": "records", "c": "complex numbers"}.get(dtype.kind, f"values of type {dtype}")


@lru_cache(maxsize=64)
def _available(code: int) -> bool:
    if not h5z.filter_avail(code):
        with suppress(ImportError):
            importlib.import_module("hdf5plugin")  # registers what it brings
    return bool(h5z.filter_avail(code))
