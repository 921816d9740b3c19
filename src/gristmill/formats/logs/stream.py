"""What all containers of messages have in common: topics, where each message lies, and messages in any order.

A container gives the places of a topic's messages from its index alone (`Entries`); payloads are read for those that
are wanted, one decompressed block at a time. Times are integer nanoseconds throughout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from gristmill.errors import CorpusError, RecordingError
from gristmill.types import IntArray

# A block that claims to be larger is a bomb or damage: recorders write chunks of some megabytes.
MAX_BLOCK_BYTES = 256 << 20
_SEGMENT = 1 << 16  # messages whose places are handled at once
LAST_NS = np.iinfo(np.int64).max


class LogDamageError(RecordingError):
    """A part of a log that cannot be read; the text names the file and the place in it."""


class Message(NamedTuple):
    """One message as it lies in the log; `data` may be a view that is valid until the next message."""

    channel: int  # number of its `Format`
    log_ns: int
    publish_ns: int  # equals `log_ns` where the container keeps no such time
    data: memoryview


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How the messages of one channel are written."""

    type: str  # "sensor_msgs/msg/JointState"
    encoding: str  # "cdr", "ros1", "protobuf", "json", or what else the log says
    schema_encoding: str  # "ros2msg", "ros1msg", "protobuf", "jsonschema", ""
    schema: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One topic of a log."""

    name: str
    formats: Mapping[int, Format]  # by channel; most often one
    count: int  # messages

    @property
    def format(self) -> Format:
        """The first channel's."""
        return next(iter(self.formats.values()))


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Where n messages lie, in order of their log time."""

    times_ns: IntArray  # (n,) int64
    block: IntArray  # (n,) int64
    offset: IntArray  # (n,) int64, within the block
    channel: IntArray  # (n,) int64

    def __len__(self) -> int:
        return len(self.times_ns)

    def __getitem__(self, rows: slice | IntArray) -> Entries:
        return Entries(self.times_ns[rows], self.block[rows], self.offset[rows], self.channel[rows])

    def rows(self) -> Iterator[tuple[int, int, int, int]]:
        """(time, block, offset, channel) of each message; never all at once as Python's numbers."""
        for start in range(0, len(self), _SEGMENT):
            part = self[start : start + _SEGMENT]
            columns = (part.times_ns, part.block, part.offset, part.channel)
            yield from zip(*(c.tolist() for c in columns), strict=True)

    def between(self, start_ns: int, stop_ns: int) -> Entries:
        """Those with start_ns <= time < stop_ns."""
        return self[slice(*np.searchsorted(self.times_ns, (start_ns, stop_ns)).tolist())]


NONE = Entries(*(np.empty(0, np.int64) for _ in range(4)))


def joined(parts: Sequence[Entries]) -> Entries:
    """All entries, sorted by time; equal times keep their order."""
    if not parts:
        return NONE
    if len(parts) == 1:
        whole = parts[0]
    else:
        columns = ([getattr(p, name) for p in parts] for name in ("times_ns", "block", "offset", "channel"))
        whole = Entries(*(np.concatenate(c) for c in columns))
    times = whole.times_ns
    return whole if bool((times[1:] >= times[:-1]).all()) else whole[np.argsort(times, kind="stable")]


def checked_times(times: np.ndarray, path: Path) -> IntArray:
    """uint64 nanoseconds as int64.

    Raises:
        LogDamageError: a time lies beyond the year 2262, which no clock shows.
    """
    if len(times) and int(times.max()) > LAST_NS:
        raise LogDamageError(f"{path}: its index holds times beyond the year 2262; the file is damaged, restore it")
    return times.astype(np.int64)


class Loss(NamedTuple):
    """What a container lost: a code, one sentence, and what to do."""

    code: str
    message: str
    fix: str


class Log(Protocol):
    """An open log. Opening reads its index; payloads are read when they are asked for."""

    path: Path
    container: str  # "MCAP", "ROS 1 bag", "rosbag2 SQLite"

    @property
    def topics(self) -> Mapping[str, Topic]:
        """Topics by name, in order of their names."""
        ...

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What could not be read."""
        ...

    def entries(self, topic: str) -> Entries:
        """The places of a topic's messages, in order of log time."""
        ...

    def read(self, entries: Entries) -> Iterator[Message]:
        """These messages, in this order.

        Raises:
            LogDamageError: a block or record cannot be read.
        """
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


def one_pass(log: Log, wanted: Mapping[str, Entries]) -> Iterator[tuple[str, int, Message]]:
    """The messages of several topics in the order in which they are stored, each block once.

    Yields:
        (topic, its number among the wanted entries of that topic, message).
    """
    total = sum(map(len, wanted.values()))
    longest = max(wanted.values(), key=len, default=NONE).times_ns
    parts = min(-(-total // _SEGMENT), len(longest))
    # A stretch of time after the other, so that a long log's places are never all copied.
    starts = longest[np.arange(1, parts) * len(longest) // parts].tolist() if parts else []
    edges = {topic: [0, *np.searchsorted(e.times_ns, starts).tolist(), len(e)] for topic, e in wanted.items()}
    for part in range(parts):
        spans = {topic: slice(at[part], at[part + 1]) for topic, at in edges.items() if at[part + 1] > at[part]}
        yield from _stored(
            log, {t: wanted[t][span] for t, span in spans.items()}, {t: s.start for t, s in spans.items()}
        )


def _stored(log: Log, wanted: Mapping[str, Entries], first: Mapping[str, int]) -> Iterator[tuple[str, int, Message]]:
    """Messages in the order in which they are stored; `first` is the number of each topic's first."""
    names = list(wanted)
    if not names:
        return
    rows = np.concatenate([np.arange(first[t], first[t] + len(e)) for t, e in wanted.items()])
    topic = np.repeat(np.arange(len(names)), [len(e) for e in wanted.values()])
    columns = ([getattr(e, name) for e in wanted.values()] for name in ("times_ns", "block", "offset", "channel"))
    whole = Entries(*(np.concatenate(c) for c in columns))
    order = np.lexsort((whole.offset, whole.block))
    stored = log.read(whole[order])
    for which, row, message in zip(topic[order].tolist(), rows[order].tolist(), stored, strict=True):
        yield names[which], row, message


def opened(path: Path):
    """The file, open for reading.

    Raises:
        CorpusError: it cannot be opened.
    """
    try:
        return path.open("rb")
    except OSError as error:
        raise CorpusError(f"{path}: cannot be opened ({error.strerror})") from None


def one_line(text: object) -> str:
    """A message as one line: names of topics and types come from the log and may hold line breaks."""
    return " ".join(str(text).split())
