"""ALOHA's recordings: one HDF5 file an episode.

Source: tonyzhaozh/act, record_sim_episodes.py and constants.py (DT = 0.02 s); MarkFzp/mobile-aloha, record_episodes.py
(`compress`, `base_action`). The names of the joints are those of the card `aloha`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gristmill.embodiment import load_card
from gristmill.episode import Role
from gristmill.errors import CorpusError, RecordingError, UnsafeCorpusError
from gristmill.finding import Issue, Kind
from gristmill.formats.hdf5 import attributes, tree
from gristmill.formats.hdf5.agreement import absent, deviations, settle, usual_fields
from gristmill.formats.hdf5.datasets import Stored, describe, payloads
from gristmill.formats.hdf5.fields import Field, Found, camera, issue, numbers
from gristmill.formats.hdf5.group_reader import Place
from gristmill.formats.hdf5.handles import OpenFiles
from gristmill.formats.hdf5.opening import DAMAGE
from gristmill.formats.recorded import Header

RATE_HZ = 50.0
_IMAGES = "observations/images/"
_CHANNELS: Mapping[str, tuple[str, Role]] = {
    "action": ("action", "action"),
    "base_action": ("action.base", "action"),
    "observations/qpos": ("observation.state", "state"),
    "observations/qvel": ("observation.velocity", "other"),
    "observations/effort": ("observation.effort", "other"),
}
_BASE = ("linear_velocity", "angular_velocity")
_NUMBER = re.compile(r"(\d+)(?=\.[^.]*$)")
# First bytes of JPEG and PNG.
_PICTURES = (b"\xff\xd8\xff", b"\x89PNG")


@dataclass(kw_only=True)
class Episodes:
    """What a folder holds."""

    headers: list[Header]
    fields: list[Field]  # what the corpus declares
    issues: list[Issue]
    unread: dict[str, str]
    simulated: bool = False


@dataclass(slots=True)
class _File:
    """One file while the folder is listed."""

    number: int
    name: str
    found: list[Found] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    broken: str = ""


def number_of(name: str) -> int:
    """The episode's number in a file's name, 0 when there is none."""
    match = _NUMBER.search(name)
    return int(match[1]) if match else 0


def survey(files: OpenFiles, names: Sequence[str], tasks: tuple[str, ...]) -> Episodes:
    """Look into every file without reading its values, in the order of their numbers.

    Args:
        files: the corpus's files.
        names: of the episodes.
        tasks: of every episode.

    Raises:
        UnsafeCorpusError: a link or a dataset leads to another file.
        CorpusError: none of the files can be read; the text is the first one's.
    """
    listing = _Listing(files)
    done: list[_File] = []
    issues: list[Issue] = []
    # Of two names for one number the shorter is what the recorder writes.
    for number, _, name in sorted((number_of(name), len(name), name) for name in names):
        if done and done[-1].number == number:
            message = f"{done[-1].name} and {name} have the same number; {name} is not read"
            issues.append(issue(None, "pointers", "episode_numbers", message, "Rename one of them.", subject=name))
        else:
            done.append(listing.file(number, name))
    if all(file.broken for file in done):
        raise CorpusError(done[0].broken if done else "the folder holds no episode_N.hdf5")
    usual = usual_fields([file.found for file in done])
    usual = {key: listing.sized(f, done) for key, f in usual.items()}
    rare = {f.field.key for file in done for f in file.found} - usual.keys()
    unread = {k: v for k, v in listing.unread.items() if k not in usual} | dict.fromkeys(
        rare, "only some episodes have it"
    )
    headers = [_header(file, files.stamp(file.name), usual, tasks) for file in done]
    return Episodes(
        headers=headers, fields=list(usual.values()), issues=issues, unread=unread, simulated=listing.simulated
    )


class _Listing:
    """Looks at files one by one."""

    def __init__(self, files: OpenFiles) -> None:
        self._files = files
        self._joints = tuple(joint.name for joint in load_card("aloha").joints)
        self.unread: dict[str, str] = {}
        self.simulated = False

    def file(self, number: int, name: str) -> _File:
        """One episode's file."""
        found = _File(number, name)
        try:
            self._look(found)
        except UnsafeCorpusError:
            raise
        except (CorpusError, RecordingError) as error:
            found.broken = str(error)
        except DAMAGE as error:
            found.broken = f"{name} is damaged ({' '.join(str(error).split())[:200]}); restore it from its source"
        return found

    def _look(self, file: _File) -> None:
        top = tree.root(self._files.opened(file.name))
        self.simulated = self.simulated or bool(attributes.flag(top, "sim"))
        for path, dataset in tree.datasets(top, file.name):
            stored = describe(dataset, f"{file.name}, {path}")
            became = self._field(path, stored, dataset)
            if isinstance(became, Field):
                file.found.append(Found(became, stored.rows, stored.written))
            elif path == "action":
                message = f"{file.name}: action {became}"
                lost = issue(file.number, "schema", "column_unreadable", message, "Write it as plain numbers.")
                file.issues.append(replace(lost, channel="action"))
            else:
                self.unread[path.replace("/", ".")] = became

    def _field(self, path: str, stored: Stored, dataset: tree.Dataset) -> Field | str:
        if path.startswith(_IMAGES):
            key = f"observation.images.{path.removeprefix(_IMAGES)}".replace("/", ".")
            return camera(path, key, stored) or self._encoded(path, key, stored, dataset) or "is no picture"
        if path in _CHANNELS:
            key, role = _CHANNELS[path]
            width = stored.row_shape[0] if len(stored.row_shape) == 1 else 0
            names = _BASE if path == "base_action" and width == len(_BASE) else ()
            return numbers(path, key, role, stored, self._joints if width == len(self._joints) else names)
        if path.startswith("observations/"):
            return numbers(path, f"observation.{path.removeprefix('observations/')}".replace("/", "."), "other", stored)
        return "is not part of an episode's timeline"

    def _encoded(self, path: str, key: str, stored: Stored, dataset: tree.Dataset) -> Field | None:
        """A camera of compressed images, told by the first one's first bytes."""
        flat = stored.kind == "encoded" and len(stored.shape) == 1
        padded = stored.dtype == np.uint8 and len(stored.shape) == 2
        if not (flat or padded) or stored.why or not stored.rows:
            return None
        if not payloads(dataset, stored, path, (0, 1))[0].startswith(_PICTURES):
            return None
        return Field(path=path, key=key, role="other", layout="encoded")

    def sized(self, field: Field, done: Sequence[_File]) -> Field:
        """A camera of compressed images with the size of its first one."""
        if field.layout != "encoded":
            return field
        for file in done:
            if any(f.field == field for f in file.found):
                size = self._size(file.name, field.path)
                return replace(field, height_px=size[0], width_px=size[1]) if size else field
        return field

    def _size(self, name: str, path: str) -> tuple[int, int] | None:
        import io

        import av
        from av.error import FFmpegError

        dataset = tree.find(self._files.root(name), path, name)
        if dataset is None:
            return None
        data = payloads(dataset, describe(dataset, path), path, (0, 1))[0]
        try:
            with av.open(io.BytesIO(data), "r") as container:
                stream = container.streams.video[0]
                return stream.height, stream.width
        except (FFmpegError, IndexError):
            return None


