"""Pieces of work that workers left, and rows that do not fit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from gristmill.check import Column, Measured
from gristmill.columns import KEY, keys
from gristmill.engine.batches import Rows, TraceRows, arrays_of
from gristmill.engine.measure import Measurer
from gristmill.engine.plan import KeySet, Plan, Work
from gristmill.inputs import lanes

MEASURER = Measurer(Plan(reopen=None, cameras=(), constants={}, stages=(), known=()))


def work(count: int, attempt: int = 0) -> Work:
    return Work(
        rows=np.arange(count) * 10,
        owed=np.zeros((count, 0), np.int8),
        states={"values": np.zeros(count, np.int8)},
        digests={"values": np.arange(2 * count, dtype=np.uint64).reshape(count, 2)},
        length=np.full(count, 5),
        attempt=attempt,
    )


@pytest.mark.parametrize(("count", "done"), [(40, 0), (40, 13), (3, 1), (9, 8), (1, 0)])
def test_what_a_dead_worker_left_is_cut_into_pieces_without_loss(count: int, done: int) -> None:
    pieces = MEASURER.rest(work(count), done)
    assert np.concatenate([p.rows for p in pieces]).tolist() == (np.arange(done, count) * 10).tolist()
    assert len(pieces) <= 8
    assert {p.attempt for p in pieces} == {1}
    for piece in pieces:
        np.testing.assert_array_equal(piece.digests["values"][:, 0], piece.rows // 10 * 2)


def test_one_episode_that_kills_its_worker_twice_is_given_up() -> None:
    assert len(MEASURER.rest(work(1), 0)) == 1
    assert MEASURER.rest(work(1, attempt=1), 0) == ()
    assert MEASURER.rest(work(5, attempt=3), 2) == ()
    lost = MEASURER.lost(work(5, attempt=3), 2, "killed")
    assert lost.rows.tolist() == [20, 30, 40]
    assert [(r.row, r.digest, r.reason, r.lasting) for r in lost.readings] == [
        (row, "", "killed", False) for row in (20, 30, 40)
    ]


def test_nothing_is_left_of_a_work_that_was_done() -> None:
    assert list(MEASURER.rest(work(4), 4)) == []


def test_sets_of_inputs() -> None:
    known = KeySet.of(np.array([[5, 1], [3, 9], [5, 2]], np.uint64))
    assert (5, 1) in known
    assert (5, 2) in known
    assert (3, 9) in known
    assert (5, 9) not in known
    assert (2**64 - 1, 0) not in known


COLUMNS = (Column("x"), Column("n", "int"))


def taken(rows: Rows, count: int) -> tuple[pa.RecordBatch, list[str]]:
    inputs = keys(np.arange(2 * count, dtype=np.uint64).reshape(count, 2))
    batch, problems = rows.take(inputs, pa.array([f"c/{i}" for i in range(count)]))
    return batch, list(problems)


def test_rows_keep_their_input_and_begin_anew() -> None:
    rows = Rows("spike", COLUMNS)
    rows.found.extend([(0, Measured({"x": 1.0, "n": 2})), (2, Measured({"x": 3.0}))])
    batch, problems = taken(rows, 4)
    assert problems == []
    assert batch["episode_id"].to_pylist() == ["c/0", "c/2"]
    assert batch["input"].to_pylist() == keys(np.array([[0, 1], [4, 5]], np.uint64)).to_pylist()
    assert batch["n"].to_pylist() == [2, None]
    assert len(rows) == 0
    assert len(taken(rows, 4)[0]) == 0


def test_only_the_row_that_does_not_fit_is_replaced() -> None:
    rows = Rows("spike", COLUMNS)
    rows.found.extend(
        [(0, Measured({"x": 1.0})), (1, Measured({"n": 1.5})), (2, Measured({"y": 1})), (3, Measured({"n": 4}))]
    )
    rows.fail(4, "it fell over")
    batch, problems = taken(rows, 5)
    assert batch["failed"].to_pylist() == [False, True, True, False, True]
    assert batch["x"].to_pylist()[0] == 1.0
    assert batch["n"].to_pylist() == [None, None, None, 4, None]
    assert problems[0] == "it fell over"
    assert problems[1].startswith("check spike went wrong on c/1: ArrowInvalid: Float value 1.5")
    assert problems[2] == (
        "check spike went wrong on c/2: ValueError: it measured y, which it does not declare in `columns`"
    )
    assert batch["unknown"].to_pylist() == [None, problems[1], problems[2], None, "it fell over"]


def test_traces_come_back_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    made = [
        {"mean": rng.random(t), "phash": rng.integers(0, 2**64, t, dtype=np.uint64), "one": np.array([t])}
        for t in (5, 3)
    ]
    made[0]["mean"][0] = np.nan
    rows = TraceRows()
    digests = ["0f" * 16, "ab" * 16]
    for digest, arrays in zip(digests, made, strict=True):
        rows.add(digest, arrays)
    assert rows.bytes == 8 * (5 + 3) * 2 + 16
    batch = rows.take()
    assert batch["input"].type == KEY
    assert batch["input"].to_pylist() == [bytes.fromhex(d) for d in digests]
    np.testing.assert_array_equal(lanes(digests)[1, 0], int.from_bytes(bytes.fromhex("ab" * 8), "little"))
    for row, arrays in enumerate(made):
        back = arrays_of(batch, row)
        assert back.keys() == arrays.keys()
        for name, array in arrays.items():
            assert back[name].dtype == array.dtype
            np.testing.assert_array_equal(back[name], array)
    assert (len(rows), rows.bytes) == (0, 0)
