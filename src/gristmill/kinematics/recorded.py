"""A recording's joints as configurations of the model that its card names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gristmill.embodiment import Embodiment, Joint
from gristmill.errors import UnsafeCorpusError, UsageError
from gristmill.kinematics.chains import Chain, chains_of
from gristmill.kinematics.model import RobotModel
from gristmill.kinematics.of_card import chain_of_arm, joint_number, model_of, model_positions
from gristmill.layout import Layout
from gristmill.model_files import can_compile
from gristmill.motion import Motion
from gristmill.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordedJoints:
    """Which rows of a motion are joints of which model.

    Attributes:
        model: the robot.
        rows: (j,) rows of the motion.
        numbers: (j,) numbers of the model's joints.
        joints: what the card says of each.
    """

    model: RobotModel
    rows: IntArray
    numbers: IntArray
    joints: tuple[Joint, ...]

    def configurations(self, motion: Motion) -> FloatArray:
        """(t, n) the model's configurations; joints that were not recorded are neutral."""
        positions = model_positions(motion.values[self.rows].T, self.joints)
        assert positions is not None  # units were looked at before
        return self.model.configurations(positions, self.numbers)

    def row_of(self, number: int) -> int:
        """The motion's row of a joint of the model."""
        return int(self.rows[self.numbers.tolist().index(number)])


def recorded_joints(layout: Layout) -> RecordedJoints | str:
    """The joints of the card's model among a layout's rows, or why there are none."""
    if layout.card.model is None:
        return "the robot's card names no model (urdf or mjcf)"
    if not can_compile():
        return "the card names a model of the robot, which needs pip install 'gristmill[kinematics]'"
    return _recorded(layout)


@lru_cache(maxsize=64)
def _recorded(layout: Layout) -> RecordedJoints | str:
    try:
        model = model_of(layout.card)
    except (UsageError, UnsafeCorpusError) as error:
        return f"the robot's model cannot be used: {error}"
    assert model is not None  # the caller looked
    found: dict[int, tuple[int, Joint]] = {}
    for row in layout.index[layout.moving].tolist():
        joint = layout.joints[row]
        number = None if joint is None else joint_number(model, joint)
        if joint is None or number is None or number in found:
            continue
        if joint.scale is None or joint.zero is None:
            if layout.parts[row] != "arm":
                continue  # like one that was not recorded: the arm that carries it is known without it
            return f"the card does not say how {layout.labels[row]}, in {joint.unit}, becomes an angle of the model"
        found[number] = (row, joint)
    if not found:
        return f"no recorded dimension is one of the joints of {model.files.path}"
    return RecordedJoints(
        model=model,
        rows=np.array([row for row, _ in found.values()], np.intp),
        numbers=np.array(list(found), np.intp),
        joints=tuple(joint for _, joint in found.values()),
    )


def limbs_of(recorded: RecordedJoints, card: Embodiment) -> tuple[Chain, ...]:
    """The card's arms whose joints were all recorded; where there is none, the limbs that recorded joints make up.

    Raises:
        UsageError: an arm of the card does not fit the model.
    """
    known = set(recorded.numbers.tolist())
    arms = [chain_of_arm(recorded.model, card, arm) for arm in card.arms if len(arm.joints) > 1]
    complete = tuple(chain for chain in arms if set(chain.joints.tolist()) <= known)
    if complete:
        return complete
    pairs = zip(recorded.numbers.tolist(), recorded.joints, strict=True)
    return chains_of(recorded.model, [n for n, joint in pairs if joint.kind in ("revolute", "prismatic")])
