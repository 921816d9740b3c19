"""Roughness of actions."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.roughness import Roughness
from gristmill.finding import Kind
from gristmill.testing import CheckContract, make_episode, measure_all, reaching


def rough(index, noise=0.05):
    clean = reaching(index)
    action = clean.channels["action"].values + np.random.default_rng(index).normal(0, noise, (120, 6))
    return make_episode(state=clean.channels["observation.state"].values, action=action, index=index)


class TestRoughness(CheckContract):
    check = Roughness()
    kinds = (Kind.TRAIT,)

    def broken_corpus(self):
        return [self.broken_episode(i) if i == 3 else reaching(i) for i in range(12)]

    def broken_episode(self, index):
        return rough(index)


def test_mean_norm_of_the_second_difference():
    # Up by 3 and down by 3 in turns: second differences of 6 in both dimensions, ranges of 3.
    zigzag = 3.0 * (np.arange(50) % 2)
    (measured,) = measure_all(Roughness(), [make_episode(action=np.stack([zigzag, zigzag], axis=1))])
    assert measured is not None
    # Such a signal is all noise: its scale is a hundred mean second differences.
    assert measured.values["roughness"] == pytest.approx(np.hypot(6, 6) / 600)


def test_a_straight_line_is_not_rough():
    (measured,) = measure_all(Roughness(), [make_episode(action=np.linspace(0, 1, 64))])
    assert measured is not None
    assert measured.values["roughness"] == pytest.approx(0, abs=1e-9)


def test_it_does_not_depend_on_length_or_unit():
    t = np.arange(3000) / 30
    values = [
        m.values["roughness"]
        for m in measure_all(Roughness(), [make_episode(action=s * np.sin(t[:n])) for s, n in [(1, 600), (57.3, 3000)]])
        if m is not None
    ]
    assert values[0] == pytest.approx(values[1], rel=0.02)
