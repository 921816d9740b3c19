"""Speeds and accelerations."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.caps import Caps
from gristmill.embodiment import Embodiment, Joint
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, measure_all, reaching

CARD = Embodiment(
    key="made",
    title="made",
    joints=tuple(Joint(name=f"joint_{i}", velocity_max=5.0, acceleration_max=200.0) for i in range(6)),
)


def lurching(index, speed=60.0, card=None):
    """For a sixth of a second joint 2 runs away at `speed` in rad/s."""
    state = reaching(index).channels["observation.state"].values.astype(float)
    state[60:, 2] += np.clip(np.arange(60), 0, 5) * speed / 30
    return make_episode(state=state, embodiment=card, index=index)


class TestInferred(CheckContract):
    check = Caps()

    def broken_episode(self, index):
        return lurching(index)


class TestCard(TestInferred):
    def clean_episode(self, index):
        return reaching(index, embodiment=CARD)

    def broken_episode(self, index):
        return lurching(index, 12.0, CARD)


def test_sustained_peaks_of_a_known_motion():
    t = np.arange(121) / 30
    (measured,) = measure_all(Caps(), [make_episode(state=0.5 * 3.0 * t**2)])  # 3 rad/s2 throughout
    assert measured is not None
    # The third largest step is the one that ends three samples before the last.
    assert measured.values["speed"][0] == pytest.approx(3.0 * (t[118] + t[117]) / 2)
    assert measured.values["acceleration"][0] == pytest.approx(3.0)


def test_time_that_is_missing_is_no_speed():
    t = np.r_[np.arange(60), np.arange(90, 150)] / 30
    (measured,) = measure_all(Caps(), [make_episode(state=2.0 * t, times_s=t)])
    assert measured is not None
    assert measured.values["speed"][0] == pytest.approx(2.0)
    assert measured.values["acceleration"][0] == pytest.approx(0.0, abs=1e-9)


def test_an_inferred_cap_says_so():
    found = [f for f in judge(Caps(), [lurching(i) if i == 3 else reaching(i) for i in range(9)]) if "speed" in f.code]
    (speed,) = found
    assert (speed.row, speed.kind, speed.code) == (3, Kind.RISK, "speed_inferred")
    assert speed.channel == "observation.state[joint_2]"
    assert "inferred" in speed.message
    assert speed.measured == pytest.approx(60, rel=0.1)


def test_the_cards_cap_is_named_and_has_its_unit():
    made = [reaching(i, embodiment=CARD) for i in range(3)] + [lurching(3, 12.0, CARD)]
    (found,) = [f for f in judge(Caps(), made) if f.code == "speed"]
    assert (found.threshold, found.unit) == (pytest.approx(5.5), "rad/s")
    assert "made" in found.message


def test_a_spike_is_left_to_its_own_check():
    state = reaching(3).channels["observation.state"].values.copy()
    state[60, 2] += 3.0
    assert judge(Caps(), [make_episode(state=state, index=3) if i == 3 else reaching(i) for i in range(9)]) == []


def test_a_joint_that_rests_in_most_episodes_has_no_inferred_cap():
    def other_arm(i, used):
        state = reaching(i).channels["observation.state"].values.copy()
        state[:, 4:] *= used
        return make_episode(state=state, index=i)

    assert judge(Caps(), [other_arm(i, used=i == 3) for i in range(9)]) == []


def test_one_count_of_a_coarse_sensor_is_no_speed():
    rng = np.random.default_rng(0)
    made = [make_episode(state=0.1 * (rng.random(120) < (0.3 if i == 4 else 0.02)), index=i) for i in range(9)]
    assert judge(Caps(), made) == []
