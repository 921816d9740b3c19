"""From what a check returned to Arrow and back to what `judge` reads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from gristmill.check import Column, Measured
from gristmill.columns import batch_of, cells_of, events_of, keys, lanes_of, schema_of, texts_of
from gristmill.finding import Event

COLUMNS = (
    Column("x"),
    Column("n", "int"),
    Column("b", "bool"),
    Column("t", "text"),
    Column("d", per="dim"),
    Column("c", per="camera"),
    Column("w", "text", per="camera"),
)
ROWS = [
    Measured(
        {"x": 1.5, "n": 3, "b": True, "t": "a", "d": np.array([1.0, 2.0, np.inf]), "c": [None, 0.5], "w": ["p", "q"]},
        [Event(0.0, 0.5, 2.0, "action[0]"), Event(1.0, 1.5, 3.0, None, "top", "why")],
    ),
    Measured(unknown="too short"),
    Measured({"x": np.float32(0.25), "n": np.int64(7), "b": np.bool_(False), "d": [4]}, (Event(2.0, 3.0, 4.0),)),
]


def table(rows: list[Measured]) -> pa.Table:
    count = len(rows)
    ids = pa.array([f"corpus/{i}" for i in range(count)])
    return pa.Table.from_batches([batch_of(COLUMNS, keys(np.zeros((count, 2), np.uint64)), ids, rows, {1})])


def test_cells_come_back_as_measured() -> None:
    rows = table(ROWS)
    assert rows.schema == schema_of(COLUMNS)
    cells = {c.name: cells_of(c, rows[c.name], 3, {"dim": 3, "camera": 2}.get(c.per, 0)) for c in COLUMNS}
    nan = np.nan
    np.testing.assert_array_equal(cells["x"], [1.5, nan, 0.25])
    np.testing.assert_array_equal(cells["n"], [3, nan, 7])
    np.testing.assert_array_equal(cells["b"], [1, nan, 0])
    assert cells["t"].tolist() == ["a", None, None]
    np.testing.assert_array_equal(cells["d"], [[1, 2, np.inf], [nan] * 3, [4, nan, nan]])
    np.testing.assert_array_equal(cells["c"], [[nan, 0.5], [nan] * 2, [nan] * 2])
    assert cells["w"].tolist() == [("p", "q"), None, None]
    assert texts_of(rows["unknown"]) == [None, "too short", None]
    assert rows["failed"].to_pylist() == [False, True, False]


def test_events_come_back_sorted_by_row() -> None:
    events = events_of(table(ROWS)["events"])
    assert events.row.tolist() == [0, 0, 2]
    assert events.start_s.tolist() == [0.0, 1.0, 2.0]
    assert events.end_s.tolist() == [0.5, 1.5, 3.0]
    assert events.strength.tolist() == [2.0, 3.0, 4.0]
    assert list(events.channel) == ["action[0]", None, None]
    assert list(events.camera) == [None, "top", None]
    assert list(events.detail) == ["", "why", ""]


def test_rows_that_were_not_found_are_null() -> None:
    aligned = table(ROWS).take(pa.array([None, 2, None], pa.int64()))
    np.testing.assert_array_equal(cells_of(COLUMNS[4], aligned["d"], 3, 3)[1], [4, np.nan, np.nan])
    assert np.isnan(cells_of(COLUMNS[0], aligned["x"], 3, 0)[[0, 2]]).all()
    assert events_of(aligned["events"]).row.tolist() == [1]


def test_wider_lists_widen_the_cell() -> None:
    assert cells_of(COLUMNS[4], table(ROWS)["d"], 3, 2).shape == (3, 3)


def test_nothing_measured_at_all() -> None:
    assert cells_of(COLUMNS[4], None, 2, 5).shape == (2, 5)
    assert np.isnan(cells_of(COLUMNS[0], None, 2, 0)).all()
    assert cells_of(COLUMNS[3], None, 2, 0).tolist() == [None, None]
    assert len(events_of(None)) == 0


@pytest.mark.parametrize(
    "values",
    [{"x": "much"}, {"n": 1.5}, {"n": "one"}, {"b": "yes"}, {"t": 3}, {"d": ["a"]}, {"d": [[1.0]]}, {"x": [1.0, 2.0]}],
)
def test_a_cell_that_does_not_fit_its_column_is_refused(values: dict) -> None:
    with pytest.raises((TypeError, ValueError)):
        table([Measured(values), Measured()])


def test_keys_and_lanes_are_inverse() -> None:
    lanes = np.random.default_rng(0).integers(0, 2**64, (5, 2), dtype=np.uint64)
    np.testing.assert_array_equal(lanes_of(keys(lanes)), lanes)
    np.testing.assert_array_equal(lanes_of(keys(lanes)[2:4]), lanes[2:4])
    some = keys(lanes, np.array([True, False, True, True, True]))
    assert some.null_count == 1
    np.testing.assert_array_equal(lanes_of(some)[[0, 1]], [lanes[0], [0, 0]])
