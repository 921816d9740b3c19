"""Grippers that never move."""

from __future__ import annotations

import numpy as np

from gristmill.checks.gripper_still import GripperStill
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, reaching

NAMES = ["pan", "lift", "elbow", "flex", "roll", "gripper"]


def grasp(index, travel=1.0):
    state = reaching(index).channels["observation.state"].values.copy()
    state[:, 5] = np.linspace(0, travel, 120)
    return make_episode(state=state, names=NAMES, index=index)


class TestGripperStill(CheckContract):
    check = GripperStill()
    kinds = (Kind.TRAIT,)

    def clean_episode(self, index):
        return grasp(index)

    def broken_episode(self, index):
        return grasp(index, travel=0.01)


class TestNeverMoves(TestGripperStill):
    broken_row = None

    def broken_corpus(self):
        return [grasp(i, travel=0.0) for i in range(8)]


def test_measured_against_the_usual_range():
    (found,) = judge(GripperStill(), [grasp(i, travel=0.04 if i == 2 else 1.0) for i in range(8)])
    assert (found.row, found.channel) == (2, "observation.state[gripper]")
    # Range without the two extreme samples: 117 of 119 steps.
    np.testing.assert_allclose([found.measured, found.threshold], [0.04 * 117 / 119, 0.05 * 117 / 119], rtol=1e-4)
