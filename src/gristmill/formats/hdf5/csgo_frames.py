"""CS:GO deathmatch recordings: one HDF5 file an episode, four small datasets a frame.

Source: TeaPearce/Counter-Strike_Behavioural_Cloning, README ("Structure of .hdf5 files"), config.py (16 frames a
second, keys and bins of the mouse) and dm_pretrain_process.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from gristmill.episode import Camera, CameraInfo, Channel, Role
from gristmill.errors import CorpusError, RecordingError, UnsafeCorpusError, VideoError
from gristmill.finding import Issue
from gristmill.formats.hdf5 import datasets, tree
from gristmill.formats.hdf5.fields import issue
from gristmill.formats.hdf5.group_reader import missing_camera
from gristmill.formats.hdf5.handles import OpenFiles
from gristmill.formats.hdf5.kinds import FRAME
from gristmill.formats.hdf5.opening import DAMAGE
from gristmill.formats.recorded import ChannelSpec, Header, Reader

RATE_HZ = 16.0
CAMERA = "observation.images.screen"
_KEYS = ("w", "a", "s", "d", "space", "ctrl", "shift", "1", "2", "3", "r")
_MOUSE_X = (-1000, -500, -300, -200, -100, -60, -30, -20, -10, -4, -2, 0)
_MOUSE_Y = (-200, -100, -50, -20, -10, -4, -2, 0)
ACTIONS = (
    *(f"key_{key}" for key in _KEYS),
    "click_left",
    "click_right",
    # A sign would be lost where names are compared without their separators.
    *(f"mouse_x_minus_{-bin_}" for bin_ in _MOUSE_X[:-1]),
    *(f"mouse_x_{-bin_}" for bin_ in reversed(_MOUSE_X)),
    *(f"mouse_y_minus_{-bin_}" for bin_ in _MOUSE_Y[:-1]),
    *(f"mouse_y_{-bin_}" for bin_ in reversed(_MOUSE_Y)),
)
# Suffix of the datasets -> key, role, names and width of the channel.
CHANNELS: Mapping[str, tuple[str, Role, tuple[str, ...], int]] = {
    "y": ("action", "action", ACTIONS, len(ACTIONS)),
    "xaux": ("observation.xaux", "other", (), 54),
    "helperarr": ("observation.helperarr", "other", ("kill", "death"), 2),
}
_PARTS = ("x", *CHANNELS)
_NUMBER = re.compile(r"(\d+)(?=\.[^.]*$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an episode lies. `broken` says why nothing can be read."""

    file: str
    broken: str = ""


def survey(files: OpenFiles, names: Sequence[str], tasks: tuple[str, ...]) -> list[Header]:
    """Headers of all files; the names of their frames are listed, nothing of them is read.

    Raises:
        CorpusError: none of the files can be read; the text is the first one's.
    """
    headers = [_header(files, index, name, tasks) for index, name in _numbered(names)]
    if all(header.place.broken for header in headers):
        raise CorpusError(headers[0].place.broken if headers else "the folder holds no HDF5 file")
    return headers


def specs(sample: Mapping[str, Channel]) -> list[ChannelSpec]:
    """What the corpus declares, by the data of one episode."""
    return [
        ChannelSpec(
            key=c.key,
            role=c.role,
            width=c.values.shape[1],
            names=c.names if any(c.names) else (),
            dtype=c.values.dtype.name,
        )
        for c in sample.values()
    ]  # fmt: skip


