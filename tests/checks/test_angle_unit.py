"""Degrees for radians, and radians for degrees."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.angle_unit import AngleUnit
from gristmill.embodiment import Embodiment, Joint
from gristmill.finding import Kind
from gristmill.synth.convention_errors import POSES, STATE, without
from gristmill.testing import judge, make_episode

from .sampled_arm import COUNT, ConventionContract, recorded, spoiled


class TestAngleUnit(ConventionContract):
    check = AngleUnit()
    error = "degrees"


class TestRadians(ConventionContract):
    check = AngleUnit()
    error = "radians"
    as_told = "degrees"


def test_degrees_by_limits():
    found = judge(AngleUnit(), spoiled("degrees"))
    assert {(f.row, f.kind, f.code) for f in found} == {(i, Kind.DEFECT, "degrees") for i in range(COUNT)}
    state = np.abs(recorded()[0].channels[STATE].values[:, :5])
    reach = [1.9, 2.4, 2.8, 2.4, 1.7]  # largest limits of the sample's joints, in rad
    largest = max(np.rad2deg(np.sort(state[:, i])[-3]) / reach[i] for i in range(5))
    assert found[0].measured == pytest.approx(largest, rel=0.02)


def test_radians_by_what_the_end_effector_turns():
    found = judge(AngleUnit(), spoiled("radians"))
    assert {(f.row, f.code) for f in found} == {(i, "radians") for i in range(COUNT)}
    blind = spoiled("radians", lambda e: without(e, POSES))
    assert judge(AngleUnit(), blind) == [] and AngleUnit().measure(blind[0]).unknown


def test_numbers_that_fit_neither_unit_are_another_checks_trouble():
    assert judge(AngleUnit(), spoiled("motor_ticks")) == []


def test_a_wheel_may_turn_as_far_as_it_likes():
    turned = 5.0 * np.arange(900) / 30
    joints = (Joint(name="wheel"), Joint(name="wrist", lower=-2.0, upper=2.0))
    card = Embodiment(key="made", title="made", joints=joints)
    made = make_episode(state=np.stack([turned, turned / 2], axis=1), names=("wheel", "wrist"), embodiment=card)
    (found,) = judge(AngleUnit(), [made])  # 75 is beyond 2 rad, and not beyond 115 degrees
    assert (found.channel, found.code) == ("observation.state[wrist]", "degrees")
    alone = Embodiment(key="made", title="made", joints=joints[:1])
    wheel = make_episode(state=turned[:, None], names=("wheel",), embodiment=alone)
    assert judge(AngleUnit(), [wheel]) == [] and "with limits" in str(AngleUnit().measure(wheel).unknown)
