"""Grippers in another range than the card's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.checks.gripper_range import GripperRange
from gristmill.finding import Kind
from gristmill.synth.convention_errors import CONTACT, OBJECT, without
from gristmill.testing import judge

from .sampled_arm import CARD, COUNT, ConventionContract, recorded, spoiled


class TestGripperRange(ConventionContract):
    check = GripperRange()
    error = "gripper_range"


def test_percent_where_shares_are_claimed():
    (found, *more) = judge(GripperRange(), spoiled("gripper_range"))
    assert (found.kind, found.code, len(more)) == (Kind.DEFECT, "beyond", COUNT - 1)
    gripper = np.sort(recorded()[0].channels["observation.state"].values[:, 5])[-3]
    assert found.measured == pytest.approx(100 * gripper - 1, rel=1e-4)


def test_metres_where_shares_are_claimed_need_a_grasp():
    found = judge(GripperRange(), spoiled("gripper_range_metres"))
    assert {(f.row, f.code) for f in found} == {(i, "unused") for i in range(COUNT)}
    blind = spoiled("gripper_range_metres", lambda e: without(e, (CONTACT, OBJECT)))
    assert judge(GripperRange(), blind) == []
    assert "no signal tells grasps" in str(GripperRange().measure(blind[0]).unknown)


def test_a_little_overtravel_is_allowed():
    card = replace(CARD, grippers=(replace(CARD.grippers[0], closed=0.1, open=0.8),))
    assert judge(GripperRange(), [replace(e, embodiment=card) for e in recorded()]) == []
