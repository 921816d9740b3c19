"""Joints that do not move."""

from __future__ import annotations

import numpy as np

from gristmill.checks.dead_channel import DeadChannel
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, reaching


def dead(index, dims=(2,), commands_too=False):
    clean = reaching(index)
    state, action = (clean.channels[k].values.copy() for k in ("observation.state", "action"))
    state[:, list(dims)] = 0.25
    if commands_too:
        action[:, list(dims)] = 0.25
    return make_episode(state=state, action=action, index=index)


def corpus(odd, count=8):
    return [odd if i == odd.index else reaching(i) for i in range(count)]


class TestCommanded(CheckContract):
    check = DeadChannel()

    def broken_episode(self, index):
        return dead(index)


class TestMovesElsewhere(TestCommanded):
    def broken_episode(self, index):
        return dead(index, commands_too=True)


class TestNeverMoves(TestCommanded):
    broken_row = None
    kinds = (Kind.TRAIT,)

    def broken_corpus(self):
        return [dead(i) for i in range(8)]

    def broken_episode(self, index):
        return dead(index)


def test_the_channel_is_named():
    (found,) = judge(DeadChannel(), corpus(dead(3)))
    assert (found.row, found.kind, found.channel) == (3, Kind.DEFECT, "observation.state[joint_2]")
    assert "command" in found.message


def test_dimensions_dead_in_all_episodes_are_one_trait_a_feature():
    found = judge(DeadChannel(), [dead(i, dims=(1, 4), commands_too=True) for i in range(6)])
    assert [(f.row, f.kind, f.channel, f.measured) for f in found] == [
        (None, Kind.TRAIT, "observation.state", 2.0),
        (None, Kind.TRAIT, "action", 2.0),
    ]


def test_a_robot_that_stood_still_has_no_dead_joint():
    assert judge(DeadChannel(), corpus(dead(3, dims=range(6), commands_too=True))) == []
    assert judge(DeadChannel(), corpus(dead(3, dims=range(3)))) == []


def test_a_joint_that_is_used_in_half_of_the_episodes_may_rest():
    made = [dead(i, commands_too=True) if i % 2 else reaching(i) for i in range(10)]
    assert judge(DeadChannel(), made) == []


def test_a_joint_that_only_flickers_elsewhere_may_rest():
    made = []
    for i in range(10):
        clean = reaching(i)
        state = clean.channels["observation.state"].values.copy()
        state[:, 2] = 0.25 + (0.0015 * (np.arange(120) % 7 == 0) if i % 5 else 0)
        state[:, 2] += np.linspace(0, 1, 120) * (i == 4)
        made.append(make_episode(state=state, index=i))
    assert judge(DeadChannel(), made) == []


def test_an_unused_gripper_is_not_dead():
    def grasp(i, used):
        clean = reaching(i)
        state = clean.channels["observation.state"].values.copy()
        state[:, 5] = np.linspace(0, 1, 120) if used else 0.5
        names = [f"joint_{k}" for k in range(5)] + ["gripper"]
        return make_episode(state=state, action=state.copy(), names=names, index=i)

    assert judge(DeadChannel(), [grasp(i, used=i != 3) for i in range(10)]) == []


def test_a_short_clip_may_hold_a_rest():
    short = make_episode(state=np.full((12, 6), 0.5, np.float32), index=3)
    assert judge(DeadChannel(), corpus(short)) == []
