import numpy as np
import pytest

from gristmill.delays import best, correlations, deviation, independent, likelihood, through


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


def test_samples_of_white_noise_are_independent_and_those_of_a_mean_are_not():
    rng = np.random.default_rng(0)
    white = rng.normal(size=(2, 4000))
    assert independent(*white, 60) == pytest.approx(4000, rel=0.02)
    # A mean over 4 has the autocorrelation 1 - k / 4: 4000 / (1 + 2 (9 + 4 + 1) / 16) = 1455.
    smooth = np.array([np.convolve(row, np.full(4, 0.25), "valid") for row in white])
    assert independent(*smooth, 60) == pytest.approx(1455, rel=0.1)
    assert independent(smooth[0], np.zeros(len(smooth[0])), 60) == len(smooth[0])


def test_a_delay_is_called_no_more_exact_than_its_estimates_scatter():
    # The spread of many estimates of one delay is the independent answer. Counting by smoothness is on the safe side:
    # what tells a delay are the fast parts.
    rng = np.random.default_rng(0)
    kernel = np.hanning(9)
    found, told = [], []
    for _ in range(300):
        source = np.convolve(rng.normal(size=400), kernel, "valid")
        a, b = (source + np.convolve(rng.normal(size=400), kernel, "valid") for _ in range(2))
        curve = independent(a, b, 60) * likelihood(correlations(a, b, 12))
        late, at = best(curve)
        found.append(late)
        told.append(deviation(curve, at))
    assert np.std(found) <= np.median(told) <= 2 * np.std(found)


def test_a_curve_without_a_peak_says_nothing_exact():
    # 2 - 4 (x / 2)^2 at -1, 0, 1 bends by 2: the information is 1, so is the deviation.
    assert deviation(np.array([1.0, 2.0, 1.0]), 1) == pytest.approx(1.0)
    assert deviation(np.array([0.0, 1.0, 2.0]), 2) == np.inf
    assert deviation(np.ones(3), 1) == np.inf
