"""What a card claims of the rows of a motion. A card that was guessed from the data claims nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gristmill.embodiment import Arm, Embodiment, Gripper, Joint, RotationForm
from gristmill.episode import CorpusFacts
from gristmill.layout import Layout
from gristmill.types import FloatArray, IntArray

NOTHING = "the robot's card is inferred and claims nothing"

_STEPS = ("joint_delta", "eef_delta")
_PLACES = ("joint_position", "eef_position", "eef_pose")


@dataclass(frozen=True, eq=False, kw_only=True)
class ArmRows:
    """Rows of one arm in one role; an empty array where it has none.

    Attributes:
        arm: the card's arm.
        joints: (j,) from base to tip; empty unless all are there.
        position: (3,).
        rotation: (k,) with k by `form`.
        form: how the rotation is written.
    """

    arm: Arm
    joints: IntArray
    position: IntArray
    rotation: IntArray
    form: RotationForm

    @property
    def quaternion(self) -> IntArray:
        """(4,) rows of a quaternion, or none."""
        return self.rotation if self.form == "quaternion" else self.rotation[:0]


@dataclass(frozen=True, eq=False, kw_only=True)
class Claims:
    """A card's claims in terms of rows.

    Attributes:
        card: the card.
        joints: the joint behind each of the D rows, by name alone, whatever actions are; None where there is none.
        states: one entry an arm, rows of the state.
        actions: one entry an arm, rows of the action; none where actions are neither places nor steps.
        grippers: row -> range and polarity, of the state where it has the gripper, else of the action.
        mode: "absolute", "step" or "" where actions are something else, or unknown.
    """

    card: Embodiment
    joints: tuple[Joint | None, ...]
    states: tuple[ArmRows, ...]
    actions: tuple[ArmRows, ...]
    grippers: tuple[tuple[int, Gripper], ...]
    mode: str

    def signs(self, rows: IntArray) -> FloatArray:
        """(k, 1) sign that the card gives each of these rows, 1 where it gives none."""
        joints = [self.joints[row] for row in rows.tolist()]
        return np.array([[1.0 if joint is None else float(joint.sign)] for joint in joints])


def without_claims(check: Any, facts: CorpusFacts, card: Embodiment) -> str:
    """The method `unfit` of checks of what a card claims (see `gristmill.check.unfit`)."""
    return NOTHING if card.inferred else ""


@lru_cache(maxsize=64)
def claims_of(layout: Layout) -> Claims | None:
    """What the layout's card claims; None when it was inferred."""
    card = layout.card
    if card.inferred:
        return None
    joints: list[Joint | None] = [None] * len(layout.dims)
    for channel in dict.fromkeys(d.channel for d in layout.dims):
        rows = [i for i, d in enumerate(layout.dims) if d.channel == channel]
        for row, joint in zip(rows, card.match([layout.dims[i].name for i in rows]), strict=True):
            joints[row] = joint
    named = [joint.name if joint else "" for joint in joints]
    state, action = _once(named[: layout.states], 0), _once(named[layout.states :], layout.states)
    mode = "step" if card.control_mode in _STEPS else "absolute" if card.control_mode in _PLACES else ""
    grippers = []
    for gripper in card.grippers:
        joint = next(j for j in card.joints if j.name == gripper.joint)
        row = state.get(gripper.joint, action.get(gripper.joint))
        if joint.kind == "gripper" and row is not None:
            grippers.append((row, gripper))
    return Claims(
        card=card,
        joints=tuple(joints),
        states=tuple(_rows(arm, "state", state) for arm in card.arms),
        actions=tuple(_rows(arm, "action", action) for arm in card.arms) if mode else (),
        grippers=tuple(grippers),
        mode=mode,
    )


def _once(names: Sequence[str], start: int) -> dict[str, int]:
    return {n: start + i for i, n in enumerate(names) if n and names.count(n) == 1}


def _rows(arm: Arm, role: str, rows: dict[str, int]) -> ArmRows:
    names, form = arm.rotation_of(role)
    return ArmRows(
        arm=arm,
        joints=_all(arm.joints, rows),
        position=_all(arm.position, rows),
        rotation=_all(names, rows),
        form=form,
    )


def _all(names: Sequence[str], rows: dict[str, int]) -> IntArray:
    found = [rows[n] for n in names if n in rows]
    return np.array(found if len(found) == len(names) else [], np.intp)
