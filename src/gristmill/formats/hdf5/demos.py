"""The demonstrations of a robomimic file, listed without reading their values.

robomimic, robosuite, MimicGen, LIBERO and Isaac Lab share the layout: a group `data` with a group `demo_N` each,
`actions` and `obs/...` in it, and attributes that say what it was recorded with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from gristmill.episode import Role
from gristmill.errors import RecordingError
from gristmill.finding import Issue
from gristmill.formats.hdf5 import attributes, environment, tree
from gristmill.formats.hdf5 import demo_issues as say
from gristmill.formats.hdf5.agreement import absent, deviations, settle, usual_fields
from gristmill.formats.hdf5.datasets import Stored, describe, last_byte
from gristmill.formats.hdf5.environment import Environment
from gristmill.formats.hdf5.fields import Field, Found, camera, issue, numbers
from gristmill.formats.hdf5.group_reader import Place
from gristmill.formats.hdf5.kinds import DEMO
from gristmill.formats.hdf5.opening import DAMAGE, Opened
from gristmill.formats.hdf5.vocabulary import action_names, names_of, role_of
from gristmill.formats.recorded import Header

# LeRobot's names for what is not an observation, so that an export is understood.
_PLAIN: Mapping[str, tuple[str, Role]] = {
    "actions": ("action", "action"),
    "rewards": ("next.reward", "reward"),
    "dones": ("next.done", "done"),
    "success": ("next.success", "success"),
    "successes": ("next.success", "success"),
}
_NOT_READ = {
    "next_obs": "the observations again, one step later",
    "initial_state": "one state for the whole episode",
}


@dataclass(kw_only=True)
class Demos:
    """What a file holds."""

    environment: Environment
    headers: list[Header]
    fields: list[Field]  # what the corpus declares
    issues: list[Issue]
    unread: dict[str, str]
    masks: dict[str, list[str]]


@dataclass(slots=True)
class _Demo:
    """One demonstration while the file is listed."""

    number: int
    name: str
    where: str
    found: list[Found] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    declared: int | None = None
    success: bool | None = None
    task: str = ""
    broken: str = ""


def survey(opened: Opened, stamp: str) -> Demos:
    """List all demonstrations of a file, in the order of their numbers.

    Raises:
        RecordingError: `data` cannot be listed.
        UnsafeCorpusError: a link or a dataset leads to another file.
    """
    data = tree.find(tree.root(opened), "data", opened.name)
    if not isinstance(data, tree.Group):
        raise RecordingError(f"{opened.name} has no group data; it is no robomimic file")
    scene = environment.of(data)
    listing = _Listing(opened, scene)
    members = tree.names(data, f"{opened.name}, data")
    # Of two names for one number the shorter is what recorders write and readers ask for.
    named = sorted((int(m[1]), len(name), name) for name in members if (m := DEMO.fullmatch(name)))
    demos: list[_Demo] = []
    issues: list[Issue] = []
    lost: list[str] = []
    for number, _, name in named:
        if demos and demos[-1].number == number:
            issues.append(say.twice(opened.name, demos[-1].name, name))
            continue
        demo = listing.demo(data, number, name)
        if demo is None:
            lost.append(name)
        else:
            demos.append(demo)
    if opened.padded is not None:
        issues.append(say.cut(opened.name, opened.padded.real, opened.padded.end, lost, len(named)))
    else:
        issues += _total(opened.name, data, demos)
    usual = usual_fields([d.found for d in demos])
    unread = {k: v for k, v in listing.unread.items() if k not in usual}
    unread |= {name: "is no demonstration" for name in members if not DEMO.fullmatch(name)}
    rare = {f.field.key for d in demos for f in d.found} - usual.keys()
    unread |= dict.fromkeys(rare, "only some episodes have it")
    masks, of_masks = _masks(opened, {d.name for d in demos})
    has = {
        "an action": any(f.role == "action" for f in usual.values()),
        "observations": any(f.path.startswith("obs/") for f in usual.values()),
    }
    inside: dict[str, list[str]] = {d.name: [key for key, names in masks.items() if d.name in names] for d in demos}
    headers = [_header(d, opened.name, stamp, usual, has, inside[d.name]) for d in demos]
    if scene.broken:
        issues.append(say.no_json(opened.name))
    return Demos(
        environment=scene,
        headers=headers,
        fields=list(usual.values()),
        issues=issues + of_masks,
        unread=unread,
        masks=masks,
    )


class _Listing:
    """Looks at demonstrations one by one; what their datasets become is decided once for all of one kind."""

    def __init__(self, opened: Opened, scene: Environment) -> None:
        self._opened = opened
        self._scene = scene
        self._known: dict[tuple, Field | str] = {}
        self.unread: dict[str, str] = {}

    def demo(self, data: tree.Group, number: int, name: str) -> _Demo | None:
        """One demonstration; None when the file was cut off within it."""
        padded = self._opened.padded
        demo = _Demo(number, name, f"{name} of {self._opened.name}")
        if padded is not None:
            padded.beyond = False
        try:
            self._look(data, demo)
        except RecordingError as error:
            demo.broken = str(error)
        except DAMAGE:
            if padded is None:
                raise
            demo.broken = "cut off"
        return None if padded is not None and (padded.beyond or demo.broken) else demo

    def _look(self, data: tree.Group, demo: _Demo) -> None:
        group = tree.member(data, demo.name, self._opened.name)
        if not isinstance(group, tree.Group):
            raise RecordingError(f"{demo.where} is no group; remove it or write it anew")
        demo.declared = attributes.count(group, "num_samples")
        demo.success = attributes.flag(group, "success")
        demo.task = environment.task_of(group)
        if demo.declared is None and attributes.value(group, "num_samples") is not None:
            demo.issues.append(say.no_count(demo.number, demo.where))
        for path, dataset in self._datasets(group, demo):
            where = f"{demo.where}, {path}"
            stored = describe(dataset, where)
            if self._opened.padded is not None and last_byte(dataset) > self._opened.padded.real:
                raise RecordingError(f"{where} lies behind the end of the file")
            kind = (path, stored.shape[1:], len(stored.shape), stored.dtype, stored.why)
            became = self._known.get(kind)
            if became is None:
                became = self._known[kind] = self._field(path, stored)
            if isinstance(became, Field):
                demo.found.append(Found(became, stored.rows, stored.written))
            elif path == "actions":
                demo.issues.append(say.unreadable(demo.number, demo.where, path, became))
            else:
                self.unread[_key(path)] = became
        self._drop_single(demo)

    def _datasets(self, group: tree.Group, demo: _Demo) -> Iterator[tuple[str, tree.Dataset]]:
        for name, found in tree.members(group, demo.where):
            if name in _NOT_READ:
                self.unread[name] = _NOT_READ[name]
            elif isinstance(found, tree.Dataset):
                yield name, found
            else:
                yield from ((f"{name}/{inner}", d) for inner, d in tree.datasets(found, f"{demo.where}, {name}"))

    def _field(self, path: str, stored: Stored) -> Field | str:
        top, _, inner = path.partition("/")
        if not inner:
            key, role = _PLAIN.get(path, (path, "other"))
            width = stored.row_shape[0] if len(stored.row_shape) == 1 else 0
            names = action_names(self._scene.controllers, width) if path == "actions" and self._scene.robosuite else ()
            return numbers(path, key, role, stored, names)
        if top != "obs":
            return numbers(path, _key(path), "other", stored)
        seen = camera(path, f"observation.images.{_key(inner)}", stored)
        if seen is not None:
            return seen
        role = role_of(inner)
        names = names_of(inner, stored.row_shape[0], xyzw=self._scene.robosuite) if len(stored.row_shape) == 1 else ()
        # LeRobot's prefix of what belongs to the state, so that an export keeps the roles.
        prefix = "observation.state" if role == "state" else "observation"
        return numbers(path, f"{prefix}.{_key(inner)}", role, stored, names)

    def _drop_single(self, demo: _Demo) -> None:
        """Datasets of one row beside an episode of many are no series."""
        if max((f.rows for f in demo.found), default=0) < 2:
            return
        for found in demo.found:
            if found.rows == 1 and found.field.role != "action":
                self.unread[found.field.key] = "one value for the whole episode"
        demo.found = [f for f in demo.found if f.rows != 1 or f.field.role == "action"]


def _header(
    demo: _Demo, file: str, stamp: str, usual: Mapping[str, Field], has: Mapping[str, bool], masks: list[str]
) -> Header:
    """What is known of a demonstration, and what is wrong with it."""
    own, frames, issues = settle(demo.number, demo.where, [f for f in demo.found if f.field.key in usual])
    issues = [*demo.issues, *issues]
    by_key = {f.key: f for f in own}
    told = {i.channel or i.camera for i in issues}
    if not demo.broken:
        lacking = [f for key, f in usual.items() if key not in by_key and key not in told]
        seen = any(f.path.startswith("obs/") for f in own)
        if has["observations"] and not seen:
            issues.append(say.no_observations(demo.number, demo.where))
            lacking = [f for f in lacking if not f.path.startswith("obs/")]
        issues += deviations(demo.number, demo.where, own, lacking, usual)
        if not has["an action"] and "action" not in told:
            issues.append(absent(demo.number, demo.where, "actions", "action"))
        if demo.declared is not None and demo.declared != frames:
            issues.append(say.count_lie(demo.number, demo.where, demo.declared, frames))
    else:
        issues.append(issue(demo.number, "files", "data_unreadable", demo.broken, "Restore the file, or drop it."))
    constants: tuple[tuple[str, Role, bool], ...] = ()
    if demo.success is not None and "next.success" not in by_key:
        constants = (("next.success", "success", demo.success),)
    fields = tuple(by_key[key] for key in usual if key in by_key)
    place = Place(
        file=file, group=f"data/{demo.name}", fields=fields, frames=frames, constants=constants, broken=demo.broken
    )
    return Header(
        index=demo.number,
        length=frames if demo.declared is None else demo.declared,
        stamp=stamp and f"{stamp}:{demo.name}",
        where=demo.where,
        tasks=(demo.task,) if demo.task else (),
        meta=f"{_told(fields)}|{demo.success}|{masks}",
        issues=tuple(issues),
        place=place,
    )


@lru_cache(maxsize=64)
def _told(fields: tuple[Field, ...]) -> str:
    """Fields as text; most demonstrations have the same."""
    return repr(fields)


def _masks(opened: Opened, known: set[str]) -> tuple[dict[str, list[str]], list[Issue]]:
    """Filter keys: name -> demonstrations; those that name what is not there are told."""
    masks: dict[str, list[str]] = {}
    issues: list[Issue] = []
    group = tree.find(tree.root(opened), "mask", opened.name)
    if not isinstance(group, tree.Group):
        return masks, issues
    import h5py

    for name in tree.names(group, f"{opened.name}, mask"):
        dataset = tree.member(group, name, f"{opened.name}, mask")
        if not isinstance(dataset, tree.Dataset):
            continue
        stored = describe(dataset, f"{opened.name}, mask/{name}")
        if stored.kind != "encoded" or len(stored.shape) != 1 or stored.why:
            continue
        listed = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in h5py.Dataset(dataset)[:]]
        masks[name] = listed
        strange = [n for n in listed if n not in known]
        if strange and opened.padded is None:
            issues.append(say.strange_mask(opened.name, name, strange))
    return masks, issues


def _total(file: str, data: tree.Group, demos: list[_Demo]) -> list[Issue]:
    total = attributes.count(data, "total")
    frames = sum(max((f.rows for f in d.found if f.field.role == "action"), default=0) for d in demos)
    return [] if total in (None, frames) else [say.total_lie(file, total, frames)]


def _key(path: str) -> str:
    """A feature's key for a path; a slash would make a folder of it."""
    head, _, rest = path.partition("/")
    return (f"observation.{rest}" if head == "obs" and rest else path).replace("/", ".")
