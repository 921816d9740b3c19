"""An episode's channels and cameras out of its log: one pass over its topics, one block at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gristmill.episode import Camera, CameraInfo, Channel
from gristmill.errors import CorpusError, RecordingError, VideoError
from gristmill.finding import Issue
from gristmill.formats.files import CorpusFiles
from gristmill.formats.logs.clocks import MessageTimes
from gristmill.formats.logs.cutting import Window
from gristmill.formats.logs.decoding import decoder_for, stamps_ns
from gristmill.formats.logs.filling import TopicFilling
from gristmill.formats.logs.finding import Place, open_log
from gristmill.formats.logs.issues import loss_issues, lost_issue, misplaced_issue
from gristmill.formats.logs.options import ClockName
from gristmill.formats.logs.pictures import encoded_bytes, pixels
from gristmill.formats.logs.plan import CameraPlan, Plan
from gristmill.formats.logs.ros_bytes import MessageError
from gristmill.formats.logs.stream import Entries, Format, Log, Message, joined, one_line, one_pass
from gristmill.formats.recorded import Header
from gristmill.types import IntArray, TimesS

_OPEN_LOGS = 4


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
        self._found: tuple[int, tuple[Issue, ...]] | None = None
        # Places whose times in the log's index were wrong, by log and topic: with the times of the messages themselves.
        self._corrected: dict[tuple[int, str], Entries] = {}
        self._settled: set[tuple[int, str]] = set()  # episodes and topics for which that was done

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

    def entries(self, number: int, topic: str) -> Entries:
        """Where a topic's messages lie; raises as `log` does."""
        return self._corrected.get((number, topic)) or self.log(number).entries(topic)

    def channels(self, header: Header) -> Mapping[str, Channel]:
        """The episode's channels, each with its own times.

        Raises:
            RecordingError: the log is damaged within the episode.
        """
        place: EpisodePlace = header.place
        with _Named(header.where):
            log = self.log(place.log)
            wanted = self._wanted(place, [t for t in self._plan.topics if t in log.topics])
            fillings = {
                topic: TopicFilling(log, topic, entries, self._plan, self._clock) for topic, entries in wanted.items()
            }
            for topic, row, message in one_pass(log, wanted):
                fillings[topic].add(row, message)
            for filling in fillings.values():
                filling.flush()
            if self._correct(header, {t: f.true_ns for t, f in fillings.items() if f.misplaced}):
                return self.channels(header)
            origin = self.origin_ns(header, log)
            lost = [part for filling in fillings.values() for part in filling.lost()]
        channels: dict[str, Channel] = {}
        times = {topic: _seconds(filling.times.used_ns, origin) for topic, filling in fillings.items()}
        clocks: dict[str, Mapping[str, TimesS]] = {}
        told: set[str] = set()
        for c in self._plan.channels:
            if c.topic in fillings:
                filling = fillings[c.topic].values[c.spec.key]
                values, times_s, rows = filling.values, times[c.topic], filling.samples
                if rows is not None:  # whole numbers have no NaN: what lacks one is no sample
                    values, times_s = values[rows], times_s[rows]
                channels[c.spec.key] = Channel(c.spec.key, c.spec.role, values, times_s, c.spec.names, filling.discrete)
                if c.topic not in told:
                    told.add(c.topic)
                    clocks[c.spec.key] = fillings[c.topic].times.others_s(times[c.topic], origin)
        self._clocks = header.index, {stream: of for stream, of in clocks.items() if of}
        name = self._places[place.log]
        issues = (lost_issue(part, float(times[part.topic][part.first]), name, header.index) for part in lost)
        self._found = header.index, tuple(issues)
        return channels

    def found(self, header: Header) -> Sequence[Issue]:
        """What was wrong with the messages of the episode that was read last, and with the log so far."""
        place: EpisodePlace = header.place
        name = self._places[place.log]
        return (
            *(self._found[1] if self._found is not None and self._found[0] == header.index else ()),
            *(misplaced_issue(topic, name, header.index) for log, topic in self._corrected if log == place.log),
            *loss_issues(self.log(place.log), name, header.index),
        )

    def _wanted(self, place: EpisodePlace, topics: Iterable[str]) -> dict[str, Entries]:
        return {topic: self.entries(place.log, topic).between(*place.window) for topic in topics}

    def _correct(self, header: Header, true_ns: Mapping[str, IntArray]) -> bool:
        """Take the messages' own times (n,) for those of the index, once an episode; whether there was something."""
        place: EpisodePlace = header.place
        wrong = {t: ns for t, ns in true_ns.items() if (header.index, t) not in self._settled}
        for topic, times_ns in wrong.items():
            self._settled.add((header.index, topic))
            entries = self.entries(place.log, topic)
            first = int(np.searchsorted(entries.times_ns, place.window.start_ns))
            whole = entries.times_ns.copy()
            # What belongs elsewhere by its own time stays with the episode that the index put it into.
            whole[first : first + len(times_ns)] = np.clip(times_ns, place.window.start_ns, place.window.stop_ns - 1)
            self._corrected[place.log, topic] = joined([Entries(whole, entries.block, entries.offset, entries.channel)])
        return bool(wrong)

    def clocks(self, header: Header) -> Mapping[str, Mapping[str, TimesS]]:
        """Times of the episode's topics by all clocks, under the first channel of each topic, and of its cameras.

        The headers of pictures are read for it, one picture at a time.

        Raises:
            RecordingError: the log is damaged within the episode.
        """
        if self._clocks is None or self._clocks[0] != header.index:
            self.channels(header)
        assert self._clocks is not None
        clocks = dict(self._clocks[1])
        place: EpisodePlace = header.place
        with _Named(header.where):
            log = self.log(place.log)
            origin = self.origin_ns(header, log)
            wanted = self._wanted(place, [c.topic for c in self._plan.cameras if c.topic in log.topics])
        times, true_ns = self._picture_times(log, wanted)
        if self._correct(header, true_ns):
            return self.clocks(header)
        for camera in self._plan.cameras:
            if camera.topic in times:
                of = times[camera.topic]
                clocks[camera.key] = of.others_s(_seconds(of.used_ns, origin), origin)
        return {stream: of for stream, of in clocks.items() if of}

    def _picture_times(
        self, log: Log, wanted: Mapping[str, Entries]
    ) -> tuple[Mapping[str, MessageTimes], Mapping[str, IntArray]]:
        """Topic -> times of its pictures, and their own log times where the index has others.

        There is nothing where the log is damaged, which whoever reads the pictures tells.
        """
        true_ns = {topic: entries.times_ns.copy() for topic, entries in wanted.items()}
        times = {topic: MessageTimes(entries.times_ns, self._clock) for topic, entries in wanted.items()}
        try:
            for topic, row, message in one_pass(log, wanted):
                at = np.array([row], np.intp)
                times[topic].published(at, np.array([message.publish_ns], np.int64))
                stamp_ns = _stamp_ns(log.topics[topic].formats[message.channel], message)
                times[topic].stamped(at, np.array([stamp_ns], np.int64))
                true_ns[topic][row] = message.log_ns
        except RecordingError:
            return {}, {}
        return times, {t: ns for t, ns in true_ns.items() if not np.array_equal(ns, wanted[t].times_ns)}

    def origin_ns(self, header: Header, log: Log) -> int:
        """The episode's start by the clock that counts: its first frame."""
        place: EpisodePlace = header.place
        for topic in (*self._plan.topics, *(c.topic for c in self._plan.cameras)):
            if topic in log.topics and len(within := self.entries(place.log, topic).between(*place.window)):
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
            entries = self.entries(place.log, plan.topic)
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
                stamp_ns = _stamp_ns(formats[message.channel], message)
                times[row] = stamp_ns or message.log_ns  # 0: nobody set it
        return times


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
                with _Named(f"frame {start + at}", MessageError):
                    image = pixels(*decoded())
                if not at:
                    frames = np.empty((stop - start, *image.shape), np.uint8)
                if image.shape != frames.shape[1:]:
                    raise MessageError(f"the frame size changes at frame {start + at}; cut the episode there")
                frames[at] = image
            return frames


def _stamp_ns(form: Format, message: Message) -> int:
    """What a message's header says, 0 where it says nothing; whoever reads the message tells what ails it."""
    try:
        stamps = stamps_ns(decoder_for(form).one(message.data))
    except MessageError:
        return 0
    return 0 if stamps is None else int(stamps[0])


def _camera(plan: CameraPlan, info: CameraInfo, frames: _Frames, count: int, times_s: TimesS, where: str) -> Camera:
    if plan.picture.sort == "raw":
        from gristmill.video.raw import RawCamera

        return RawCamera(info=info, frames=count, times_s=times_s, where=where, read=frames.arrays, alone=True)
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
