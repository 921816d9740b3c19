"""States that lag by a sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.checks.action_shift import ActionShift
from gristmill.embodiment import Embodiment, Joint
from gristmill.finding import Kind
from gristmill.synth.convention_errors import ACTIONS, plant, without
from gristmill.testing import judge, make_episode

from .sampled_arm import CARD, COUNT, ConventionContract, recorded, spoiled


class TestActionShift(ConventionContract):
    check = ActionShift()
    error = "action_shift"


def test_a_whole_corpus_by_the_response_on_the_card():
    found = judge(ActionShift(), spoiled("action_shift"))
    assert {(f.row, f.kind) for f in found} == {(i, Kind.DEFECT) for i in range(COUNT)}
    assert all("samples later" in f.message and abs(float(f.measured or 0) * 30 - 1) < 0.25 for f in found)


def test_one_episode_by_the_rest_of_the_corpus():
    card = replace(CARD, response_s=None)
    corpus = [replace(e, embodiment=card) for e in recorded()]
    assert judge(ActionShift(), corpus) == []
    corpus[5] = plant("action_shift", recorded()[5], card)
    (found,) = judge(ActionShift(), corpus)
    assert (found.row, found.kind) == (5, Kind.RISK) and float(found.measured or 0) * 30 == pytest.approx(1, abs=0.1)


def cut(index, rate_hz, seconds, lag_s=0.1, response_s=0.1):
    """Three joints in slow motion, recorded from the middle of it to the middle of it."""
    rng = np.random.default_rng(index)
    speed, phase, size = rng.uniform(0.1, 0.7, (3, 3)), rng.uniform(0, 6, (3, 3)), rng.uniform(0.2, 0.6, (3, 3))
    t = np.arange(0, seconds, 1 / rate_hz)
    state, action = (
        (size * np.sin(2 * np.pi * speed * at[:, None, None] + phase)).sum(axis=1) for at in (t - lag_s, t)
    )
    joints = tuple(Joint(name=n) for n in "abc")
    card = Embodiment(key="made", title="made", joints=joints, control_mode="joint_position", response_s=response_s)
    return make_episode(state=state, action=action, names=tuple("abc"), rate_hz=rate_hz, index=index, embodiment=card)


@pytest.mark.parametrize(("rate_hz", "seconds"), [(30.0, 5), (50.0, 5), (100.0, 10)])
def test_episodes_that_are_cut_in_mid_motion_are_not_early(rate_hz, seconds):
    assert judge(ActionShift(), [cut(i, rate_hz, seconds) for i in range(20)]) == []
    late = [cut(i, rate_hz, seconds, lag_s=0.1 + 1 / rate_hz) for i in range(20)]
    assert {f.row for f in judge(ActionShift(), late)} == set(range(20))


def test_a_period_below_the_scatter_of_delays_accuses_nobody():
    """Lags of good episodes differ by milliseconds; so does one sample at 200 Hz."""
    scatter = np.random.default_rng(4).normal(0, 0.003, 20)
    assert judge(ActionShift(), [cut(i, 200.0, 5, lag_s=0.1 + scatter[i]) for i in range(20)]) == []
    assert judge(ActionShift(), [cut(0, 200.0, 5, lag_s=0.105)]) == []
    (found,) = judge(ActionShift(), [cut(0, 200.0, 5, lag_s=0.11)])
    assert found.threshold == pytest.approx(0.007) and found.measured == pytest.approx(0.01, abs=0.001)


def test_unknown_without_commands():
    blind = spoiled("action_shift", lambda e: without(e, ACTIONS))
    assert judge(ActionShift(), blind) == [] and ActionShift().measure(blind[0]).unknown
