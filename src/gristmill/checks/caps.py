"""Speeds and accelerations that the robot does not have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.layout import layout_of_dims
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of
from gristmill.types import FloatArray

_WORDS = {"speed": ("moves at", "/s", 1), "acceleration": ("accelerates at", "/s2", 2)}


@dataclass(frozen=True, kw_only=True)
class Caps:
    """Does a joint move or accelerate beyond what the robot can?

    Compared is not the largest value but one that several samples reach, so that a spike or a gap, which have
    their own checks, are not counted again; differences are divided by the true time between samples. Caps come
    from the card. A joint without one gets an inferred cap, and the finding says so: several times what fast
    episodes of the corpus reach, never below a few counts of the sensor, and only for a joint that moves in
    most episodes.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("speed", unit="1/s", per="dim", about="sustained peak speed, in the dimension's unit per second"),
        Column("acceleration", unit="1/s2", per="dim", about="sustained peak acceleration, in its unit per s2"),
        Column("resolution", per="dim", about="smallest distance between two values, in the dimension's unit"),
    )
    fix: ClassVar[str] = "Look at the episode's motion; drop it if the arm was hit or the recorder lost samples."
    source: ClassVar[str] = (
        "Caps from the card, which names where each comes from. Inferred ones are wide on "
        "purpose: five times the 90th percentile of the corpus is no operator's haste."
    )

    speed_rank: int = measuring(3)  # the largest but so many; a spike makes two large steps
    acceleration_rank: int = measuring(4)  # a spike makes three large bends
    tolerance: float = 1.1  # times the card's cap
    times_usual: float = 5.0  # inferred cap over the 90th percentile of the episodes
    counts: float = 5.0  # and in steps of the sensor's resolution per sample
    min_share: float = 0.5  # of the episodes in which a joint must move for an inferred cap
    min_episodes: int = 8

    def measure(self, episode: Episode) -> Measured:
        """Sustained peak speed and acceleration of each moving dimension, and its resolution."""
        motion = motion_of(episode)
        rows = motion.layout.moving
        if motion.frames < 2 * self.acceleration_rank or not len(motion.values):
            return Measured(unknown="no state or action, or too few samples")
        if motion.clock.regular:
            period = motion.clock.period_s
            speed = motion.sorted_steps[rows, -self.speed_rank] / period
            acceleration = _ranked(motion.bend_sizes[rows], self.acceleration_rank) / period**2
        else:
            speed = _ranked(np.abs(motion.speed[rows]), self.speed_rank)
            acceleration = _ranked(np.abs(motion.acceleration[rows]), self.acceleration_rank)
        values = {"speed": speed, "acceleration": acceleration, "resolution": motion.resolution[rows]}
        for name, known in values.items():
            values[name] = motion.layout.unknown()
            values[name][rows] = known
        return Measured(values)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Peaks beyond the card's caps, or beyond inferred ones."""
        layout = layout_of_dims(manifest.dims, manifest.embodiment)
        width = len(layout.dims)
        for column, (verb, per, order) in _WORDS.items():
            peaks = manifest[column][:, :width]
            floor = self.counts * robust.median(manifest["resolution"][:, :width]) * manifest.facts.rate_hz**order
            declared = self._declared(manifest, column, width)
            limit = np.where(np.isnan(declared), self._inferred(peaks, floor), declared * self.tolerance)
            for row, dim in np.argwhere(peaks > limit).tolist():
                joint = layout.joints[dim]
                unit = f"{joint.unit if joint is not None and joint.unit != 'unknown' else 'units'}{per}"
                origin = "an inferred cap" if np.isnan(declared[dim]) else f"the cap of {manifest.embodiment.key}"
                label = layout.labels[dim]
                yield finding(
                    self,
                    Kind.RISK,
                    row,
                    f"{label} {verb} {peaks[row, dim]:.3g} {unit} in {manifest.where(row)}, beyond {origin} of "
                    f"{limit[dim]:.3g} {unit}; motion that the robot cannot repeat hurts when it is imitated",
                    channel=label,
                    code=column if not np.isnan(declared[dim]) else f"{column}_inferred",
                    measured=peaks[row, dim],
                    threshold=limit[dim],
                    unit=unit,
                )

    def _declared(self, manifest: Manifest, column: str, width: int) -> FloatArray:
        declared = np.full(width, np.nan)
        if manifest.embodiment.inferred:
            return declared
        for i, joint in enumerate(layout_of_dims(manifest.dims, manifest.embodiment).joints):
            if joint is not None:
                cap = joint.velocity_max if column == "speed" else joint.acceleration_max
                declared[i] = np.nan if cap is None else cap
        return declared

    def _inferred(self, peaks: FloatArray, floor: FloatArray) -> FloatArray:
        """Caps (D,) from the corpus; infinite where it does not tell."""
        known = robust.known(peaks)
        moving = np.count_nonzero(peaks > floor, axis=0)
        cap = np.maximum(self.times_usual * robust.quantile(peaks, 0.9), floor)
        return np.where((known >= self.min_episodes) & (moving >= self.min_share * known), cap, np.inf)


def _ranked(sizes: FloatArray, rank: int) -> FloatArray:
    """The largest value of each row but `rank - 1`."""
    return np.sort(sizes, axis=1)[:, -rank]
