"""Statistics that bad episodes do not move."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill import robust


def test_median_skips_what_is_not_known():
    columns = np.array([[1, np.nan, 5], [2, np.nan, np.nan], [9, np.nan, 7]], float)
    np.testing.assert_array_equal(robust.median(columns), [2, np.nan, 5])
    np.testing.assert_array_equal(robust.known(columns), [3, 0, 2])


def test_quantiles_are_values_that_occur():
    values = np.arange(11, dtype=float)
    assert [float(robust.quantile(values, q)) for q in (0, 0.1, 0.5, 0.9, 1)] == [0, 1, 5, 9, 10]


def test_nothing_gives_nan():
    assert np.isnan(robust.median(np.zeros(0)))
    assert np.isnan(robust.median(np.zeros((0, 3)))).all()
    assert np.isnan(robust.deviation(np.full(3, np.nan)))


def test_deviation_of_normal_values_is_their_standard_deviation():
    values = np.random.default_rng(0).normal(3, 2, 20001)
    assert float(robust.deviation(values)) == pytest.approx(2, rel=0.03)
    values[:2000] = 1e9
    assert float(robust.deviation(values)) == pytest.approx(2, rel=0.2)


def test_resistant_line_follows_the_many():
    x = np.arange(30, dtype=float)
    y = 3 * x + 1
    y[[4, 20]] = 1e6
    assert robust.resistant_line(x, y) == pytest.approx((3, 1))


def test_resistant_line_through_one_place_is_flat():
    assert robust.resistant_line(np.ones(5), np.array([1.0, 2, 3, 4, 5])) == (0.0, 3.0)
