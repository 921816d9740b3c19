"""What a robot's numbers mean: joints, units, limits, gripper, control, rate, with a source for each claim.

A card is a TOML file. `Embodiment` is its frozen form; `resolve` finds the card of a recording.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gristmill.errors import RecipeError, UnknownNameError, UsageError
from gristmill.settings import build, read_toml

if TYPE_CHECKING:
    from gristmill.episode import Dim

Unit = Literal["rad", "deg", "m", "tick", "percent", "normalized", "pixel", "unknown"]
JointKind = Literal["revolute", "prismatic", "gripper", "hand", "base", "other"]
ControlMode = Literal[
    "joint_position",
    "joint_delta",
    "joint_velocity",
    "joint_torque",
    "eef_position",
    "eef_pose",
    "eef_delta",
    "eef_velocity",
    "unknown",
]

# Control modes whose actions are places, so that an action and a state of one name share unit and limits.
_ABSOLUTE = ("joint_position", "eef_position", "eef_pose")

# Names that recorders give to dimensions of which they know nothing.
_PLACEHOLDER = re.compile(r"(motor|joint|dim|axis|action|state|value|qpos)?\d+")

# Matched joints below which a card is not chosen by names alone: two or three generic names prove nothing.
_ENOUGH_NAMES = 4

_FOLDER = Path(__file__).parent / "cards"


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """One dimension's meaning. Limits are in `unit`, rates in `unit` per second; None is not known.

    Raises:
        ValueError: the name is empty, or a limit is not below the other.
    """

    name: str
    aliases: tuple[str, ...] = ()  # other names that recordings use; matched without case and separators
    kind: JointKind = "revolute"
    unit: Unit = "rad"
    lower: float | None = None
    upper: float | None = None
    velocity_max: float | None = field(default=None, metadata={"min": 0})
    acceleration_max: float | None = field(default=None, metadata={"min": 0})

    def __post_init__(self) -> None:
        if not plain_name(self.name):
            raise ValueError(f"name: {self.name!r} has no letter and no digit")
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise ValueError(f"lower: {self.lower} is not below upper, {self.upper}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gripper:
    """Range and polarity of a gripper: the values at which it is closed and open."""

    joint: str
    closed: float
    open: float

    def __post_init__(self) -> None:
        if self.closed == self.open:
            raise ValueError(f"closed: equals open, {self.open}")


@dataclass(frozen=True, kw_only=True)
class Embodiment:
    """A card. `inferred` marks one that was guessed from the data: its limits accuse nobody.

    Raises:
        ValueError: two joints answer to one name, or a gripper names no joint.
    """

    key: str  # "so101"
    title: str
    robot_types: tuple[str, ...] = ()  # values of `robot_type` that select this card
    joints: tuple[Joint, ...] = ()
    grippers: tuple[Gripper, ...] = ()
    control_mode: ControlMode = "unknown"
    action_frame: Literal["base", "end_effector", "joint", "pixel", "unknown"] = "unknown"
    quaternion_order: Literal["xyzw", "wxyz", "unknown"] = "unknown"
    rate_hz: float | None = field(default=None, metadata={"min": 0.001})
    urdf: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict)  # claim -> where it comes from
    notes: str = ""
    inferred: bool = False

    def __post_init__(self) -> None:
        names: dict[str, Joint] = {}
        for joint in self.joints:
            for name in {plain_name(n) for n in (joint.name, *joint.aliases)}:
                if not self.inferred and name in names:
                    raise ValueError(f"joints: {names[name].name!r} and {joint.name!r} both answer to {name!r}")
                names.setdefault(name, joint)
        for i, gripper in enumerate(self.grippers):
            if gripper.joint not in {joint.name for joint in self.joints}:
                raise ValueError(f"grippers[{i}].joint: no joint is named {gripper.joint!r}")

    def match(self, names: Sequence[str]) -> tuple[Joint | None, ...]:
        """The joint behind each dimension name, or None. Names are compared without case and separators.

        When no name matches and there are exactly as many unnamed dimensions as joints, they match in order.
        "Unnamed" includes names that only count, such as `motor_3`.
        """
        key = tuple(names)
        if key not in self._matches:
            found = tuple(self._by_name.get(plain_name(name)) for name in key)
            if not any(found) and len(key) == len(self.joints) and all(map(is_placeholder, key)):
                found = self.joints
            self._matches[key] = found
        return self._matches[key]

    def match_dims(self, dims: Sequence[Dim]) -> tuple[Joint | None, ...]:
        """The joint behind each dimension, channel by channel.

        An action that is a step, a speed or a torque is no place: its dimensions match no joint, except
        grippers, which are commanded by place in every mode.
        """
        found: dict[int, Joint | None] = {}
        for channel in dict.fromkeys(d.channel for d in dims):
            rows = [i for i, d in enumerate(dims) if d.channel == channel]
            joints = self.match([dims[i].name for i in rows])
            if dims[rows[0]].role == "action" and self.control_mode not in (*_ABSOLUTE, "unknown"):
                joints = tuple(j if j is not None and j.kind in ("gripper", "hand") else None for j in joints)
            found.update(zip(rows, joints, strict=True))
        return tuple(found[i] for i in range(len(dims)))

    def gripper(self, joint: str) -> Gripper | None:
        """Range and polarity of the gripper whose joint has this name, where the card states them."""
        return next((g for g in self.grippers if g.joint == joint), None)

    @cached_property
    def _by_name(self) -> dict[str, Joint]:
        return {plain_name(n): j for j in reversed(self.joints) for n in (j.name, *j.aliases)}

    @cached_property
    def _matches(self) -> dict[tuple[str, ...], tuple[Joint | None, ...]]:
        return {}


def plain_name(name: str) -> str:
    """A name without case and separators: `Shoulder_Pan.pos` -> `shoulderpanpos`."""
    return "".join(c for c in name.casefold() if c.isalnum())


def is_placeholder(name: str) -> bool:
    """Whether a dimension's name says nothing: empty, or only a count such as `motor_3`."""
    text = plain_name(name)
    return not text or _PLACEHOLDER.fullmatch(text) is not None


