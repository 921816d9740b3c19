"""Encoder counts where angles are claimed, and angles where counts are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gristmill.checks.motor_ticks import MotorTicks
from gristmill.embodiment import Embodiment, Joint
from gristmill.finding import Kind
from gristmill.synth.convention_errors import truly
from gristmill.testing import judge, make_episode, reaching

from .sampled_arm import ConventionContract, recorded, spoiled


class TestMotorTicks(ConventionContract):
    check = MotorTicks()
    error = "motor_ticks"


def test_counts_where_radians_are_claimed():
    (found, *_) = judge(MotorTicks(), spoiled("motor_ticks"))
    assert (found.kind, found.code, found.measured) == (Kind.DEFECT, "counts", 1.0)
    assert "and 4 more dimensions" in found.message


def test_fractions_where_counts_are_claimed():
    (found,) = judge(
        MotorTicks(), [replace(truly("ticks", recorded()[0]), load_channels=lambda: recorded()[0].channels)]
    )
    assert found.code == "fractions"
    assert judge(MotorTicks(), [truly("ticks", e) for e in recorded()]) == []


def test_whole_degrees_are_no_counts():
    joints = tuple(Joint(name=f"joint_{i}", unit="deg") for i in range(6))
    card = Embodiment(key="made", title="made", joints=joints)
    degrees = np.rint(np.rad2deg(reaching(0).channels["observation.state"].values))
    assert judge(MotorTicks(), [make_episode(state=degrees, embodiment=card)]) == []
