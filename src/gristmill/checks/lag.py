"""States that follow their commands later than elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.command_lag import lag_of
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class Lag:
    """Does the state follow the commands later (or earlier) than in the rest of the corpus?

    The velocity of each arm joint is correlated with the velocity of its command at every delay from
    `min_delay_s` to `max_delay_s`, over all joints together; the delay with the largest correlation, refined by
    a parabola, is the lag; what a delay leaves without a partner counts on neither side, so an episode may be cut in
    mid-motion. Actions that are velocities themselves are tried as they are, and the reading that
    fits the corpus better counts. Gaps in time, and stretches in which the whole state repeats bit for bit, are
    left out. Every robot lags a little; an episode that lags otherwise than its corpus was recorded with another
    clock or another buffer, and teaches another delay.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("lag_s", unit="s", about="delay from commanded to reached positions", metric=True),
        Column("match", about="correlation of velocities at that delay, 0 to 1; of motion at one speed 0"),
        Column("rate_lag_s", unit="s", about="the same, with the actions read as velocities"),
        Column("rate_match", about="correlation at that delay"),
    )
    fix: ClassVar[str] = "Shift the state by the difference, or drop the episode; record both with one clock."
    source: ClassVar[str] = (
        "Cross-correlation with parabolic peak interpolation, the standard estimate of a time delay (Knapp and "
        "Carter 1976). Lags scatter by 1 to 7 ms between good episodes, simulated or "
        "real; 0.06 s is two frames at 30 Hz."
    )

    min_delay_s: float = measuring(-0.2)
    max_delay_s: float = measuring(0.8)
    sure: float = measuring(0.9)  # correlation from which on actions are positions, and are not tried as velocities
    max_off_s: float = 0.06  # difference from the corpus's median lag
    min_deviations: float = 8.0  # and so many robust standard deviations of the corpus's lags
    min_match: float = 0.3  # correlation below which a lag means nothing
    min_episodes: int = 4

    def measure(self, episode: Episode) -> Measured:
        """Lag and correlation, with actions as positions and as velocities."""
        motion = motion_of(episode)
        found = lag_of(motion, self.min_delay_s, self.max_delay_s)
        if isinstance(found, str):
            return Measured(unknown=found)
        values = {"lag_s": found.lag_s, "match": found.match}
        if not found.match >= self.sure:
            values |= dict(zip(("rate_lag_s", "rate_match"), found.of_rates(), strict=True))
        return Measured(values)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Lags that differ from the median lag by more than `max_off_s`."""
        match = np.nan_to_num(manifest["match"])
        rate_match = np.nan_to_num(manifest["rate_match"])  # where it was not tried, it is no better
        rates = robust.median(rate_match) > robust.median(match)
        lag = manifest["rate_lag_s" if rates else "lag_s"]
        lag = np.where((rate_match if rates else match) >= self.min_match, lag, np.nan)
        if robust.known(lag) < self.min_episodes:
            return
        usual = float(robust.median(lag))
        limit = max(self.max_off_s, self.min_deviations * float(robust.deviation(lag)))
        for row in np.flatnonzero(np.abs(lag - usual) > limit).tolist():
            later = "later" if lag[row] > usual else "earlier"
            yield finding(
                self,
                Kind.RISK,
                row,
                f"the state of {manifest.where(row)} follows its commands after {lag[row]:.2f} s, "
                f"{abs(lag[row] - usual):.2f} s {later} than in the rest of the corpus (at most {limit:.2f} s "
                "allowed); mixed delays teach a policy to act at the wrong time",
                measured=abs(lag[row] - usual),
                threshold=limit,
                unit="s",
            )
