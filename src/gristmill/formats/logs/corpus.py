"""Logs as a corpus: opened, looked at, mapped, cut into episodes. Opening decodes a few messages of each topic."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gristmill.embodiment import Embodiment
from gristmill.episode import CameraInfo
from gristmill.errors import CorpusError, RecipeError, RecordingError, UnsafeCorpusError
from gristmill.finding import Issue, Kind
from gristmill.formats.files import CorpusFiles
from gristmill.formats.logs import finding
from gristmill.formats.logs.cutting import Window, instructions, windows
from gristmill.formats.logs.decoding import decoder_for
from gristmill.formats.logs.issues import corpus_issues, episode_issues, issue_of
from gristmill.formats.logs.looking import View, look
from gristmill.formats.logs.options import LogOptions
from gristmill.formats.logs.pictures import encoded_bytes, size_of_image
from gristmill.formats.logs.plan import CameraPlan, Plan, plan_of
from gristmill.formats.logs.reading import EpisodePlace, LogReader
from gristmill.formats.logs.stream import Entries, Log, one_line
from gristmill.formats.logs.topic_map import Decision, decide
from gristmill.formats.recorded import Header, RecordedCorpus
from gristmill.types import IntArray

# Logs of a folder that are looked at message by message; the others are taken to hold the same.
LOOKED_AT = 8
_WHOLE_NUMBER = 0.01  # a rate this close to a whole number is meant to be that
_SAME_RATE = 0.02
_SIZE_SOUGHT = 600  # messages among which a video's first keyframe is looked for
_USUAL_HZ = 30.0  # where too few messages tell of a rate


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What looking at a corpus's logs gave."""

    files: CorpusFiles
    places: Sequence[finding.Place]
    views: Mapping[str, Sequence[View]]  # topic -> how it looks, logs that hold something first


def look_at(path: Path, kind: finding.Kind) -> Looked:
    """Look at the logs of a file or folder.

    Raises:
        CorpusError: there are none, or one cannot be opened at all.
        UnsafeCorpusError: a link or name leads outside the corpus.
    """
    files, places = finding.places(path, kind)
    views: dict[str, list[View]] = {}
    chosen = np.unique(np.linspace(0, len(places) - 1, min(LOOKED_AT, len(places))).astype(int)).tolist()
    trouble: CorpusError | RecordingError | None = None
    for number in chosen:
        try:
            log = finding.open_log(files, places[number])
            try:
                for name, view in look(log).items():
                    views.setdefault(name, []).append(view)
            finally:
                log.close()
        except UnsafeCorpusError:
            raise
        except (CorpusError, RecordingError) as error:
            trouble = trouble or error  # one log that is lost does not stand in the others' way
    if not views and trouble is not None:
        raise CorpusError(one_line(trouble)) from None
    for seen in views.values():
        seen.sort(key=lambda v: (v.sort == "nothing", v.sort == "unreadable"))
    return Looked(files=files, places=places, views=dict(sorted(views.items())))


