"""Angles that are recorded within one turn, and jumps that are none of theirs."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill import plugins
from gristmill.checks.tracking_offset import TrackingOffset
from gristmill.embodiment import Embodiment, Joint
from gristmill.motion import motion_of
from gristmill.testing import judge, make_episode, measure_all

TURN = 2 * np.pi


def heading(index, *, turn=TURN, noise=0.0005, frames=400):
    """An angle (t,) that turns on and back by some turns, in the unit of which `turn` is a whole one."""
    rng = np.random.default_rng(index)
    speed = 0.8 * np.sin(np.arange(frames) / 70 + rng.uniform(0, 6)) + rng.uniform(-0.5, 0.5)
    return turn * (rng.uniform(-0.5, 0.5) + np.cumsum(speed) / 20 / TURN + rng.normal(0, noise, frames))


def centred(angle, turn=TURN):
    return (angle + turn / 2) % turn - turn / 2


@pytest.mark.parametrize("turn", [TURN, 360.0])
@pytest.mark.parametrize("within", [centred, lambda angle, turn: angle % turn], ids=["centred", "positive"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_path_is_the_angle_that_was_turned(turn, within, dtype):
    for index in range(8):
        turned = heading(index, turn=turn)
        state = within(turned, turn).astype(dtype)
        motion = motion_of(make_episode(state=state, rate_hz=20))
        np.testing.assert_allclose(motion.path[0], np.unwrap(state, period=turn), atol=turn * 2e-6)
        np.testing.assert_allclose(motion.steps[0], np.diff(turned), atol=turn * 2e-6)
        np.testing.assert_array_equal(motion.values[0], state)


def test_rest_at_the_edge_is_rest():
    # 0.003 rad of noise around pi: recorded are two values a whole turn apart, in turn.
    noise = np.random.default_rng(0).normal(0, 0.003, 200)
    motion = motion_of(make_episode(state=centred(np.pi + noise)))
    assert np.count_nonzero(np.abs(np.diff(motion.values[0])) > 6) > 50
    np.testing.assert_allclose(motion.steps[0], np.diff(noise), atol=1e-9)
    assert motion.scale[0] == pytest.approx(motion_of(make_episode(state=np.pi + noise)).scale[0], rel=1e-9)
    assert motion.scale[0] < 1


@pytest.mark.parametrize("height", [0.5, -6.0])
def test_a_spike_is_a_spike(height):
    state = 3.0 - 0.02 * np.cos(np.arange(200) / 9)
    state[80] += height
    motion = motion_of(make_episode(state=state))
    np.testing.assert_array_equal(motion.steps[0], np.diff(state))


@pytest.mark.parametrize(
    "state",
    [
        np.where(np.arange(200) // 25 % 2, 3.0, -3.0),  # a speed that is commanded all the way to and fro
        np.random.default_rng(0).uniform(-np.pi, np.pi, 200),  # noise
        np.where(np.arange(200) < 90, -3.0, 3.1) + 0.01 * np.sin(np.arange(200) / 9),  # one jump, and no wrap
        np.where(np.arange(200) < 90, 3.0, 3.0 + TURN),  # beyond one turn
    ],
)
def test_other_jumps_stay(state):
    motion = motion_of(make_episode(state=state))
    np.testing.assert_array_equal(motion.path, motion.values)
    np.testing.assert_array_equal(motion.steps[0], np.diff(state))


def card(unit):
    return Embodiment(key="base", title="a base", joints=(Joint(name="theta", unit=unit),))


def of_card(unit, state):
    return motion_of(make_episode(state=state, names=["theta"], embodiment=card(unit)))


def test_a_card_tells_what_is_an_angle():
    within = heading(0) % TURN
    assert np.ptp(of_card("rad", within).steps) < 1
    for unit in ("deg", "m", "tick"):
        np.testing.assert_array_equal(of_card(unit, within).path[0], within)
    # Between 1 and 1 + 2 pi: only a card says that this is an angle.
    elsewhere = 1 + heading(0) % TURN
    assert np.ptp(of_card("rad", elsewhere).steps) < 1
    np.testing.assert_array_equal(of_card("unknown", elsewhere).path[0], elsewhere)


def test_angles_that_wrap_at_different_samples_are_close():
    turned = heading(0)
    state, action = centred(turned), centred(turned + 0.1)
    motion = motion_of(make_episode(state=state, action=action))
    assert np.abs(motion.values[0] - motion.values[1]).max() > 6
    np.testing.assert_allclose(motion.apart(slice(0, 1), slice(1, 2)), -0.1, atol=1e-9)


def driving(index, within, rate_hz=20):
    turned = heading(index)
    state = np.stack([np.cumsum(np.cos(turned)) / 60, np.cumsum(np.sin(turned)) / 60, within(turned)], axis=1)
    return make_episode(state=state, index=index, names=["x", "y", "theta"], rate_hz=rate_hz)


@pytest.mark.parametrize("name", ["caps", "smoothness", "roughness", "idle", "outliers"])
def test_checks_see_the_turned_angle(name):
    check = plugins.load("checks", name)()
    wrapped = measure_all(check, [driving(i, centred) for i in range(3)])
    turned = measure_all(check, [driving(i, lambda angle: angle) for i in range(3)])
    for a, b in zip(wrapped, turned, strict=True):
        assert a is not None
        assert b is not None
        for column in set(a.values) - {"low", "high", "reach", "resolution"}:
            np.testing.assert_allclose(a.values[column], b.values[column], rtol=1e-3, err_msg=column)
    assert judge(check, [driving(i, centred) for i in range(16)]) == []


def test_a_wrapped_command_is_followed():
    turned = [heading(i, frames=200) for i in range(8)]
    made = [
        make_episode(state=centred(t - 0.01), action=centred(t), names=["theta"], index=i) for i, t in enumerate(turned)
    ]
    for measured in measure_all(TrackingOffset(), made):
        assert measured is not None
        assert np.abs(measured.values["offset"][0]) < 0.05
        assert measured.values["scatter"][0] < 0.001