class FrameReader(Reader):
    """Reads what was surveyed.

    Args:
        files: the corpus's files.
        rate_hz: frames a second.
    """

    def __init__(self, files: OpenFiles, rate_hz: float) -> None:
        self._files = files
        self._rate_hz = rate_hz
        self._frames = lru_cache(maxsize=2)(self._list)  # an episode's channels and camera share the list

    def channels(self, header: Header) -> Mapping[str, Channel]:
        """Actions and what else was kept of each frame, at the times of the frames' numbers.

        Raises:
            RecordingError: a frame cannot be read; the text names it.
        """
        numbers = self._numbers(header)
        times_s = (numbers - numbers[:1]) / self._rate_hz
        found: dict[str, Channel] = {}
        for part, (key, role, names, _) in CHANNELS.items():
            values = self._read(header, part, numbers)
            if values is not None:
                width = values.shape[1]
                found[key] = Channel(key, role, values, times_s, names if len(names) == width else ("",) * width)
        if "action" not in found:
            raise RecordingError(f"{header.where} holds no actions (frame_N_y); restore the file, or drop it")
        return found

    def camera(self, header: Header, key: str) -> Camera:
        """The screen; one that cannot be read says so when it is asked for frames."""
        from gristmill.video.raw import RawCamera

        try:
            numbers, declared = self._numbers(header), self.info(header)
        except RecordingError as error:
            return missing_camera(header, key, self._rate_hz, str(error))
        return RawCamera(
            info=declared,
            frames=len(numbers),
            times_s=(numbers - numbers[:1]) / self._rate_hz,
            where=f"{header.where}, camera {key}",
            read=partial(self._pixels, header),
        )

    def info(self, header: Header) -> CameraInfo:
        """The screen, with the size of the episode's first picture where it can be read."""
        size: tuple[int | None, int | None] = (None, None)
        if not header.place.broken:
            number = int(self._numbers(header)[0])
            found = _dataset(self._files.root(header.place.file), number, "x", header.where)
            if found is not None and len(found[1].shape) == 3:
                size = found[1].shape[0], found[1].shape[1]
        return CameraInfo(key=CAMERA, height=size[0], width=size[1], rate_hz=self._rate_hz, codec="rawvideo")

    def _numbers(self, header: Header) -> np.ndarray:
        place: Place = header.place
        if place.broken:
            raise RecordingError(place.broken)
        return np.array(self._frames(place.file), np.int64)

    def _list(self, name: str) -> tuple[int, ...]:
        """Numbers of the frames that have both a picture and an action."""
        return tuple(sorted(set.intersection(*map(set, listed(self._files, name)[:2]))))

    def _read(self, header: Header, part: str, numbers: np.ndarray) -> np.ndarray | None:
        """One dataset of each frame (t, d); None when the first frame has none."""
        top = self._files.root(header.place.file)
        rows: np.ndarray | None = None
        for at, number in enumerate(numbers.tolist()):
            where = f"{header.where}, frame_{number}_{part}"
            found = _dataset(top, number, part, header.where)
            if found is None and not at:
                return None
            values = None if found is None else datasets.values(found[0], found[1], where).reshape(-1)
            if values is None or (rows is not None and values.shape != rows.shape[1:]):
                what = "is missing" if values is None else f"has {len(values)} numbers, others have {rows.shape[1]}"  # type: ignore[union-attr]
                raise RecordingError(f"{where} {what}; restore the file, or drop it")
            if rows is None:
                rows = np.empty((len(numbers), len(values)), values.dtype)
            rows[at] = values
        return rows

    def _pixels(self, header: Header, start: int, stop: int) -> np.ndarray:
        try:
            top = self._files.root(header.place.file)
            frames = []
            for number in self._numbers(header)[start:stop].tolist():
                where = f"{header.where}, frame_{number}_x"
                found = _dataset(top, number, "x", header.where)
                if found is None:
                    raise VideoError(f"{where} is missing; restore the file, or drop it")
                dataset, stored = found
                shape = stored.shape
                if (
                    len(shape) != 3
                    or shape[2] != 3
                    or stored.dtype != np.uint8
                    or (frames and shape != frames[0].shape)
                ):
                    raise VideoError(f"{where} is no picture like the others (shape {shape}); restore the file")
                frames.append(datasets.values(dataset, stored, where))
        except RecordingError as error:
            raise error if isinstance(error, VideoError) else VideoError(str(error)) from None
        # OpenCV's order, blue first.
        return np.stack(frames)[..., ::-1] if frames else np.empty((0, 0, 0, 3), np.uint8)


def listed(files: OpenFiles, name: str) -> list[list[int]]:
    """Numbers of the frames that have each of the four parts.

    Raises:
        RecordingError: the file cannot be listed.
    """
    found: dict[str, list[int]] = {part: [] for part in _PARTS}
    for member in tree.names(files.root(name), name):
        match = FRAME.fullmatch(member)
        if match:
            found[match[2]].append(int(match[1]))
    return [found["x"], found["y"], found["xaux"], found["helperarr"]]


def _header(files: OpenFiles, index: int, name: str, tasks: tuple[str, ...]) -> Header:
    issues: list[Issue] = []
    frames, broken = 0, ""
    try:
        numbers = [set(part) for part in listed(files, name)]
        frames = len(numbers[0] & numbers[1])
        lacking = len(set.union(*numbers)) - frames
        if not frames:
            broken = f"{name} holds no frame with both a picture (frame_N_x) and an action (frame_N_y)"
        elif lacking:
            issues.append(_torn(index, name, lacking))
    except UnsafeCorpusError:
        raise
    except (CorpusError, RecordingError, *DAMAGE) as error:
        broken = str(error) if isinstance(error, CorpusError | RecordingError) else f"{name} is damaged; restore it"
    if broken:
        issues.append(issue(index, "files", "data_unreadable", broken, "Restore it, or drop the episode."))
    return Header(
        index=index,
        length=frames,
        stamp=files.stamp(name),
        where=name,
        tasks=tasks,
        issues=tuple(issues),
        place=Place(file=name, broken=broken),
    )


def _numbered(names: Sequence[str]) -> list[tuple[int, str]]:
    """Files with the numbers in their names, or counted where two series share numbers."""
    numbered = sorted((int(m[1]) if (m := _NUMBER.search(name)) else 0, name) for name in names)
    if len({number for number, _ in numbered}) == len(numbered):
        return numbered
    return list(enumerate(name for _, name in sorted(numbered, key=lambda n: (_NUMBER.sub("", n[1]), n[0]))))


def _dataset(top: tree.Group, number: int, part: str, where: str) -> tuple[tree.Dataset, datasets.Stored] | None:
    name = f"frame_{number}_{part}"
    try:
        found = tree.member(top, name, where)
        if found is None or not isinstance(found, tree.Dataset):
            return None
        stored = datasets.describe(found, f"{where}, {name}")
    except UnsafeCorpusError as error:
        raise RecordingError(str(error)) from None
    if stored.why or stored.kind != "numbers":
        raise RecordingError(f"{where}, {name} {stored.why or 'holds no numbers'}; restore the file, or drop it")
    return found, stored


def _torn(index: int, name: str, lacking: int) -> Issue:
    return issue(
        index,
        "schema",
        "frames_torn",
        f"{name}: {lacking} frames lack their picture or their action and are left out",
        "Restore them; their places are gaps in time.",
        measured=float(lacking),
        unit="frames",
    )
