"""Columns of measurements: from what a check returned to Arrow, and from Arrow to what `judge` reads.

A stage's row has, before the check's own columns:

    input       fixed_size_binary[16]   what it was computed from (see `inputs`)
    episode_id  string                  the episode's name when it was measured; names change, so nothing joins on it
    unknown     string                  why the question could not be asked, or null
    failed      bool                    the check itself went wrong; the row tells why and stays owed
    events      list<struct<start_s, end_s, strength, channel, camera, detail>>
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.check import Column, Measured
from gristmill.inputs import Lanes
from gristmill.manifest import Events
from gristmill.types import Mask

KEY = pa.binary(16)
EVENT = pa.struct(
    [
        ("start_s", pa.float64()),
        ("end_s", pa.float64()),
        ("strength", pa.float64()),
        ("channel", pa.string()),
        ("camera", pa.string()),
        ("detail", pa.string()),
    ]
)
OWN = pa.schema(
    [
        ("input", KEY),
        ("episode_id", pa.string()),
        ("unknown", pa.string()),
        ("failed", pa.bool_()),
        ("events", pa.list_(EVENT)),
    ]
)
_SCALARS = {"float": pa.float64(), "int": pa.int64(), "bool": pa.bool_(), "text": pa.string()}
_LISTS = {"float": pa.float64(), "int": pa.float64(), "bool": pa.float64(), "text": pa.string()}


@lru_cache(maxsize=256)
def schema_of(columns: tuple[Column, ...]) -> pa.Schema:
    """The Arrow schema of a stage with these columns."""
    own = [pa.field(c.name, _SCALARS[c.type] if c.per == "episode" else pa.list_(_LISTS[c.type])) for c in columns]
    return pa.schema([*OWN, *own])


def keys(rows: Lanes, valid: Mask | None = None) -> pa.Array:
    """(n, 2) lanes as an Arrow array of 16-byte keys, null where `valid` says no."""
    data = np.ascontiguousarray(rows, "<u8")
    bits = None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(KEY, len(data), [bits, pa.py_buffer(data)])


def lanes_of(array: pa.Array | pa.ChunkedArray) -> Lanes:
    """The inverse of `keys`; null becomes zeros."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if array.null_count:
        array = array.fill_null(bytes(16))
    data = np.frombuffer(array.buffers()[1], "<u8", count=2 * len(array), offset=16 * array.offset)
    return data.astype(np.uint64).reshape(-1, 2)


def batch_of(
    columns: tuple[Column, ...],
    inputs: pa.Array,
    ids: pa.Array,
    measured: Sequence[Measured],
    failed: Collection[int] = (),
) -> pa.RecordBatch:
    """A stage's rows.

    Args:
        columns: the check's columns.
        inputs: n 16-byte keys.
        ids: n episode ids.
        measured: n results of `measure`.
        failed: places of those on which the check went wrong.

    Raises:
        TypeError, ValueError: a cell does not fit its column.
    """
    count = len(measured)
    if not failed and _all_unknown(measured):
        return _unasked(columns, inputs, ids, measured[0].unknown)
    arrays: list[pa.Array] = [
        inputs,
        ids,
        pa.array([m.unknown for m in measured], pa.string()),
        pa.array([i in failed for i in range(count)]) if failed else pa.array(np.zeros(count, bool)),
        _events([m.events for m in measured]),
    ]
    values = [m.values for m in measured]
    for column in columns:
        try:
            cells = list(map(itemgetter(column.name), values))
        except KeyError:
            cells = [cell.get(column.name) for cell in values]
        arrays.append(_scalars(column, cells) if column.per == "episode" else _lists(column, cells))
    return pa.RecordBatch.from_arrays(arrays, schema=schema_of(columns))


def _all_unknown(measured: Sequence[Measured]) -> bool:
    """Whether there is nothing but one reason, as of a check that does not fit the corpus."""
    if not measured:
        return False
    reason = measured[0].unknown
    return reason is not None and not any(m.unknown != reason or m.values or m.events for m in measured)


def _unasked(columns: tuple[Column, ...], inputs: pa.Array, ids: pa.Array, reason: str | None) -> pa.RecordBatch:
    schema = schema_of(columns)
    count = len(inputs)
    told = [inputs, ids, pa.repeat(pa.scalar(reason, pa.string()), count), pa.array(np.zeros(count, bool))]
    told.append(_events([()] * count))
    told += [pa.nulls(count, field.type) for field in list(schema)[len(told) :]]
    return pa.RecordBatch.from_arrays(told, schema=schema)


def _scalars(column: Column, cells: list[Any]) -> pa.Array:
    if column.type == "float":
        values = np.array(cells, np.float64)
        if values.shape != (len(cells),):
            raise ValueError(f"column {column.name} takes one number an episode")
        return pa.array(values)
    if column.type == "int":
        return pa.array(cells).cast(pa.int64())  # given the type at once, Arrow would cut fractions off
    return pa.array(cells, _SCALARS[column.type])


