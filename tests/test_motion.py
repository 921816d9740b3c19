"""Shared motion quantities against plain formulas."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.episode import Channel
from gristmill.motion import Motion, motion_of
from gristmill.stillness import grid_of, may_rest, sliding
from gristmill.testing import hostile_episodes, make_episode, reaching


@pytest.fixture
def episode():
    rng = np.random.default_rng(3)
    state = rng.normal(size=(50, 3)).cumsum(axis=0).astype(np.float32)
    return make_episode(state=state, action=state[:, :2] + np.float32(0.5), rate_hz=20)


def test_rows_are_states_then_actions(episode):
    motion = motion_of(episode)
    np.testing.assert_array_equal(motion.values[:3], episode.channels["observation.state"].values.T)
    np.testing.assert_array_equal(motion.values[3:], episode.channels["action"].values.T)
    assert motion.values.flags.c_contiguous
    assert motion.values.dtype == np.float32
    assert [d.label for d in motion.layout.dims] == list(motion.layout.labels)
    assert motion_of(episode) is motion


def test_derivatives_are_finite_differences_over_time(episode):
    motion = motion_of(episode)
    values = motion.values.astype(float)
    np.testing.assert_allclose(motion.speed, np.diff(values) * 20, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(motion.acceleration, np.diff(values, n=2) * 20**2, rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(motion.jerk, np.diff(values, n=3) * 20**3, rtol=1e-3, atol=1.0)
    np.testing.assert_allclose(motion.turns, np.diff(values)[:, 1:] * np.diff(values)[:, :-1], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(motion.sorted, np.sort(motion.values, axis=1))


def test_a_gap_in_time_is_no_jump():
    times = np.array([0, 0.1, 0.2, 1.2, 1.3])
    motion = motion_of(make_episode(state=2 * times, times_s=times, rate_hz=10))
    np.testing.assert_allclose(motion.speed, 2)
    np.testing.assert_allclose(motion.acceleration, 0, atol=1e-9)
    np.testing.assert_allclose(motion.jerk, 0, atol=1e-9)


def test_range_leaves_one_stray_sample_out_at_each_end():
    motion = motion_of(make_episode(state=np.array([5, 1, 2, 3, 99, -7.0])))
    assert (motion.low[0], motion.high[0], motion.range[0]) == (1, 5, 4)


def test_resolution_is_the_smallest_step_that_is_no_rounding():
    counts = np.array([0, 3, 3, 5, 4, 4, 9])
    motion = motion_of(make_episode(state=(counts * 0.1 + 1000).astype(np.float64)))
    assert motion.resolution[0] == pytest.approx(0.1)
    assert motion_of(make_episode(state=np.full(9, 7.0))).resolution[0] == 0


def test_not_a_number_is_bridged_and_remembered():
    state = np.array([0, 1, np.nan, np.nan, 4, np.inf])
    motion = motion_of(make_episode(state=np.stack([state, np.full(6, np.nan)], axis=1)))
    np.testing.assert_array_equal(motion.values[0], [0, 1, 2, 3, 4, 4])
    np.testing.assert_array_equal(motion.values[1], np.zeros(6))
    np.testing.assert_array_equal(motion.gaps[0], [False, False, True, True, False, True])
    assert motion_of(make_episode(state=np.arange(4.0))).gaps is None


def test_the_recording_itself_is_not_changed():
    state = np.array([[0.0], [np.nan], [2.0]], np.float32)
    episode = make_episode(state=state)
    motion_of(episode)
    np.testing.assert_array_equal(state.ravel(), [0, np.nan, 2])


def test_noise_is_not_scaled_up_to_look_like_motion():
    rng = np.random.default_rng(0)
    travel = np.linspace(0, 2, 300)
    noise = rng.normal(0, 1e-3, 300)
    motion = motion_of(make_episode(state=np.stack([travel + noise, noise], axis=1)))
    assert motion.scale[0] == pytest.approx(2, rel=0.02)
    assert motion.scale[1] >= 0.19  # a tenth of its neighbour's range, not its own 0.006


def test_activity_is_the_share_of_the_range_per_second():
    motion = motion_of(make_episode(state=np.linspace(0, 8, 81), rate_hz=10))
    # The range leaves out the extremes: 7.8 of 8. One eighth of the way a second.
    np.testing.assert_allclose(motion.activity, 1 / 7.8, rtol=1e-6)


def test_repeats_are_states_equal_bit_for_bit():
    state = np.array([[0, 0], [0, 0], [0, 1e-12], [0, 1e-12]])
    motion = motion_of(make_episode(state=state, action=np.arange(4.0)))
    assert motion.repeats.tolist() == [True, False, True]
    assert motion_of(make_episode(action=np.zeros(3))).repeats.tolist() == [False, False]


def test_channels_with_clocks_of_their_own_are_held():
    episode = make_episode(state=np.arange(5.0), rate_hz=10)
    slow = Channel("action", "action", np.array([[10.0], [20.0]]), np.array([0.05, 0.25]), ("joint_0",))
    episode.channels = {**episode.channels, "action": slow}
    del episode.__dict__["channels"]
    episode.load_channels = lambda base=episode.load_channels: {**base(), "action": slow}
    np.testing.assert_array_equal(Motion(episode).values[1], [10, 10, 10, 20, 20])


def test_integers_become_floating_point():
    state = np.array([[0, 255], [1, 0]], np.uint8)
    np.testing.assert_array_equal(motion_of(make_episode(state=state)).steps, [[1], [-255]])


@pytest.mark.parametrize("name", ["sorted", "low", "range", "resolution", "steps", "bends", "turns", "scale", "weight"])
def test_quantities_survive_hostile_episodes(name):
    for what, episode in hostile_episodes(reaching(0, frames=30)):
        value = getattr(motion_of(episode), name)
        assert np.isfinite(value).all(), what


def test_sliding_variance_is_that_of_each_window():
    rng = np.random.default_rng(1)
    episode = make_episode(state=rng.normal(size=(90, 2)).cumsum(axis=0), rate_hz=30)
    motion = motion_of(episode)
    grid = grid_of(motion, 0.5)
    assert grid == (3, 5)
    windows = sliding(motion, grid, slice(None))
    thin = motion.values[:, ::3] / motion.scale[:, None]
    expected = [thin[:, i : i + 5].std(axis=1).max() for i in range(thin.shape[1] - 4)]
    np.testing.assert_allclose(windows.spread, expected, atol=1e-9)
    assert grid.samples(2, 4) == (6, 6 + 5 * 3 + 1)


def test_short_episodes_have_no_windows():
    assert grid_of(motion_of(make_episode(state=np.arange(20.0))), 0.5) is None
    assert grid_of(motion_of(make_episode()), 0.5) is None


@pytest.mark.parametrize("below", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("role", ["state", "action"])
def test_the_quick_look_never_misses_a_still_window(role, below):
    rng = np.random.default_rng(2)
    for _ in range(20):
        steps = rng.normal(size=(120, 2)) * (rng.random((120, 1)) < 0.3)
        motion = motion_of(make_episode(**{role: steps.cumsum(axis=0)}))
        grid = grid_of(motion, 0.5)
        assert grid is not None
        still = np.count_nonzero(sliding(motion, grid, slice(None)).spread <= below)
        assert may_rest(motion, grid, slice(None), below) >= still


def test_choices_change_among_few_whole_numbers():
    rng = np.random.default_rng(0)
    columns = {
        "keys": rng.integers(0, 2, 200),
        "actions": rng.permutation(np.arange(200) % 18),
        "one more than Atari has": rng.permutation(np.arange(200) % 19),
        "constant": np.full(200, 3),
        "halves": rng.integers(0, 4, 200) / 2,
        "a place": np.linspace(0, 1, 200),
    }
    motion = motion_of(make_episode(state=np.stack(list(columns.values()), axis=1).astype(np.float32)))
    assert dict(zip(columns, motion.choices.tolist(), strict=True)) == {
        "keys": True,
        "actions": True,
        "one more than Atari has": False,
        "constant": False,
        "halves": False,
        "a place": False,
    }
