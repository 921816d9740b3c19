"""The parts of a robot that a card describes: joints, grippers, and arms with their end effectors."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Unit = Literal["rad", "deg", "m", "mm", "tick", "percent", "normalized", "pixel", "unknown"]
JointKind = Literal["revolute", "prismatic", "gripper", "hand", "base", "other"]
RotationForm: TypeAlias = Literal["quaternion", "axis_angle", "euler_rpy", "6d", "matrix", "unknown"]

# Numbers that each form of a rotation takes. A matrix is written row by row, the six of "6d" are its first two columns.
ROTATION_WIDTH = {"quaternion": 4, "axis_angle": 3, "euler_rpy": 3, "6d": 6, "matrix": 9}

_ANY_SIGN = {"min": -math.inf}


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """One dimension's meaning. Limits are in `unit`, rates in `unit` per second; None is not known.

    The joint's position in the robot's model is `sign` times the distance of the recorded number from `offset`. So are
    coordinates of an end effector and speeds of a base.

    Raises:
        ValueError: the name is empty, a limit is not below the other, or two claims cannot both hold.
    """

    name: str
    aliases: tuple[str, ...] = ()  # other names that recordings use; matched without case and separators
    kind: JointKind = "revolute"
    unit: Unit = "rad"
    lower: float | None = None
    upper: float | None = None
    velocity_max: float | None = field(default=None, metadata={"min": 0})
    acceleration_max: float | None = field(default=None, metadata={"min": 0})
    sign: Literal[-1, 1] = field(default=1, metadata=_ANY_SIGN)  # -1 where recorded numbers grow as the model's fall
    offset: float = field(default=0.0, metadata=_ANY_SIGN)  # recorded number, in `unit`, at the model's zero
    ticks_per_turn: float | None = field(default=None, metadata={"min": 1})  # of a joint in ticks
    zero_tick: float | None = None  # recorded count at the model's zero
    lower_rad: float | None = None  # model's position at `lower`, of a joint in percent or normalized
    upper_rad: float | None = None  # and at `upper`
    continuous: bool = False  # turns without end: positions that are whole turns apart are one

    def __post_init__(self) -> None:
        if not plain_name(self.name):
            raise ValueError(f"name: {self.name!r} has no letter and no digit")
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise ValueError(f"lower: {self.lower} is not below upper, {self.upper}")
        if (self.ticks_per_turn is not None or self.zero_tick is not None) and self.unit != "tick":
            raise ValueError(f"ticks_per_turn: the unit is {self.unit!r}, not 'tick'")
        if self.zero_tick is not None and self.offset:
            raise ValueError("offset: zero_tick says the same; give one of them")
        ends = (self.lower, self.upper, self.lower_rad, self.upper_rad)
        if (self.lower_rad is None) != (self.upper_rad is None) or (self.lower_rad is not None and None in ends):
            raise ValueError("lower_rad: needs lower, upper and upper_rad beside it")
        if self.lower_rad is not None and self.lower_rad == self.upper_rad:
            raise ValueError(f"lower_rad: equals upper_rad, {self.upper_rad}")
        if self.lower_rad is not None and (self.sign != 1 or self.offset):
            raise ValueError("lower_rad: says sign and offset already; leave those out")
        if self.continuous and (self.kind != "revolute" or self.unit in ("m", "mm", "pixel")):
            raise ValueError(f"continuous: only a revolute joint turns, not a {self.kind} one in {self.unit}")
        if self.continuous and (self.lower is not None or self.upper is not None):
            raise ValueError("continuous: what turns without end has no lower and no upper; leave those out")

    @property
    def scale(self) -> float | None:
        """Model's unit (rad or m) per recorded unit, sign included; None where the card does not tell it."""
        if self.lower_rad is not None and self.upper_rad is not None and self.upper is not None:
            return (self.upper_rad - self.lower_rad) / (self.upper - self.lower)  # type: ignore[operator]
        if self.unit == "tick":
            return None if self.ticks_per_turn is None else self.sign * 2 * math.pi / self.ticks_per_turn
        size = {"rad": 1.0, "deg": math.pi / 180, "m": 1.0, "mm": 1e-3}.get(self.unit)
        return None if size is None else self.sign * size

    @property
    def zero(self) -> float | None:
        """Recorded number at the model's zero; None where the card does not tell it."""
        if self.lower_rad is not None and self.lower is not None and self.scale is not None:
            return self.lower - self.lower_rad / self.scale
        if self.unit == "tick":
            return self.zero_tick if self.zero_tick is not None else self.offset or None
        return self.offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Gripper:
    """Range and polarity of a gripper: the values at which it is closed and open."""

    joint: str
    closed: float
    open: float
    clips: bool = False  # values beyond closed and open occur; they are clipped, which cannot be undone

    def __post_init__(self) -> None:
        if self.closed == self.open:
            raise ValueError(f"closed: equals open, {self.open}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """An arm: its joints from the base to the tip, its gripper, and where recordings hold its end effector's pose.

    All names are those of joints of the card, whose units and aliases hold here too.

    Raises:
        ValueError: a position that is not three names, or a rotation with a wrong number of them.
    """

    name: str
    joints: tuple[str, ...] = ()
    gripper: str | None = None
    position: tuple[str, ...] = ()  # x, y, z in the arm's base frame
    rotation: tuple[str, ...] = ()
    rotation_as: RotationForm = "unknown"
    action_rotation: tuple[str, ...] = ()  # where actions write rotations otherwise than states do
    action_rotation_as: RotationForm = "unknown"
    base_link: str | None = None  # link of the robot's model in whose frame poses are; None is the model's own
    tip_link: str | None = None  # link or site that the pose is of; None is what is fixed to the last joint

    def __post_init__(self) -> None:
        if len(self.position) not in (0, 3):
            raise ValueError(f"position: needs the names of x, y and z, got {len(self.position)}")
        _fits("rotation", self.rotation, self.rotation_as)
        _fits("action_rotation", self.action_rotation, self.action_rotation_as)

    @property
    def names(self) -> tuple[str, ...]:
        """Every joint that it names."""
        own = (self.gripper,) if self.gripper else ()
        return (*self.joints, *own, *self.position, *self.rotation, *self.action_rotation)

    def rotation_of(self, role: str) -> tuple[tuple[str, ...], RotationForm]:
        """Names and form of the rotation in the state or in the action."""
        if role == "action" and self.action_rotation:
            return self.action_rotation, self.action_rotation_as
        return self.rotation, self.rotation_as


def plain_name(name: str) -> str:
    """A name without case and separators: `Shoulder_Pan.pos` -> `shoulderpanpos`."""
    return "".join(c for c in name.casefold() if c.isalnum())


def _fits(key: str, names: tuple[str, ...], form: RotationForm) -> None:
    width = ROTATION_WIDTH.get(form)
    if names and width is None:
        raise ValueError(f"{key}_as: say how the rotation is written, one of {', '.join(ROTATION_WIDTH)}")
    if names and len(names) != width:
        raise ValueError(f"{key}: {form} takes {width} names, got {len(names)}")
