"""Grippers that open and close again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.grouping import strongest, when
from gristmill.layout import Layout, layout_of_dims
from gristmill.manifest import Events, Manifest, finding
from gristmill.motion import Motion, motion_of
from gristmill.types import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class GripperChatter:
    """Does a gripper reverse many times within a few seconds?

    A reversal counts when the gripper has travelled `swing` of its range since the last one, so noise and
    settling do not. Reversals that follow each other closely form one event; its strength is the largest number
    of them within `window_s`. The range is the card's, or the episode's own; an episode whose gripper moved far
    less than in the rest of the corpus is left out, for its range is noise. A grasp, a release and a second try
    reverse two to four times.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("range", per="dim", about="range of each gripper dimension, in its unit; null for other dimensions"),
    )
    fix: ClassVar[str] = (
        "Trim the span, or drop the episode; if many have it, add hysteresis to the gripper's trigger or smooth it."
    )
    source: ClassVar[str] = (
        "Counting after rainflow analysis (ASTM E1049). A grasp, a release and one corrected grasp make four "
        "reversals; six within two seconds are no handling."
    )

    window_s: float = measuring(2.0)
    swing: float = measuring(0.1)  # share of the range between two reversals
    apart_s: float = measuring(0.75)  # reversals further apart belong to two events
    at_least: int = measuring(4)  # events with fewer reversals are not kept
    max_reversals: int = 5  # within the window
    min_range: float = 0.3  # share of the range that the gripper usually has in the corpus

    def measure(self, episode: Episode) -> Measured:
        """Clusters of reversals of each gripper dimension; strength is the most within the window."""
        motion = motion_of(episode)
        grippers = motion.layout.grippers
        if not len(grippers):
            return Measured(unknown="no gripper is known by the card or by name")
        if motion.frames < 4:
            return Measured(unknown="fewer than 4 samples")
        ranges = motion.layout.unknown()
        ranges[grippers] = motion.range[grippers]
        swings = self.swing * np.fmax(_declared_ranges(motion.layout)[grippers], motion.range[grippers])
        events: list[Event] = []
        for row, swing in zip(grippers.tolist(), swings.tolist(), strict=True):
            events += self._clusters(motion, row, swing)
        return Measured({"range": ranges}, strongest(events))

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Bursts with more than `max_reversals`, in episodes whose gripper really moved."""
        events = manifest.events
        if not len(events) or not manifest.dims:
            return
        layout = layout_of_dims(manifest.dims, manifest.embodiment)
        usual = robust.median(manifest["range"])
        at = layout.rows_of(events.channel)
        moved = (at >= 0) & (manifest["range"][events.row, at] >= self.min_range * usual[at])
        answers = dict(
            zip(layout.index[layout.pairs.action].tolist(), layout.index[layout.pairs.state].tolist(), strict=True)
        )
        by_gripper: dict[tuple[int, int], list[int]] = {}
        for i in np.flatnonzero(moved).tolist():
            by_gripper.setdefault((int(events.row[i]), answers.get(int(at[i]), int(at[i]))), []).append(i)
        for (row, _), members in by_gripper.items():
            for burst in _bursts(events, members):
                if max(events.strength[i] for i in burst) > self.max_reversals:
                    yield from self._findings(manifest, row, burst)

    def _findings(self, manifest: Manifest, row: int, burst: list[int]) -> Iterator[Finding]:
        """One finding a channel. Command and answer are one gripper: where either chatters, both carry the span."""
        events = manifest.events
        span = (min(events.start_s[i] for i in burst), max(events.end_s[i] for i in burst))
        for channel in dict.fromkeys(str(events.channel[i]) for i in burst):
            most = max(events.strength[i] for i in burst if events.channel[i] == channel)
            yield finding(
                self,
                Kind.RISK,
                row,
                f"{channel} of {manifest.where(row)} reverses {most:.0f} times within {self.window_s:g} s "
                f"{when([span])} (at most {self.max_reversals} expected of a gripper); a policy learns to flutter "
                "instead of to grasp",
                channel=channel,
                spans_s=(span,),
                measured=most,
                threshold=self.max_reversals,
                unit=f"reversals in {self.window_s:g} s",
            )

    def _clusters(self, motion: Motion, row: int, swing: float) -> Iterator[Event]:
        """Turns that follow each other closely, as events; mostly there are too few, so plain loops are quickest."""
        at = turning_points(motion.values[row], swing, self.at_least).tolist()
        if len(at) < self.at_least:
            return
        times = [sample * motion.clock.period_s for sample in at]
        begin = 0
        for end in range(1, len(at) + 1):
            if end < len(at) and times[end] - times[end - 1] <= self.apart_s:
                continue
            if end - begin >= self.at_least:
                yield self._event(motion, row, at[begin:end], np.array(times[begin:end]))
            begin = end

    def _event(self, motion: Motion, row: int, at: list[int], times: FloatArray) -> Event:
        most = int((np.searchsorted(times, times + self.window_s, side="right") - np.arange(len(times))).max())
        half = max(1, round((at[-1] - at[0]) / (len(at) - 1) / 2))
        start, stop = max(0, at[0] - half), min(motion.frames, at[-1] + half + 1)
        return Event(*motion.clock.span_s(start, stop), most, motion.layout.labels[row])


def turning_points(values: FloatArray, swing: float, at_least: int = 0) -> IntArray:
    """Samples (k,) at which a signal turns, having travelled at least `swing` and going at least as far back.

    Where the direction changes less often than `at_least`, none are looked for. These are the reversals that rainflow
    counting keeps after its hysteresis filter (ASTM E1049).
    """
    steps = values[1:] - values[:-1]
    moves = steps.nonzero()[0]
    # Only where the direction changes, at the first of equal samples, can a swing end; and at the last sample.
    rises = steps[moves] > 0
    changes = moves[:-1][rises[1:] != rises[:-1]] + 1
    if len(changes) < at_least:
        return changes[:0]
    at = [0, *changes.tolist(), len(values) - 1]
    signal = [float(values[0]), *values[changes].tolist(), float(values[-1])]
    turns: list[int] = []
    rising = 0  # direction of the swing under way; unknown at first
    top = bottom = at[0]  # where the extremes of that swing are
    high = low = signal[0]
    for i, value in zip(at, signal, strict=True):
        if value > high:
            top, high = i, value
        elif value < low:
            bottom, low = i, value
        if rising >= 0 and high - value >= swing:
            if rising:
                turns.append(top)
            rising, bottom, low = -1, i, value
        elif rising <= 0 and value - low >= swing:
            if rising:
                turns.append(bottom)
            rising, top, high = 1, i, value
    return np.array(turns, np.intp)


def _bursts(events: Events, members: list[int]) -> list[list[int]]:
    """Events of one gripper that overlap in time, together."""
    bursts: list[list[int]] = []
    until = -np.inf
    for i in sorted(members, key=lambda i: events.start_s[i]):
        if events.start_s[i] > until:
            bursts.append([])
        bursts[-1].append(i)
        until = max(until, events.end_s[i])
    return bursts


@lru_cache(maxsize=64)
def _declared_ranges(layout: Layout) -> FloatArray:
    """(D,) distance from closed to open by the card, NaN where it does not say."""
    ranges = np.full(len(layout.dims), np.nan)
    for row, joint in enumerate(layout.joints):
        gripper = layout.card.gripper(joint.name) if joint is not None else None
        if gripper is not None:
            ranges[row] = abs(gripper.open - gripper.closed)
    return ranges
