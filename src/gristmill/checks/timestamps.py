"""Times that jump, repeat or run backwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.clock import Clock
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind, Span
from gristmill.grouping import Group, by_channel, strongest
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of
from gristmill.types import TimesS

_LATE = 1.5  # an interval of so many periods lacks a sample; less is jitter, which has its own check
_SHARED = 3  # episodes that show that an offset is the recorder's
_COUNTS_FROM_ONE = 1.5  # samples
_HUGE_S = 1e9  # beyond this, a time is no time


@dataclass(frozen=True, kw_only=True)
class Timestamps:
    """Do the times of an episode go forward without holes?

    Intervals are taken within one episode only, never across the border of two. An interval that lacks samples
    is a gap: what a policy sees as one step was several. Times that repeat or go backwards cannot be looked up.
    Gaps of a single sample are a risk, longer ones a defect.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True, channels=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("missing_s", unit="s", about="time missing in all gaps together"),
        Column("first_s", unit="s", about="time of the first sample, where all channels share one clock"),
        Column("stray", unit="frames", about="how far times stray from sample number over declared rate", metric=True),
        Column("repeated", "int", about="intervals of zero length"),
        Column("backward", "int", about="intervals that go backwards or are not finite"),
    )
    fix: ClassVar[str] = (
        "Split the episode at the gap, or fill short gaps by holding the last sample and mark what was filled; "
        "sort or drop episodes whose times are out of order."
    )
    source: ClassVar[str] = (
        "LeRobot looks frames up by time within 1e-4 s; 0.1 s is a tenth of a reach and three frames of 30 Hz video."
    )

    min_gap_s: float = 0.1  # missing time from which on a gap is a defect
    min_gap_samples: float = 1.5  # and missing samples
    max_offset_samples: float = 0.5  # that the first time may lie off 0; beyond it, a lookup finds another frame

    def measure(self, episode: Episode) -> Measured:
        """Gaps, repeats and reversals of every clock; strength is the missing, 0 or reversed time in seconds."""
        motion = motion_of(episode)
        if len(motion.clock.times_s) < 2:
            return Measured(unknown="fewer than 2 samples")
        missing, repeated, backward = 0.0, 0, 0
        events: list[Event] = []
        seen = {id(motion.clock.times_s)}
        clocks: list[tuple[str | None, Clock]] = [(None, motion.clock)]
        for channel in episode.channels.values():
            if id(channel.times_s) not in seen:
                seen.add(id(channel.times_s))
                clocks.append((channel.key, Clock(channel.times_s, episode.rate_hz)))
        for key, clock in clocks:
            ordered = clock.ordered_s
            if not len(ordered) or (ordered[0] > 0 and ordered[-1] < _LATE * clock.period_s):
                continue
            intervals = clock.intervals_s
            late = (intervals >= _LATE * clock.period_s) & (intervals < _HUGE_S)
            missing += float((intervals[late] - clock.period_s).sum())
            repeated += int(np.count_nonzero(intervals == 0))
            backward += int(np.count_nonzero(~(intervals >= 0)))
            events += _events(clock, key)
        times = motion.clock.times_s
        # Streams with clocks of their own begin when they begin.
        first_s = float(times[0]) if len(clocks) == 1 else np.nan
        values = {"missing_s": missing, "repeated": repeated, "backward": backward, "first_s": first_s}
        return Measured(values | {"stray": _stray(times, episode.rate_hz)}, strongest(events))

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Every gap, repeat and reversal, by kind."""
        events = manifest.events
        detail = np.array(events.detail, dtype=object)
        period_s = 1 / manifest.facts.rate_hz if manifest.facts.rate_hz > 0 else 0.0
        gap = detail == "gap"
        long = gap & (events.strength >= max(self.min_gap_s, self.min_gap_samples * period_s))
        for group in by_channel(events, long):
            yield self._gap(manifest, group, Kind.DEFECT, "time_gap")
        for group in by_channel(events, gap & ~long):
            yield self._gap(manifest, group, Kind.RISK, "dropped_frames")
        for code, column in (("order", "backward"), ("duplicate", "repeated")):
            for group in by_channel(events, detail == code):
                count = max(int(manifest[column][group.row]), len(group.spans_s))
                what = "run backwards or are not finite" if code == "order" else "repeat"
                yield finding(
                    self,
                    Kind.DEFECT,
                    group.row,
                    f"times of {_what(manifest, group)} {what} {count} time{'s' if count > 1 else ''}, first "
                    f"{_first(group.spans_s)} (allowed: 0); frames cannot be looked up by such times",
                    channel=group.channel,
                    spans_s=group.spans_s,
                    code=code,
                    measured=count,
                    threshold=0,
                    unit="intervals",
                )

        yield from self._offsets(manifest, period_s)

    def _offsets(self, manifest: Manifest, period_s: float) -> Iterator[Finding]:
        """Episodes that do not begin at 0: with cameras, every frame is looked up at the wrong time."""
        first = np.where(np.isfinite(manifest["first_s"]), manifest["first_s"], np.nan)
        limit = self.max_offset_samples * period_s
        known = first[~np.isnan(first)]
        if period_s and len(known) >= _SHARED and np.ptp(known) <= limit and abs(known[0]) > limit:
            yield self._shared_offset(float(np.median(known)), period_s)
            return
        kind = Kind.DEFECT if manifest.facts.cameras else Kind.RISK
        for row in np.flatnonzero(np.abs(first) > limit).tolist() if period_s else ():
            yield finding(
                self,
                kind,
                row,
                f"times of {manifest.where(row)} begin at {first[row]:.3g} s instead of 0 (at most {limit:.3g} s "
                "allowed); a loader adds them to where the episode's video begins, and finds other frames",
                code="offset",
                measured=abs(first[row]),
                threshold=limit,
                unit="s",
                fix="Subtract the first time from all of the episode's times; an export does so.",
            )

    def _shared_offset(self, offset_s: float, period_s: float) -> Finding:
        """All episodes begin equally late: a recorder that counts from one, or a clock that was never reset."""
        return finding(
            self,
            Kind.TRAIT if abs(offset_s) <= _COUNTS_FROM_ONE * period_s else Kind.RISK,
            None,
            f"times of all episodes begin at {offset_s:.3g} s instead of 0; a loader that looks frames up by time "
            "finds others",
            code="offset_shared",
            measured=abs(offset_s),
            threshold=self.max_offset_samples * period_s,
            unit="s",
            fix="Subtract the first time from all times of each episode; an export does so.",
        )

    def _gap(self, manifest: Manifest, group: Group, kind: Kind, code: str) -> Finding:
        missing = float(group.strengths.sum())
        return finding(
            self,
            kind,
            group.row,
            f"{missing:.2f} s are missing {group.when} in {_what(manifest, group)}; from {self.min_gap_s:g} s on "
            "it is a gap, and a policy learns to jump over it in one step",
            channel=group.channel,
            spans_s=group.spans_s,
            code=code,
            measured=missing,
            threshold=self.min_gap_s,
            unit="s",
        )


def _stray(times_s: TimesS, rate_hz: float) -> float:
    """Largest distance of a time from where the declared rate puts its sample, in samples; NaN where one is none."""
    off = np.multiply(times_s, rate_hz)
    off -= np.arange(len(off))
    np.abs(off, out=off)
    return float(np.maximum.reduce(off))


def _events(clock: Clock, key: str | None) -> Iterator[Event]:
    times, intervals = clock.times_s, clock.intervals_s
    late = intervals >= _LATE * clock.period_s
    for i in np.flatnonzero(late | ~(intervals > 0)).tolist():
        a, b = float(times[i]), float(times[i + 1])
        if not (abs(a) < _HUGE_S and abs(b) < _HUGE_S):
            at = i * clock.period_s
            yield Event(at, at + clock.period_s, clock.period_s, key, None, "order")
        elif b > a:
            yield Event(a, b, b - a - clock.period_s, key, None, "gap")
        else:
            yield Event(b, a, a - b, key, None, "order" if b < a else "duplicate")


def _what(manifest: Manifest, group: Group) -> str:
    where = manifest.where(group.row)
    return f"{group.channel} in {where}" if group.channel else where


def _first(spans_s: tuple[Span, ...]) -> str:
    return f"at {min(a for a, _ in spans_s):.2f} s"