@cache
def shipped() -> tuple[str, ...]:
    """Keys of the cards that ship with the package, sorted."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def load_card(path_or_key: str | Path) -> Embodiment:
    """A card from a TOML file, or a shipped one by its key.

    Raises:
        UnknownNameError: no such key.
        UsageError: the file cannot be read, or a key in it is unknown, of the wrong type or out of range;
            the text begins with the file and the key's full path.
    """
    if isinstance(path_or_key, str) and path_or_key in shipped():
        return _load_shipped(path_or_key)
    path = Path(path_or_key)
    if path.suffix != ".toml" and not path.exists():
        raise UnknownNameError("cards", str(path_or_key), shipped())
    return _parse(path)


def resolve(robot_type: str, dims: Sequence[Dim]) -> Embodiment:
    """The shipped card of a recording, or an inferred one.

    A card applies only when it explains every dimension of the state (of the action, if there is no
    state) by name: a card that fits half of a robot would accuse it of breaking another one's limits.
    Cards that name the robot's type come first; without one, the names must single out one card.
    """
    names = [d.name for d in dims if d.role == "state"] or [d.name for d in dims]
    wanted = plain_name(robot_type)
    cards = [load_card(key) for key in shipped()]
    typed = [c for c in cards if wanted in map(plain_name, c.robot_types)]
    fitting = [c for c in typed or cards if _explains(c, names, by_type=bool(typed))]
    return fitting[0] if len(fitting) == 1 else infer(robot_type, dims)


def infer(robot_type: str, dims: Sequence[Dim]) -> Embodiment:
    """A minimal card from names alone: no limit, no unit, only what is a gripper and what is a hand."""
    names = [d.name for d in dims if d.role == "state"] or [d.name for d in dims]
    joints = {name: Joint(name=name, kind=_kind(name), unit="unknown") for name in names if plain_name(name)}
    return Embodiment(
        key="inferred",
        title=f"Inferred from the names in the recordings of {robot_type or 'an unnamed robot'}",
        robot_types=(robot_type,) if robot_type else (),
        joints=tuple(joints.values()),
        inferred=True,
    )


def card_digest(card: Embodiment) -> str:
    """Digest of what a card claims of numbers; title, notes and sources do not enter."""
    claims = {f.name: getattr(card, f.name) for f in fields(card) if f.name not in ("title", "notes", "sources")}
    return hashlib.blake2b(repr(sorted(claims.items())).encode(), digest_size=16).hexdigest()


def to_toml(card: Embodiment) -> str:
    """The card as TOML text; `load_card` gives an equal card back."""
    tables = ("joints", "grippers", "sources")
    lines = [*_pairs(card, skip=tables)]
    if card.sources:
        lines += ["", "[sources]", *(f"{_text(k)} = {_text(v)}" for k, v in card.sources.items())]
    for name in tables[:2]:
        for item in getattr(card, name):
            lines += ["", f"[[{name}]]", *_pairs(item)]
    return "\n".join(lines) + "\n"


@cache
def _load_shipped(key: str) -> Embodiment:
    return _parse(_FOLDER / f"{key}.toml")


def _parse(path: Path) -> Embodiment:
    table = read_toml(path)
    try:
        return build(Embodiment, table, "")
    except RecipeError as error:
        raise UsageError(f"{path}: {str(error).removeprefix(': ')}") from None


def _explains(card: Embodiment, names: Sequence[str], *, by_type: bool) -> bool:
    """Whether every name is a joint's; without a matching type, enough of them have to be telling ones."""
    joints = [card._by_name.get(plain_name(name)) for name in names]
    if not names or not all(joints):
        return False
    telling = [n for n, j in zip(names, joints, strict=True) if j and j.kind != "other" and not is_placeholder(n)]
    return by_type or len(telling) >= _ENOUGH_NAMES


def _kind(name: str) -> JointKind:
    text = plain_name(name)
    if any(word in text for word in ("gripper", "jaw", "claw")):
        return "gripper"
    if any(word in text for word in ("hand", "thumb", "finger")):
        return "hand"
    return "other"


def _pairs(item: Any, skip: Sequence[str] = ()) -> Iterator[str]:
    """`key = value` for every field that differs from its default."""
    for f in fields(item):
        value = getattr(item, f.name)
        if f.name not in skip and value != f.default and value is not None:
            yield f"{f.name} = {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(value: str) -> str:
    # JSON's escapes are TOML's, but TOML also forbids a bare DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
