"""Steps for places, and places for steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gristmill.checks.action_mode import ActionMode
from gristmill.finding import Kind
from gristmill.synth.convention_errors import STATE, without
from gristmill.testing import judge

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
