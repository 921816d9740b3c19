"""Clocks that slowly leave the grid."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.drift import Drift
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, measure_all, reaching


def drifting(index, slope=0.01, frames=400):
    return reaching(index, frames=frames, times_s=np.arange(frames) / 30 * (1 + slope))


class TestDrift(CheckContract):
    check = Drift()

    def broken_episode(self, index):
        return drifting(index)


def test_drift_is_the_distance_from_the_grid_at_the_end():
    (found,) = judge(Drift(), [drifting(0)])
    assert found.kind is Kind.RISK
    assert found.measured == pytest.approx(399 / 30 * 0.01)
    assert found.threshold == pytest.approx(1 / 30)


def test_gaps_are_taken_out():
    times = np.arange(120) / 30
    times[60:] += 0.5
    (measured,) = measure_all(Drift(), [reaching(0, times_s=times)])
    assert measured is not None
    assert measured.values["drift_s"] == pytest.approx(0, abs=1e-9)


def test_within_one_period_is_fine():
    assert judge(Drift(), [drifting(0, slope=0.001)]) == []


def test_a_wrong_rate_is_left_to_its_own_check():
    assert judge(Drift(), [drifting(0, slope=0.1)]) == []
