"""Joint limits of the card."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.checks.limits import Limits
from gristmill.embodiment import Embodiment, Joint
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, measure_all, reaching

CARD = Embodiment(
    key="made",
    title="made",
    joints=tuple(Joint(name=f"joint_{i}", lower=-2.0, upper=2.0) for i in range(6)),
)


def episode(index, beyond=0.0, samples=20, scale=1.0, card=CARD):
    state = reaching(index).channels["observation.state"].values.copy() * scale
    if samples:
        state[50 : 50 + samples, 1] = 2.0 + beyond
    return make_episode(state=state, embodiment=card, index=index)


class TestLimits(CheckContract):
    check = Limits()

    def clean_episode(self, index):
        return episode(index)

    def broken_episode(self, index):
        return episode(index, beyond=0.4)


def test_distance_is_a_share_of_the_travel():
    (found,) = judge(Limits(), [episode(0), episode(1, beyond=0.4), episode(2)])
    assert (found.row, found.kind, found.channel) == (1, Kind.RISK, "observation.state[joint_1]")
    assert found.measured == pytest.approx(0.1)


def test_within_tolerance():
    assert judge(Limits(), [episode(0, beyond=0.1)]) == []


def test_a_spike_is_left_to_its_own_check():
    assert judge(Limits(), [episode(i, beyond=1.0, samples=2 * (i == 1)) for i in range(4)]) == []


def test_degrees_against_radians_are_said_once_a_joint():
    found = judge(Limits(), [episode(i, samples=0, scale=57.3) for i in range(5)])
    assert {f.row for f in found} == {None}
    assert {f.code for f in found} == {"wrong_unit"}
    assert len(found) == 6


def test_a_guessed_card_accuses_nobody():
    (measured,) = measure_all(Limits(), [episode(0, beyond=9.0, card=replace(CARD, inferred=True))])
    assert measured is not None
    assert measured.unknown


def test_one_sided_limits():
    card = Embodiment(key="rail", title="rail", joints=(Joint(name="joint_0", kind="prismatic", unit="m", lower=0.0),))
    state = np.linspace(-0.5, 3, 71)
    (measured,) = measure_all(Limits(), [make_episode(state=state, embodiment=card)])
    assert measured is not None
    # The third smallest value is -0.4; there is no travel, so a length of at least 1 stands for it.
    assert measured.values["beyond"][0] == pytest.approx(0.4)
