"""States that repeat while commands go on."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.frozen_state import FrozenState
from gristmill.testing import CheckContract, judge, make_episode, measure_all, reaching


def frozen(index, start=30, stop=60, action=None):
    clean = reaching(index)
    state = clean.channels["observation.state"].values.copy()
    state[start:stop] = state[start]
    return make_episode(state=state, action=clean.channels["action"].values if action is None else action, index=index)


class TestFrozenState(CheckContract):
    check = FrozenState()

    def broken_episode(self, index):
        return frozen(index)


def test_feature_and_span():
    (found,) = judge(FrozenState(), [reaching(0), frozen(1), reaching(2)])
    assert found.channel == "observation.state"
    np.testing.assert_allclose(found.spans_s, [(1.0, 2.0)])
    assert found.measured == pytest.approx(1.0)


def test_strength_is_the_way_of_the_mean_commands():
    # 24 equal samples, of which the last 8 (0.25 s) need no answer yet. In the 16 before them the command climbs
    # by 15 steps, so the means of the first and last 4 lie 12 steps apart. Its range is 100 steps.
    action = np.linspace(0, 1, 103)
    state = np.linspace(0, 1, 103)
    state[40:64] = state[40]
    (measured,) = measure_all(FrozenState(), [make_episode(state=state, action=action)])
    assert measured is not None
    (event,) = measured.events
    assert event.strength == pytest.approx(12 / 100, rel=1e-6)
    assert measured.values["repeated"] == pytest.approx(23 / 102)


def test_a_robot_that_rests_is_not_frozen():
    clean = reaching(1)
    action = clean.channels["action"].values.copy()
    action[30:60] = action[30]
    assert judge(FrozenState(), [reaching(0), frozen(1, action=action), reaching(2)]) == []


def test_a_trembling_command_is_no_motion():
    rng = np.random.default_rng(0)
    clean = reaching(1)
    action = clean.channels["action"].values.copy()
    action[30:60] = action[30] + rng.normal(0, 0.01, (30, 6))
    assert judge(FrozenState(), [reaching(0), frozen(1, action=action), reaching(2)]) == []


def test_one_live_joint_is_enough():
    clean = reaching(1)
    state = clean.channels["observation.state"].values.copy()
    state[30:60, :5] = state[30, :5]
    made = make_episode(state=state, action=clean.channels["action"].values, index=1)
    assert judge(FrozenState(), [reaching(0), made, reaching(2)]) == []


def test_a_gripper_that_squeezes_is_not_frozen():
    t = np.linspace(0, 1, 121)
    state = np.stack([t, np.clip(1 - 2 * t, 0.4, 1)], axis=1)
    action = np.stack([t, 1 - t], axis=1)
    state[60:90], action[60:90, 0] = state[60], action[60, 0]
    action[60:90, 1] = np.linspace(action[60, 1], action[60, 1] - 0.5, 30)
    made = make_episode(state=state, action=action, names=["pan", "gripper"])
    assert judge(FrozenState(), [made]) == []


def test_without_commands_nobody_can_say():
    (measured,) = measure_all(FrozenState(), [make_episode(state=np.zeros((60, 2)))])
    assert measured is not None
    assert measured.unknown


def test_a_robot_that_sets_off_late_is_not_frozen():
    # A simulated state is bit-identical at rest; its command steps 0.2 s before it moves.
    t = np.arange(150) / 30
    action = np.where(t < 2, 0.0, 1.0)
    state = 1 - np.exp(-np.clip(t - 2.2, 0, None) / 0.3)
    assert judge(FrozenState(), [make_episode(state=state, action=action)]) == []
