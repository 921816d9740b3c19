"""An episode's channels and cameras out of its log: one pass over its topics, one block at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gristmill.episode import Camera, CameraInfo, Channel
from gristmill.errors import CorpusError, RecordingError, VideoError
from gristmill.formats.files import CorpusFiles
from gristmill.formats.logs.clocks import MessageTimes
from gristmill.formats.logs.columns import Filling
from gristmill.formats.logs.cutting import Window
from gristmill.formats.logs.decoding import decoder_for, stamps_ns
from gristmill.formats.logs.finding import Place, open_log
from gristmill.formats.logs.options import ClockName
from gristmill.formats.logs.pictures import encoded_bytes, pixels
from gristmill.formats.logs.plan import CameraPlan, Plan
from gristmill.formats.logs.ros_bytes import MessageError
from gristmill.formats.logs.stream import Entries, Log, Message, one_line, one_pass
from gristmill.formats.recorded import Header
from gristmill.types import IntArray, TimesS

if TYPE_CHECKING:
    from gristmill.formats.logs.ros_bytes import Group

_OPEN_LOGS = 4
_BATCH_MESSAGES = 1024
_BATCH_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class EpisodePlace:
    """Where an episode lies."""

    log: int  # number of the corpus's log
    window: Window


class LogReader:
    """Implements `gristmill.formats.recorded.Reader`.

    Args:
        files: the corpus's files.
        places: its logs.
        plan: what episodes hold.
        cameras: what is declared of the cameras.
        clock: whose times count.
    """

    def __init__(
        self,
        files: CorpusFiles,
        places: Sequence[Place],
        plan: Plan,
        cameras: Mapping[str, CameraInfo],
        clock: ClockName,
    ) -> None:
        self._files, self._places, self._plan, self._cameras = files, places, plan, cameras
        self._clock: ClockName = clock
        self._open: OrderedDict[int, Log] = OrderedDict()
        # Of the episode that was read last, by its number: they come to light with its channels.
        self._clocks: tuple[int, Mapping[str, Mapping[str, TimesS]]] | None = None

    def log(self, number: int) -> Log:
        """An open log; a few stay open.

        Raises:
            CorpusError: it cannot be opened any more.
        """
        log = self._open.pop(number, None)
        self._open[number] = log = log or open_log(self._files, self._places[number])
        while len(self._open) > _OPEN_LOGS:
            self._open.popitem(last=False)  # not closed: one of its cameras may be read on
        return log

    def channels(self, header: Header) -> Mapping[str, Channel]:
        """The episode's channels, each with its own times.

        Raises:
            RecordingError: the log is damaged within the episode.
        """
        place: EpisodePlace = header.place
        with _Named(header.where):
            log = self.log(place.log)
            wanted = {t: log.entries(t).between(*place.window) for t in self._plan.topics if t in log.topics}
            fillings = {
                topic: _TopicFilling(log, topic, entries, self._plan, self._clock) for topic, entries in wanted.items()
            }
            for topic, row, message in one_pass(log, wanted):
                fillings[topic].add(row, message)
            for filling in fillings.values():
                filling.flush()
            origin = self.origin_ns(header, log)
        channels: dict[str, Channel] = {}
        times = {topic: _seconds(filling.times.used_ns, origin) for topic, filling in fillings.items()}
        clocks: dict[str, Mapping[str, TimesS]] = {}
        told: set[str] = set()
        for c in self._plan.channels:
            if c.topic in fillings:
                values = fillings[c.topic].values[c.spec.key].values
                channels[c.spec.key] = Channel(c.spec.key, c.spec.role, values, times[c.topic], c.spec.names)
                if c.topic not in told:
                    told.add(c.topic)
                    clocks[c.spec.key] = fillings[c.topic].times.others_s(times[c.topic], origin)
        self._clocks = header.index, {stream: of for stream, of in clocks.items() if of}
        return channels

    def clocks(self, header: Header) -> Mapping[str, Mapping[str, TimesS]]:
        """Times of the episode's topics by all clocks, under the first channel of each topic.

        Raises:
            RecordingError: the log is damaged within the episode.
        """
        if self._clocks is None or self._clocks[0] != header.index:
            self.channels(header)
        assert self._clocks is not None
        return self._clocks[1]

    def origin_ns(self, header: Header, log: Log) -> int:
        """The episode's start by the clock that counts: its first frame."""
        place: EpisodePlace = header.place
        for topic in (*self._plan.topics, *(c.topic for c in self._plan.cameras)):
            if topic in log.topics and len(within := log.entries(topic).between(*place.window)):
                return int(self._times_ns(log, topic, within[:1])[0])
        return 0

    def camera(self, header: Header, key: str) -> Camera:
        """One camera; its pictures are read when they are asked for."""
        place: EpisodePlace = header.place
        plan = next(c for c in self._plan.cameras if c.key == key)
        where = f"{header.where}, camera {key}"
        with _Named(where, VideoError):
            log = self.log(place.log)
            if plan.topic not in log.topics:
                raise RecordingError(f"there is no topic {plan.topic}")
            entries = log.entries(plan.topic)
            first, stop = np.searchsorted(entries.times_ns, place.window).tolist()
            frames = _Frames(self, place.log, plan, entries, first, where)
            times_s = _seconds(self._times_ns(log, plan.topic, entries[first:stop]), self.origin_ns(header, log))
        return _camera(plan, self._cameras[key], frames, stop - first, times_s, where)

    def texts(self, header: Header, keys: Sequence[str]) -> pa.Table:
        """There are no columns of text: instructions are an episode's tasks.

        Raises:
            RecordingError: always.
        """
        raise RecordingError(f"{header.where}: there is no column {keys[0]}")

    def _times_ns(self, log: Log, topic: str, entries: Entries) -> IntArray:
        """The times of messages by the clock that counts; reading them is needed for all but log time."""
        if self._clock == "log":
            return entries.times_ns
        times = entries.times_ns.copy()
        formats = log.topics[topic].formats
        for row, message in enumerate(log.read(entries)):
            if self._clock == "publish":
                times[row] = message.publish_ns
            else:
                stamps = stamps_ns(decoder_for(formats[message.channel]).one(message.data))
                times[row] = message.log_ns if stamps is None else stamps[0] or message.log_ns  # 0: nobody set it
        return times


