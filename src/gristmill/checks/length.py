"""Episodes that are too short to hold a task."""

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
class Length:
    """Is the episode long enough to be a demonstration?

    A recording that was started by mistake or cut off holds a fraction of a second. Below an absolute floor it
    is a defect whatever the corpus; above it, an episode is too short when its length lies many robust standard
    deviations of the logarithm below the median and below a quarter of it as well, so that a corpus of tasks
    of different lengths accuses none of them.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("frames", "int", about="samples in the data", metric=True),
        Column("duration_s", unit="s", about="samples times the median interval between them", metric=True),
    )
    fix: ClassVar[str] = "Drop the episode."
    source: ClassVar[str] = (
        "Half a second is shorter than one reach (0.5 to 1 s, Flash and Hogan 1985) and than the action chunks "
        "that policies predict."
    )

    min_s: float = 0.5
    min_deviations: float = 8.0  # robust standard deviations of log duration below the median
    min_share: float = 0.25  # of the median
    min_episodes: int = 8  # for the comparison with the corpus

    def measure(self, episode: Episode) -> Measured:
        """Samples and seconds."""
        motion = motion_of(episode)
        frames = motion.frames if len(motion.layout.dims) else episode.frames
        return Measured({"frames": frames, "duration_s": frames * motion.clock.period_s})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Durations below the floor or far below the corpus."""
        duration = manifest["duration_s"]
        least = max(self.min_s, self._fence(duration))
        for row in np.flatnonzero(duration < least).tolist():
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"{manifest.where(row)} lasts {duration[row]:.2f} s ({manifest['frames'][row]:.0f} samples), less than "
                f"{least:.2f} s; it holds no task, and padding would fill most of an action chunk",
                code="too_short",
                spans_s=((0.0, duration[row]),) if duration[row] > 0 else (),
                measured=duration[row],
                threshold=least,
                unit="s",
            )

    def _fence(self, duration: np.ndarray) -> float:
        logs = np.log(duration[duration > 0])
        if len(logs) < self.min_episodes:
            return 0.0
        centre = robust.median(logs)
        fence = centre - self.min_deviations * robust.deviation(logs, centre)
        return float(min(np.exp(fence), self.min_share * np.exp(centre)))
