"""Commands and states that differ by a constant."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.tracking_offset import TrackingOffset
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, measure_all, reaching


def shifted(index, by=0.5, dim=1, names=None):
    clean = reaching(index)
    state = clean.channels["observation.state"].values.copy()
    state[:, dim] += by
    return make_episode(state=state, action=clean.channels["action"].values, names=names, index=index)


class TestTrackingOffset(CheckContract):
    check = TrackingOffset()

    def broken_episode(self, index):
        return shifted(index, by=0.8)


def test_offset_and_scatter_are_shares_of_the_range():
    action = np.linspace(0, 10, 201)
    error = np.linspace(-0.5, 1.5, 201)
    (measured,) = measure_all(TrackingOffset(), [make_episode(state=action + error, action=action)])
    assert measured is not None
    # The state runs from -0.5 to 11.5; without its two extreme samples its range is 12 * 198 / 200.
    scale = 12 * 198 / 200
    np.testing.assert_allclose(measured.values["offset"], [0.5 / scale, np.nan])
    np.testing.assert_allclose(measured.values["scatter"], [0.5 / scale, np.nan])


def test_channel_and_sign():
    (found,) = judge(TrackingOffset(), [shifted(i, by=-0.8 if i == 4 else 0.0) for i in range(10)])
    assert (found.row, found.kind, found.channel) == (4, Kind.RISK, "observation.state[joint_1]")
    assert "-" in found.message


def test_an_offset_of_the_whole_corpus_is_a_trait():
    (found,) = judge(TrackingOffset(), [shifted(i, by=0.5) for i in range(10)])
    assert (found.row, found.kind, found.code) == (None, Kind.TRAIT, "shared_offset")


def test_grippers_may_stop_at_what_they_hold():
    names = ["pan", "gripper", "lift", "elbow", "flex", "roll"]
    assert judge(TrackingOffset(), [shifted(i, 0.8 if i == 4 else 0, names=names) for i in range(10)]) == []


def test_commands_that_are_no_positions_are_left_out():
    rng = np.random.default_rng(0)
    made = []
    for i in range(10):
        state = rng.normal(size=(100, 2)).cumsum(axis=0)
        made.append(make_episode(state=state, action=np.diff(state, axis=0, append=state[-1:]), index=i))
    assert judge(TrackingOffset(), made) == []


def test_without_pairs_unknown():
    (measured,) = measure_all(TrackingOffset(), [make_episode(state=np.zeros((60, 2)))])
    assert measured is not None
    assert measured.unknown


def test_dead_joints_have_no_offset():
    clean = reaching(4)
    state = clean.channels["observation.state"].values.copy()
    state[:, 1] = 3.0
    dead = make_episode(state=state, action=clean.channels["action"].values, index=4)
    assert judge(TrackingOffset(), [dead if i == 4 else reaching(i) for i in range(10)]) == []


def test_a_few_episodes_are_no_corpus():
    assert judge(TrackingOffset(), [shifted(i, by=0.8 * (i == 0)) for i in range(5)]) == []
    assert pytest.approx(8) == TrackingOffset().min_episodes