def _header(file: _File, stamp: str, usual: Mapping[str, Field], tasks: tuple[str, ...]) -> Header:
    known = [f._replace(field=_like(f.field, usual)) for f in file.found if f.field.key in usual]
    own, frames, issues = settle(file.number, file.name, known)
    issues = [*file.issues, *issues]
    if file.broken:
        issues.append(issue(file.number, "files", "data_unreadable", file.broken, "Restore it, or drop the episode."))
    else:
        told = {i.channel or i.camera for i in issues} | {f.key for f in own}
        lacking = [f for key, f in usual.items() if key not in told]
        issues += deviations(file.number, file.name, own, lacking, usual)
        if "action" not in usual and "action" not in told:
            issues.append(absent(file.number, file.name, "action", "action"))
    by_key = {f.key: f for f in own}
    fields = tuple(by_key[key] for key in usual if key in by_key)
    return Header(
        index=file.number,
        length=frames,
        stamp=stamp,
        where=file.name,
        tasks=tasks,
        meta=repr(fields),
        issues=tuple(issues),
        place=Place(file=file.name, group="/", fields=fields, frames=frames, broken=file.broken),
    )


def _like(field: Field, usual: Mapping[str, Field]) -> Field:
    """Compressed images say their size only when they are decoded; they are taken to be of the usual one."""
    return usual[field.key] if field.layout == usual[field.key].layout == "encoded" else field


def stray(names: Sequence[str], episodes: Sequence[str]) -> Iterator[Issue]:
    """HDF5 files of a folder that are no episode."""
    others = sorted(set(names) - set(episodes))
    if others:
        yield issue(
            None,
            "files",
            "orphan_file",
            f"{len(others)} HDF5 files are no episode_N.hdf5 and are not read, {others[0]} first",
            "Rename them, or move them out of the folder.",
            kind=Kind.TRAIT,
            subject=others[0],
            measured=float(len(others)),
            unit="files",
        )
