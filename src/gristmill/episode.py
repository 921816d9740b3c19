"""What a recording is: low-dimensional channels with their own times, cameras that stream, task text.

Nothing here reads a file. A source fills `Episode` with loaders; raw data is never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from gristmill.embodiment import Embodiment
from gristmill.finding import Issue
from gristmill.lazy import lazy
from gristmill.types import IntArray, Luma, Rgb, Table, TimesS

if TYPE_CHECKING:
    import pyarrow as pa

    from gristmill.traces import CameraTraces
    from gristmill.video.packets import Packets

Role = Literal["state", "action", "reward", "done", "success", "other"]


class Dim(NamedTuple):
    """One dimension of one channel; its label is what findings call a channel."""

    channel: str  # feature key, "observation.state"
    index: int
    name: str  # "shoulder_pan", or "" when the recording names nothing
    role: Role

    @property
    def label(self) -> str:
        """`observation.state[shoulder_pan]`, or `observation.state[3]` without a name."""
        return f"{self.channel}[{self.name or self.index}]"


@dataclass(frozen=True, slots=True)
class Channel:
    """One low-dimensional stream as recorded: `values` (t, d), each row at `times_s` (t,)."""

    key: str
    role: Role
    values: Table
    times_s: TimesS
    names: tuple[str, ...]  # d names, "" where unknown
    # Dimensions of floating values that were recorded as whole numbers or flags, so that no average is a value of them.
    discrete: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraInfo:
    """What the metadata declares of a camera; None where it declares nothing."""

    key: str
    height: int | None
    width: int | None
    rate_hz: float | None
    codec: str | None = None
    is_depth: bool = False
    own_clock: bool = False  # pictures came when they came; else one for each row is promised


class Camera(Protocol):
    """One camera of one episode. Frames are numbered from the episode's start.

    Every method raises `VideoError`, naming file and episode, when the file is missing or broken. A camera may
    also have `planes()`, which yields what `luma` does frame by frame (h, w) and without a copy, and None
    for a frame that cannot be decoded and that no other depends on.
    """

    info: CameraInfo
    frames: int  # frames that the metadata promises
    path: Path | None  # the video file; None for images kept inside a table

    def packets(self) -> Packets:
        """The episode's slice of the file, demuxed but not decoded."""
        ...

    def luma(self, *, chunk: int = 64) -> Iterator[Luma]:
        """Decoded luma in chunks of at most `chunk` frames, in order, at full resolution."""
        ...

    def rgb(self, frames: Sequence[int]) -> Rgb:
        """Some frames in colour, for people to look at."""
        ...


class Digests(NamedTuple):
    """Content digests by channel group; "" for a group that was not read or does not exist."""

    values: str  # all low-dimensional channels
    task: str
    meta: str  # what metadata declares of this episode, with the reader's issues
    cameras: Mapping[str, str]  # camera key -> digest of its packets


