"""States that lag the action's clock by a sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.command_lag import lag_of
from gristmill.conventions.claims import NOTHING, claims_of, without_claims
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class ActionShift:
    """Do state and action of one row belong to one instant?

    Recorders that write the state of one step beside the action of the next shift one against the other by a sample.
    The delay from commands to motion is then off by a period: from the `response_s` on the card, or, without it, from
    the corpus's other episodes; that is only a risk, for nothing was claimed. Either way a period must stand out from
    the scatter of the corpus's own delays. `lag` tells larger differences of any corpus.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("lag_s", unit="s", about="delay from commanded to reached positions"),
        Column("match", about="correlation of velocities at that delay"),
        Column("period_s", unit="s", about="time from sample to sample"),
    )
    fix: ClassVar[str] = "Shift the state by a sample against the action, or correct `response_s` on the card."
    source: ClassVar[str] = (
        "Knapp and Carter 1976. Lags scatter by 1 to 7 ms between good episodes, simulated or real; a sample at 30 Hz "
        "is 33 ms, one at 200 Hz is within that scatter and cannot be told."
    )

    min_delay_s: float = measuring(-0.2)
    max_delay_s: float = measuring(0.8)
    min_periods: float = 0.6  # difference from which on a sample is missing
    min_deviations: float = 6.0  # and so many robust standard deviations of the corpus's lags
    min_off_s: float = 0.007  # by which lags scatter where nothing is wrong
    min_match: float = 0.8  # correlation below which a lag means nothing
    min_episodes: int = 8  # that agree, where the card says nothing

    unfit = without_claims

    def measure(self, episode: Episode) -> Measured:
        """The episode's lag."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        if claims is None:
            return Measured(unknown=NOTHING)
        if claims.mode != "absolute":
            return Measured(unknown="the card does not say that actions are places")
        found = lag_of(motion, self.min_delay_s, self.max_delay_s)
        if isinstance(found, str):
            return Measured(unknown=found)
        return Measured({"lag_s": found.lag_s, "match": found.match, "period_s": motion.clock.period_s})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Lags that are off by a sample."""
        lag, period = manifest["lag_s"], manifest["period_s"]
        lag = np.where(np.nan_to_num(manifest["match"]) >= self.min_match, lag, np.nan)
        card = manifest.embodiment
        if card.response_s is not None:
            expected, kind, source = card.response_s, Kind.DEFECT, f"the card {card.key} says"
        elif robust.known(lag) >= self.min_episodes:
            expected, kind, source = float(robust.median(lag)), Kind.RISK, "the rest of the corpus shows"
        else:
            return
        scatter = float(np.nan_to_num(robust.deviation(lag)))  # one lag alone has none
        limit = np.maximum(self.min_periods * period, max(self.min_deviations * scatter, self.min_off_s))
        off = lag - expected
        for row in np.flatnonzero(np.abs(off) > limit).tolist():
            samples = off[row] / period[row]
            yield finding(
                self,
                kind,
                row,
                f"the state of {manifest.where(row)} follows its commands after {lag[row]:.3f} s, where {source} "
                f"{expected:.3f} s: {abs(samples):.1f} samples {'later' if samples > 0 else 'earlier'}; state and "
                "action of one row do not belong to one instant",
                measured=abs(off[row]),
                threshold=limit[row],
                unit="s",
            )
