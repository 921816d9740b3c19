"""What camera checks share: which rows frames belong to, frames that show nothing, and columns by camera."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gristmill.episode import Episode
from gristmill.finding import Span
from gristmill.grouping import Group, by_channel
from gristmill.manifest import Events, Manifest
from gristmill.motion import motion_of
from gristmill.runs import runs_of
from gristmill.traces import CameraTraces
from gristmill.types import FloatArray, IntArray, Mask

# A picture of one colour, or one as dark as a covered lens: nothing in it can be blurred, frozen or late.
_FLAT_LEVELS = 3.0
BLACK_LEVEL = 24.0


def traces_of(episode: Episode) -> tuple[dict[str, CameraTraces], str | None]:
    """The traces of every camera that has some, and why others have none (None: all have)."""
    found: dict[str, CameraTraces] = {}
    missing = []
    for key in episode.cameras:
        traces = episode.traces(key)
        if traces is None or not len(traces):
            missing.append(key)
        else:
            found[key] = traces
    return found, f"no decoded frames of {', '.join(missing)}" if missing else None


def per_camera(episode: Episode, values: Mapping[str, float]) -> list[float]:
    """A `per="camera"` cell: NaN for cameras without a value."""
    return [values.get(key, np.nan) for key in episode.cameras]


def blank(traces: CameraTraces) -> Mask:
    """(t,) frames that show nothing: black, or of a single colour."""
    return (traces.p98 <= BLACK_LEVEL) | (traces.p98 - traces.p02 <= _FLAT_LEVELS)


def rows_of(traces: CameraTraces, rate_hz: float) -> IntArray:
    """(t,) number of the episode's row at the time of each frame; missing frames leave holes."""
    times_s = np.where(np.isfinite(traces.times_s), traces.times_s, 0.0)
    return np.maximum(np.rint(times_s * rate_hz).astype(np.intp), 0)


def span_s(traces: CameraTraces, start: int, stop: int, rate_hz: float) -> tuple[float, float]:
    """Seconds from frame `start` to the end of frame `stop - 1`, as a finite, ordered pair."""
    at = rows_of(traces, rate_hz)[[start, stop - 1]] / rate_hz
    begin, end = float(at[0]), float(at[1]) + 1 / rate_hz
    return min(begin, end), max(begin, end)


def activity_of(episode: Episode, rows: IntArray) -> FloatArray | None:
    """(k,) how fast the robot moved into each of these rows, in its whole motions a second; None where unknown.

    Raises:
        RecordingError: the low-dimensional data cannot be read.
    """
    motion = motion_of(episode)
    if motion.frames < 2 or not len(motion.values):
        return None
    activity = np.nan_to_num(motion.activity.astype(np.float64))
    return activity[np.clip(rows - 1, 0, len(activity) - 1)]


def quantile(values: FloatArray, share: float) -> float:
    """The value (t > 0) below which a share of the values lies: an order statistic, many times faster than NumPy's."""
    return float(np.sort(values)[round(share * (len(values) - 1))])


def smoothed(values: FloatArray, width: int) -> FloatArray:
    """Moving mean (t,) over `width` frames, shorter at the ends."""
    if width <= 1 or len(values) < 2:
        return np.asarray(values, np.float64)
    kernel = np.ones(min(width, len(values)))
    return np.convolve(values, kernel, "same") / np.convolve(np.ones(len(values)), kernel, "same")


def nested_runs(values: FloatArray, levels: Sequence[float], shortest: int) -> list[tuple[int, int, float]]:
    """Stretches (start, stop, least value) that stay above each of the ascending `levels`.

    A judge with a limit of its own finds the longest stretch above it. Stretches that no lower level makes
    longer are listed once.
    """
    found: dict[tuple[int, int], float] = {}
    highest = values.max(initial=-np.inf)
    for level in (level for level in levels if level < highest):
        for start, stop in runs_of(values > level, shortest):
            found[start, stop] = float(values[start:stop].min())
    return [(start, stop, least) for (start, stop), least in found.items()]


def merged(spans_s: Sequence[Span]) -> list[Span]:
    """The union of spans, in order."""
    union: list[Span] = []
    for span in sorted(spans_s):
        if union and span.start_s <= union[-1].end_s:
            union[-1] = Span(union[-1].start_s, max(union[-1].end_s, span.end_s))
        else:
            union.append(span)
    return union


def by_camera(events: Events, keep: Mask | None = None) -> Iterator[Group]:
    """The events that `keep` selects, grouped by episode and camera; a group's `channel` is the camera.

    Overlapping spans become one.
    """
    for group in by_channel(replace(events, channel=events.camera), keep):
        yield group._replace(spans_s=tuple(merged(group.spans_s)))


def camera_of(manifest: Manifest) -> IntArray:
    """(m,) the column in `per="camera"` cells of each event."""
    column = {key: i for i, key in enumerate(manifest.cameras)}
    return np.array([column.get(key or "", 0) for key in manifest.events.camera], np.intp)
