"""Uneven intervals."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.jitter import Jitter
from gristmill.testing import CheckContract, judge, measure_all, reaching


def jittered(index, off_s=0.008, every=10, rate_hz=30.0):
    times = np.arange(120) / rate_hz
    times[5::every] += off_s
    return reaching(index, times_s=times, rate_hz=rate_hz)


class TestJitter(CheckContract):
    check = Jitter()

    def broken_episode(self, index):
        return jittered(index)


def test_both_intervals_beside_a_late_sample_count():
    (measured,) = measure_all(Jitter(), [jittered(0)])
    assert measured is not None
    # Samples 5, 15, ..., 115 are late: twelve of them, two intervals each, of 119.
    assert measured.values["intervals"] == 24
    assert measured.values["outside"] == pytest.approx(24 / 119)
    assert measured.values["worst_s"] == pytest.approx(0.008)


@pytest.mark.parametrize(
    ("off_s", "rate_hz", "found"), [(0.0049, 30, 0), (0.0051, 30, 1), (0.014, 10, 0), (0.016, 10, 1)]
)
def test_the_window_scales_with_the_rate(off_s, rate_hz, found):
    assert len(judge(Jitter(), [jittered(0, off_s, rate_hz=rate_hz)])) == found


def test_a_wrong_rate_is_no_jitter():
    assert judge(Jitter(), [reaching(0, times_s=np.arange(120) / 25)]) == []


def test_gaps_and_reversals_are_left_to_another_check():
    times = np.arange(120) / 30
    times[60:] += 0.3
    times[100] = times[99]
    times[101:] -= 0.001
    assert judge(Jitter(), [reaching(0, times_s=times)]) == []


def test_one_late_sample_in_many_is_tolerated():
    assert judge(Jitter(), [jittered(0, every=1000)]) != []
    times = np.arange(1000) / 30
    times[500] += 0.008
    assert judge(Jitter(), [reaching(0, frames=1000, times_s=times)]) == []
