import numpy as np
import pytest

from gristmill.delays import best, correlations, likelihood, through


def test_correlations_equal_numpys():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=60), rng.normal(size=60)
    expected = [np.corrcoef(a[max(d, 0) : 60 + min(d, 0)], b[max(-d, 0) : 60 - max(d, 0)])[0, 1] for d in range(-5, 6)]
    assert correlations(a, b, 5) == pytest.approx(expected)


def test_a_constant_correlates_with_nothing():
    assert correlations(np.full(40, 3.0), np.arange(40.0), 4).tolist() == [0] * 9


@pytest.mark.parametrize("delay", [-3.4, -1.0, 0.0, 0.3, 3.4])
def test_delays_are_found_between_samples(delay):
    t = np.arange(200.0)
    early, late = (np.exp(-0.5 * ((t - centre) / 12) ** 2) for centre in (100.0, 100.0 + delay))
    curve = correlations(late, early, 8)
    found, at = best(likelihood(curve))
    assert found == pytest.approx(delay, abs=0.15)
    assert curve[at] > 0.99


def test_a_peak_at_the_end_of_the_range_is_no_delay():
    found, at = best(np.array([0.0, 1.0, 2.0]))
    assert np.isnan(found)
    assert at == 2


def test_the_parabola_through_three_points():
    # -(x - 0.25)^2 at -1, 0, 1
    assert best(np.array([-1.5625, -0.0625, -0.5625]))[0] == pytest.approx(0.25)


def test_likelihood_of_a_correlation():
    assert likelihood(np.array([0.0, 0.5, -1.0, 2.0])) == pytest.approx([0, -np.log(0.75), 0, -np.log(1 - 0.999**2)])


def test_two_signals_by_way_of_a_third():
    # a is 1 behind the third signal and b is 2 before it: a is 3 behind b, out of range; the best within is 2.
    a, b = np.array([0.0, 0, 0, 5, 0]), np.array([5.0, 0, 0, 0, 0])
    assert through(a, b).tolist() == [0, 5, 5, 5, 5]
    assert through(a, np.array([0.0, 5, 0, 0, 0])).tolist() == [0, 5, 5, 5, 10]