def open_logs(
    path: Path, kind: finding.Kind, *, key: str, card: Embodiment | None, options: LogOptions, locator: Any, title: str
) -> RecordedCorpus:
    """Open logs as a corpus.

    Args:
        path: a log, or a folder of logs.
        kind: which container.
        key: the corpus's key.
        card: the embodiment card, or None for one that fits.
        options: what the user states.
        locator: what reopens the corpus.
        title: the format's name, as shown to people.

    Raises:
        CorpusError: nothing there can be read, or nothing is of use.
        RecipeError: an option names what the logs do not hold.
        UnsafeCorpusError: a link or name leads outside the corpus.
    """
    if options.clock == "publish" and kind != "mcap":
        raise RecipeError(f"options.clock: a {title} keeps no time of publishing; use log or header")
    looked = look_at(path, kind)
    decisions = decide(looked.views, options)
    plan = plan_of(looked.views, decisions, str(path))
    cameras: dict[str, CameraInfo] = {}
    reader = LogReader(looked.files, looked.places, plan, cameras, options.clock)
    try:
        headers, issues = _headers(looked, reader, plan, options)
        rates = [h.rate_hz for h in headers if h.rate_hz]
        rate_hz = options.rate_hz or _meant(float(np.median(rates)) if rates else _USUAL_HZ)
        for camera in plan.cameras:
            declared = _camera_info(looked, reader, camera)
            cameras[camera.key] = replace(declared, own_clock=not _in_step(headers, reader, plan, camera, options))
    except RecordingError as error:
        raise CorpusError(one_line(error)) from None
    if not headers:
        raise CorpusError(f"{path}: the cut that options.cut asks for leaves no episode; look at the topic it names")
    return RecordedCorpus(
        key=key,
        root=path,
        format=title,
        rate_hz=rate_hz,
        headers=[replace(h, rate_hz=_own_rate(h.rate_hz, rate_hz, options)) for h in headers],
        channels=[c.spec for c in plan.channels],
        cameras=cameras,
        reader=reader,
        locator=locator,
        card=card,
        issues=(*issues, *corpus_issues(path, kind, looked.views, plan, options)),
        info={"log": _info(looked, decisions, options)},
        unread=plan.unread,
    )


def counting_topic(plan: Plan, log: Log) -> str:
    """The topic whose messages are the episode's frames: the first with messages, channels before cameras."""
    topics = (*plan.topics, *(c.topic for c in plan.cameras))
    return next((t for t in topics if t in log.topics and log.topics[t].count), topics[0])


def _headers(looked: Looked, reader: LogReader, plan: Plan, options: LogOptions) -> tuple[list[Header], list[Issue]]:
    headers: list[Header] = []
    issues: list[Issue] = []
    terms = hashlib.blake2b(repr((options, plan)).encode(), digest_size=8).hexdigest()
    for number, place in enumerate(looked.places):
        try:
            log = reader.log(number)
            counting = counting_topic(plan, log)
            times = log.entries(counting).times_ns if counting in log.topics else np.empty(0, np.int64)
            spans = windows(log, options.cut, counting)
            filled = spans if options.cut is None else [w for w in spans if _frames(times, w)]
            tasks = [_tasks(log, plan, window, options) for window in filled]
        except (CorpusError, RecordingError) as error:
            if len(looked.places) == 1:
                raise
            issues.append(
                issue_of("log_unreadable", Kind.DEFECT, str(error), "Restore the file or take it out.", place)
            )
            continue
        if not filled:
            what = f"{place.name}: the cut leaves no episode of it"
            issues.append(issue_of("log_without_episode", Kind.RISK, what, "Look at what marks its episodes.", place))
        elif len(filled) < len(spans):
            what = f"{place.name}: {len(spans) - len(filled)} of {len(spans)} parts of the cut hold no message of "
            what += f"{counting}, whose messages are the frames; they became no episodes"
            issues.append(issue_of("cut_empty", Kind.RISK, what, "Look at what marks its episodes.", place))
        stamp = finding.stamp_of(looked.files, place)
        for part, window in enumerate(filled):
            index = len(headers)
            first, stop = np.searchsorted(times, window).tolist()
            where = place.name if len(filled) == 1 else f"{place.name}, part {part}"
            headers.append(
                Header(
                    index=index,
                    length=stop - first,
                    stamp=stamp and f"{stamp}|{terms}|{window.start_ns}:{window.stop_ns}",
                    where=f"episode {index} ({where})",
                    tasks=tasks[part],
                    issues=tuple(episode_issues(log, plan, place, index)),
                    rate_hz=options.rate_hz or _rate(times[first:stop]),
                    place=EpisodePlace(number, window),
                )
            )
    return headers, issues


def _frames(times_ns: IntArray, window: Window) -> int:
    first, stop = np.searchsorted(times_ns, window).tolist()
    return stop - first


def _tasks(log: Log, plan: Plan, window: Window, options: LogOptions) -> tuple[str, ...]:
    told = [text for task in plan.tasks for text in instructions(log, task.topic, task.field, window)]
    return tuple(dict.fromkeys(told)) or ((options.task,) if options.task else ())


