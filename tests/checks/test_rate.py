"""True rate against the declared one."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.rate import Rate
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, reaching


def at_rate(index, factor):
    return reaching(index, times_s=np.arange(120) / (30 * factor))


class TestRate(CheckContract):
    check = Rate()

    def broken_episode(self, index):
        return at_rate(index, 0.9)


class TestDeclared(TestRate):
    broken_row = None

    def broken_corpus(self):
        return [at_rate(i, 0.5) for i in range(8)]


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_ten_per_cent_either_way(factor):
    (found,) = judge(Rate(), [reaching(0), at_rate(1, factor), reaching(2)])
    assert (found.row, found.kind, found.code) == (1, Kind.DEFECT, "rate_error")
    assert found.measured == pytest.approx(0.1)
    assert f"{30 * factor:.2f} Hz" in found.message


def test_nominal_rates_pass():
    assert judge(Rate(), [at_rate(i, 29.97 / 30) for i in range(4)]) == []


def test_gaps_do_not_change_the_rate():
    times = np.arange(120) / 30
    times[60:] += 5
    assert judge(Rate(), [reaching(0, times_s=times), reaching(1), reaching(2)]) == []


def test_a_wrong_declaration_is_said_once():
    (found,) = judge(Rate(), [at_rate(i, 0.5) for i in range(4)])
    assert (found.row, found.code, found.measured, found.threshold) == (
        None,
        "rate_declared",
        pytest.approx(15.0),
        30.0,
    )
