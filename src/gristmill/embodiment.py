"""What a robot's numbers mean: joints, units, limits, gripper, control, rate, with a source for each claim.

A card is a TOML file. `Embodiment` is its frozen form; `resolve` finds the card of a recording.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gristmill.errors import RecipeError, UnknownNameError, UsageError
from gristmill.limbs import Arm, Gripper, Joint, JointKind, RotationForm, Unit, plain_name
from gristmill.settings import build, read_toml

if TYPE_CHECKING:
    from gristmill.episode import Dim

__all__ = ["Arm", "ControlMode", "Embodiment", "Gripper", "Joint", "JointKind", "RotationForm", "Unit", "plain_name"]

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


@dataclass(frozen=True, kw_only=True)
class Embodiment:
    """A card. `inferred` marks one that was guessed from the data: its limits accuse nobody.

    Raises:
        ValueError: two joints answer to one name, or a gripper, an arm or a list names no joint.
    """

    key: str  # "so101"
    title: str
    robot_types: tuple[str, ...] = ()  # values of `robot_type` that select this card
    joints: tuple[Joint, ...] = ()
    grippers: tuple[Gripper, ...] = ()
    arms: tuple[Arm, ...] = ()
    base_velocity: tuple[str, ...] = ()  # joints that are forward, sideways (m/s) and turning (rad/s) speed of a base
    pass_through: tuple[str, ...] = ()  # joints that mixtures take over as they are: hands, legs, anything else
    control_mode: ControlMode = "unknown"
    action_frame: Literal["base", "end_effector", "joint", "pixel", "unknown"] = "unknown"
    # How a step of a rotation is meant: a rotation composed with the pose, or differences of the recorded numbers.
    rotation_delta: Literal["compose", "difference", "unknown"] = "unknown"
    delta_from: Literal["state", "command", "unknown"] = "unknown"  # what a step is added to
    quaternion_order: Literal["xyzw", "wxyz", "unknown"] = "unknown"
    rate_hz: float | None = field(default=None, metadata={"min": 0.001})
    control_rate_hz: float | None = field(default=None, metadata={"min": 0.001})  # commands a second, always
    response_s: float | None = field(default=None, metadata={"min": 0})  # by which the state follows its commands
    # The robot's model; in a card's file relative to that file, in an `Embodiment` from `load_card` absolute.
    urdf: str | None = None
    mjcf: str | None = None  # goes before a URDF
    model_roots: tuple[str, ...] = ()  # further folders that the model may take meshes from
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
        known = {joint.name for joint in self.joints}
        claims = [(f"grippers[{i}].joint", (g.joint,)) for i, g in enumerate(self.grippers)]
        claims += [(f"arms[{i}]", arm.names) for i, arm in enumerate(self.arms)]
        claims += [("base_velocity", self.base_velocity), ("pass_through", self.pass_through)]
        for key, named in claims:
            for name in named:
                if name not in known:
                    raise ValueError(f"{key}: no joint is named {name!r}")
        if len(self.base_velocity) not in (0, 3):
            raise ValueError(f"base_velocity: needs forward, sideways and turning, got {len(self.base_velocity)}")
        if len({arm.name for arm in self.arms}) != len(self.arms):
            raise ValueError("arms: two of them have one name")
        self._check_rotations()

    def _check_rotations(self) -> None:
        """Only a number that is an angle by itself has a zero; components of a rotation have none."""
        by_name = {joint.name: joint for joint in self.joints}
        for i, arm in enumerate(self.arms):
            for role, key in (("state", "rotation"), ("action", "action_rotation")):
                names, form = arm.rotation_of(role)
                for name in names if form != "euler_rpy" else ():
                    if by_name[name].offset:
                        raise ValueError(
                            f"arms[{i}].{key}: {name!r} has an offset, which a number of a rotation as {form} cannot "
                            "have; leave it out"
                        )

    @property
    def model(self) -> str | None:
        """The file of the robot's model that is used, or None."""
        return self.mjcf or self.urdf

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
    """Digest of what a card claims of numbers; title, notes and sources do not enter.

    A model enters with what its files say, not with where they lie.
    """
    no_claims = ("title", "notes", "sources", "urdf", "mjcf", "model_roots")
    claims = {f.name: getattr(card, f.name) for f in fields(card) if f.name not in no_claims}
    if card.model:
        from gristmill.model_files import can_compile, model_digest

        claims["model"] = model_digest(Path(card.model), [Path(root) for root in card.model_roots])
        if not can_compile():  # then it claims nothing yet; measurements are owed again once it can be used
            claims["model"] += " unused"
    return hashlib.blake2b(repr(sorted(claims.items())).encode(), digest_size=16).hexdigest()


def to_toml(card: Embodiment) -> str:
    """The card as TOML text; `load_card` gives an equal card back."""
    tables = ("joints", "grippers", "arms", "sources")
    lines = [*_pairs(card, skip=tables)]
    if card.sources:
        lines += ["", "[sources]", *(f"{_text(k)} = {_text(v)}" for k, v in card.sources.items())]
    for name in tables[:3]:
        for item in getattr(card, name):
            lines += ["", f"[[{name}]]", *_pairs(item)]
    return "\n".join(lines) + "\n"


@cache
def _load_shipped(key: str) -> Embodiment:
    return _parse(_FOLDER / f"{key}.toml")


def _parse(path: Path) -> Embodiment:
    table = read_toml(path)
    try:
        card = build(Embodiment, table, "")
    except RecipeError as error:
        raise UsageError(f"{path}: {str(error).removeprefix(': ')}") from None
    if not card.model:
        return card
    folder = path.parent.absolute()
    return replace(
        card,
        urdf=None if card.urdf is None else str(folder / card.urdf),
        mjcf=None if card.mjcf is None else str(folder / card.mjcf),
        model_roots=tuple(str(folder / root) for root in card.model_roots),
    )


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
    # JSON's escapes are TOML's, but TOML also forbids a bare DEL, and nobody should read what cannot be seen.
    text = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)
