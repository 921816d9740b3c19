"""Metadata that disagrees with the data."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.errors import UsageError


def test_wrong_pointer_leads_to_a_neighbours_rows(all_faults):
    after = all_faults.after
    for planted in all_faults.planted("wrong_pointer"):
        index = planted["episode"]
        told = after.episodes[index]
        if after.packed:
            others = [after.episodes[i] for i in (index - 1, index + 1) if i in after.episodes]
            first = told.rows["index"][0, 0]
            assert told.bounds != (first, first + told.length)
            assert told.bounds[0] in [o.rows["index"][0, 0] for o in others]
        else:
            (claimed,) = np.unique(told.rows["episode_index"])
            assert abs(claimed - index) == 1
        for key in ("observation.state", "action"):
            assert np.array_equal(told.rows[key], all_faults.before.episodes[index].rows[key])


def test_count_lie_promises_seven_frames_more(all_faults):
    for planted in all_faults.planted("count_lie"):
        told = all_faults.after.episodes[planted["episode"]]
        assert told.length == len(told.rows["index"]) + 7


def test_index_hole_skips_three_numbers(all_faults):
    for planted in all_faults.planted("index_hole"):
        steps = np.diff(all_faults.after.episodes[planted["episode"]].rows["index"][:, 0])
        assert sorted(steps)[-1] == 4 and (np.sort(steps)[:-1] == 1).all()


def test_stale_stats_are_half_a_range_off(all_faults):
    for planted in all_faults.planted("stale_stats"):
        index = planted["episode"]
        old, new = (c.episodes[index].stats["observation.state"] for c in (all_faults.before, all_faults.after))
        span = np.ptp(
            np.concatenate([t.rows["observation.state"] for t in all_faults.before.episodes.values()]), axis=0
        )
        for stat in ("min", "max", "mean"):
            assert np.subtract(new[stat], old[stat]) == pytest.approx(0.5 * span, rel=1e-4)
        assert new["std"] == old["std"] and new["count"] == old["count"]
        action_old, action_new = (c.episodes[index].stats["action"] for c in (all_faults.before, all_faults.after))
        assert action_old == action_new


def test_a_layout_without_statistics_of_episodes_cannot_host_stale_ones(real_data, plant):
    with pytest.raises(UsageError, match=r"stale_stats: episode \d: the metadata declares no statistics"):
        plant(real_data / "gr1_sim_picknplace", "stale_stats")
