"""Commands at another rate than the card says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.clock import Clock
from gristmill.conventions.claims import NOTHING, claims_of, without_claims
from gristmill.conventions.holds import period_of_changes
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of
from gristmill.streams import is_resampled


@dataclass(frozen=True, kw_only=True)
class ControlRate:
    """Do commands change as often as the card's `control_rate_hz` says?

    Commands of a slow controller that were recorded at a faster clock stay the same for several samples; recordings
    at a slower clock miss commands. The rate is that at which the action changes, by its own recorded times; once
    resampled it tells nothing any more. `rate` asks whether these times agree with the rate that the corpus declares.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True, channels=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("control_hz", unit="Hz", about="rate at which the action changes"),
        Column("steady", about="share of the changes that keep to it"),
    )
    fix: ClassVar[str] = "Correct `control_rate_hz` on the card, or keep the samples at which commands were given."
    source: ClassVar[str] = "Rates differ by whole factors or by decades; clocks agree within 1 %, so 10 % is neither."

    max_error: float = 0.1  # share of the claimed rate
    min_steady: float = 0.8

    unfit = without_claims

    def measure(self, episode: Episode) -> Measured:
        """The rate at which the action changes."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        if claims is None:
            return Measured(unknown=NOTHING)
        rows = motion.layout.action
        if claims.card.control_rate_hz is None or rows.start == rows.stop:
            return Measured(unknown="the card claims no control_rate_hz, or there is no action")
        if is_resampled(episode):
            return Measured(
                unknown="the episode was resampled, and its actions change as often as the new timeline has it"
            )
        actions = [c for c in episode.channels.values() if c.role == "action"]
        if any(len(c.times_s) != len(actions[0].times_s) or (c.times_s != actions[0].times_s).any() for c in actions):
            return Measured(unknown="the actions have clocks of their own")
        # Brought to the clock of the state, commands would change no more often than that has samples.
        clock = Clock(actions[0].times_s, episode.rate_hz) if motion.held else motion.clock
        if clock.median_s is None:
            return Measured(unknown="the recorded times do not go forward")
        if motion.held:
            repeats = np.all([(c.values[1:] == c.values[:-1]).all(axis=1) for c in actions], axis=0)
        else:
            repeats = np.maximum.reduce(motion.step_sizes[rows], axis=0) == 0
        found = period_of_changes(repeats)
        if found is None:
            return Measured(unknown="fewer than 20 changes of the action")
        return Measured({"control_hz": 1 / (found[0] * clock.median_s), "steady": found[1]})

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
