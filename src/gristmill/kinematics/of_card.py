"""The model that a card names, its arms, and recorded numbers as positions of the model's joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from gristmill import rotations
from gristmill.embodiment import Arm, Embodiment, Joint, plain_name
from gristmill.errors import UsageError
from gristmill.kinematics.chains import Chain, tip_of
from gristmill.kinematics.model import RobotModel
from gristmill.model_files import read_model
from gristmill.types import FloatArray


@dataclass(frozen=True, eq=False)
class Forward:
    """Forward kinematics of one arm: (t, j) positions of its joints -> its tip's positions and rotations.

    Attributes:
        robot: the model.
        chain: the arm in it.
    """

    robot: RobotModel
    chain: Chain

    def __call__(self, positions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Positions (t, 3) in metres and rotations (t, 3, 3) of the tip in the arm's base frame."""
        whole = self.robot.configurations(positions, self.chain.joints)
        poses = self.robot.poses(whole, self.chain.tip, self.chain.base)
        return poses[:, :3, 3], poses[:, :3, :3]

    @cached_property
    def continuous(self) -> tuple[bool, ...]:
        """Which of the arm's joints turn without end in the model."""
        return tuple(bool(endless) for endless in self.robot.continuous[self.chain.joints])


def model_of(card: Embodiment) -> RobotModel | None:
    """The model that the card names, compiled once a process; None if it names none.

    Raises:
        UsageError: the file cannot be read or compiled, or MuJoCo is not installed.
        UnsafeCorpusError: the file reaches outside of its folders.
    """
    if card.model is None:
        return None
    path = Path(card.model)
    stamp = path.stat().st_mtime_ns if path.exists() else 0
    return _compiled(path, stamp, card.model_roots)


@lru_cache(maxsize=8)
def _compiled(path: Path, stamp: int, roots: tuple[str, ...]) -> RobotModel:
    return RobotModel(read_model(path, [Path(root) for root in roots]))


def joint_number(model: RobotModel, joint: Joint) -> int | None:
    """Number of the model's joint that a card's joint means, by its name or one of its aliases."""
    numbers = (model.joint_numbers.get(plain_name(name)) for name in (joint.name, *joint.aliases))
    return next((number for number in numbers if number is not None), None)


def model_positions(values: FloatArray, joints: Sequence[Joint]) -> FloatArray | None:
    """(t, j) recorded numbers of the card's joints as radians or metres of the model's; None if a unit is not known."""
    scales, zeros = [joint.scale for joint in joints], [joint.zero for joint in joints]
    if None in scales or None in zeros:
        return None
    return (np.asarray(values, np.float64) - np.array(zeros, np.float64)) * np.array(scales, np.float64)


def forward_of(card: Embodiment) -> dict[str, Forward]:
    """Forward kinematics of each arm of the card that names joints, by the arm's name: what `harmonize` takes.

    Each takes (t, j) positions of the arm's joints in radians or metres of the model, and gives its tip's positions
    (t, 3) in metres and rotations (t, 3, 3) in the arm's base frame. Empty if the card names no model.

    Raises:
        UsageError: the model cannot be used, or an arm does not fit it.
        UnsafeCorpusError: the model's file reaches outside of its folders.
    """
    model = model_of(card)
    if model is None:
        return {}
    return {arm.name: Forward(model, chain_of_arm(model, card, arm)) for arm in card.arms if arm.joints}


def position_and_quaternion(poses: FloatArray) -> FloatArray:
    """(k, 7) position in metres and quaternion xyzw of (k, 4, 4) poses, neighbours with signs that do not flip."""
    quaternions = rotations.continuous(rotations.quaternion_of_matrix(poses[:, :3, :3]))
    return np.concatenate([poses[:, :3, 3], quaternions], axis=1)


def chain_of_arm(model: RobotModel, card: Embodiment, arm: Arm) -> Chain:
    """The chain of one of the card's arms.

    Raises:
        UsageError: one of its joints, its tip or its base is not in the model.
    """
    by_name = {joint.name: joint for joint in card.joints}
    numbers = []
    for name in arm.joints:
        number = joint_number(model, by_name[name])
        if number is None:
            raise UsageError(
                f"card {card.key}: joint {name!r} of arm {arm.name!r} has no counterpart in {model.files.path}; "
                f"add its name there to the joint's aliases; the model has {', '.join(model.joints)}"
            )
        numbers.append(number)
    if not numbers:
        raise UsageError(f"card {card.key}: arm {arm.name!r} names no joints")
    tip = arm.tip_link or model.bodies[tip_of(model, int(model.body_of[numbers[-1]]))]
    model.frames(model.neutral[None], tip)  # names what there is, if there is no such tip
    if arm.base_link is not None:
        model.body(arm.base_link)
    return Chain(name=arm.name, joints=np.array(numbers, np.intp), tip=tip, base=arm.base_link)
