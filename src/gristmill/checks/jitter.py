"""Intervals between samples that scatter."""

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
class Jitter:
    """Are the intervals between samples even?

    Each interval must lie within 15 % of the episode's median interval: 33 ms +- 5 ms at 30 Hz. The window
    stands around the true period, so that a wrong rate, which has its own check, is not called jitter; intervals
    that lack a sample or go backwards are the business of `timestamps`. Uneven intervals make finite differences
    and action chunks uneven in time.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, channels=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("outside", about="share of the intervals outside the window", metric=True),
        Column("intervals", "int", about="intervals outside the window"),
        Column("worst_s", unit="s", about="largest distance from the median interval among those"),
    )
    fix: ClassVar[str] = (
        "Resample the episode to an even grid; record on a real-time thread or with hardware time stamps."
    )
    source: ClassVar[str] = "33 ms +- 5 ms at 30 Hz, a strict window for manipulation, scaled with the rate."

    window: float = measuring(0.15)  # share of the period on either side
    late: float = measuring(1.5)  # periods from which on a sample is missing rather than late
    max_outside: float = 0.01  # share of the intervals
    min_intervals: int = 2

    def measure(self, episode: Episode) -> Measured:
        """Share of intervals outside the window."""
        clock = motion_of(episode).clock
        if clock.median_s is None or len(clock.times_s) < 4:
            return Measured(unknown="fewer than 4 samples with times that go forward")
        if clock.regular:
            return Measured({"outside": 0.0, "intervals": 0, "worst_s": 0.0})
        intervals = clock.intervals_s
        intervals = intervals[(intervals > 0) & (intervals < self.late * clock.period_s)]
        error = np.abs(intervals - clock.period_s)
        outside = int(np.count_nonzero(error > self.window * clock.period_s))
        return Measured(
            {
                "outside": outside / max(len(intervals), 1),
                "intervals": outside,
                "worst_s": float(error.max(initial=0.0)),
            }
        )

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Shares above `max_outside`."""
        share = manifest["outside"]
        period_s = 1 / manifest.facts.rate_hz if manifest.facts.rate_hz > 0 else float("nan")
        for row in np.flatnonzero((share > self.max_outside) & (manifest["intervals"] >= self.min_intervals)).tolist():
            yield finding(
                self,
                Kind.RISK,
                row,
                f"{share[row]:.1%} of the intervals in {manifest.where(row)} differ by more than "
                f"{self.window * period_s * 1e3:.0f} ms from the median one, the worst by "
                f"{manifest['worst_s'][row] * 1e3:.0f} ms (at most {self.max_outside:.0%} allowed); speeds and action "
                "chunks are uneven in time",
                measured=share[row],
                threshold=self.max_outside,
                unit="share of intervals",
            )
