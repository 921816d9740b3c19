"""States that come late."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from gristmill.checks.lag import Lag
from gristmill.command_lag import _delay
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, measure_all


def path(t, seed, seconds):
    """Four joints that begin and end at rest."""
    rng = np.random.default_rng(seed)
    waves = zip(rng.uniform(0.2, 0.6, 12), rng.uniform(0.2, 0.8, 12), rng.uniform(0, 6, 12), strict=True)
    moves = np.array([a * np.sin(2 * np.pi * f * t + p) for a, f, p in waves]).reshape(3, 4, -1).sum(axis=0)
    eased = np.sin(np.pi / 2 * np.clip(np.minimum(t - 0.5, seconds - 1 - t), 0, 1)) ** 2
    return (eased * moves).T


def lagging(index=0, lag_s=0.1, rate_hz=30.0, seconds=6, velocity=False, noise=0.002):
    """Four joints that follow their commands after `lag_s`; with `velocity` the commands are speeds."""
    t = np.arange(round(seconds * rate_hz)) / rate_hz
    state = path(t - lag_s, index, seconds) + np.random.default_rng(index).normal(0, noise, (len(t), 4))
    action = path(t, index, seconds)
    if velocity:
        action = (path(t + 1e-3, index, seconds) - path(t - 1e-3, index, seconds)) / 2e-3
    return make_episode(state=state, action=action, rate_hz=rate_hz, index=index)


class TestLag(CheckContract):
    check = Lag()

    def clean_episode(self, index):
        return lagging(index)

    def broken_episode(self, index):
        return lagging(index, lag_s=0.3)


class TestVelocities(TestLag):
    def clean_episode(self, index):
        return lagging(index, velocity=True)

    def broken_episode(self, index):
        return lagging(index, lag_s=0.3, velocity=True)


@pytest.mark.parametrize("rate_hz", [10.0, 30.0, 50.0])
@pytest.mark.parametrize("lag_s", [-0.05, 0.0, 0.17, 0.4])
def test_lag_is_found_to_a_fraction_of_a_frame(rate_hz, lag_s):
    (measured,) = measure_all(Lag(), [lagging(0, lag_s, rate_hz, seconds=12)])
    assert measured is not None
    assert measured.values["lag_s"] == pytest.approx(lag_s, abs=0.1 / rate_hz)
    assert measured.values["match"] > 0.9


def cut(index, lag_s, rate_hz, seconds):
    """Three joints in slow motion, recorded from the middle of it to the middle of it."""
    rng = np.random.default_rng(index)
    speed, phase, size = rng.uniform(0.1, 0.7, (3, 3)), rng.uniform(0, 6, (3, 3)), rng.uniform(0.2, 0.6, (3, 3))
    t = np.arange(0, seconds, 1 / rate_hz)
    state, action = (
        (size * np.sin(2 * np.pi * speed * at[:, None, None] + phase)).sum(axis=1) for at in (t - lag_s, t)
    )
    return make_episode(state=state, action=action, rate_hz=rate_hz, index=index)


@pytest.mark.parametrize("rate_hz", [30.0, 100.0])
@pytest.mark.parametrize("lag_s", [-0.08, 0.1, 0.35])
def test_an_episode_that_is_cut_in_mid_motion_lags_no_less(rate_hz, lag_s):
    for index in range(8):
        (measured,) = measure_all(Lag(), [cut(index, lag_s, rate_hz, seconds=5)])
        assert measured is not None
        assert measured.values["lag_s"] == pytest.approx(lag_s, abs=0.004)
        assert measured.values["match"] > 0.98


def test_an_angle_that_wraps_around_lags_no_other_way():
    clean = cut(0, 0.1, 30.0, seconds=8)
    state, action = (clean.channels[k].values.astype(np.float64) for k in ("observation.state", "action"))
    for values in (state, action):
        values[:, 1] = np.mod(values[:, 1] + 2 * np.pi, 2 * np.pi)  # it crosses zero
    assert abs(np.diff(state[:, 1])).max() > 6
    (measured,) = measure_all(Lag(), [make_episode(state=state, action=action)])
    assert measured is not None and measured.values["lag_s"] == pytest.approx(0.1, abs=0.004)


def test_energies_that_meet_are_those_of_direct_sums():
    """Against NumPy, delay by delay."""
    rng = np.random.default_rng(3)
    command = np.cumsum(rng.normal(size=(4, 80)), axis=1)
    state = np.roll(command, 5, axis=1) + rng.normal(0, 0.2, (4, 80))
    found = []
    for delay in range(-6, 21):
        late, early = max(delay, 0), max(-delay, 0)
        a, b = state[:, late : 80 - early], command[:, early : 80 - late]
        found.append((a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum()))
    at = int(np.argmax(found))
    before, peak, after = found[at - 1 : at + 2]
    expected = at - 6 + 0.5 * (before - after) / (before - 2 * peak + after)
    # What is left of the energies when each joint's mean is taken away, of whichever varies less.
    varies = min((80 * v.var(axis=1)).sum() / (v**2).sum() for v in (state, command))
    match = 1 - (1 - peak) / varies
    for known in (None, np.ones(80, bool)):
        assert _delay(state, command, known, -6, 20) == pytest.approx((expected, match), rel=1e-9)


@pytest.mark.parametrize("size", [1e-12, 1e-20, 1e-30])
@pytest.mark.parametrize("masked", [False, True])
def test_tiny_velocities_are_compared_or_passed_over(size, masked):
    """Their squares, and the products of these, may vanish."""
    t = np.arange(120) / 30
    command = (size * np.sin(np.outer([1.0, 2.0], t))).astype(np.float32)
    known = np.ones(120, bool) if masked else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lag, match = _delay(np.roll(command, 3, axis=1), command, known, -6, 20)
    assert np.isnan(lag) or (lag == pytest.approx(3, abs=0.5) and match > 0.8)


def test_motion_at_one_speed_tells_no_delay():
    """Every delay agrees, and noise picks one."""
    rng, t = np.random.default_rng(2), np.arange(240) / 30
    wheels = np.outer(t, [0.1, 0.2, 0.3])
    made = [make_episode(state=wheels - 0.03 + rng.normal(0, 1e-3, (240, 3)), action=wheels) for _ in range(8)]
    for measured in measure_all(Lag(), made):
        assert measured is not None and not float(measured.values["match"]) >= 0.1
    swaying = wheels + 0.1 * np.sin(0.8 * t)[:, None]
    (measured,) = measure_all(Lag(), [make_episode(state=swaying[3:], action=swaying[:-3])])
    assert measured is not None and measured.values["match"] > 0.99
    assert measured.values["lag_s"] == pytest.approx(-0.1, abs=0.002)


def test_commands_that_are_velocities():
    (measured,) = measure_all(Lag(), [lagging(0, 0.2, velocity=True)])
    assert measured is not None
    assert measured.values["rate_match"] > 0.9
    # The difference over three samples stands one and a half samples after the value that it is compared with.
    assert measured.values["rate_lag_s"] == pytest.approx(0.2 - 1.5 / 30, abs=0.01)


def test_later_than_the_corpus_in_words():
    made = [lagging(i) for i in range(7)] + [lagging(7, 0.3)]
    (found,) = judge(Lag(), made)
    assert (found.row, found.kind) == (7, Kind.RISK)
    assert found.measured == pytest.approx(0.2, abs=0.01)
    assert "later" in found.message
    (found,) = judge(Lag(), [lagging(i, 0.3) for i in range(7)] + [lagging(7)])
    assert "earlier" in found.message


def test_a_robot_that_always_lags_is_fine():
    assert judge(Lag(), [lagging(i, 0.5) for i in range(8)]) == []


def test_a_frozen_stretch_does_not_change_the_lag():
    for index in range(6):
        clean = lagging(index, seconds=4)
        state = clean.channels["observation.state"].values.copy()
        state[40:70] = state[40]
        (measured,) = measure_all(Lag(), [make_episode(state=state, action=clean.channels["action"].values)])
        assert measured is not None
        assert measured.values["lag_s"] == pytest.approx(0.1, abs=0.02)


def test_a_gap_in_time_does_not_change_the_lag():
    for index in range(6):
        clean, keep = lagging(index, seconds=4), np.r_[0:50, 62:120]
        state, action = (clean.channels[k].values[keep] for k in ("observation.state", "action"))
        (measured,) = measure_all(Lag(), [make_episode(state=state, action=action, times_s=keep / 30)])
        assert measured is not None
        assert measured.values["lag_s"] == pytest.approx(0.1, abs=0.015)


def test_unrelated_signals_accuse_nobody():
    rng = np.random.default_rng(0)
    made = [make_episode(state=rng.normal(size=(150, 3)), action=rng.normal(size=(150, 3)), index=i) for i in range(9)]
    assert judge(Lag(), made) == []


def test_too_short_to_say():
    (measured,) = measure_all(Lag(), [lagging(0, seconds=1)])
    assert measured is not None
    assert measured.unknown == "shorter than 2.1 s"