@dataclass(kw_only=True)
class Episode:
    """One recording, opened lazily. Sources build it; checks, labels and exporters read it."""

    id: str  # from `episode_id`
    corpus: str
    index: int  # native index within the corpus
    length: int  # frames that the metadata promises
    rate_hz: float  # declared rate
    tasks: tuple[str, ...]
    embodiment: Embodiment
    cameras: Mapping[str, Camera]
    # What the reader found wrong with this episode; some of it shows only when the channels were read.
    issues: Sequence[Issue] = ()
    declared_stats: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    # The loader returns channels in the order of the features; it raises RecordingError when it cannot.
    load_channels: Callable[[], Mapping[str, Channel]] = field(repr=False)
    load_traces: Callable[[str], CameraTraces | None] = field(default=lambda camera: None, repr=False)
    # Columns that belong to bookkeeping (timestamp, frame_index, ...), raw: name -> (t,) array.
    load_index_columns: Callable[[], Mapping[str, IntArray]] = field(default=dict, repr=False)
    # Stream (a channel's or camera's key) -> name of a clock ("log", "header", "device") -> its samples' times, (t,)
    # seconds from the episode's start. The first clock of a stream is the one that its channel's times come from.
    load_clocks: Callable[[], Mapping[str, Mapping[str, TimesS]]] = field(default=dict, repr=False)

    @lazy
    def channels(self) -> Mapping[str, Channel]:
        """Feature key -> channel, low-dimensional numeric features only."""
        return self.load_channels()

    @lazy
    def index_columns(self) -> Mapping[str, np.ndarray]:
        """Bookkeeping columns as recorded (`timestamp`, `frame_index`, `index`, ...), each (t,)."""
        return self.load_index_columns()

    @lazy
    def clocks(self) -> Mapping[str, Mapping[str, TimesS]]:
        """Times by every clock that the recording kept of a stream; streams with one clock need not be named."""
        return self.load_clocks()

    @lazy
    def times_s(self) -> TimesS:
        """Frame times (t,) in seconds, as recorded."""
        for channel in self.channels.values():
            return channel.times_s
        return np.arange(self.length) / self.rate_hz

    @lazy
    def frames(self) -> int:
        """Frames really present in the low-dimensional data."""
        return len(self.times_s)

    @lazy
    def dims(self) -> tuple[Dim, ...]:
        """All state dimensions, then all action dimensions: the order of every `per="dim"` column."""
        return dims_of(self.channels)

    @lazy
    def derived(self) -> dict[str, Any]:
        """Work that several checks share, computed once an episode; `motion_of` keeps its result here."""
        return {}

    def traces(self, camera: str) -> CameraTraces | None:
        """Per-frame measurements of a camera, or None when they were not taken."""
        return self.load_traces(camera)


def episode_id(corpus: str, index: int) -> str:
    """How an episode is named outside its corpus: `pick_cube/000012`."""
    return f"{corpus}/{index:06d}"


def dims_of(channels: Mapping[str, Channel]) -> tuple[Dim, ...]:
    """State dimensions, then action dimensions, in the order of the features."""
    return tuple(
        Dim(c.key, i, c.names[i] if i < len(c.names) else "", c.role)
        for role in ("state", "action")
        for c in channels.values()
        if c.role == role
        for i in range(c.values.shape[1])
    )


@dataclass(frozen=True, kw_only=True)
class EpisodeTable:
    """What is known of all episodes before any is read: columns of equal length n, in corpus order."""

    index: IntArray  # native index
    length: IntArray  # declared frames
    tasks: list[tuple[str, ...]]  # interned, so equal tuples are one object
    # Change when the bytes behind change (path, size, mtime_ns, inode, row range); "" if the file is missing.
    values_stamp: list[str]
    camera_stamps: Mapping[str, list[str]]
    meta_digest: list[str]

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True, kw_only=True)
class CorpusFacts:
    """What the corpus declares of itself."""

    key: str
    root: str
    format: str  # "lerobot v3.0"
    robot_type: str
    rate_hz: float
    features: Mapping[str, Any]  # as declared, unknown keys kept
    cameras: Mapping[str, CameraInfo]
    dims: tuple[Dim, ...]  # declared layout: state, then action
    declared_stats: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)  # whole info.json
    tasks: Mapping[int, str] = field(default_factory=dict)  # the task table: task_index -> text
    unread: Mapping[str, str] = field(default_factory=dict)  # channels that no check reads -> why ("depth", "audio")


class Corpus(Protocol):
    """An opened set of recordings. Opening reads metadata only; it is picklable by its locator."""

    facts: CorpusFacts
    embodiment: Embodiment
    issues: tuple[Issue, ...]  # what is wrong with the corpus as a whole

    @property
    def table(self) -> EpisodeTable:
        """All episodes, from metadata and file stamps alone."""
        ...

    def episodes(self, rows: Sequence[int]) -> Iterator[Episode]:
        """The episodes of these rows of `table`, in that order; files are shared between neighbours.

        Never raises for one bad episode: its loaders do, when they are called.
        """
        ...

    @property
    def side_files(self) -> Mapping[str, Path]:
        """Files that other tools put beside the metadata, such as `meta/modality.json`: relative name -> path."""
        ...

    def raw_columns(self, row: int, keys: Sequence[str]) -> pa.Table:
        """Columns of one episode as stored, for what no channel holds: text, language, images in the table.

        Raises:
            RecordingError: the episode, or one of the columns, cannot be read.
        """
        ...
