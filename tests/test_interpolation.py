"""Values between samples, against SciPy and against what holds for every input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation, Slerp

from gristmill.interpolation import continuous, linear, neighbours, ordered, slerp, wrapped

SAME_S = 1e-4


@st.composite
def stream(draw, width: int = 2):
    """Strictly ascending times at least 10 ms apart, and values."""
    count = draw(st.integers(2, 20))
    steps = draw(hnp.arrays(np.float64, count, elements=st.floats(0.01, 0.5)))
    values = draw(hnp.arrays(np.float64, (count, width), elements=st.floats(-1e6, 1e6)))
    return np.cumsum(steps), values


@settings(deadline=None, max_examples=60)
@given(stream(), st.lists(st.floats(0.0, 10.0), min_size=1, max_size=20))
def test_a_line_stays_between_its_neighbours(samples, instants) -> None:
    times, values = samples
    at = np.clip(np.sort(instants), times[0], times[-1])
    found = linear(values, neighbours(times, at, SAME_S))
    right = np.clip(np.searchsorted(times, at + SAME_S), 1, len(times) - 1)
    left = np.clip(np.searchsorted(times, at - SAME_S) - 1, 0, len(times) - 1)
    assert (found >= np.minimum.reduce([values[left], values[right - 1], values[right]])).all()
    assert (found <= np.maximum.reduce([values[left], values[right - 1], values[right]])).all()
    expected = np.stack([np.interp(at, times, v) for v in values.T], axis=1)
    # A sample within the tolerance is taken as it is, which moves a value by at most the slope times the tolerance.
    slope = np.abs(np.diff(values, axis=0)).max() / 0.01
    assert np.abs(found - expected).max() <= slope * SAME_S + 1e-6


@settings(deadline=None, max_examples=60)
@given(stream())
def test_a_sample_is_itself(samples) -> None:
    times, values = samples
    around = neighbours(times, times, SAME_S)
    np.testing.assert_array_equal(around.before, np.arange(len(times)))
    np.testing.assert_array_equal(around.after, np.arange(len(times)))
    np.testing.assert_array_equal(linear(values, around), values)
    np.testing.assert_array_equal(around.distance_s, 0)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(2, 12))
def test_rotations_turn_as_scipy_turns_them(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.05, 0.3, count))
    turns = Rotation.random(count, random_state=seed)
    # Signs flip at will: they mean the same rotations.
    quaternions = turns.as_quat() * rng.choice([-1.0, 1.0], (count, 1))
    at = rng.uniform(times[0], times[-1], 30)
    found = slerp(quaternions, neighbours(times, at, 1e-12))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-12)
    expected = Slerp(times, turns)(at)
    assert (Rotation.from_quat(found) * expected.inv()).magnitude().max() < 1e-6
    # The order of the components does not matter.
    wxyz = slerp(quaternions[:, [3, 0, 1, 2]], neighbours(times, at, 1e-12))
    np.testing.assert_allclose(wxyz[:, [1, 2, 3, 0]], found, atol=1e-12)


def test_rotations_a_hair_apart_do_not_divide_by_zero() -> None:
    q = np.array([[0.0, 0, 0, 1], [0.0, 0, 1e-9, 1], [0.0, 0, 1e-9, 1]])
    found = slerp(q, neighbours(np.array([0.0, 1, 2]), np.array([0.5, 1.5]), 1e-6))
    np.testing.assert_allclose(found, [[0, 0, 5e-10, 1], [0, 0, 1e-9, 1]], atol=1e-15)


def test_signs_are_made_continuous_across_a_sample_that_is_not_finite() -> None:
    q = np.array([[0, 0, 0, 1.0], [np.nan] * 4, [0, 0, 0.1, -0.995], [0, 0, 0.2, -0.98]])
    found = continuous(q)
    np.testing.assert_array_equal(found[[0, 2, 3]], [[0, 0, 0, 1], [0, 0, -0.1, 0.995], [0, 0, -0.2, 0.98]])


def test_angles_take_the_shorter_way_around() -> None:
    times, at = np.array([0.0, 1.0]), np.array([0.25, 0.5, 0.75])
    around = neighbours(times, at, 1e-9)
    # From 350 to 10 degrees through 0, in the range of the samples.
    np.testing.assert_allclose(wrapped(np.array([[350.0], [10.0]]), around, 360)[:, 0], [355, 0, 5], atol=1e-9)
    # From 170 to -170 degrees through 180.
    found = wrapped(np.array([[170.0], [-170.0]]), around, 360)[:, 0]
    np.testing.assert_allclose(found, [175, -180, -175], atol=1e-9)


def test_order_drops_what_is_no_time_and_keeps_the_last_of_equals() -> None:
    times = np.array([0.2, np.nan, 0.1, 0.2, np.inf, 0.3])
    np.testing.assert_array_equal(ordered(times), [2, 3, 5])
    assert len(ordered(np.array([np.nan]))) == 0


def test_beyond_the_ends_there_is_one_neighbour() -> None:
    around = neighbours(np.array([1.0, 2.0]), np.array([0.5, 1.5, 2.5]), 1e-6)
    np.testing.assert_array_equal(around.since_s, [np.inf, 0.5, 0.5])
    np.testing.assert_array_equal(around.until_s, [0.5, 0.5, np.inf])
    np.testing.assert_array_equal(around.nearest, [0, 0, 1])
    np.testing.assert_array_equal(linear(np.array([[3.0], [5.0]]), around)[:, 0], [3, 4, 5])


def test_a_recorded_nan_stays_where_it_is_and_spoils_only_what_lies_beside_it() -> None:
    times = np.arange(4.0)
    values = np.array([[0.0], [np.nan], [2.0], [3.0]])
    found = linear(values, neighbours(times, np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5]), 1e-6))[:, 0]
    assert np.isnan(found).tolist() == [False, True, True, True, False, False]
    assert found[[0, 4, 5]].tolist() == [0.0, 2.0, pytest.approx(2.5)]
