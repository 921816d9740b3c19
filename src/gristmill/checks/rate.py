"""Recordings whose true rate is not the declared one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Do the times agree with the declared rate?

    The true rate is one over the median interval between samples, which gaps and late samples do not move.
    Where it is not the declared one, every speed is wrong by the same factor, and a policy that is run at the
    declared rate moves too fast or too slowly. When nearly all episodes are off alike, the declaration is what
    is wrong, and it is said once.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, channels=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("rate_hz", unit="Hz", about="one over the median interval between samples", metric=True),
        Column("ratio", about="that rate over the declared one"),
    )
    fix: ClassVar[str] = (
        "Resample the episode to the declared rate, or correct `fps` if it is wrong for the whole dataset."
    )
    source: ClassVar[str] = (
        "Clocks of cameras and controllers agree within 1 %, nominal rates such as 29.97 Hz within 0.1 %; "
        "2 % is beyond both."
    )

    max_error: float = 0.02  # share of the declared rate
    always: float = 0.9  # share of the episodes from which on the declaration is to blame
    min_episodes: int = 3

    def measure(self, episode: Episode) -> Measured:
        """The true rate and its ratio to the declared one."""
        clock = motion_of(episode).clock
        if clock.median_s is None or len(clock.times_s) < 3:
            return Measured(unknown="fewer than 3 samples with times that go forward")
        if not episode.rate_hz > 0:
            return Measured(unknown="no rate is declared")
        rate = 1 / clock.median_s
        return Measured({"rate_hz": rate, "ratio": rate / episode.rate_hz})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Ratios that differ from one by more than `max_error`."""
        error = manifest["ratio"] - 1
        off = np.abs(error) > self.max_error
        known = np.count_nonzero(~np.isnan(error))
        declared = manifest.facts.rate_hz
        rows = np.flatnonzero(off)
        if known >= self.min_episodes and len(rows) >= self.always * known and np.ptp(error[rows]) <= self.max_error:
            true = float(np.median(manifest["rate_hz"][rows]))
            yield finding(
                self,
                Kind.DEFECT,
                None,
                f"{len(rows)} of {known} episodes run at {true:.2f} Hz, the corpus declares {declared:g} Hz; every "
                "speed learned from it is wrong by that ratio",
                code="rate_declared",
                measured=true,
                threshold=declared,
                unit="Hz",
            )
            return
        for row in rows.tolist():
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"{manifest.where(row)} runs at {manifest['rate_hz'][row]:.2f} Hz, {error[row]:+.1%} of the declared "
                f"{declared:g} Hz (at most {self.max_error:.0%} allowed); its speeds are wrong by that ratio",
                code="rate_error",
                measured=abs(error[row]),
                threshold=self.max_error,
                unit="share of the declared rate",
            )
