"""States that repeat while commands go on."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.frozen_state import FrozenState
from gristmill.finding import Kind
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
    # 24 equal samples, of which the first is what its command led to and the last 8 (0.25 s) need no answer yet. Over
    # the 15 in between the command climbs by 14 steps, of which the first is the largest and taken out: 0, 0, 1, ...,
    # 13. The first 4 have a mean of 0.75 and the last 3 one of 12. Its range, without extremes, is 101 steps.
    action = np.arange(103.0)
    action[42:] += 1
    state = np.linspace(0, 1, 103)
    state[40:64] = state[40]
    (measured,) = measure_all(FrozenState(), [make_episode(state=state, action=action)])
    assert measured is not None
    (event,) = measured.events
    assert event.strength == pytest.approx(11.25 / 101, rel=1e-6)
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


def following(index, action, start=None, stop=None):
    """A simulated state that is where its commands were, at 10 Hz, bit for bit; it hangs from `start` to `stop`."""
    state = action.copy()
    if start is not None:
        state[start:stop] = state[start]
    return make_episode(state=state, action=action, index=index, rate_hz=10)


def test_a_command_before_the_run_is_no_motion_within_it():
    # The command steps into the run and holds: only the first sample differs from the others.
    action = np.repeat([0.0, 1.0, 0.4, 0.7], 15)
    state = action.copy()
    state[15:30] = state[14]
    state[14] = state[13] = 0.2  # so that the run begins at 15, a sample before the command that follows
    action[15] = 0.2
    assert judge(FrozenState(), [make_episode(state=state, action=action, rate_hz=10)]) == []


@pytest.mark.parametrize("at", [18, 20, 23, 26])
def test_one_step_is_no_motion_that_goes_on(at):
    # A clutch, a limit or a wall: whatever stops a robot, one step of a command says little.
    action = np.linspace(0, 1, 60)
    action[15:30] = np.where(np.arange(15, 30) < at, action[15], action[30])
    state = np.linspace(0, 1, 60)
    state[15:30] = state[15]
    assert judge(FrozenState(), [make_episode(state=state, action=action, rate_hz=10)]) == []


def test_commands_that_go_there_and_back_keep_moving():
    action = np.sin(np.arange(60) / 3.0)
    (found,) = judge(FrozenState(), [following(0, action, 20, 40)])
    np.testing.assert_allclose(found.spans_s, [(2.0, 4.0)])


def pressing(index, dtype, keys=4):
    """A simulated place that keys move by 0.05 at 10 Hz; opposite ones together hold it."""
    rng = np.random.default_rng(index)
    pressed = np.repeat(rng.integers(0, 2, (40, keys)), 10, axis=0)
    state = np.cumsum(np.stack([pressed[:, 0] - pressed[:, 1], pressed[:, 2] - pressed[:, 3]], axis=1), axis=0) * 0.05
    return make_episode(state=state, action=pressed.astype(dtype), index=index, rate_hz=10)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_keys_are_no_places(dtype):
    episodes = [pressing(i, dtype) for i in range(12)]
    assert judge(FrozenState(), episodes) == []
    for measured in measure_all(FrozenState(), episodes):
        assert measured is not None
        assert "choices" in (measured.unknown or "")


def test_a_choice_among_five_is_no_place():
    rng = np.random.default_rng(0)
    episodes = []
    for index in range(12):
        chosen = np.repeat(rng.integers(0, 5, 50), 8)
        moved = np.stack([(chosen == 1) * 1.0 - (chosen == 2), (chosen == 3) * 1.0 - (chosen == 4)], axis=1)
        episodes.append(make_episode(state=np.cumsum(moved, axis=0) * 0.05, action=chosen, index=index, rate_hz=10))
    assert judge(FrozenState(), episodes) == []


def test_ticks_are_places():
    made = frozen(1)
    state, action = (
        np.rint(2048 + 600 * np.asarray(made.channels[key].values, np.float64))
        for key in ("observation.state", "action")
    )
    assert len(judge(FrozenState(), [make_episode(state=state, action=action.astype(np.int64))])) == 1


def test_what_most_episodes_do_is_said_once():
    episodes = [frozen(i) for i in range(8)] + [reaching(i) for i in range(8, 10)]
    (found,) = judge(FrozenState(), episodes)
    assert (found.row, found.kind, found.code) == (None, Kind.TRAIT, "usual")
    assert found.measured == pytest.approx(0.8)
    few = judge(FrozenState(), [frozen(i) for i in range(7)] + [reaching(i) for i in range(7, 10)])
    assert [(f.row, f.kind) for f in few] == [(i, Kind.DEFECT) for i in range(7)]
