"""What each array of a buffer becomes: a channel with a role, a camera, the clock, or nothing that is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from gristmill.episode import CameraInfo, Role
from gristmill.errors import CorpusError
from gristmill.formats.lerobot.declaration import BOOKKEEPING
from gristmill.formats.recorded import ChannelSpec
from gristmill.formats.zarr_buffer.metadata import ArrayMeta

CLOCK = "timestamp"  # diffusion_policy's recorder keeps the time of each step under this name
# Wider rows are point clouds or features of a network, which no check reads number by number.
_MOST_NUMBERS = 4096
_SMALLEST_SIDE = 8  # pixels; a table of points has two or three columns
_CHANNELS = (1, 3, 4)
_PICTURE = re.compile(r"img|image|rgb|cam|color|colour|frame")
_PROPRIOCEPTION = re.compile(
    r"state|agent_pos|proprio|qpos|qvel|joint|gripper|eef|end_effector|\bee\b|tcp|robot\d*_(pos|rot)|pose|velocit"
)
# UMI's poses of a whole demonstration, and things that are not the robot.
_NOT_OF_THE_ROBOT = re.compile(r"demo_(start|end)_pose|object|goal|target|keypoint|embed")

# Names of dimensions, by the end of an array's name: UMI (scripts_slam_pipeline/07_generate_replay_buffer.py) and
# diffusion_policy's recorder (real_world/real_env.py), whose poses are a place and a rotation vector.
_PLACE, _TURN = ("x", "y", "z"), ("rx", "ry", "rz")
_ENDINGS: dict[str, tuple[str, ...]] = {
    "_eef_pos": _PLACE,
    "_eef_rot_axis_angle": _TURN,
    "_gripper_width": ("gripper_width",),
    "_eef_pose": (*_PLACE, *_TURN),
    "_demo_start_pose": (*_PLACE, *_TURN),
    "_demo_end_pose": (*_PLACE, *_TURN),
}
# PushT (diffusion_policy/env/pusht/pusht_env.py): known by its set of arrays.
_PUSHT = {"keypoint", "n_contacts", "state", "action"}
_PUSHT_NAMES = {
    ("state", 5): ("agent_x", "agent_y", "block_x", "block_y", "block_angle"),
    ("action", 2): ("agent_x", "agent_y"),
}


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Which array is what; keys as in an Episode."""

    numbers: dict[str, tuple[ArrayMeta, ChannelSpec]] = field(default_factory=dict)
    cameras: dict[str, tuple[ArrayMeta, CameraInfo]] = field(default_factory=dict)  # their rate is not known here
    clock: ArrayMeta | None = None
    unread: dict[str, str] = field(default_factory=dict)


def layout_of(metas: Sequence[ArrayMeta], *, state: Sequence[str] = (), action: Sequence[str] = ()) -> Layout:
    """Sort the arrays below `data`.

    Args:
        metas: their declarations.
        state: arrays that the user calls state; by default their names decide.
        action: the same for actions.

    Raises:
        CorpusError: an array that the user named does not exist.
    """
    by_name = {meta.name.removeprefix("data/").replace("/", "."): meta for meta in metas}
    if len(by_name) < len(metas):
        raise CorpusError("two arrays below `data` have one name when / and . are taken for the same; rename one")
    stated = _stated(by_name, state, action)
    pusht = by_name.keys() >= _PUSHT
    found = Layout(clock=_clock(by_name.get(CLOCK)))
    for name, meta in by_name.items():
        if meta is found.clock:
            continue
        width = prod(meta.shape[1:])
        if meta.why:
            found.unread[name] = meta.why
        elif (size := _picture(name, meta)) is not None:
            if "depth" in name.lower() or meta.dtype.itemsize == 2:
                found.unread[name] = "depth is not decoded"
                continue
            key = f"observation.images.{name}"
            height, width = size
            found.cameras[key] = meta, CameraInfo(key=key, height=height, width=width, rate_hz=None)
        elif "depth" in name.lower() or not 0 < width <= _MOST_NUMBERS:
            found.unread[name] = f"{width:,} numbers a frame are no channel that a check reads"
        else:
            role = stated[name] if name in stated else _role(name, by_given=(bool(state), bool(action)))
            key = _key(name, role)
            names = _PUSHT_NAMES.get((name, width), ()) if pusht else ()
            names = names or _names(name, width)
            spec = ChannelSpec(key=key, role=role, width=width, names=names, dtype=meta.dtype.newbyteorder("=").name)
            found.numbers[key] = meta, spec
    return found


def channels_first(meta: ArrayMeta) -> bool:
    """Whether pictures are stored as (t, c, h, w)."""
    return len(meta.shape) == 4 and meta.shape[3] not in _CHANNELS


def _picture(name: str, meta: ArrayMeta) -> tuple[int, int] | None:
    """Height and width of an array of pictures; None for one of numbers."""
    shape, called = meta.shape, _PICTURE.search(name.lower()) is not None
    if meta.dtype.kind == "b" or (meta.dtype != "u1" and not (called or "depth" in name.lower())):
        return None
    if (len(shape) == 3 and called) or (len(shape) == 4 and shape[3] in _CHANNELS):
        size = shape[1], shape[2]
    elif len(shape) == 4 and shape[1] in _CHANNELS:
        size = shape[2], shape[3]
    else:
        return None
    return size if min(size) >= _SMALLEST_SIDE else None


def _clock(meta: ArrayMeta | None) -> ArrayMeta | None:
    one = meta is not None and not meta.why and prod(meta.shape[1:]) == 1 and meta.dtype.kind == "f"
    return meta if one else None


def _role(name: str, by_given: tuple[bool, bool]) -> Role:
    state, action = by_given
    low = name.lower()
    if low in ("action", "actions") or low.startswith("action."):
        return "other" if action else "action"
    if _PROPRIOCEPTION.search(low) and not _NOT_OF_THE_ROBOT.search(low):
        return "other" if state else "state"
    flags: dict[str, Role] = {"reward": "reward", "done": "done", "success": "success"}
    return flags.get(low, "other")


def _key(name: str, role: Role) -> str:
    """A key that LeRobot's readers, too, know as a state or an action."""
    if role == "state":
        return "observation.state" if name == "state" else f"observation.state.{name}"
    if role == "action":
        return "action" if name in ("action", "actions") else f"action.{name.removeprefix('action.')}"
    return f"observation.{name}" if name in BOOKKEEPING else name


def _names(name: str, width: int) -> tuple[str, ...]:
    for ending, names in _ENDINGS.items():
        if name.endswith(ending) and len(names) == width:
            # A buffer may hold two robots, and names tell dimensions apart.
            robot = name.removesuffix(ending)
            place = "" if ending == "_gripper_width" else ending.removesuffix("_pos").removesuffix("_rot_axis_angle")
            return tuple(f"{robot}{place}_{n}" for n in names)
    return ()


def _stated(by_name: Mapping[str, ArrayMeta], state: Sequence[str], action: Sequence[str]) -> dict[str, Role]:
    found: dict[str, Role] = {}
    roles: list[tuple[Role, Sequence[str]]] = [("state", state), ("action", action)]
    for role, names in roles:
        for name in names:
            if name not in by_name:
                raise CorpusError(f"options.{role}: there is no array {name!r}; known: {', '.join(sorted(by_name))}")
            found[name] = role
    return found
