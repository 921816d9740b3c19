"""Bursts of garbage, and whole episodes in another unit."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.outliers import Outliers
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, reaching


def burst(index, value=100.0, first=50, samples=4, key="action", dim=1):
    clean = reaching(index)
    channels = {k: clean.channels[k].values.copy() for k in ("observation.state", "action")}
    channels[key][first : first + samples, dim] = value
    return make_episode(state=channels["observation.state"], action=channels["action"], index=index)


class TestBurst(CheckContract):
    check = Outliers()

    def broken_episode(self, index):
        return burst(index)


@pytest.mark.parametrize("key", ["observation.state", "action"])
@pytest.mark.parametrize(("value", "samples"), [(100.0, 2), (-1e6, 4), (3e38, 15)])
def test_a_burst_is_found_with_its_span(key, value, samples):
    (found,) = judge(Outliers(), [burst(0, value, 50, samples, key), *(reaching(i) for i in range(1, 6))])
    assert (found.row, found.code, found.kind) == (0, "burst", Kind.DEFECT)
    assert found.channel.startswith(key)
    np.testing.assert_allclose(found.spans_s, [(50 / 30, (50 + samples) / 30)], atol=1e-6)


def test_an_episode_in_degrees_among_radians():
    clean = reaching(0)
    state, action = (np.rad2deg(clean.channels[k].values) for k in ("observation.state", "action"))
    found = judge(Outliers(), [make_episode(state=state, action=action), *(reaching(i) for i in range(1, 6))])
    assert {f.row for f in found} == {0}
    assert {f.code for f in found} == {"other_unit"}


def test_an_unusual_place_that_is_moved_to_is_none():
    clean = reaching(0)
    state, action = (3 * clean.channels[k].values for k in ("observation.state", "action"))
    assert judge(Outliers(), [make_episode(state=state, action=action), *(reaching(i) for i in range(1, 6))]) == []


def test_a_joint_that_rests_elsewhere_may_move_once():
    def resting(index, moves):
        clean = reaching(index)
        state, action = (clean.channels[k].values.copy() for k in ("observation.state", "action"))
        state[:, 2], action[:, 2] = (state[:, 2], action[:, 2]) if moves else (state[0, 2], action[0, 2])
        return make_episode(state=state, action=action, index=index)

    assert judge(Outliers(), [resting(i, i == 3) for i in range(8)]) == []


def test_too_few_episodes_say_nothing():
    assert judge(Outliers(), [burst(0), reaching(1), reaching(2)]) == []


def test_a_choice_that_is_rarely_made_is_no_leap():
    rng = np.random.default_rng(0)
    episodes = []
    for index in range(20):
        chosen = np.repeat(rng.integers(0, 5, 50), 8)
        if index == 3:
            chosen[80:96] = chosen[200:208] = 17
        state = np.cumsum((chosen == 1) * 0.05 - (chosen == 2) * 0.05)
        episodes.append(make_episode(state=state, action=chosen, index=index, rate_hz=10))
    assert judge(Outliers(), episodes) == []
    # Numbers that are none of the choices are found as before.
    wild = np.repeat(rng.integers(0, 5, 50), 8)
    wild[80:96] = 32000
    episodes[5] = make_episode(state=np.linspace(0, 1, 400), action=wild, index=5, rate_hz=10)
    assert [f.row for f in judge(Outliers(), episodes)] == [5]
