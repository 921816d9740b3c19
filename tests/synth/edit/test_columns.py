"""Numbers go in and out of Arrow columns without a change of type."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from gristmill.synth.edit.columns import is_numeric, numbers, with_numbers

FLAT = np.arange(12, dtype=np.float32).reshape(4, 3)
COLUMNS = {
    "scalars": pa.array([1, 2, 3, 4], pa.int64()),
    "flags": pa.array([True, False, False, True]),
    "fixed": pa.FixedSizeListArray.from_arrays(pa.array(FLAT.ravel()), 3),
    "lists": pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], pa.list_(pa.float64())),
    "large": pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], pa.large_list(pa.float32())),
    "nested": pa.array([[[1, 2], [3, 4]]] * 4, pa.list_(pa.list_(pa.int32()))),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("start", [0, 1])
def test_what_is_put_in_comes_out(name, start):
    table = pa.table(COLUMNS).slice(start)
    values = numbers(table, name)
    changed = ~values if name == "flags" else values + 1
    after = with_numbers(table, name, changed)
    assert np.array_equal(numbers(after, name), changed)
    assert after.schema == table.schema
    for other in COLUMNS.keys() - {name}:
        assert after[other].equals(table[other])


def test_shapes_and_values():
    table = pa.table(COLUMNS)
    assert np.array_equal(numbers(table, "fixed"), FLAT)
    assert numbers(table, "nested").tolist() == [[1, 2, 3, 4]] * 4
    assert numbers(table.slice(2), "lists").tolist() == [[5, 6], [7, 8]]
    assert numbers(table, "scalars").shape == (4, 1)


def test_text_and_pictures_are_no_numbers():
    assert is_numeric(pa.list_(pa.float32())) and is_numeric(pa.bool_())
    assert not is_numeric(pa.string()) and not is_numeric(pa.struct([("bytes", pa.binary())]))