class _TopicFilling:
    """Collects the messages of one topic and decodes them a batch at a time."""

    def __init__(self, log: Log, topic: str, entries: Entries, plan: Plan, clock: ClockName) -> None:
        self.values = {c.spec.key: Filling(c.numbers, len(entries)) for c in plan.channels if c.topic == topic}
        self.times = MessageTimes(entries.times_ns, clock)
        self._topic, self._formats = topic, log.topics[topic].formats
        self._waiting: dict[int, tuple[list[int], list[bytes], list[int]]] = {}
        self._count = self._bytes = 0

    def add(self, row: int, message: Message) -> None:
        """Take the topic's message number `row`."""
        rows, payloads, published_ns = self._waiting.setdefault(message.channel, ([], [], []))
        rows.append(row)
        payloads.append(bytes(message.data))  # a view would hold on to its whole block
        published_ns.append(message.publish_ns)
        self._count += 1
        self._bytes += len(message.data)
        if self._count >= _BATCH_MESSAGES or self._bytes >= _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Decode what waits."""
        for channel, (rows, payloads, published_ns) in self._waiting.items():
            numbers = np.array(rows, np.intp)
            self.times.published(numbers, np.array(published_ns, np.int64))
            with _Named(f"topic {self._topic}"):
                for group in decoder_for(self._formats[channel]).many(payloads):
                    self._take(numbers[group.rows], group)
        self._waiting = {}
        self._count = self._bytes = 0

    def _take(self, rows: IntArray, group: Group) -> None:
        for filling in self.values.values():
            filling.add(rows, group)
        self.times.stamped(rows, stamps_ns(group))


@dataclass(frozen=True)
class _Frames:
    """The pictures of one camera's topic; number 0 is the episode's first."""

    reader: LogReader
    log: int
    plan: CameraPlan
    entries: Entries
    first: int
    where: str

    def messages(self, start: int, stop: int) -> Iterator[tuple[Message, Callable]]:
        log = self.reader.log(self.log)
        formats = log.topics[self.plan.topic].formats
        for message in log.read(self.entries[self.first + start : self.first + stop]):
            yield message, lambda m=message: (formats[m.channel], decoder_for(formats[m.channel]).one(m.data))

    def encoded(self, start: int, stop: int) -> Iterator[bytes]:
        with _Named(self.where, VideoError):
            for _, decoded in self.messages(start, stop):
                yield bytes(encoded_bytes(*decoded()))

    def arrays(self, start: int, stop: int) -> np.ndarray:
        with _Named(self.where, VideoError):
            frames = np.empty((0, 0, 0), np.uint8)
            for at, (_, decoded) in enumerate(self.messages(start, stop)):
                image = pixels(*decoded())
                if not at:
                    frames = np.empty((stop - start, *image.shape), np.uint8)
                if image.shape != frames.shape[1:]:
                    raise MessageError(f"the frame size changes at frame {start + at}; cut the episode there")
                frames[at] = image
            return frames


def _camera(plan: CameraPlan, info: CameraInfo, frames: _Frames, count: int, times_s: TimesS, where: str) -> Camera:
    if plan.picture.sort == "raw":
        from gristmill.video.raw import RawCamera

        return RawCamera(info=info, frames=count, times_s=times_s, where=where, read=frames.arrays)
    if plan.picture.sort == "image":
        from gristmill.video.images import ImageCamera

        return ImageCamera(info=info, frames=count, times_s=times_s, where=where, read=frames.encoded)
    from gristmill.video.messages import MessageCamera

    camera = MessageCamera(
        info=info,
        codec=plan.picture.codec or "h264",
        frames=count,
        before=frames.first,
        times_s=times_s,
        where=where,
        read=frames.encoded,
    )
    return camera.from_first_keyframe()


def _seconds(times_ns: IntArray, origin_ns: int) -> TimesS:
    return (times_ns - origin_ns) / 1e9


class _Named:
    """Puts the episode's or topic's name before what is said of it."""

    def __init__(self, where: str, error: type[RecordingError] = RecordingError) -> None:
        self._where, self._error = where, error

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, RecordingError | CorpusError) and not isinstance(error, VideoError):
            raise self._error(one_line(f"{self._where}: {error}")) from None
