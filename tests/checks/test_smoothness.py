"""Spectral arc length."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.smoothness import Smoothness, spectral_arc_length
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, measure_all, reaching


def published(speed, rate_hz, max_hz=10.0, threshold=0.05, padding=4):
    """Spectral arc length step by step as Balasubramanian et al. (2015) define it."""
    points = int(2 ** (np.ceil(np.log2(len(speed))) + padding))
    frequency = np.arange(points) * rate_hz / points
    amplitude = np.abs(np.fft.fft(speed, points))
    amplitude = amplitude / amplitude.max()
    inside = frequency <= max_hz
    frequency, amplitude = frequency[inside], amplitude[inside]
    above = np.flatnonzero(amplitude >= threshold)
    chosen = slice(above[0], above[-1] + 1)
    frequency, amplitude = frequency[chosen], amplitude[chosen]
    width = frequency[-1] - frequency[0]
    return -np.hypot(np.diff(frequency) / width, np.diff(amplitude)).sum()


def halting(index, noise=0.15):
    clean = reaching(index)
    state = clean.channels["observation.state"].values + np.random.default_rng(index).normal(0, noise, (120, 6))
    return make_episode(state=state, index=index)


class TestSmoothness(CheckContract):
    check = Smoothness()
    kinds = (Kind.TRAIT,)

    def broken_corpus(self):
        return [self.broken_episode(i) if i == 3 else reaching(i) for i in range(16)]

    def broken_episode(self, index):
        return halting(index)


@pytest.mark.parametrize("frames", [60, 128, 129, 500])
@pytest.mark.parametrize("rate_hz", [20.0, 30.0, 100.0])
def test_agrees_with_the_published_definition(frames, rate_hz):
    rng = np.random.default_rng(frames)
    speed = np.abs(np.convolve(rng.normal(size=frames + 9), np.hanning(10), "valid"))
    assert spectral_arc_length(speed, rate_hz, padding=4) == pytest.approx(published(speed, rate_hz))


def test_a_single_smooth_reach():
    p = np.linspace(0, 1, 101)
    speed = 30 * p**2 * (1 - p) ** 2  # minimum jerk
    assert spectral_arc_length(speed, 100.0) == pytest.approx(-1.41, abs=0.02)


def test_two_reaches_are_less_smooth_than_one():
    p = np.linspace(0, 1, 101)
    reach = 30 * p**2 * (1 - p) ** 2
    one, two = spectral_arc_length(reach, 100.0), spectral_arc_length(np.concatenate([reach, reach]), 100.0)
    assert one is not None
    assert two is not None
    assert two < one


def test_coarser_padding_costs_a_few_per_cent():
    for index in range(6):
        state = reaching(index).channels["observation.state"].values
        speed = np.linalg.norm(np.diff(state.astype(float), axis=0), axis=1)
        exact = published(speed, 30.0)
        assert spectral_arc_length(speed, 30.0, padding=Smoothness().padding) == pytest.approx(exact, rel=0.1)


def test_no_motion_has_no_smoothness():
    assert spectral_arc_length(np.zeros(50), 30.0) is None
    (measured,) = measure_all(Smoothness(), [make_episode(state=np.ones((50, 2)))])
    assert measured is not None
    assert measured.unknown == "the robot does not move"


def test_long_episodes_are_not_called_halting():
    made = [reaching(i, frames=100 + 20 * (i % 12)) for i in range(36)]
    assert judge(Smoothness(), made) == []
