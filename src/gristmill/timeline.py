"""The rule by which streams become one timeline, the timeline itself, and what each of its values rests on.

Only when a recipe asks for it (`[resample]`). Nothing here reads or writes a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Literal

import numpy as np

from gristmill.clock import Clock
from gristmill.errors import RecipeError, RecordingError
from gristmill.interpolation import Neighbours, neighbours, ordered
from gristmill.types import FloatArray, IntArray, TimesS

if TYPE_CHECKING:
    from gristmill.episode import Camera, CameraInfo, Channel, Episode

VERSION = 4  # raise it when resampled values change

Method = Literal["hold", "linear", "slerp", "nearest"]

# Times that differ by less than this share of a period (of the stream's or of the timeline's, whichever is shorter)
# are the same instant: recorders round to microseconds, and LeRobot allows 1e-4 s.
SAME = 0.01
# An interval of so many periods lacks a sample (as the check `timestamps` has it).
_LATE = 1.5
# A timeline of more frames than this is no recording but a broken clock: a day at 1 kHz.
_FRAMES_MAX = 86_400_000


class Provenance(IntEnum):
    """How a resampled value came about; a larger code is better founded.

    - OBSERVED: the sample that it is taken from (of two, the nearer one) lies within half a period of the timeline.
      Where the channel lacks samples (an interval of more than 1.5 of its own periods), also within half a period of
      its own, so that no part of a hole counts as observed because the timeline is coarse. Limits are inclusive, with
      a tolerance of 1 % of the shorter of the two periods.
    - INTERPOLATED: between two samples, the nearer one further away than that, but within `max_gap_s`.
    - HELD: a copy of one sample that is further away than that, but within `max_gap_s`.
    - MISSING: no sample within `max_gap_s`. The value is NaN; where the type has no NaN, the nearest sample's.

    A recorded NaN is no sample. Of a channel with several dimensions, the least code counts.
    """

    MISSING = 0
    HELD = 1
    INTERPOLATED = 2
    OBSERVED = 3


PREFIX = "provenance."  # of the channels that hold these codes
OF_CAMERAS = ".frames"


def provenance_key(key: str, *, camera: bool = False) -> str:
    """The channel that holds the codes of a channel, or of a camera's frames.

    LeRobot takes every feature with "image" in its name for pictures, and hands every one that begins with
    "observation" or "action" to the policy, so `observation.images.top` has its codes in
    `provenance.observation.cameras.top.frames`. The channel's only name is the key of what it tells of.
    """
    return PREFIX + key.replace("image", "camera") + (OF_CAMERAS if camera else "")


def is_companion(channel: Channel) -> bool:
    """Whether a channel holds provenance codes of another one, or of a camera."""
    return (
        channel.key.startswith(PREFIX)
        and channel.values.dtype == np.uint8
        and channel.values.shape[1] == len(channel.names) == 1
    )


@dataclass(frozen=True, kw_only=True)
class Resample:
    """One timeline for all streams of an episode.

    The timeline has `rate_hz` frames a second over the span that all states and actions cover, from 0 s on. What is
    not named in `methods` is interpolated linearly, rotations along the great arc; flags, whole numbers, commands of
    grippers and images take the nearest sample.

    Raises:
        ValueError: the rate is not positive.
    """

    rate_hz: float = field(metadata={"min": 0.001})
    # Channel or camera key, dimension (`action[gripper]`), or a pattern with * and ? -> method.
    methods: Mapping[str, Method] = field(default_factory=dict)
    max_gap_s: float = 0.5  # how far a value may be from the sample that it rests on
    wrapping: tuple[str, ...] = ()  # channels, dimensions or patterns of angles that wrap around after a turn
    chunk_frames: int = field(default=64, metadata={"min": 1})  # of featurized episodes: the training window

    def __post_init__(self) -> None:
        if not (np.isfinite(self.rate_hz) and self.rate_hz > 0):
            raise ValueError(f"rate_hz: must be above 0, got {self.rate_hz}")

    @property
    def period_s(self) -> float:
        """Seconds from frame to frame."""
        return 1 / self.rate_hz

    def method(self, key: str, label: str) -> tuple[str, Method] | None:
        """The entry of `methods` for a dimension: by its label, its channel's key, then patterns in their order."""
        for name in (label, key):
            if name in self.methods:
                return name, self.methods[name]
        return next(
            ((p, m) for p, m in self.methods.items() if matches(p, label) or matches(p, key)),
            None,
        )

    def canonical(self) -> dict[str, object]:
        """Plain values of all that decides what resampled values are; how they are stored does not."""
        return {
            "rate_hz": float(self.rate_hz),
            "methods": dict(self.methods),  # in their order, which decides between patterns
            "max_gap_s": float(self.max_gap_s),
            "wrapping": sorted(self.wrapping),
            "version": VERSION,
        }


