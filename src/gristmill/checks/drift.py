"""Times that slowly leave the grid of the declared rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Do the times stay on the grid of the declared rate until the end?

    A clock that is off by one per cent passes every look at single intervals, and yet after ten seconds its
    samples stand three video frames beside where frame number over rate puts them. Drift is how far the last
    time is from its place on the declared grid, gaps taken out. Errors large enough to be a wrong rate are left
    to that check.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, channels=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("drift_s", unit="s", about="last time minus its place on the declared grid, without gaps"),
        Column("slope", about="drift over the episode's duration"),
    )
    fix: ClassVar[str] = "Rewrite the times as frame number over rate if the samples are even, or resample by time."
    source: ClassVar[str] = (
        "Loaders find video frames by time; from one period on they find the wrong one. The slope above which it is "
        "a wrong rate is that of the check `rate`."
    )

    late: float = measuring(1.5)  # periods from which on an interval is a gap
    max_periods: float = 1.0
    max_slope: float = 0.02

    def measure(self, episode: Episode) -> Measured:
        """Distance of the last time from the declared grid."""
        clock = motion_of(episode).clock
        if clock.median_s is None or len(clock.times_s) < 3:
            return Measured(unknown="fewer than 3 samples with times that go forward")
        if not episode.rate_hz > 0:
            return Measured(unknown="no rate is declared")
        if clock.regular:
            passed = float(clock.times_s[-1] - clock.times_s[0])
            count = len(clock.times_s) - 1
        else:
            intervals = clock.intervals_s
            intervals = intervals[(intervals > 0) & (intervals < self.late * clock.period_s)]
            passed, count = float(intervals.sum()), len(intervals)
        grid = count / episode.rate_hz
        return Measured({"drift_s": passed - grid, "slope": (passed - grid) / max(grid, 1e-9)})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Drifts of more than `max_periods`, unless the rate itself is wrong."""
        drift, slope = manifest["drift_s"], manifest["slope"]
        rate = manifest.facts.rate_hz
        limit = self.max_periods / rate if rate > 0 else float("inf")
        for row in np.flatnonzero((np.abs(drift) > limit) & (np.abs(slope) <= self.max_slope)).tolist():
            yield finding(
                self,
                Kind.RISK,
                row,
                f"times of {manifest.where(row)} end {drift[row]:+.3f} s off the declared grid of {rate:g} Hz "
                f"({abs(drift[row]) * rate:.1f} frames; at most {self.max_periods:g} allowed); frames looked up by "
                "time are not those of the sample",
                measured=abs(drift[row]),
                threshold=limit,
                unit="s",
            )
