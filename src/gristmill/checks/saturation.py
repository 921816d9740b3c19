"""Signals that are cut off at a bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.grouping import by_channel, strongest
from gristmill.manifest import Manifest, finding
from gristmill.motion import Motion, motion_of
from gristmill.runs import runs_of

_ABRUPT = 0.5  # a clipped signal arrives or leaves with at least this share of its usual fast step
_COUNTS = 3.0  # and with at least so many steps of its sensor's resolution
_CONTINUOUS = 0.5  # share of the samples away from the bound at which a clipped signal still moves


@dataclass(frozen=True, kw_only=True)
class Saturation:
    """Is a dimension clipped at its largest or smallest value?

    A clipped signal arrives at its bound at speed, stays on exactly one value while the rest of the robot moves
    on, leaves at speed, and comes back to the very same value; a joint that rests at its extreme slows down
    before and does so once. Signals that jump between a few values are switches and are left out, as are
    grippers and hands, which close until something stops them. A bound that many episodes share is one trait of
    the corpus, for then it is how the robot is driven; in a single episode it is a risk.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("clipped", about="largest share of the samples that one dimension spends on its bound"),
    )
    fix: ClassVar[str] = (
        "Raise the bound in the teleoperation or the normalization that clips; drop episodes that live on it."
    )
    source: ClassVar[str] = (
        "A flat top with corners is what clipping leaves of a wave. At 10 % of the samples the lost motion is no "
        "longer an exception."
    )

    min_share: float = measuring(0.05)  # smaller shares are not kept
    at_least: int = measuring(3)  # samples in a row on the bound
    visits: int = measuring(2)  # times that it comes to the bound
    away: float = measuring(0.05)  # share of its range by which it leaves in between
    max_share: float = 0.1  # of the episode's samples
    always: float = 0.2  # share of the episodes from which on it is said once

    def measure(self, episode: Episode) -> Measured:
        """Flat tops and bottoms with corners; strength is the share of the samples spent there."""
        motion = motion_of(episode)
        if motion.frames < 5 * self.at_least * self.visits or not len(motion.values):
            return Measured(unknown="no state or action, or too few samples")
        ordered = motion.sorted
        rank = max(self.at_least, round(self.min_share * motion.frames)) - 1
        top = ordered[:, -1 - rank] == ordered[:, -1]
        bottom = ordered[:, rank] == ordered[:, 0]
        candidates = (top | bottom) & (ordered[:, -1] > ordered[:, 0]) & motion.layout.arm
        events: list[Event] = []
        for row in candidates.nonzero()[0].tolist():
            for side, there in (("upper", top[row]), ("lower", bottom[row])):
                if there:
                    events += self._flats(motion, row, side)
        return Measured({"clipped": max((e.strength for e in events), default=0.0)}, strongest(events))

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Bounds on which an episode spends more than `max_share`; shared ones once for the corpus."""
        groups = list(by_channel(manifest.events, manifest.events.strength > self.max_share))
        known = int(robust.known(manifest["clipped"]))
        for channel in sorted({str(g.channel) for g in groups}):
            mine = [g for g in groups if g.channel == channel]
            if len(mine) >= max(2.0, self.always * known):
                worst = max(g.strongest for g in mine)
                yield finding(
                    self,
                    Kind.TRAIT,
                    None,
                    f"{channel} is clipped in {len(mine)} of {known} episodes, for up to {worst:.0%} of the samples "
                    f"(from {self.max_share:.0%} on it is told); motion beyond the bound was lost",
                    channel=channel,
                    code="shared",
                    measured=worst,
                    threshold=self.max_share,
                    unit="share of samples",
                )
                continue
            for g in mine:
                yield finding(
                    self,
                    Kind.RISK,
                    g.row,
                    f"{channel} sits on its {g.details[0]} bound for {g.strongest:.0%} of {manifest.where(g.row)} "
                    f"while the robot moves on (at most {self.max_share:.0%} allowed); the motion beyond it was lost",
                    channel=channel,
                    spans_s=g.spans_s,
                    measured=g.strongest,
                    threshold=self.max_share,
                    unit="share of samples",
                )

    def _flats(self, motion: Motion, row: int, side: str) -> Iterator[Event]:
        values, sizes = motion.values[row], motion.step_sizes[row]
        on = values == (values.max() if side == "upper" else values.min())
        away = sizes[~(on[1:] & on[:-1])]
        if not len(away) or np.count_nonzero(away) < _CONTINUOUS * len(away):
            return
        # A slow turn looks flat to a coarse sensor, but it neither comes nor goes by several counts at once.
        fast = max(_ABRUPT * np.sort(away)[int(0.9 * (len(away) - 1))], _COUNTS * motion.resolution[row])
        layout = motion.layout
        group = layout.state if row < layout.states else layout.action
        others = [r for r in range(group.start, group.stop) if r != row]
        runs: list[tuple[int, int]] = []
        visits = 0
        for start, stop in runs_of(on, self.at_least):
            # The step that meets the bound is cut off itself, so the one before it is looked at, too.
            corners = max(sizes[max(0, start - 2) : start].max(initial=0), sizes[stop - 1 : stop + 1].max(initial=0))
            moving = motion.step_sizes[others, start : stop - 1].max(axis=0, initial=0.0) > 0
            if corners >= fast and np.count_nonzero(moving) >= 0.5 * len(moving):
                since = values[runs[-1][1] : start] if runs else values[:0]
                left = np.abs(since - values[start]).max(initial=0.0) >= self.away * motion.range[row]
                visits += not runs or bool(left)
                runs.append((start, stop))
        share = sum(b - a for a, b in runs) / len(values)
        if share >= self.min_share and visits >= self.visits:
            for start, stop in runs:
                yield Event(*motion.clock.span_s(start, stop), share, motion.layout.labels[row], None, side)
