"""One role's numbers in the robot's model: joints in rad or m, poses, openings; and their layout as blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gristmill import rotations
from gristmill.embodiment import Embodiment
from gristmill.harmonizing.harmonized import Block, Blocks
from gristmill.harmonizing.poses import Pose
from gristmill.types import FloatArray

_XYZ = ("x", "y", "z")
_SIXD = ("xx", "xy", "xz", "yx", "yy", "yz")  # components of the first and the second column


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What one role says of t samples; absent is what the recording or the card lacks."""

    frames: int
    joints: dict[str, FloatArray] = field(default_factory=dict)  # joint -> (t,) rad or m
    poses: dict[str, Pose] = field(default_factory=dict)  # arm -> pose of its end effector
    # Arm -> (t, k) steps of the numbers of its rotation, which are no rotation by themselves; only of recorded steps.
    differences: dict[str, FloatArray] = field(default_factory=dict)
    openings: dict[str, FloatArray] = field(default_factory=dict)  # gripper's joint -> (t,) in [0, 1]
    others: dict[str, FloatArray] = field(default_factory=dict)  # base velocity in m/s and rad/s; passed through


@dataclass(frozen=True, slots=True)
class Parts:
    """Which joints of a card stand in which block."""

    loose: tuple[str, ...]  # joints of no arm
    grippers: tuple[str, ...]  # of no arm
    poses: frozenset[str]  # joints that are coordinates of an end effector
    nowhere: frozenset[str]  # joints that the card puts in no block


def parts_of(card: Embodiment) -> Parts:
    """Sorts the card's joints into blocks."""
    poses = {n for arm in card.arms for n in (*arm.position, *arm.rotation, *arm.action_rotation)}
    held = {n for arm in card.arms for n in (*arm.joints, *([arm.gripper] if arm.gripper else []))}
    taken = poses | held | set(card.base_velocity) | set(card.pass_through)
    free = [j for j in card.joints if j.name not in taken]
    opens = {g.joint for g in card.grippers}
    grippers = tuple(j.name for j in free if j.kind == "gripper" or j.name in opens)
    loose = tuple(j.name for j in free if j.kind in ("revolute", "prismatic") and j.name not in grippers)
    nowhere = frozenset(j.name for j in free) - set(grippers) - set(loose)
    return Parts(loose, grippers, frozenset(poses), nowhere)


def blocks_of(model: Model, card: Embodiment) -> dict[str, Block]:
    """The canonical blocks, in an order that depends on the card alone."""
    parts = parts_of(card)
    t = model.frames
    made: dict[str, Block] = {}
    for arm in card.arms:
        pose = model.poses.get(arm.name, Pose(None, None))
        turn = pose.rotation
        quaternion = None if turn is None else rotations.continuous(rotations.quaternion_of_matrix(turn))
        made[f"{arm.name}.position_m"] = _whole(_XYZ, pose.position_m, t)
        made[f"{arm.name}.quaternion"] = _whole(("qx", "qy", "qz", "qw"), quaternion, t)
        sixd = None if turn is None else rotations.sixd_of_matrix(turn)
        made[f"{arm.name}.rotation_6d"] = _whole(_SIXD, sixd, t)
        made[f"{arm.name}.joints"] = _gathered(arm.joints, model.joints, t)
        made[f"{arm.name}.gripper"] = _gathered((arm.gripper,) if arm.gripper else ("gripper",), model.openings, t)
    made["joints"] = _gathered(parts.loose, model.joints, t)
    made["grippers"] = _gathered(parts.grippers, model.openings, t)
    made["base_velocity"] = _gathered(card.base_velocity or ("vx", "vy", "wz"), model.others, t)
    made["pass_through"] = _gathered(card.pass_through, model.others, t)
    return made


def model_of(blocks: Blocks, card: Embodiment) -> Model:
    """The inverse of `blocks_of`. Of rotations the 6D form counts, which has no sign to choose."""
    parts = parts_of(card)
    model = Model(len(next(iter(blocks.values())).values) if blocks else 0)
    for arm in card.arms:
        place, turn = blocks[f"{arm.name}.position_m"], blocks[f"{arm.name}.rotation_6d"]
        model.poses[arm.name] = Pose(
            place.values if place.mask.all() else None,
            rotations.matrix_of_6d(turn.values) if turn.mask.all() else None,
        )
        _scatter(arm.joints, blocks[f"{arm.name}.joints"], model.joints)
        _scatter((arm.gripper,) if arm.gripper else (), blocks[f"{arm.name}.gripper"], model.openings)
    _scatter(parts.loose, blocks["joints"], model.joints)
    _scatter(parts.grippers, blocks["grippers"], model.openings)
    _scatter(card.base_velocity, blocks["base_velocity"], model.others)
    _scatter(card.pass_through, blocks["pass_through"], model.others)
    return model


def _whole(names: Sequence[str], values: FloatArray | None, frames: int) -> Block:
    if values is None:
        return Block(tuple(names), np.full((frames, len(names)), np.nan), np.zeros(len(names), bool))
    return Block(tuple(names), values, np.ones(len(names), bool))


def _gathered(names: Sequence[str], known: dict[str, FloatArray], frames: int) -> Block:
    values = np.full((frames, len(names)), np.nan)
    for column, name in enumerate(names):
        if name in known:
            values[:, column] = known[name]
    return Block(tuple(names), values, np.array([name in known for name in names], bool))


def _scatter(names: Sequence[str], block: Block, known: dict[str, FloatArray]) -> None:
    for column, name in enumerate(names):
        if block.mask[column]:
            known[name] = block.values[:, column]
