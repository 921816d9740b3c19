"""Objects that slip out of a gripper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from picks import T, pick

from gristmill.checks.slip import Slip, _opening
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode


class TestSlip(CheckContract):
    check = Slip()

    def clean_episode(self, index):
        return pick(index)

    def broken_episode(self, index):
        return pick(index, slips_s=2.2)


def test_span_of_the_loss():
    (found,) = judge(Slip(), [pick(0), pick(1, slips_s=2.2)])
    assert (found.row, found.kind, found.channel) == (1, Kind.RISK, "observation.state[gripper]")
    start, end = min(s for s, _ in found.spans_s), max(e for _, e in found.spans_s)
    assert start == pytest.approx(2.2, abs=0.05)
    assert end == pytest.approx(3.2, abs=0.1)  # then it is told to open
    assert found.measured == pytest.approx(1.0, abs=0.1)
    assert "what its fingers feel collapses" in found.message


def test_putting_it_down_is_no_slip():
    for seed in range(20):
        assert judge(Slip(), [pick(seed)]) == []


@pytest.mark.parametrize("flipped", [False, True])
def test_without_a_card(flipped):
    made = [pick(i, card=None, flipped=flipped, slips_s=2.2 if i == 1 else None) for i in range(3)]
    assert [f.row for f in judge(Slip(), made)] == [1]


def test_fingers_that_close_further_under_a_constant_command():
    """The object is pulled halfway out: something thinner is still felt."""
    episode = pick(1)
    state = episode.channels["observation.state"].values
    state[(T > 2.2) & (state[:, 3] < 0.45) & (T < 3.25), 3] = 0.2
    (found,) = judge(Slip(), [pick(0), episode])
    assert found.row == 1
    assert "closes further by itself" in found.message
    ((start, end),) = found.spans_s
    assert (start, end) == (pytest.approx(2.2, abs=0.05), pytest.approx(3.2, abs=0.1))


def test_squeezing_on_command_is_no_slip():
    episode = pick(1)
    state, action = (episode.channels[k].values for k in ("observation.state", "action"))
    late = (T > 2.2) & (T < 3.2)
    action[(T > 1.5) & (T <= 2.2), 3] = 0.35
    action[late, 3] = 0.0
    state[late, 3] = 0.2
    assert judge(Slip(), [pick(0), episode]) == []


def test_a_flicker_is_no_slip():
    episode = pick(1)
    episode.channels["observation.contact_force"].values[70:73] = 0.5
    assert judge(Slip(), [pick(0), episode]) == []


def test_a_wrist_sensor_does_not_feel_the_grip():
    unknown = Slip().measure(pick(0, sensor="observation.wrench", names=("fx", "fy", "fz"))).unknown
    assert unknown == "no gripper is known that has a sensor at its fingers"
    assert Slip().measure(pick(0, sensor=None)).unknown


def test_a_failed_episode_says_so_itself():
    made = [pick(0, success=True), pick(1, slips_s=2.2, success=False)]
    assert [(f.row, f.kind) for f in judge(Slip(), made)] == [(1, Kind.TRAIT)]


def test_two_grippers_have_their_own_sensors():
    left, right = pick(0), pick(1, slips_s=2.2)
    names = [f"{side}_gripper" for side in ("left", "right")]
    both = {}
    for key in ("observation.state", "action"):
        both[key] = np.stack([e.channels[key].values[:, 3] for e in (left, right)], axis=1)
    felt = np.concatenate([e.channels["observation.contact_force"].values for e in (left, right)], axis=1)
    episode = make_episode(
        state=both["observation.state"],
        action=both["action"],
        names=names,
        tasks=["pick both"],
        extra={"left_contact": ("other", felt[:, :1]), "right_contact": ("other", felt[:, 1:])},
    )
    assert {f.channel for f in judge(Slip(), [episode])} == {"observation.state[right_gripper]"}


def test_a_state_that_lags_or_hangs_is_left_to_other_checks():
    """The fingers seem to close on after they felt something, but they had never come to rest on it."""
    late, hung = pick(1), pick(2)
    state = late.channels["observation.state"].values
    state[6:] = state[:-6].copy()
    state = hung.channels["observation.state"].values
    state[(T > 1.42) & (T < 2.2)] = state[T <= 1.42][-1]
    assert judge(Slip(), [pick(0), late, hung]) == []


class Watched:
    """A signal that remembers how far it was looked at."""

    def __init__(self, values):
        self.values, self.furthest = values, 0

    def __len__(self):
        return len(self.values)

    def __getitem__(self, part):
        self.furthest = max(self.furthest, part.stop)
        return self.values[part]


def test_the_opening_of_one_grasp_is_sought_near_it():
    """Otherwise long recordings of many grasps would take the square of their length."""
    closed = np.concatenate([np.full(400, 0.9), np.linspace(0.9, 0, 10), np.tile(np.repeat([0.0, 0.9], 100), 500)])
    signal: Any = Watched(closed)
    # Within 0.02 of 0.9 up to sample 400; 0.1 below it at sample 401.
    assert _opening([signal, signal], 50, 1.0) == 401 and signal.furthest < 2 * 401 + 256
    assert _opening([np.full(5000, 0.9)], 50, 1.0) == 5000
    command = np.where(np.arange(len(closed)) < 390, 0.9, 0.0)
    assert _opening([closed, command], 50, 1.0) == 390


@pytest.mark.parametrize("seed", range(5))
def test_openings_are_those_of_the_plain_rule(seed):
    rng = np.random.default_rng(seed)
    signal = np.clip(np.cumsum(rng.normal(0, 0.01, 3000)), -1, 1)
    for begin in range(0, 3000, 97):
        most, answer = -np.inf, 3000
        for i in range(begin, 3000):
            most = max(most, signal[i])
            if most - signal[i] > 0.1:
                answer = next(k for k in range(i, begin - 1, -1) if signal[k] >= most - 0.02) + 1
                break
        assert _opening([signal], begin, 1.0) == answer
