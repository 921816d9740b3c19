"""Steps for places, and places for steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.checks.action_mode import ActionMode
from gristmill.embodiment import Embodiment, Joint
from gristmill.finding import Kind
from gristmill.synth.convention_errors import STATE, without
from gristmill.testing import judge, make_episode

from .sampled_arm import ConventionContract, recorded, spoiled


class TestActionMode(ConventionContract):
    check = ActionMode()
    error = "action_mode_steps"


class TestPlaces(ConventionContract):
    check = ActionMode()
    error = "action_mode_places"
    as_told = "joint steps"


def test_what_is_said():
    (steps, *_), (places, *_) = (judge(ActionMode(), spoiled(f"action_mode_{n}")) for n in ("steps", "places"))
    assert steps.kind is places.kind is Kind.DEFECT
    assert "they are steps, the card gristmill_arm says joint_position" in steps.message
    assert "they are places, the card gristmill_arm says joint_delta" in places.message


def test_unknown_without_a_state():
    blind = spoiled("action_mode_steps", lambda e: without(e, (STATE,)))
    assert judge(ActionMode(), blind) == [] and ActionMode().measure(blind[0]).unknown
    assert "hardly moves" in str(ActionMode().measure(without_motion(recorded()[0])).unknown)


def without_motion(episode):
    channel = episode.channels[STATE]
    still = replace(channel, values=np.repeat(channel.values[:1], len(channel.values), axis=0))
    return replace(episode, load_channels=lambda: dict(episode.channels) | {STATE: still})


T = np.arange(0, 12, 1 / 50)


def made(state, action):
    names = ("a", "b", "c")
    joints = tuple(Joint(name=n) for n in names)
    card = Embodiment(key="made", title="made", joints=joints, control_mode="joint_position")
    return make_episode(state=state, action=action, names=names, rate_hz=50.0, embodiment=card)


def whisking(t, beats_hz):
    beat = 2 * np.pi * beats_hz * t
    return np.stack([0.02 * np.sin(0.2 * t), 0.4 * np.sin(beat), 0.3 * np.sin(beat + 1)], axis=1)


@pytest.mark.parametrize("beats_hz", [0.8, 1.0, 1.5])
@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_whisking_late_is_not_stepping(beats_hz, offset):
    """A quarter of a beat late, the state changes as its command is: places look like steps."""
    late = made(whisking(T - 0.2, beats_hz) + offset, whisking(T, beats_hz))
    assert judge(ActionMode(), [late]) == []
    steps = 0.1 * np.diff(whisking(T, beats_hz), axis=0, append=0)
    assert len(judge(ActionMode(), [made(whisking(T, beats_hz) + offset, steps)])) == 1


def test_angles_that_wrap_around_elsewhere_are_near_each_other():
    state, action = (np.stack([np.sin(t), np.cos(t), np.pi + 2 * np.sin(t)], axis=1) for t in (T, T + 0.1))
    state[:, 2] = np.mod(state[:, 2] + np.pi, 2 * np.pi) - np.pi
    action[:, 2] = np.mod(action[:, 2], 2 * np.pi)
    values = ActionMode().measure(made(state, action)).values
    assert values["place"] == pytest.approx(np.cos(0.1), abs=0.01) and values["distance"] < 0.15
