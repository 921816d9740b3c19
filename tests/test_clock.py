"""Intervals within one episode."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.clock import Clock


def test_median_interval_ignores_gaps_and_reversals():
    clock = Clock(np.array([0.0, 0.1, 0.2, 1.0, 1.1, 1.05, 1.15]), 10)
    assert clock.median_s == pytest.approx(0.1)
    assert not clock.regular


def test_median_of_an_even_number_of_intervals_is_their_middle():
    assert Clock(np.array([0.0, 0.1, 0.3]), 10).median_s == pytest.approx(0.15)


def test_times_in_float32_are_regular():
    assert Clock((np.arange(3000) / 30).astype(np.float32).astype(np.float64), 30).regular


@pytest.mark.parametrize("times", [np.zeros(5), np.full(5, np.nan), np.arange(5.0)[::-1], np.zeros(0), np.zeros(1)])
def test_without_usable_times_the_declared_rate_gives_the_period(times):
    clock = Clock(times, 25)
    assert clock.median_s is None
    assert clock.period_s == 0.04


def test_a_rate_of_nothing_gives_a_second():
    assert Clock(np.zeros(0), 0.0).period_s == 1.0
    assert Clock(np.zeros(0), float("nan")).period_s == 1.0


def test_spans_end_where_the_next_sample_begins():
    clock = Clock(np.arange(5) / 10, 10)
    assert clock.span_s(1, 3) == pytest.approx((0.1, 0.3))
    assert clock.span_s(3, 5) == pytest.approx((0.3, 0.5))
    assert clock.span_s(-2, 99) == pytest.approx((0.0, 0.5))


def test_spans_of_broken_times_are_finite_and_ordered():
    assert Clock(np.array([0.0, np.nan, np.inf, 0.3]), 10).span_s(1, 3) == pytest.approx((0.1, 0.3))
    assert Clock(np.array([3.0, 2.0, 1.0]), 10).span_s(0, 2) == (1.0, 3.0)
    assert Clock(np.zeros(0), 10).span_s(0, 1) == (0.0, 0.0)


def test_frames_in_seconds():
    assert Clock(np.arange(9) / 30, 30).frames(0.5) == 15
    assert Clock(np.arange(9) / 30, 30).frames(0.001) == 1


def test_intervals_that_are_no_sampling_give_no_period():
    assert Clock(np.arange(5) * 1e-12, 20).median_s is None
    assert Clock(np.arange(5) * 1e9, 20).period_s == 0.05
    assert Clock(np.array([0.0, np.inf, -np.inf, 1.0]), 20).median_s is None
