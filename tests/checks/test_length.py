"""Episodes that are too short."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.length import Length
from gristmill.testing import CheckContract, judge, make_episode, measure_all, reaching


def lasting(seconds, index=0, rate_hz=30.0):
    return make_episode(state=np.zeros((round(seconds * rate_hz), 1)), rate_hz=rate_hz, index=index)


class TestLength(CheckContract):
    check = Length()

    def broken_episode(self, index):
        return reaching(index, frames=12)


@pytest.mark.parametrize("rate_hz", [10.0, 30.0, 100.0])
def test_four_tenths_of_a_second_are_too_short_at_any_rate(rate_hz):
    (found,) = judge(Length(), [lasting(0.4, 0, rate_hz), lasting(3, 1, rate_hz)])
    assert (found.row, found.code) == (0, "too_short")
    assert found.measured == pytest.approx(0.4)
    assert found.threshold == 0.5


def test_far_below_a_corpus_of_equal_lengths():
    made = [lasting(60 + i % 5, i) for i in range(20)]
    assert [f.row for f in judge(Length(), [*made, lasting(2, 20)])] == [20]


def test_a_corpus_of_many_lengths_accuses_none():
    made = [lasting(s, i) for i, s in enumerate(np.geomspace(1.5, 60, 40))]
    assert judge(Length(), made) == []


def test_duration_is_measured_by_the_clock_not_by_the_declared_rate():
    (measured,) = measure_all(Length(), [make_episode(state=np.zeros(50), times_s=np.arange(50) / 10, rate_hz=30)])
    assert measured is not None
    assert measured.values == {"frames": 50, "duration_s": pytest.approx(5.0)}


def test_nothing_at_all_is_too_short():
    (found,) = judge(Length(), [make_episode(state=np.zeros((0, 2)))])
    assert (found.row, found.measured, found.spans_s) == (0, 0.0, ())
