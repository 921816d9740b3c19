"""Which dimensions of a channel are resampled together, and how: by the rule, else by what they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING

import numpy as np

from gristmill.embodiment import Embodiment, Joint, plain_name
from gristmill.errors import RecipeError
from gristmill.layout import part_of
from gristmill.settings import suggest
from gristmill.timeline import Method, Resample, camera_method, matches

if TYPE_CHECKING:
    from gristmill.episode import Channel, CorpusFacts, Dim

_ROTATION = re.compile(r"quat|orient|rotation|rot$|q$")
_FULL_TURN = {"deg": 360.0, "rad": 2 * pi, "unknown": 2 * pi}
# Samples whose norm is within so much of 1 are unit quaternions: float32 rounds and drivers normalize by far less.
_UNIT = 0.05


@dataclass(frozen=True, slots=True)
class DimGroup:
    """Dimensions of one channel that are treated alike; a "slerp" group is one quaternion."""

    method: Method
    dims: tuple[int, ...]
    period: float | None = None  # of angles that wrap around


def is_discrete(channel: Channel) -> bool:
    """Whether a channel holds flags or whole numbers alone, which no average may be taken of."""
    return channel.values.dtype.kind != "f" or channel.role in ("done", "success")


def check_rule(rule: Resample, facts: CorpusFacts) -> None:
    """Whether a rule can be carried out on what a corpus declares.

    Raises:
        RecipeError: `methods` or `wrapping` names what the corpus does not have (a pattern may fit nothing), or asks
            for an average of a discrete channel or of pictures.
    """
    names = {*facts.features, *facts.cameras, *(d.channel for d in facts.dims), *(d.label for d in facts.dims)}
    for table, entries in (("methods", rule.methods), ("wrapping", rule.wrapping)):
        for name in entries:
            if name not in names and "*" not in name and "?" not in name:
                raise RecipeError(
                    f"resample.{table}.{name}: {facts.key} has no such channel, camera or dimension; "
                    f"{suggest(name, dict.fromkeys(names))}"
                )
    for key in facts.cameras:
        camera_method(rule, key)
    for key, feature in facts.features.items():
        entry = rule.method(key, key)
        kind = str(feature.get("dtype", ""))
        if entry is not None and entry[1] in ("linear", "slerp") and kind.startswith(("int", "uint", "bool")):
            raise RecipeError(_no_average(entry[0], key, kind))


def idle_patterns(rule: Resample, corpora: Sequence[CorpusFacts]) -> list[str]:
    """Patterns of a rule that fit no channel, camera or dimension of any corpus, as `methods.'nope.*'`."""
    names = {name for facts in corpora for name in _names_of(facts)}
    return [
        f"{table}.{name!r}"
        for table, entries in (("methods", rule.methods), ("wrapping", rule.wrapping))
        for name in entries
        if not any(matches(name, known) for known in names)
    ]


def _names_of(facts: CorpusFacts) -> set[str]:
    """Channels, cameras, and dimensions of channels of whatever role."""
    names = {*facts.features, *facts.cameras, *(d.channel for d in facts.dims), *(d.label for d in facts.dims)}
    for key, feature in facts.features.items():
        named = feature.get("names") if isinstance(feature.get("names"), list) else []
        shape = feature.get("shape") or [1]
        count = int(shape[0]) if len(shape) == 1 else 0
        names |= {f"{key}[{named[i] if i < len(named) and named[i] else i}]" for i in range(count)}
    return names


def groups_of(channel: Channel, rule: Resample, card: Embodiment) -> list[DimGroup]:
    """Every dimension of the channel, in groups.

    A rule's "linear" for a whole channel means its continuous dimensions: quaternions in it are still turned along
    the great arc, and commands of its grippers and whole numbers still not averaged; "slerp" for a whole channel means
    its quaternions. A rule that names a dimension is followed as it is.

    Raises:
        RecipeError: the rule asks for an average of a discrete channel, or for rotations where there are none.
    """
    from gristmill.episode import dims_of

    width = channel.values.shape[1]
    dims = dims_of({channel.key: channel}) if channel.role in ("state", "action") else _plain_dims(channel)
    discrete = is_discrete(channel)
    quaternions = [] if discrete else quaternions_of(channel, card)
    turning = {i: q for q in quaternions for i in q}
    joints = card.match_dims(dims) if dims else ()
    alike: dict[tuple[Method, float | None], list[int]] = {}
    turned: dict[tuple[int, ...], None] = {}
    for i in range(width):
        entry = rule.method(channel.key, dims[i].label)
        name, asked = entry or ("", "linear")
        if discrete:
            if entry is not None and asked in ("linear", "slerp"):
                raise RecipeError(_no_average(name, channel.key, f"{channel.values.dtype}, {channel.role}"))
            alike.setdefault((asked if entry else "nearest", None), []).append(i)
        elif i in turning and (asked == "slerp" or (asked == "linear" and name != dims[i].label)):
            turned[turning[i]] = None
        elif i in channel.discrete and asked in ("linear", "slerp"):
            if name == dims[i].label:
                raise RecipeError(_no_average(name, dims[i].label, "recorded as whole numbers or flags"))
            alike.setdefault(("nearest", None), []).append(i)
        elif asked == "slerp" and (not turning or name == dims[i].label):
            turned[_by_fours(channel, i, name)] = None
        elif asked in ("linear", "slerp") and name != dims[i].label and _commands_gripper(dims[i], joints[i]):
            alike.setdefault(("nearest", None), []).append(i)
        else:
            wraps = asked in ("linear", "slerp") and any(
                matches(p, dims[i].label) or matches(p, channel.key) for p in rule.wrapping
            )
            method = "linear" if asked == "slerp" else asked  # what stands beside the quaternions
            alike.setdefault((method, _full_turn(joints[i], dims[i]) if wraps else None), []).append(i)
    return [
        *(DimGroup(method, tuple(dims), period) for (method, period), dims in alike.items()),
        *(DimGroup("slerp", dims) for dims in turned),
    ]


def quaternions_of(channel: Channel, card: Embodiment) -> list[tuple[int, ...]]:
    """Groups of four dimensions that are unit quaternions: by the card's arms, their names, or the channel's.

    Either order of the components will do: a great arc is the same in both. What is no unit quaternion in the data,
    whatever its names say, is none.
    """
    width = channel.values.shape[1]
    found = _by_card(channel, card) or _by_names(channel.names)
    if not found and not any(channel.names):
        key = plain_name(channel.key)
        if width == 4 and _ROTATION.search(key):
            found = [(0, 1, 2, 3)]
        elif width == 7 and "pose" in key and card.quaternion_order != "unknown":
            found = [(3, 4, 5, 6)]  # position, then rotation
    return [q for q in found if _is_unit(channel.values[:, list(q)])]


def _by_card(channel: Channel, card: Embodiment) -> list[tuple[int, ...]]:
    """Rotations of arms that the card says are written as quaternions."""
    at = {joint.name: i for i, joint in enumerate(card.match(channel.names)) if joint is not None}
    written = [arm.rotation_of(channel.role) for arm in card.arms]
    return [
        tuple(at[name] for name in names)
        for names, form in written
        if form == "quaternion" and all(name in at for name in names)
    ]


def _by_names(names: Sequence[str]) -> list[tuple[int, ...]]:
    """Runs of four names that differ in a last letter w, x, y or z only, after a word for rotations or nothing."""
    found = []
    plain = [plain_name(name) for name in names]
    at = 0
    while at + 4 <= len(plain):
        four = plain[at : at + 4]
        stems = {name[:-1] for name in four}
        letters = "".join(name[-1:] for name in four)
        if len(stems) == 1 and letters in ("xyzw", "wxyz") and (stems == {""} or _ROTATION.search(min(stems))):
            found.append(tuple(range(at, at + 4)))
            at += 4
        else:
            at += 1
    return found


def _is_unit(values: np.ndarray) -> bool:
    values = values.astype(np.float64)
    norms = np.linalg.norm(values[np.isfinite(values).all(axis=1)], axis=1)
    return bool(len(norms)) and bool(np.abs(np.median(norms) - 1) < _UNIT)


def _by_fours(channel: Channel, dim: int, name: str) -> tuple[int, ...]:
    """The quaternion of a dimension in a channel that holds nothing but quaternions, as a rule says that it does."""
    if channel.values.shape[1] % 4:
        raise RecipeError(
            f"resample.methods.{name}: {channel.key} has {channel.values.shape[1]} dimensions and no four of them are "
            "named as a quaternion; slerp needs x, y, z, w"
        )
    first = dim - dim % 4
    return tuple(range(first, first + 4))


def _no_average(name: str, key: str, kind: str) -> str:
    return f"resample.methods.{name}: {key} is discrete ({kind}), no average of it is a value; use hold or nearest"


def _commands_gripper(dim: Dim, joint: Joint | None) -> bool:
    """Whether a dimension is a gripper's command: by its card or name, else by its channel's key without an arm."""
    if dim.role != "action":
        return False
    if part_of(dim.name, joint) == "gripper":
        return True
    key = plain_name(dim.channel)
    return joint is None and "arm" not in key and part_of(key, None) == "gripper"


def _full_turn(joint: Joint | None, dim: Dim) -> float:
    unit = "unknown" if joint is None else joint.unit
    if unit not in _FULL_TURN:
        raise RecipeError(f"resample.wrapping: {dim.label} is in {unit} by its card, which does not wrap around")
    return _FULL_TURN[unit]


def _plain_dims(channel: Channel) -> tuple[Dim, ...]:
    from gristmill.episode import Dim

    names = channel.names or ("",) * channel.values.shape[1]
    return tuple(
        Dim(channel.key, i, names[i] if i < len(names) else "", channel.role) for i in range(channel.values.shape[1])
    )
