"""A corpus whose reader knows its episodes' headers: what all formats but LeRobot's own share.

A reader lists the episodes once, from metadata alone, as `Header`s; `RecordedCorpus` makes of them the table, the
facts and, when they are asked for, the episodes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from gristmill.embodiment import Embodiment, resolve
from gristmill.episode import Camera, CameraInfo, Channel, CorpusFacts, Dim, Episode, EpisodeTable, Role, episode_id
from gristmill.errors import RecordingError
from gristmill.finding import Issue
from gristmill.formats.cameras import LazyCameras
from gristmill.types import TimesS


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSpec:
    """A low-dimensional channel as the corpus declares it."""

    key: str  # "observation.state"
    role: Role
    width: int
    names: tuple[str, ...] = ()  # `width` names, or none
    dtype: str = "float32"  # as recorded

    @property
    def dims(self) -> Iterator[Dim]:
        """The channel's dimensions."""
        for i in range(self.width):
            yield Dim(self.key, i, self.names[i] if self.names else "", self.role)

    @property
    def feature(self) -> dict[str, Any]:
        """The channel in LeRobot's vocabulary, which exports are written in."""
        return {"dtype": self.dtype, "shape": [self.width], "names": list(self.names) or None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What is known of an episode before its data is read."""

    index: int  # native number, unique within the corpus
    length: int  # frames that the metadata promises
    stamp: str  # changes when the bytes behind change; "" when they are missing
    where: str  # how errors name it: "demo_3 of lift.hdf5"
    tasks: tuple[str, ...] = ()
    meta: str = ""  # what else the metadata declares of it
    issues: tuple[Issue, ...] = ()
    rate_hz: float | None = None  # where it differs from the corpus's
    place: Any = None  # for the reader alone: file, group, offset


class Reader(Protocol):
    """What a format has to give beside the headers; files may stay open from one episode to the next."""

    def channels(self, header: Header) -> Mapping[str, Channel]:
        """Feature key -> channel, in the order of the corpus's specs.

        Raises:
            RecordingError: the data cannot be read; the text names the episode.
        """
        ...

    def camera(self, header: Header, key: str) -> Camera:
        """One camera; nothing is decoded before its frames are asked for."""
        ...

    def texts(self, header: Header, keys: Sequence[str]) -> pa.Table:
        """Columns that hold no numbers, one row a frame.

        Raises:
            RecordingError: there is no such column.
        """
        raise RecordingError(f"{header.where}: there is no column {keys[0]}")

    def clocks(self, header: Header) -> Mapping[str, Mapping[str, TimesS]]:
        """Times of streams by every clock that was recorded, the one in use first (see `Episode.load_clocks`).

        Raises:
            RecordingError: the data cannot be read.
        """
        return {}

    def found(self, header: Header) -> Sequence[Issue]:
        """What was wrong with the episode's channels, once they were read."""
        return ()


class Told(Sequence[Issue]):
    """Issues of one episode, to which those are added that show when its channels are read; copies share them."""

    def __init__(self, issues: Iterable[Issue]) -> None:
        self._issues = list(dict.fromkeys(issues))

    def __getitem__(self, at):
        return self._issues[at]

    def __len__(self) -> int:
        return len(self._issues)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | Told) and tuple(self) == tuple(other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def add(self, issues: Iterable[Issue]) -> None:
        """Add what is new."""
        self._issues = list(dict.fromkeys([*self._issues, *issues]))


@dataclass(kw_only=True, eq=False)
class RecordedCorpus:
    """Implements `gristmill.episode.Corpus`.

    Args:
        key: the corpus's key in the store.
        root: the file or folder.
        format: as shown to people, "robomimic HDF5".
        rate_hz: declared rate, or the one that the user stated.
        headers: all episodes, in order.
        channels: what their data is declared to hold.
        cameras: camera key -> what is declared of it.
        reader: reads the data.
        locator: what reopens the corpus in another process.
        card: the embodiment card; by default a shipped one that fits, or one inferred from the names.
    """

    key: str
    root: Path
    format: str
    rate_hz: float
    headers: Sequence[Header]
    channels: Sequence[ChannelSpec]
    cameras: Mapping[str, CameraInfo]
    reader: Reader
    locator: Any
    card: Embodiment | None = None
    robot_type: str = ""
    issues: tuple[Issue, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)  # metadata of the corpus that an export carries on
    unread: Mapping[str, str] = field(default_factory=dict)  # what no check reads -> why
    side_files: Mapping[str, Path] = field(default_factory=dict)

    @cached_property
    def facts(self) -> CorpusFacts:
        """What the corpus declares of itself."""
        features: dict[str, Any] = {spec.key: spec.feature for spec in self.channels}
        for key, camera in self.cameras.items():
            shape = [camera.height, camera.width, 1 if camera.is_depth else 3]
            features[key] = {"dtype": "video", "shape": shape, "names": ["height", "width", "channels"]}
        texts = dict.fromkeys(task for header in self.headers for task in header.tasks)
        return CorpusFacts(
            key=self.key,
            root=str(self.root),
            format=self.format,
            robot_type=self.robot_type,
            rate_hz=self.rate_hz,
            features=features,
            cameras=self.cameras,
            dims=self._dims,
            info=self.info,
            tasks=dict(enumerate(texts)),
            unread=self.unread,
        )

    @cached_property
    def embodiment(self) -> Embodiment:
        """The card that was given, or the one that fits."""
        return self.card or resolve(self.robot_type, self._dims)

    @cached_property
    def table(self) -> EpisodeTable:
        """All episodes, from their headers."""
        common = repr((self.format, self.rate_hz, self.robot_type, sorted(self.facts.features.items())))
        metas = [f"{common}|{h.length}|{h.tasks!r}|{h.rate_hz}|{h.meta}" for h in self.headers]
        # What a user states of a recording changes what is read of the same bytes.
        terms = _digest(repr((self.rate_hz, [(s.key, s.role, s.width, s.names, s.dtype) for s in self.channels])))[:16]
        stamps = [h.stamp and f"{h.stamp}|{terms}|{h.rate_hz or ''}" for h in self.headers]
        return EpisodeTable(
            index=np.array([h.index for h in self.headers], np.int64),
            length=np.array([h.length for h in self.headers], np.int64),
            tasks=[h.tasks for h in self.headers],
            values_stamp=stamps,
            camera_stamps={key: [stamp and f"{stamp}:{key}" for stamp in stamps] for key in self.cameras},
            meta_digest=[_digest(text) for text in metas],
        )

    def episodes(self, rows: Sequence[int]) -> Iterator[Episode]:
        """The episodes of these rows of the table, in that order."""
        embodiment, cameras = self.embodiment, list(self.cameras)
        for row in rows:
            header = self.headers[int(row)]
            told = Told(header.issues)
            yield Episode(
                id=episode_id(self.key, header.index),
                corpus=self.key,
                index=header.index,
                length=header.length,
                rate_hz=header.rate_hz or self.rate_hz,
                tasks=header.tasks,
                embodiment=embodiment,
                cameras=LazyCameras(cameras, _Bound(self.reader, header).camera),
                issues=told,
                load_channels=_Bound(self.reader, header, told).channels,
                load_clocks=_Bound(self.reader, header, told).clocks,
            )

    def raw_columns(self, row: int, keys: Sequence[str]) -> pa.Table:
        """Columns of one episode that hold no numbers.

        Raises:
            RecordingError: there are none of these names.
        """
        return self.reader.texts(self.headers[row], keys)

    @cached_property
    def _dims(self) -> tuple[Dim, ...]:
        return tuple(d for role in ("state", "action") for s in self.channels if s.role == role for d in s.dims)


@dataclass(frozen=True, slots=True)
class _Bound:
    reader: Reader
    header: Header
    told: Told | None = None

    def channels(self) -> Mapping[str, Channel]:
        channels = self.reader.channels(self.header)
        self._tell()
        return channels

    def _tell(self) -> None:
        found = getattr(self.reader, "found", None)  # most readers know all that is wrong from the headers
        if found is not None and self.told is not None:
            self.told.add(found(self.header))

    def camera(self, key: str) -> Camera:
        return self.reader.camera(self.header, key)

    def clocks(self) -> Mapping[str, Mapping[str, TimesS]]:
        clocks = getattr(self.reader, "clocks", None)  # most formats have one clock, and readers that say nothing of it
        if clocks is None:
            return {}
        found = clocks(self.header)
        self._tell()
        return found


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
