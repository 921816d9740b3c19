"""Numbers in and out of Arrow columns whose types stay exactly as they were found."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def numbers(table: pa.Table, key: str) -> np.ndarray:
    """The values (t, d) of a column of numbers, whatever lists they lie in; a copy."""
    array = table[key].combine_chunks()
    rows = len(array)
    while pa.types.is_list(array.type) or pa.types.is_fixed_size_list(array.type) or pa.types.is_large_list(array.type):
        array = array.flatten()
    return np.array(array.to_numpy(zero_copy_only=False)).reshape(rows, -1)


def is_numeric(kind: pa.DataType) -> bool:
    """Whether a column holds numbers or truth values, in lists or not."""
    while pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)


def with_numbers(table: pa.Table, key: str, values: np.ndarray) -> pa.Table:
    """The table with a column's values (t, d) replaced; its type and lists stay."""
    at = table.schema.get_field_index(key)
    array = table[key].combine_chunks()
    return table.set_column(at, table.schema.field(at), refilled(array, values.reshape(-1)))


def refilled(array: pa.Array, flat: np.ndarray) -> pa.Array:
    """An array of the same lists with other numbers in them."""
    kind = array.type
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(refilled(array.flatten(), flat), type=kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        offsets = pa.array(array.offsets.to_numpy() - array.offsets[0].as_py(), array.offsets.type)
        maker = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
        return maker.from_arrays(offsets, refilled(array.flatten(), flat), type=kind)
    width = np.dtype(kind.to_pandas_dtype())
    return pa.array(flat.astype(width, copy=False), kind)
