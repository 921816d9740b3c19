"""Pauses at the head, in the middle and at the tail."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gristmill.checks.idle import Idle
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, reaching

NAMES = ["pan", "lift", "elbow", "flex", "roll", "gripper"]


def paused(index, place, seconds=3.0, noise=0.0, rate_hz=30.0):
    """A clean episode in which everything stands still for a while."""
    clean = reaching(index, rate_hz=rate_hz)
    at = {"head": 0, "middle": 60, "tail": 119}[place]
    rows = np.r_[0 : at + 1, np.full(round(seconds * rate_hz) - 1, at), at + 1 : 120]
    state, action = (clean.channels[k].values[rows] for k in ("observation.state", "action"))
    state = state + np.random.default_rng(index).normal(0, noise, state.shape)
    return make_episode(state=state, action=action, rate_hz=rate_hz, index=index)


class TestHead(CheckContract):
    check = Idle()

    def broken_episode(self, index):
        return paused(index, "head")


class TestMiddle(TestHead):
    def broken_episode(self, index):
        return paused(index, "middle")


class TestTail(TestHead):
    def broken_episode(self, index):
        return paused(index, "tail")


@pytest.mark.parametrize("noise", [0.0, 0.001])
@pytest.mark.parametrize("rate_hz", [10.0, 30.0, 50.0])
@pytest.mark.parametrize("place", ["head", "middle", "tail"])
def test_place_and_span(place, rate_hz, noise):
    made = [reaching(i, rate_hz=rate_hz) for i in range(7)] + [paused(7, place, noise=noise, rate_hz=rate_hz)]
    (found,) = judge(Idle(), made)
    assert (found.row, found.kind, found.code) == (7, Kind.RISK, f"idle_{place}")
    start = {"head": 0, "middle": 60, "tail": 119}[place] / rate_hz
    ((a, b),) = found.spans_s
    assert (min(b, start + 3) - max(a, start)) / (max(b, start + 3) - min(a, start)) > 0.8


def test_short_rests_are_fine():
    made = [paused(0, "head", 0.5), paused(1, "middle", 0.8), paused(2, "tail", 1.2), *[reaching(i) for i in (3, 4)]]
    assert judge(Idle(), made) == []


@pytest.mark.parametrize("seconds", [6, 60, 600])
def test_a_slow_but_steady_robot_is_not_idle(seconds):
    def slow(i):
        t = np.linspace(0, 1, seconds * 30)
        state = np.stack([t, np.sin(3 * t + i), t**2], axis=1)
        state += np.random.default_rng(i).normal(0, 1e-5, state.shape)
        return make_episode(state=state, action=state, index=i)

    assert judge(Idle(), [slow(i) for i in range(4)]) == []


def test_fine_work_that_creeps_is_not_idle():
    t = np.arange(300) / 30
    reach = np.clip(t / 2, 0, 1) + 0.02 * np.clip(t - 3, 0, 4) + np.clip((t - 7) / 2, 0, 1)
    made = [make_episode(state=reach, action=reach, index=i) for i in range(4)]
    assert judge(Idle(), made) == []


def test_a_command_that_moves_on_is_no_pause():
    clean = paused(3, "middle")
    action = np.linspace(0, 1, 209)[:, None] * np.ones(6)
    odd = make_episode(state=clean.channels["observation.state"].values, action=action, index=3)
    assert judge(Idle(), [odd if i == 3 else reaching(i) for i in range(8)]) == []


def waits(index, rest_s, contact=False):
    """The arm stands still while the gripper closes within 0.3 s, and for `rest_s` after it has closed."""
    still = round((0.3 + rest_s) * 30)
    clean = reaching(index)
    rows = np.r_[0:61, np.full(still - 1, 60), 61:120]
    state, action = (clean.channels[k].values[rows].copy() for k in ("observation.state", "action"))
    t = (np.arange(len(rows)) - 60) / 0.3 / 30
    touch = (np.clip(t, 0, 1) >= 1).astype(np.float32)
    if not contact:
        state[:, 5] = action[:, 5] = 1 - np.clip(t, 0, 1)
    names = [*NAMES[:5], "wrist" if contact else "gripper"]
    extra = {"observation.contact": ("other", touch)} if contact else None
    return make_episode(state=state, action=action, names=names, index=index, extra=extra)


@pytest.mark.parametrize("contact", [False, True])
def test_waiting_for_a_grasp_or_a_contact_is_spared(contact):
    assert judge(Idle(), [waits(i, 2.0, contact) for i in range(4)]) == []
    found = judge(Idle(), [waits(i, 4.0, contact) for i in range(4)])
    assert {f.row for f in found} == {0, 1, 2, 3}
    # The span is the whole rest; what is measured is what the wait of 1 s does not explain.
    for f in found:
        ((a, b),) = f.spans_s
        assert b - a > 3.7
        assert f.measured == pytest.approx(b - a - 1.0, abs=0.45)
        start, end, lasts, counts, waited = numbers(
            r"still from (\S+) to (\S+) s .*\((\S+) s, (\S+) s without (\S+) s of waiting", f.message
        )
        assert end - start == pytest.approx(lasts, abs=1e-6)
        assert lasts - waited == pytest.approx(counts, abs=1e-6)
        assert counts == pytest.approx(f.measured, abs=0.0151)


def numbers(pattern, message):
    found = re.search(pattern, message)
    assert found, message
    return [float(number) for number in found.groups()]


@pytest.mark.parametrize("place", ["head", "middle", "tail"])
def test_the_span_that_is_told_is_as_long_as_what_is_told_of_it(place):
    (found,) = judge(Idle(), [reaching(i) for i in range(7)] + [paused(7, place)])
    start, end, lasts = numbers(
        rf"still from (\S+) to (\S+) s .*\((\S+) s, \S+ s allowed (?:at|in) the {place}\)", found.message
    )
    assert end - start == pytest.approx(lasts, abs=1e-6)
    assert lasts == pytest.approx(found.measured, abs=0.0101)


def test_an_episode_without_any_motion():
    rng = np.random.default_rng(0)
    rest = rng.normal(0, 1e-4, (150, 6))
    (found,) = judge(Idle(), [reaching(i) for i in range(7)] + [make_episode(state=rest, action=rest, index=7)])
    assert (found.row, found.code) == (7, "idle_head")
    assert found.spans_s[0].end_s == pytest.approx(5.0)


def test_a_head_is_a_head_whenever_its_clock_begins():
    still = paused(0, "head")
    state, action = (still.channels[k].values for k in ("observation.state", "action"))
    late = make_episode(state=state, action=action, times_s=np.arange(len(state)) / 30 + 5, index=0)
    (found,) = judge(Idle(), [late, *(reaching(i) for i in range(1, 5))])
    assert found.code == "idle_head"
    np.testing.assert_allclose(found.spans_s[0], (5, 8), atol=0.3)