def matches(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern in which * and ? stand for anything; brackets stand for themselves."""
    text = "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern)
    return re.fullmatch(text, name) is not None


@dataclass(frozen=True, slots=True)
class Timeline:
    """Frame k of an episode stands at `start_s + k / rate_hz` of the recording's own time."""

    start_s: float
    rate_hz: float
    frames: int

    @property
    def instants_s(self) -> TimesS:
        """(t,) in the recording's own time."""
        return self.start_s + self.times_s

    @property
    def times_s(self) -> TimesS:
        """(t,) seconds from the first frame."""
        return np.arange(self.frames) / self.rate_hz


def timeline_of(episode: Episode, rule: Resample) -> Timeline:
    """The span that all states and actions cover; without any, that of all channels together.

    Raises:
        RecordingError: a channel has no samples, or there is nothing that all cover.
    """
    channels = list(episode.channels.values())
    channels = [c for c in channels if c.role in ("state", "action") and c.values.shape[1]] or channels
    if not channels:
        raise RecordingError(f"episode {episode.index} has no channels; there is no timeline to resample it to")
    starts: dict[str, float] = {}
    ends: dict[str, float] = {}
    for channel in channels:
        times_s = channel.times_s[np.isfinite(channel.times_s)]
        if not len(times_s):
            raise RecordingError(
                f"episode {episode.index}: channel {channel.key} has no samples; no timeline covers all channels"
            )
        starts[channel.key], ends[channel.key] = float(times_s.min()), float(times_s.max())
    late, early = max(starts, key=starts.__getitem__), min(ends, key=ends.__getitem__)
    span = (ends[early] - starts[late]) * rule.rate_hz
    if span < -SAME:
        raise RecordingError(
            f"episode {episode.index}: channel {early} ends at {ends[early]:.3f} s, before {late} begins at "
            f"{starts[late]:.3f} s; no timeline covers both, state another topic or cut the log elsewhere"
        )
    if span > _FRAMES_MAX:
        raise RecordingError(
            f"episode {episode.index}: its times span {span / rule.rate_hz:.3g} s; correct the clock of {late}"
        )
    return Timeline(starts[late], rule.rate_hz, int(np.floor(span + SAME)) + 1)


@dataclass(frozen=True, slots=True)
class Around:
    """Where the instants of a timeline lie among the samples of one stream."""

    order: IntArray  # (m,) the stream's samples in strictly ascending time
    found: Neighbours | None  # None when the stream has no samples
    tolerance_s: FloatArray  # (t,) how near a sample makes a value observed
    max_gap_s: float

    def codes(self, distance_s: FloatArray, *, between: bool) -> IntArray:
        """(t,) uint8 provenance of values whose sample lies at this distance.

        Args:
            distance_s: (t,) seconds to the sample that a value rests on.
            between: whether values are interpolated between two samples where there are two.
        """
        near = distance_s <= self.max_gap_s
        codes = np.where(near, np.uint8(Provenance.HELD), np.uint8(Provenance.MISSING))
        if between and self.found is not None:
            inside = np.isfinite(self.found.since_s) & np.isfinite(self.found.until_s)
            codes[near & inside] = Provenance.INTERPOLATED
        codes[distance_s <= self.tolerance_s] = Provenance.OBSERVED
        return codes


def around(times_s: TimesS, timeline: Timeline, rule: Resample) -> Around:
    """Where the timeline's instants lie among a stream's samples (m,), in the recording's own time."""
    order = ordered(times_s)
    if not len(order):
        return Around(order, None, np.zeros(timeline.frames), rule.max_gap_s)
    own_s = Clock(times_s[order], rule.rate_hz).period_s
    slack_s = SAME * min(own_s, rule.period_s)
    found = neighbours(times_s[order], timeline.instants_s, slack_s)
    hole = np.isfinite(found.since_s + found.until_s) & (found.since_s + found.until_s > _LATE * own_s)
    half_s = np.where(hole, min(own_s, rule.period_s), rule.period_s) / 2
    return Around(order, found, half_s + slack_s, rule.max_gap_s + slack_s)


def picked(where: Around, method: Method) -> tuple[IntArray, FloatArray]:
    """(t,) the stream's sample that is copied to each instant, and (t,) seconds to it, infinite where there is none."""
    found = where.found
    if found is None:
        none = np.zeros(len(where.tolerance_s), np.int64)
        return none, np.full(len(none), np.inf)
    if method == "hold":
        return where.order[found.before], found.since_s
    return where.order[found.nearest], found.distance_s


def camera_times_s(camera: Camera) -> TimesS:
    """(k,) times of a camera's frames from the episode's start: as its reader has them, or of its packets.

    Raises:
        VideoError: it cannot be read.
    """
    times_s = getattr(camera, "times_s", None)
    return camera.packets().times_s if times_s is None else times_s


def at_rate(camera: CameraInfo, rate_hz: float) -> CameraInfo:
    """What a camera is on a timeline of this rate: one frame a row, and no video file of its own."""
    return replace(camera, rate_hz=rate_hz, codec=None, own_clock=False)


def camera_method(rule: Resample, key: str) -> Method:
    """How frames of a camera are chosen.

    Raises:
        RecipeError: frames cannot be averaged.
    """
    entry = rule.method(key, key)
    if entry is None:
        return "nearest"
    name, method = entry
    if method not in ("hold", "nearest"):
        raise RecipeError(f"resample.methods.{name}: frames of a camera are never averaged; use hold or nearest")
    return method


def camera_rows(times_s: TimesS, timeline: Timeline, rule: Resample, key: str) -> tuple[IntArray, IntArray]:
    """(t,) the camera's frame for each frame of the timeline, and (t,) uint8 provenance.

    A frame that repeats an earlier one is not observed, unless a camera's frame lies within half a period. Frames
    whose times run backwards are left out, so that the camera's frames are shown in their order.
    """
    newest = np.maximum.accumulate(np.where(np.isfinite(times_s), times_s, -np.inf))
    where = around(np.where(times_s == newest, times_s, np.nan), timeline, rule)
    rows, distance_s = picked(where, camera_method(rule, key))
    return rows, where.codes(distance_s, between=False)
