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
from gristmill.grouping import by_channel, strongest
from gristmill.layout import Layout
from gristmill.manifest import Manifest, finding
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
        "People switch a gripper about once a second at most, which is two reversals in two seconds; "
        "six leave room for a failed grasp that is corrected at once."
    )

    window_s: float = measuring(2.0)
    swing: float = measuring(0.15)  # share of the range between two reversals
    apart_s: float = measuring(0.6)  # reversals further apart belong to two events
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
        if _may_turn(motion.values[grippers], swings, self.at_least):
            for row, swing in zip(grippers.tolist(), swings.tolist(), strict=True):
                if swing > 0:
                    events += self._clusters(motion, row, swing)
        return Measured({"range": ranges}, strongest(events))

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Events with more than `max_reversals`, in episodes whose gripper really moved."""
        events = manifest.events
        if not len(events):
            return
        usual = robust.median(manifest["range"])
        dims = {d.label: i for i, d in enumerate(manifest.dims)}
        at = np.array([dims.get(str(c), -1) for c in events.channel])
        moved = manifest["range"][events.row, at] >= self.min_range * usual[at]
        for group in by_channel(events, (events.strength > self.max_reversals) & moved & (at >= 0)):
            yield finding(
                self,
                Kind.RISK,
                group.row,
                f"{group.channel} reverses {group.strongest:.0f} times within {self.window_s:g} s {group.when} "
                f"(at most {self.max_reversals} expected); a policy learns to flutter instead of to grasp",
                channel=group.channel,
                spans_s=group.spans_s,
                measured=group.strongest,
                threshold=self.max_reversals,
                unit=f"reversals in {self.window_s:g} s",
            )

    def _clusters(self, motion: Motion, row: int, swing: float) -> Iterator[Event]:
        at = turning_points(motion.values[row], swing)
        if len(at) < self.at_least:
            return
        times = at * motion.clock.period_s
        for members in np.split(np.arange(len(at)), np.flatnonzero(np.diff(times) > self.apart_s) + 1):
            if len(members) < self.at_least:
                continue
            inside = times[members]
            most = int((np.searchsorted(inside, inside + self.window_s, side="right") - np.arange(len(inside))).max())
            first, last = int(at[members[0]]), int(at[members[-1]])
            half = max(1, round((last - first) / (len(members) - 1) / 2))
            start, stop = max(0, first - half), min(motion.frames, last + half + 1)
            yield Event(*motion.clock.span_s(start, stop), most, motion.layout.labels[row])


def turning_points(values: FloatArray, swing: float) -> IntArray:
    """Samples (k,) at which a signal turns, having travelled at least `swing` and going at least as far back.

    These are the reversals that rainflow counting keeps after its hysteresis filter (ASTM E1049).
    """
    signal = values.tolist()
    turns: list[int] = []
    rising = 0  # direction of the swing under way; unknown at first
    top = bottom = 0  # where the extremes of that swing are
    for i, value in enumerate(signal):
        top = i if value > signal[top] else top
        bottom = i if value < signal[bottom] else bottom
        if rising >= 0 and signal[top] - value >= swing:
            if rising:
                turns.append(top)
            rising, bottom = -1, i
        elif rising <= 0 and value - signal[bottom] >= swing:
            if rising:
                turns.append(bottom)
            rising, top = 1, i
    return np.array(turns, np.intp)


def _may_turn(values: FloatArray, swings: FloatArray, times: int) -> bool:
    """Whether so many turns are possible: each changes direction on a grid of half a swing, in one of the rows."""
    levels = np.rint((values - values[:, :1]) * (2 / np.maximum(swings, 1e-12))[:, None])
    changes = np.subtract(levels[:, 1:], levels[:, :-1]).ravel()
    changes = changes[changes != 0]
    return int(np.count_nonzero(changes[1:] * changes[:-1] < 0)) >= times


@lru_cache(maxsize=64)
def _declared_ranges(layout: Layout) -> FloatArray:
    """(D,) distance from closed to open by the card, NaN where it does not say."""
    ranges = np.full(len(layout.dims), np.nan)
    for row, joint in enumerate(layout.joints):
        gripper = layout.card.gripper(joint.name) if joint is not None else None
        if gripper is not None:
            ranges[row] = abs(gripper.open - gripper.closed)
    return ranges
