"""New rows for an episode: what travels with them and what is made anew."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from gristmill.synth.edit.columns import numbers
from gristmill.synth.edit.draft import Draft, Footage, Reel

COUNT = 8


@pytest.fixture
def draft() -> Draft:
    rows = pa.table(
        {
            "observation.state": pa.array([[float(i), 10.0 * i] for i in range(COUNT)], pa.list_(pa.float32())),
            "note": pa.array([str(i) for i in range(COUNT)]),
            "timestamp": pa.array(np.arange(COUNT) / 10, pa.float32()),
            "frame_index": pa.array(range(COUNT), pa.int64()),
            "index": pa.array(range(100, 100 + COUNT), pa.int64()),
            "next.done": pa.array([False] * (COUNT - 2) + [True] * 2),
        }
    )
    reel = Reel(Footage("v.mp4", 0, COUNT, alone=True), np.arange(COUNT))
    return Draft(index=3, rate_hz=10, rows=rows, tasks=("t",), reels={"cam": reel}, length=COUNT, original=rows)


def test_nothing_is_changed_at_first(draft):
    assert draft.changed_columns() == [] and not draft.reels["cam"].changed


def test_rows_between_rows(draft):
    draft.retime(np.array([0.0, 0.5, 1.0, 1.0, 7.0]), blend=["observation.state"])
    assert numbers(draft.rows, "observation.state")[:, 1].tolist() == [0, 5, 10, 10, 70]
    assert draft.rows["note"].to_pylist() == ["0", "0", "1", "1", "7"]
    assert numbers(draft.rows, "timestamp")[:, 0] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])
    assert numbers(draft.rows, "index")[:, 0].tolist() == [100, 101, 102, 103, 104]
    assert numbers(draft.rows, "frame_index")[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert draft.reels["cam"].order.tolist() == [0, 0, 1, 1, 7]
    assert draft.length == len(draft) == 5


def test_true_times_can_stay(draft):
    draft.retime(np.array([0.0, 1.0, 5.0]), keep_times=True)
    assert draft.times_s == pytest.approx([0, 0.1, 0.5])


@pytest.mark.parametrize("positions", [[0.0, 1.0, 2.0], [0.0, 7.0, 7.0, 7.0, 7.0]])
def test_the_end_is_where_the_episode_ends(draft, positions):
    draft.retime(np.array(positions))
    done = numbers(draft.rows, "next.done")[:, 0].tolist()
    assert done == [False] * (len(positions) - 2) + [True] * 2


def test_changed_columns_are_named(draft):
    values = numbers(draft.rows, "observation.state")
    values[2, 0] = np.nan
    draft.set("observation.state", values)
    assert draft.changed_columns() == ["observation.state"]
