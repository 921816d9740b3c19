"""Minimum jerk: the closed form of Flash and Hogan (1985)."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.synth.submovements import Move, minimum_jerk, path, unsteadiness


def test_shape_of_one_submovement():
    assert minimum_jerk(np.array([-1.0, 0.0, 0.5, 1.0, 2.0])) == pytest.approx([0, 0, 0.5, 1, 1])
    # The speed is 30 p^2 (1 - p)^2, at most 15/8 in the middle.
    phase = np.linspace(0, 1, 1001)
    speed = np.gradient(minimum_jerk(phase), phase)
    assert speed.max() == pytest.approx(15 / 8, rel=1e-4)
    assert speed == pytest.approx(30 * phase**2 * (1 - phase) ** 2, abs=5e-3)


def test_submovements_add_up():
    times = np.array([0.0, 1.0, 3.0])
    moves = [Move(0.0, 2.0, np.array([2.0, 0.0])), Move(0.5, 1.0, np.array([0.0, -4.0]))]
    assert path(np.array([1.0, 1.0]), moves, times) == pytest.approx(np.array([[1, 1], [2, -1], [3, -3]]))


def test_a_hand_wanders_slowly_and_by_the_stated_amount():
    rng = np.random.default_rng(0)
    times = np.arange(20_000) / 100
    wander = unsteadiness(rng, times, np.array([0.01, 0.02]))
    assert wander.std(axis=0) == pytest.approx([0.01, 0.02], rel=0.1)
    power = np.abs(np.fft.rfft(wander[:, 0])) ** 2
    assert power[np.fft.rfftfreq(len(times), 0.01) > 2.6].sum() < 0.01 * power.sum()