def _lists(column: Column, cells: list[Any]) -> pa.Array:
    if column.type == "text":
        return pa.array(cells, pa.list_(pa.string()))
    nulls = None
    try:
        offsets = _offsets(cells)
        values = np.concatenate(cells, dtype=np.float64) if cells else _NONE
    except TypeError:  # None among the cells, or among the numbers of one
        nulls = pa.array([c is None for c in cells])
        cells = [_NONE if c is None else np.asarray(c, np.float64) for c in cells]
        offsets, values = _offsets(cells), np.concatenate(cells)
    if values.ndim != 1:
        raise ValueError(f"column {column.name} takes a flat list an episode")
    return pa.ListArray.from_arrays(offsets, pa.array(values), mask=nulls)


_NONE = np.empty(0, np.float64)


def _offsets(lists: Sequence[Any]) -> pa.Array:
    offsets = np.zeros(len(lists) + 1, np.int32)
    np.cumsum(list(map(len, lists)), out=offsets[1:])
    return pa.array(offsets)


def _events(lists: Sequence[Sequence[Any]]) -> pa.Array:
    flat = [event for events in lists for event in events] if any(lists) else ()
    fields = zip(*flat, strict=True) if flat else [()] * len(EVENT)
    arrays = [
        pa.array(np.array(values, np.float64)) if field.type == pa.float64() else pa.array(values, pa.string())
        for field, values in zip(EVENT, fields, strict=True)
    ]
    return pa.ListArray.from_arrays(_offsets(lists), pa.StructArray.from_arrays(arrays, fields=list(EVENT)))


def cells_of(column: Column, stored: pa.ChunkedArray | None, count: int, width: int) -> np.ndarray:
    """One column as `Manifest.cells` wants it.

    Args:
        column: which.
        stored: its aligned rows, null where nothing was measured; None when nothing was measured at all.
        count: number of episodes.
        width: least width of a `per="dim"` or `per="camera"` cell.

    Returns:
        (count,) float64 with NaN for null, (count,) object for text, or (count, width or more) float64.
    """
    data = None if stored is None else _whole(stored)
    if column.type == "text":
        cells = np.full(count, None, object)
        if data is not None:
            cells[:] = data.to_pylist() if column.per == "episode" else [v and tuple(v) for v in data.to_pylist()]
        return cells
    if column.per == "episode":
        if data is None:
            return np.full(count, np.nan)
        return data.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return _rectangle(data, count, width)


def _rectangle(data: pa.ListArray | None, count: int, width: int) -> np.ndarray:
    if data is None:
        return np.full((count, width), np.nan)
    values = data.flatten().to_numpy(zero_copy_only=False)
    lengths = _lengths(data)
    width = max(width, int(lengths.max(initial=0)))
    if (lengths == width).all():
        return values.reshape(count, width)
    cells = np.full((count, width), np.nan)
    cells[np.arange(width) < lengths[:, None]] = values
    return cells


def events_of(stored: pa.ChunkedArray | None) -> Events:
    """All events of aligned rows, sorted by row."""
    data = pa.array([], pa.list_(EVENT)) if stored is None else _whole(stored)
    lengths = _lengths(data)
    flat = data.flatten()
    start_s, end_s, strength = (flat.field(n).to_numpy(zero_copy_only=False) for n in ("start_s", "end_s", "strength"))
    return Events(
        row=np.repeat(np.arange(len(lengths)), lengths),
        start_s=start_s,
        end_s=end_s,
        strength=strength,
        channel=_texts(flat.field("channel")),
        camera=_texts(flat.field("camera")),
        detail=[text or "" for text in _texts(flat.field("detail"))],
    )


def _whole(stored: pa.ChunkedArray) -> pa.Array:
    """The column in one piece, without a copy when it is in one already."""
    return stored.chunk(0) if stored.num_chunks == 1 else stored.combine_chunks()


def _lengths(lists: pa.ListArray) -> np.ndarray:
    return pc.call_function("list_value_length", [lists]).fill_null(0).to_numpy(zero_copy_only=False)


def texts_of(array: pa.Array | pa.ChunkedArray) -> list[str | None]:
    """Text cells as Python strings, equal ones the same object."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return [None] * len(array) if array.null_count == len(array) else _texts(array)


def _texts(array: pa.Array) -> list[str | None]:
    # A dictionary makes one Python string of each distinct text instead of one of each cell.
    encoded = array.dictionary_encode()
    distinct = np.array([*encoded.dictionary.to_pylist(), None], object)
    codes = encoded.indices.fill_null(len(distinct) - 1).to_numpy(zero_copy_only=False)
    return distinct[codes].tolist()
