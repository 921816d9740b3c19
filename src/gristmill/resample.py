"""Resampling: an episode whose streams have clocks of their own becomes one with a single timeline.

Only when a recipe asks for it (`[resample]`). Each channel gets a companion `provenance.KEY` (uint8, see
`Provenance`), so that what was not observed can be dropped or masked later. Nothing here reads or writes a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gristmill import interpolation
from gristmill.dim_methods import DimGroup, groups_of
from gristmill.embodiment import Embodiment
from gristmill.episode import Camera, Channel, Episode
from gristmill.errors import RecordingError
from gristmill.finding import Issue
from gristmill.formats.cameras import LazyCameras
from gristmill.timeline import (
    Around,
    Provenance,
    Resample,
    Timeline,
    around,
    camera_rows,
    camera_times_s,
    is_companion,
    picked,
    provenance_key,
    timeline_of,
)
from gristmill.types import IntArray, Table, TimesS

if TYPE_CHECKING:
    from gristmill.video.resampled import ResampledCamera

_EVENTS = ("done", "success")  # roles of channels in which a single sample tells
RECORDED = "recorded"  # the clock of a stream that was resampled, when the recording names none

__all__ = ["Featurized", "Provenance", "Resample", "Timeline", "as_episode", "featurize", "provenance_key", "resample"]


@dataclass(frozen=True, kw_only=True)
class Featurized:
    """What resampling an episode gives, and what can be kept of it: arrays and names, no loaders."""

    timeline: Timeline
    channels: Mapping[str, Channel]  # all at the timeline's times, companions included
    clocks: Mapping[str, Mapping[str, TimesS]]  # as recorded, in seconds from the timeline's start
    rows: IntArray  # (t,) row of the recording behind each frame, for what is neither number nor picture
    issues: tuple[Issue, ...] = ()  # what the reader found wrong, also while it read the data


def resample(episode: Episode, rule: Resample) -> Episode:
    """The episode on one timeline. States, actions and further channels are resampled at once, pictures when asked for.

    Args:
        episode: as recorded. Its channels may have any number of clocks.
        rule: rate, methods, and how far a value may be from an observation.

    Returns:
        An episode of the same id. Times begin at 0 s. For each channel KEY there is a further channel
        `provenance.KEY`, and one for each camera (see `provenance_key`). `clocks` holds the recorded times.

    Raises:
        RecordingError: it cannot be read, or no timeline covers its states and actions.
        RecipeError: the rule asks for an average of what has none.
    """
    made = featurize(episode, rule)
    return as_episode(episode, made.timeline, rule, lambda: made, issues=made.issues)


def featurize(episode: Episode, rule: Resample) -> Featurized:
    """All low-dimensional channels of an episode on one timeline; raises as `resample` does."""
    timeline = timeline_of(episode, rule)
    times_s = timeline.times_s
    lying: dict[int, Around] = {}  # streams mostly share clocks
    channels: dict[str, Channel] = {}
    companions: dict[str, Channel] = {}
    earlier = {key: channel for key, channel in episode.channels.items() if is_companion(channel)}
    for key, channel in episode.channels.items():
        if key in earlier:
            continue
        where = lying.get(id(channel.times_s))
        if where is None:
            where = lying[id(channel.times_s)] = around(channel.times_s, timeline, rule)
        values, codes = _resampled(channel, where, timeline, rule, episode.embodiment)
        if channel.role in _EVENTS:
            values = _with_events(values, channel, timeline)
        channels[key] = Channel(key, channel.role, values, times_s, channel.names)
        name = provenance_key(key)
        companions[name] = Channel(name, "other", _least(codes, earlier.get(name), timeline, rule), times_s, (key,))
    for key in episode.cameras:
        codes = _camera_codes(episode, key, timeline, rule)
        name = provenance_key(key, camera=True)
        companions[name] = Channel(name, "other", _least(codes, earlier.get(name), timeline, rule), times_s, (key,))
    rows, _ = picked(around(episode.times_s, timeline, rule), "nearest")
    return Featurized(
        timeline=timeline,
        channels=channels | companions,
        clocks=_clocks(episode, timeline.start_s),
        rows=rows,
        issues=tuple(episode.issues),
    )


def as_episode(
    source: Episode,
    timeline: Timeline,
    rule: Resample,
    load: Callable[[], Featurized],
    *,
    issues: tuple[Issue, ...] = (),
) -> Episode:
    """The resampled episode of a recording.

    Args:
        source: the recording; its loaders are called for pictures and for nothing else.
        timeline: of the resampled episode.
        rule: as the timeline was made by.
        load: gives what `featurize` gives of it; called once.
        issues: what the reader found wrong with the recording.
    """
    made = _Once(load)
    return Episode(
        id=source.id,
        corpus=source.corpus,
        index=source.index,
        length=timeline.frames,
        rate_hz=rule.rate_hz,
        tasks=source.tasks,
        embodiment=source.embodiment,
        cameras=LazyCameras(list(source.cameras), partial(_camera, source.cameras, timeline, rule)),
        issues=issues,
        load_channels=lambda: made().channels,
        load_clocks=lambda: made().clocks,
        load_index_columns=lambda: _index_columns(source, made()),
    )


class _Once:
    """A loader that keeps what it gave; episodes are copied, and each copy would load anew."""

    def __init__(self, load: Callable[[], Featurized]) -> None:
        self._load = load
        self._made: Featurized | None = None

    def __call__(self) -> Featurized:
        if self._made is None:
            self._made = self._load()
        return self._made


def _resampled(
    channel: Channel, where: Around, timeline: Timeline, rule: Resample, card: Embodiment
) -> tuple[Table, IntArray]:
    """(t, d) values of the channel's own type, and (t,) uint8 provenance: of several dimensions, the least.

    A frame with a NaN in it is MISSING, and none else.
    """
    values = channel.values
    out = np.zeros((len(where.tolerance_s), values.shape[1]), values.dtype)
    codes = np.full(len(out), np.uint8(Provenance.OBSERVED))
    for group in groups_of(channel, rule, card):
        for dims, lying in _sampled(channel, group, where, timeline, rule):
            found, of_group = _of_group(values[:, dims], lying, group)
            if values.dtype.kind == "f":
                found[of_group == Provenance.MISSING] = np.nan
                # Between opposite infinities, and of a rotation that is none, there is no value either.
                of_group[np.isnan(found).any(axis=1)] = Provenance.MISSING
            out[:, dims] = found
            codes = np.minimum(codes, of_group)
    return out, codes


def _sampled(
    channel: Channel, group: DimGroup, where: Around, timeline: Timeline, rule: Resample
) -> Iterator[tuple[list[int], Around]]:
    """The group's dimensions, those that share their samples together, and where the instants lie among these.

    A NaN is no sample: publishers of one topic take turns, and each knows of its own joints only.
    """
    dims = list(group.dims)
    if channel.values.dtype.kind != "f" or not (lacking := np.isnan(channel.values[:, dims])).any():
        yield dims, where
        return
    if group.method == "slerp":  # of a rotation, all or nothing
        lacking = np.repeat(lacking.any(axis=1, keepdims=True), len(dims), axis=1)
    alike: dict[bytes, list[int]] = {}
    for at in range(len(dims)):
        alike.setdefault(lacking[:, at].tobytes(), []).append(at)
    for members in alike.values():
        mask = lacking[:, members[0]]
        own = around(np.where(mask, np.nan, channel.times_s), timeline, rule) if mask.any() else where
        yield [dims[at] for at in members], own


def _with_events(values: Table, channel: Channel, timeline: Timeline) -> Table:
    """Marks of an end or a success, which may stand in one sample alone, in the frame nearest to theirs."""
    at = (channel.times_s - timeline.start_s) * timeline.rate_hz
    known = np.isfinite(at) & (at >= -0.5) & np.isfinite(channel.values).all(axis=1)
    frames = np.clip(np.rint(np.where(known, at, 0)), 0, timeline.frames - 1).astype(np.intp)
    marked = known & channel.values.any(axis=1)
    if timeline.frames and marked.any():
        values = values.copy()
        np.maximum.at(values, frames[marked], channel.values[marked])
    return values


def _of_group(values: Table, where: Around, group: DimGroup) -> tuple[Table, IntArray]:
    rows, distance_s = picked(where, group.method)
    if where.found is None:
        return np.zeros((len(rows), values.shape[1]), values.dtype), where.codes(distance_s, between=False)
    if group.method in ("hold", "nearest"):
        return values[rows], where.codes(distance_s, between=False)
    samples = values[where.order].astype(np.float64)
    if group.method == "slerp":
        found = interpolation.slerp(samples, where.found)
    elif group.period is not None:
        found = interpolation.wrapped(samples, where.found, group.period)
    else:
        found = interpolation.linear(samples, where.found)
    with np.errstate(invalid="ignore"):  # recorded NaNs of any kind
        return found.astype(values.dtype), where.codes(distance_s, between=True)


def _least(codes: IntArray, earlier: Channel | None, timeline: Timeline, rule: Resample) -> Table:
    """(t, 1) codes, no better than what an earlier resampling said of the nearest frame: its values are no samples."""
    if earlier is not None and len(earlier.values):
        rows, _ = picked(around(earlier.times_s, timeline, rule), "nearest")
        codes = np.minimum(codes, earlier.values[rows, 0])
    return codes[:, None]


def _camera_codes(episode: Episode, key: str, timeline: Timeline, rule: Resample) -> IntArray:
    """(t,) provenance of a camera's frames; one that cannot be read shows nothing, and says why when it is asked."""
    try:
        times_s = camera_times_s(episode.cameras[key])
    except RecordingError:
        return np.full(timeline.frames, np.uint8(Provenance.MISSING))
    return camera_rows(times_s, timeline, rule, key)[1]


