"""How rough the commanded motion is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class Roughness:
    """How rough are the actions?

    The mean norm of the second difference of the action (of the state, where no action was recorded), each
    dimension as a share of its range. It is a metric for comparing and choosing, free of the episode's length.
    Episodes far rougher than their corpus are named as a trait.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("roughness", about="mean norm of the second difference of actions, ranges per sample2", metric=True),
    )
    fix: ClassVar[str] = "Look at the episode; smooth the teleoperation if many are so."
    source: ClassVar[str] = (
        "Mean norm of second differences, the discrete form of mean squared acceleration as a smoothness cost. "
        "Logarithms are compared, for such costs scatter by factors."
    )

    min_deviations: float = 8.0  # robust standard deviations of the logarithm above the median
    min_ratio: float = 3.0  # and times the median
    min_episodes: int = 8

    def measure(self, episode: Episode) -> Measured:
        """Mean norm of the relative second difference."""
        motion = motion_of(episode)
        layout = motion.layout
        rows = layout.action if layout.states < len(layout.dims) else layout.state
        if motion.frames < 3 or not len(layout.dims):
            return Measured(unknown="no state or action, or fewer than 3 samples")
        norms = np.sqrt(motion.weight[rows] @ np.square(motion.bends[rows]))
        return Measured({"roughness": float(np.add.reduce(norms)) / len(norms)})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Episodes far rougher than the median."""
        rough = manifest["roughness"]
        logs = np.log(np.where(rough > 0, rough, np.nan))
        if robust.known(logs) < self.min_episodes:
            return
        centre = robust.median(logs)
        beyond = max(self.min_deviations * float(robust.deviation(logs, centre)), np.log(self.min_ratio))
        for row in np.flatnonzero(logs > centre + beyond).tolist():
            limit = float(np.exp(centre + beyond))
            yield finding(
                self,
                Kind.TRAIT,
                row,
                f"actions of {manifest.where(row)} are {rough[row] / np.exp(centre):.1f} times as rough as is usual "
                f"in the corpus (from {np.exp(beyond):.1f} times on it is told); rough commands are hard to imitate",
                measured=rough[row],
                threshold=limit,
                unit="ranges per sample2",
            )
