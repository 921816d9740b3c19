"""Encoder counts where angles are claimed, and angles where counts are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gristmill.checks.motor_ticks import MotorTicks
from gristmill.embodiment import Embodiment, Joint
from gristmill.finding import Kind
from gristmill.resample import Resample, resample
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


def test_counts_that_were_resampled_are_no_longer_whole():
    """By linear interpolation; the card may still be right, and angles may still be counts."""
    t = np.arange(0, 10, 1 / 30)
    counts = np.rint(2000 + np.outer(np.sin(t), [500, 400]))
    joints = (Joint(name="a", unit="tick"), Joint(name="b", unit="rad"))
    card = Embodiment(key="made", title="made", joints=joints)
    episode = make_episode(state=counts, names=("a", "b"), embodiment=card)
    (found,) = judge(MotorTicks(), [episode])
    assert (found.code, found.channel) == ("counts", "observation.state[b]")
    slower = resample(episode, Resample(rate_hz=25))
    assert slower.channels["observation.state"].values[1, 0] % 1 != 0
    assert judge(MotorTicks(), [slower]) == []
    assert "resampled" in str(MotorTicks().measure(slower).unknown)
    kept = resample(episode, Resample(rate_hz=25, methods={"observation.state": "nearest"}))
    assert [f.channel for f in judge(MotorTicks(), [kept])] == ["observation.state[b]"]
    alone = replace(card, joints=joints[:1])
    slower = resample(make_episode(state=counts[:, :1], names=("a",), embodiment=alone), Resample(rate_hz=25))
    assert "resampled" in str(MotorTicks().measure(slower).unknown)
