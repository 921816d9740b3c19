"""Grippers in another range than the card's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.checks.gripper_range import GripperRange
from gristmill.embodiment import Embodiment, Gripper, Joint
from gristmill.finding import Kind
from gristmill.synth.convention_errors import CONTACT, OBJECT, without
from gristmill.testing import judge, make_episode

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
    assert {(f.row, f.code, f.kind) for f in found} == {(i, "unused", Kind.DEFECT) for i in range(COUNT)}
    blind = spoiled("gripper_range_metres", lambda e: without(e, (CONTACT, OBJECT)))
    assert judge(GripperRange(), blind) == []
    assert "no signal tells grasps" in str(GripperRange().measure(blind[0]).unknown)


def test_a_little_overtravel_is_allowed():
    card = replace(CARD, grippers=(replace(CARD.grippers[0], closed=0.1, open=0.8),))
    assert judge(GripperRange(), [replace(e, embodiment=card) for e in recorded()]) == []


@pytest.mark.parametrize(
    ("narrowest", "kind"),
    [
        (0.8, None),  # a wide object
        (0.93, Kind.RISK),  # a wider one, or another unit
    ],
)
def test_a_wide_object_is_no_wrong_unit(narrowest, kind):
    t = np.arange(300) / 30
    opening = np.interp(t, [0, 2.6, 3, 6, 6.4], [1, 1, narrowest, narrowest, 1])
    force = np.random.default_rng(0).normal(0, 0.02, (300, 1)) + 3.0 * ((t >= 3) & (t < 6.1))[:, None]
    joints = (Joint(name="joint"), Joint(name="gripper", kind="gripper", unit="normalized"))
    grippers = (Gripper(joint="gripper", closed=0.0, open=1.0),)
    card = Embodiment(key="made", title="made", joints=joints, grippers=grippers)
    values = np.stack([np.sin(t), opening], axis=1)
    made = [
        make_episode(
            state=values,
            names=("joint", "gripper"),
            embodiment=card,
            index=i,
            extra={"observation.contact_force": ("other", force)},
        )
        for i in range(4)
    ]
    found = judge(GripperRange(), made)
    assert [f.kind for f in found] == ([] if kind is None else [kind] * 4)
    assert all("or it holds wide objects" in f.message for f in found)
