"""The model that a card names, its arms, and recorded numbers as positions of the model's joints."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from gristmill.embodiment import Arm, Embodiment, Joint, plain_name
from gristmill.errors import UsageError
from gristmill.kinematics.chains import Chain, tip_of
from gristmill.kinematics.model import RobotModel
from gristmill.model_files import read_model
from gristmill.types import FloatArray


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
