"""Commands at another rate than the card says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.conventions.claims import NOTHING, claims_of
from gristmill.conventions.holds import period_of_changes
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class ControlRate:
    """Do commands change as often as the card's `control_rate_hz` says?

    Commands of a slow controller that were recorded at a faster clock stay the same for several samples; recordings
    at a slower clock miss commands. The rate is that at which the action changes, by the recorded times. `rate` asks
    whether these times agree with the rate that the corpus declares.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("control_hz", unit="Hz", about="rate at which the action changes"),
        Column("steady", about="share of the changes that keep to it"),
    )
    fix: ClassVar[str] = "Correct `control_rate_hz` on the card, or keep the samples at which commands were given."
    source: ClassVar[str] = "Rates differ by whole factors or by decades; clocks agree within 1 %, so 10 % is neither."

    max_error: float = 0.1  # share of the claimed rate
    min_steady: float = 0.8

    def measure(self, episode: Episode) -> Measured:
        """The rate at which the action changes."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        if claims is None:
            return Measured(unknown=NOTHING)
        rows = motion.layout.action
        if claims.card.control_rate_hz is None or rows.start == rows.stop:
            return Measured(unknown="the card claims no control_rate_hz, or there is no action")
        if motion.clock.median_s is None:
            return Measured(unknown="the recorded times do not go forward")
        found = period_of_changes(np.maximum.reduce(motion.step_sizes[rows], axis=0) == 0)
        if found is None:
            return Measured(unknown="fewer than 20 changes of the action")
        return Measured({"control_hz": 1 / (found[0] * motion.clock.median_s), "steady": found[1]})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Rates that differ from the claimed one by more than `max_error`."""
        claimed = manifest.embodiment.control_rate_hz
        if claimed is None:
            return
        rate, steady = manifest["control_hz"], np.nan_to_num(manifest["steady"])
        for row in np.flatnonzero((np.abs(rate / claimed - 1) > self.max_error) & (steady >= self.min_steady)).tolist():
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"actions of {manifest.where(row)} change {rate[row]:.1f} times a second, the card "
                f"{manifest.embodiment.key} says {claimed:g} (at most {self.max_error:.0%} off allowed)",
                measured=rate[row],
                threshold=claimed,
                unit="Hz",
            )