def _rate(times_ns: IntArray) -> float | None:
    """The median rate of messages in Hz; None where they are too few or all at one time."""
    steps = np.diff(times_ns)
    steps = steps[steps > 0]
    return 1e9 / float(np.median(steps)) if len(steps) else None


def _meant(rate_hz: float) -> float:
    whole = round(rate_hz)
    if whole and abs(rate_hz - whole) <= _WHOLE_NUMBER * whole:
        return float(whole)
    return round(rate_hz, 3) or rate_hz


def _own_rate(measured_hz: float | None, rate_hz: float, options: LogOptions) -> float | None:
    """An episode's rate where it is not the corpus's."""
    if options.rate_hz or measured_hz is None or abs(measured_hz / rate_hz - 1) <= _SAME_RATE:
        return None
    return _meant(measured_hz)


def _camera_info(looked: Looked, reader: LogReader, plan: CameraPlan) -> CameraInfo:
    """What the first picture says of a camera."""
    picture = plan.picture
    height, width = picture.height, picture.width
    rate_hz = None
    for number in range(len(looked.places)):
        try:
            log = reader.log(number)
            entries = log.entries(plan.topic) if plan.topic in log.topics else None
            if entries is None or not len(entries):
                continue
            rate_hz = rate_hz or _rate(entries.times_ns)
            if height is None or width is None:
                height, width = _size(log, plan, entries) or (None, None)
            break
        except (CorpusError, RecordingError):
            continue  # another log tells; whoever reads this one's pictures is told what ails it
    codec = picture.codec if picture.sort == "video" else None
    rate_hz = _meant(rate_hz) if rate_hz else None
    return CameraInfo(key=plan.key, height=height, width=width, rate_hz=rate_hz, codec=codec)


def _in_step(headers: Sequence[Header], reader: LogReader, plan: Plan, camera: CameraPlan, options: LogOptions) -> bool:
    """Whether the camera gave one picture for each row of every episode, each within half a period of its row.

    Only times of the recorder's clock are known without reading the messages.
    """
    if options.clock != "log":
        return False
    for header in headers:
        place: EpisodePlace = header.place
        try:
            log = reader.log(place.log)
            counting = counting_topic(plan, log)
            if counting not in log.topics or camera.topic not in log.topics:
                continue  # the loss of a topic is told elsewhere
            rows, pictures = (log.entries(t).between(*place.window).times_ns for t in (counting, camera.topic))
        except (CorpusError, RecordingError):
            continue  # told by whoever reads the episode
        if len(rows) != len(pictures):
            return False
        period_ns = 1e9 / (_rate(rows) or _USUAL_HZ)
        if len(rows) and np.abs(rows - pictures).max() >= period_ns / 2:
            return False
    return True


def _size(log: Log, plan: CameraPlan, entries: Entries) -> tuple[int, int] | None:
    """Height and width of the first picture that can be decoded."""
    formats = log.topics[plan.topic].formats
    some = log.read(entries[:_SIZE_SOUGHT])
    encoded = (encoded_bytes(f := formats[m.channel], decoder_for(f).one(m.data)) for m in some)
    if plan.picture.sort == "video":
        from gristmill.video.messages import size_of_frame

        return size_of_frame(encoded, plan.picture.codec or "", f"camera {plan.key}")
    return next(map(size_of_image, encoded), None)


def _info(looked: Looked, decisions: Mapping[str, Decision], options: LogOptions) -> dict[str, Any]:
    """Whose clock counts, where each key comes from, and how far the senders' clocks are from the recorder's."""
    used = {name: d for name, d in decisions.items() if d.rule.role != "ignore"}
    offsets = {
        name: seen[0].header_offset_s for name in used if (seen := looked.views[name])[0].header_offset_s is not None
    }
    return {
        "clock": options.clock,
        "topics": {name: d.rule.key or d.rule.role for name, d in used.items()},
        "header_minus_log_s": offsets,
    }
