"""What a robot's numbers mean: joints, units, limits, gripper, control, rate, with a source for each claim.

A card is a TOML file. `Embodiment` is its frozen form; `resolve` finds the card of a recording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Unit = Literal["rad", "deg", "m", "tick", "percent", "normalized", "pixel", "unknown"]
JointKind = Literal["revolute", "prismatic", "gripper", "hand", "base", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """One dimension's meaning. Limits are in `unit`, rates in `unit` per second; None is not known."""

    name: str
    aliases: tuple[str, ...] = ()  # other names that recordings use; matched without case and separators
    kind: JointKind = "revolute"
    unit: Unit = "rad"
    lower: float | None = None
    upper: float | None = None
    velocity_max: float | None = None
    acceleration_max: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gripper:
    """Range and polarity of a gripper: the values at which it is closed and open."""

    joint: str
    closed: float
    open: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Embodiment:
    """A card. `inferred` marks one that was guessed from the data: its limits accuse nobody."""

    key: str  # "so101"
    title: str
    robot_types: tuple[str, ...] = ()  # values of `robot_type` that select this card
    joints: tuple[Joint, ...] = ()
    grippers: tuple[Gripper, ...] = ()
    control_mode: str = "unknown"  # "joint_position", "joint_velocity", "eef_delta", "eef_pose", ...
    action_frame: str = "unknown"  # "base", "end_effector", "joint", "pixel"
    quaternion_order: str = "unknown"  # "xyzw" or "wxyz"
    rate_hz: float | None = None
    urdf: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict)  # claim -> where it comes from
    notes: str = ""
    inferred: bool = False

    def match(self, names: Sequence[str]) -> tuple[Joint | None, ...]:
        """The joint behind each dimension name, or None. Names are compared without case and separators.

        When no name matches and there are exactly as many unnamed dimensions as joints, they match in order.
        """
        raise NotImplementedError
