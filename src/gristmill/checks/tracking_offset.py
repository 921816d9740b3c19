"""Commands and states that differ by a constant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.grouping import listed
from gristmill.manifest import Manifest, finding
from gristmill.motion import HELD, motion_of
from gristmill.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class TrackingOffset:
    """Does a joint settle where it was commanded to?

    The median of state minus command over an episode is free of lag and of single errors; it is taken for each
    arm joint whose command is a position, as a share of the joint's range. An episode whose offset is far from
    that of the corpus was recorded with another calibration, and the same command means another place in it. An
    offset that all episodes share (gravity, a leader arm with another zero) is a trait. Grippers and hands are
    left out: they are commanded further than the object lets them close.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column(
            "offset",
            per="dim",
            about="median of state minus command, as a share of the joint's range; null for other dimensions",
        ),
        Column(
            "scatter",
            per="dim",
            about="median distance of state minus command from that offset, as a share of the range",
        ),
    )
    fix: ClassVar[str] = (
        "Calibrate leader and follower again; keep episodes of different calibrations apart, or shift the actions."
    )
    source: ClassVar[str] = (
        "A fifth of the range is far beyond play, sag and the offset that lag leaves in short episodes; eight robust "
        "standard deviations are beyond the scatter between good episodes."
    )

    at_least_s: float = measuring(1.0)
    min_off: float = 0.2  # difference from the corpus's offset, as a share of the range
    min_deviations: float = 8.0
    min_shared: float = 0.1  # offset of the whole corpus that is worth telling
    max_scatter: float = 0.25  # above it the action is no position of that joint
    min_episodes: int = 8

    def measure(self, episode: Episode) -> Measured:
        """Offset and scatter of each state dimension that is commanded by position."""
        motion = motion_of(episode)
        if motion.held:
            return Measured(unknown=HELD)
        pairs = motion.layout.arm_pairs
        if not pairs.count:
            return Measured(unknown="no dimension of the action commands one of the state by name")
        if motion.frames < 5 or motion.frames * motion.clock.period_s < self.at_least_s:
            return Measured(unknown=f"shorter than {self.at_least_s:g} s")
        error = motion.apart(pairs.state, pairs.action)
        error.sort(axis=1)
        middle, quarter = motion.frames // 2, motion.frames // 4
        scale = motion.scale[pairs.state]
        offset, scatter = motion.layout.unknown(), motion.layout.unknown()
        offset[pairs.state] = error[:, middle] / scale
        offset[motion.range == 0] = np.nan  # of a dead joint
        # Half of the distance between the quartiles, which is the median distance when errors are symmetric.
        scatter[pairs.state] = (error[:, -1 - quarter] - error[:, quarter]) / (2 * scale)
        return Measured({"offset": offset, "scatter": scatter})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Offsets far from the corpus's; large offsets that the corpus shares."""
        offset = manifest["offset"][:, : len(manifest.dims)]
        position = robust.median(manifest["scatter"])[: len(manifest.dims)] <= self.max_scatter
        offset = np.where(position, offset, np.nan)
        enough = robust.known(offset) >= self.min_episodes
        usual, deviation = robust.median(offset), robust.deviation(offset)
        yield from self._shared(manifest, usual, enough)
        limit = np.where(enough, np.maximum(self.min_off, self.min_deviations * deviation), np.inf)
        for row, dim in np.argwhere(np.abs(offset - usual) > limit).tolist():
            label = manifest.dims[dim].label
            off = float(offset[row, dim] - usual[dim])
            yield finding(
                self,
                Kind.RISK,
                row,
                f"{label} of {manifest.where(row)} stands {off:+.0%} of its range from where the corpus puts it for "
                f"the same command (at most {limit[dim]:.0%} allowed); commands mean other places there",
                channel=label,
                measured=abs(off),
                threshold=limit[dim],
                unit="share of the range",
            )

    def _shared(self, manifest: Manifest, usual: FloatArray, enough: np.ndarray) -> Iterator[Finding]:
        dims = np.flatnonzero(enough & (np.abs(usual) >= self.min_shared)).tolist()
        if dims:
            worst = max(dims, key=lambda i: abs(usual[i]))
            names = listed(f"{manifest.dims[i].label} {usual[i]:+.0%}" for i in dims)
            yield finding(
                self,
                Kind.TRAIT,
                None,
                f"states settle away from their commands by a constant share of their range in the whole corpus "
                f"({names}); actions and states are not interchangeable",
                code="shared_offset",
                measured=abs(usual[worst]),
                threshold=self.min_shared,
                unit="share of the range",
                fix="Nothing, if the policy predicts actions; do not train on states as if they were actions.",
            )