def _camera(cameras: Mapping[str, Camera], timeline: Timeline, rule: Resample, key: str) -> ResampledCamera:
    from gristmill.video.resampled import ResampledCamera  # it loads PyAV

    return ResampledCamera(cameras[key], timeline, rule)


def _clocks(episode: Episode, start_s: float) -> dict[str, dict[str, TimesS]]:
    """Recorded times of every stream, one of those that share a clock; the episode's start moves with the timeline."""
    clocks = {
        stream: {name: times_s - start_s for name, times_s in of.items()} for stream, of in episode.clocks.items()
    }
    seen = [next(iter(of.values())) for of in episode.clocks.values() if of]
    if any(map(is_companion, episode.channels.values())) and clocks:
        return clocks  # it was resampled before, and these are the times that were recorded
    for key, channel in episode.channels.items():
        if key not in clocks and not any(_equal(channel.times_s, times_s) for times_s in seen):
            seen.append(channel.times_s)
            clocks[key] = {RECORDED: channel.times_s - start_s}
    return clocks


def _equal(a: TimesS, b: TimesS) -> bool:
    return a is b or np.array_equal(a, b, equal_nan=True)


def _index_columns(source: Episode, made: Featurized) -> dict[str, np.ndarray]:
    """Bookkeeping of the new frames: counted anew, and as recorded where it belongs to a row."""
    frames = made.timeline.frames
    fresh = {"timestamp": made.timeline.times_s.astype(np.float32), "frame_index": np.arange(frames)}
    recorded = source.index_columns
    columns = {key: values[made.rows] for key, values in recorded.items() if len(values) > made.rows.max(initial=-1)}
    columns |= {key: values for key, values in fresh.items() if key in recorded}
    if "index" in columns:
        columns["index"] = int(columns["index"][0]) + np.arange(frames) if frames else columns["index"]
    return columns
