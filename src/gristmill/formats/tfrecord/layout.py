"""What each entry of an RLDS episode becomes: a channel with a role, a camera, a task, or nothing that is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from gristmill.episode import CameraInfo, Role
from gristmill.errors import CorpusError
from gristmill.formats.lerobot.declaration import BOOKKEEPING
from gristmill.formats.recorded import ChannelSpec
from gristmill.formats.tfrecord.declared import STEPS, Entry

# Wider rows are features of a network or point clouds, which no check reads number by number.
_MOST_NUMBERS = 4096
_INSTRUCTIONS = ("language_instruction", "natural_language_instruction")
# Words that tell what an observation of the robot itself is called; the names are those of the Open X-Embodiment
# collection's data sets (https://github.com/google-deepmind/open_x_embodiment) and of DROID.
_PROPRIOCEPTION = re.compile(
    r"state|proprio|joint|gripper|cartesian|eef|end_effector|\bee\b|pose|position|velocit|qpos"
)
_NOT_OF_THE_ROBOT = re.compile(r"image|embedding|object|goal|target|language")
_FLAGS: dict[str, Role] = {"reward": "reward", "is_last": "done"}


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where things are in a record."""

    numbers: dict[str, tuple[Entry, ChannelSpec]] = field(default_factory=dict)  # channel -> entry
    cameras: dict[str, tuple[Entry, CameraInfo]] = field(default_factory=dict)  # camera -> entry
    texts: dict[str, Entry] = field(default_factory=dict)  # column -> entry, of a step or of the episode
    instructions: tuple[str, ...] = ()  # keys of texts that say the task, the best first
    about: tuple[Entry, ...] = ()  # of the episode as a whole
    unread: dict[str, str] = field(default_factory=dict)


def layout_of(
    entries: Sequence[Entry], *, rate_hz: float, state: Sequence[str] = (), action: Sequence[str] = ()
) -> Layout:
    """Sort the entries.

    Args:
        entries: what an episode holds.
        rate_hz: frames a second of its cameras.
        state: entries that the user calls state, by the ends of their keys; by default their names decide.
        action: the same for actions.

    Raises:
        CorpusError: an entry that the user named does not exist.
    """
    stated = _stated(entries, state, action)
    found = Layout(
        instructions=tuple(
            e.key for name in _INSTRUCTIONS for e in entries if e.kind == "text" and e.key.endswith(f"/{name}")
        ),
        about=tuple(e for e in entries if not e.per_step and e.kind in ("numbers", "text")),
    )
    for entry in entries:
        name = column(entry.key)
        if entry.kind == "unread":
            found.unread[name] = entry.why
        elif entry.kind == "text":
            found.texts[name] = entry
            if entry.per_step and entry.key not in found.instructions:
                found.unread[name] = "text; no check reads it"
        elif not entry.per_step:
            continue
        elif entry.kind == "image":
            key = f"observation.images.{name.removeprefix('observation.')}"
            height, width = entry.shape[0], entry.shape[1]
            found.cameras[key] = entry, CameraInfo(key=key, height=height, width=width, rate_hz=rate_hz)
        elif not 0 < entry.width <= _MOST_NUMBERS:
            found.unread[name] = f"{entry.width:,} numbers a step are no channel that a check reads"
        else:
            role = stated.get(entry.key) or _role(name)
            key = _channel(name, role)
            if key in found.numbers:
                found.unread[name] = f"another entry is already read as {key}"
                continue
            found.numbers[key] = entry, ChannelSpec(key=key, role=role, width=entry.width, dtype=_stored(entry))
    return found


def column(key: str) -> str:
    """`steps/observation/state` -> `observation.state`; LeRobot's keys hold no slash."""
    return key.removeprefix(STEPS).replace("/", ".")


def _role(name: str) -> Role:
    if name == "action" or name.startswith("action."):
        return "action"
    if name in _FLAGS:
        return _FLAGS[name]
    kind, _, rest = name.partition(".")
    if kind == "observation" and _PROPRIOCEPTION.search(rest.lower()) and not _NOT_OF_THE_ROBOT.search(rest.lower()):
        return "state"
    return "other"


def _channel(name: str, role: Role) -> str:
    """The key of a channel; of a state and of an action it begins so that LeRobot's readers know it as one."""
    if role == "state" and name != "observation.state" and not name.startswith("observation.state."):
        return f"observation.state.{name.removeprefix('observation.')}"
    if role == "action" and name != "action" and not name.startswith("action."):
        return f"action.{name}"
    return f"observation.{name}" if name in BOOKKEEPING else name


def _stored(entry: Entry) -> str:
    """The dtype that the values really have: the records keep every real number as float32."""
    return "float32" if "float" in entry.dtype else entry.dtype


def _stated(entries: Sequence[Entry], state: Sequence[str], action: Sequence[str]) -> dict[str, Role]:
    numbers = [e.key for e in entries if e.per_step and e.kind == "numbers"]
    found: dict[str, Role] = {}
    roles: list[tuple[Role, Sequence[str]]] = [("state", state), ("action", action)]
    for role, names in roles:
        for name in names:
            wanted = name.replace(".", "/")
            keys = [key for key in numbers if key == wanted or key.endswith(f"/{wanted}")]
            if not keys:
                known = ", ".join(map(column, numbers)) or "none"
                raise CorpusError(f"options.{role}: the episodes hold no numbers called {name!r}; known: {known}")
            found |= dict.fromkeys(keys, role)
    if state or action:
        # Who names some of a role names all of it.
        for key in numbers:
            role = _role(column(key))
            if key not in found and ((role == "state" and state) or (role == "action" and action)):
                found[key] = "other"
    return found
