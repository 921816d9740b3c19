"""Grippers whose polarity is reversed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gristmill.checks.gripper_polarity import GripperPolarity
from gristmill.finding import Kind
from gristmill.synth.convention_errors import ACTION, CONTACT, OBJECT, STATE, without
from gristmill.testing import judge

from .sampled_arm import COUNT, ConventionContract, recorded, spoiled


class TestGripperPolarity(ConventionContract):
    check = GripperPolarity()
    error = "gripper_polarity"


@pytest.mark.parametrize("gone", [(), (CONTACT,)])
def test_found_by_force_or_by_what_moves(gone):
    found = judge(GripperPolarity(), spoiled("gripper_polarity", lambda e: without(e, gone)))
    assert {f.row for f in found} == set(range(COUNT))
    assert {f.kind for f in found} == {Kind.DEFECT}
    assert (OBJECT if gone else CONTACT) in found[0].message
    assert all(f.measured == -1 for f in found)


def test_unknown_without_a_signal():
    blind = spoiled("gripper_polarity", lambda e: without(e, (CONTACT, OBJECT)))
    assert judge(GripperPolarity(), blind) == []
    assert "tells when something is held" in str(GripperPolarity().measure(blind[0]).unknown)


def test_a_gripper_that_does_not_move_tells_nothing():
    def still(episode):
        arrays = {k: c.values.copy() for k, c in episode.channels.items()}
        for key in (STATE, ACTION):
            arrays[key][:, 5] = 0.5
        channels = {k: replace(c, values=arrays[k]) for k, c in episode.channels.items()}
        return replace(episode, load_channels=lambda: channels)

    measured = GripperPolarity().measure(still(recorded()[0]))
    assert measured.unknown == "no gripper moves when contact begins or ends"
