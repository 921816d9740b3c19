"""Steps in another frame than the card's."""

from __future__ import annotations

from dataclasses import replace

from gristmill.checks.delta_frame import DeltaFrame
from gristmill.finding import Kind
from gristmill.synth.convention_errors import STATE_POSE, says_pose_steps, truly, without
from gristmill.testing import judge

from .sampled_arm import CARD, COUNT, ConventionContract, recorded, spoiled


class TestDeltaFrame(ConventionContract):
    check = DeltaFrame()
    error = "delta_frame"
    as_told = "steps of the end effector"


def test_the_other_way_round():
    claimed = [
        replace(truly("steps of the end effector", e), embodiment=says_pose_steps(CARD, "base")) for e in recorded()
    ]
    found = judge(DeltaFrame(), claimed)
    assert {f.row for f in found} == set(range(COUNT)) and found[0].kind is Kind.DEFECT
    assert "in the frame of the base, as the card gristmill_arm says" in found[0].message


def test_unknown_without_a_pose():
    blind = spoiled("delta_frame", lambda e: without(e, (STATE_POSE,)))
    assert judge(DeltaFrame(), blind) == [] and DeltaFrame().measure(blind[0]).unknown
