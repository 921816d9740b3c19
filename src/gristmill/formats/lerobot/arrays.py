"""Arrow arrays of numbers as NumPy arrays, straight from their buffers.

`pyarrow.Array.to_numpy` loads pandas wherever it is installed, which takes longer than opening a corpus.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from gristmill.types import FloatArray, IntArray, Mask


def is_list(kind: pa.DataType) -> bool:
    """Whether cells are lists, of whatever kind."""
    return pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)


def is_number(kind: pa.DataType) -> bool:
    """Whether cells are numbers; booleans count."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)


def numbers(array: pa.Array) -> np.ndarray:
    """The cells of a column of numbers, a view where possible.

    Where cells are null, the result is floating and they are NaN.
    """
    data = array.buffers()[1]
    first, stop = array.offset, array.offset + len(array)
    if pa.types.is_boolean(array.type):
        values = _bits(data, first, stop) if data is not None else np.zeros(len(array), bool)
    else:
        kind = array.type.to_pandas_dtype()
        values = np.frombuffer(data, kind)[first:stop] if data is not None else np.zeros(len(array), kind)
    if not array.null_count:
        return values
    values = values.astype(values.dtype if values.dtype.kind == "f" else np.float64)
    values[~valid(array)] = np.nan
    return values


def wide(values: np.ndarray) -> FloatArray:
    """As doubles. Damaged bytes hold NaNs of the signalling sort, about which the processor complains."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


def valid(array: pa.Array) -> Mask:
    """Which cells are not null."""
    bitmap = array.buffers()[0]
    if not array.null_count or bitmap is None:
        return np.ones(len(array), bool)
    return _bits(bitmap, array.offset, array.offset + len(array))


def counts(array: pa.Array) -> IntArray:
    """Items of each list, 0 for null."""
    if pa.types.is_fixed_size_list(array.type):
        found = np.full(len(array), array.type.list_size)
    else:
        found = np.diff(numbers(array.offsets)).astype(np.int64)
    if array.null_count:
        found[~valid(array)] = 0
    return found


def items(array: pa.Array) -> pa.Array:
    """The items of all lists, one after the other; null lists have none."""
    if array.null_count:
        return array.flatten()  # which loads pyarrow.compute, so not for the usual case
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        return array.values.slice(array.offset * size, len(array) * size)
    ends = numbers(array.offsets)
    return array.values.slice(int(ends[0]), int(ends[-1] - ends[0])) if len(array) else array.values.slice(0, 0)


def column(table: pa.Table, name: str) -> pa.Array:
    """A table's column in one piece."""
    pieces = table.column(name).combine_chunks()
    return pieces.combine_chunks() if isinstance(pieces, pa.ChunkedArray) else pieces


def _bits(bitmap: pa.Buffer, first: int, stop: int) -> Mask:
    begin = first // 8
    packed = np.frombuffer(bitmap, np.uint8)[begin : (stop + 7) // 8]
    return np.unpackbits(packed, bitorder="little")[first - 8 * begin : stop - 8 * begin].astype(bool)
