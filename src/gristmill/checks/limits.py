"""Positions beyond the robot's joint limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.layout import Layout
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of
from gristmill.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Does the state stay within the limits on the robot's card?

    Compared is the third most extreme value of each state dimension, so that a spike, which has its own check,
    is not counted again. A joint cannot be beyond its stop; the calibration or the unit is wrong. When a joint
    is beyond its limits by more than their width in most episodes, the unit does not fit the card, and that is
    said once. Cards that were guessed from the data accuse nobody.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column(
            "beyond",
            per="dim",
            about="distance beyond the nearer limit as a share of the joint's travel; negative within, null if unknown",
        ),
    )
    fix: ClassVar[str] = "Check the joint's calibration and unit; correct the card if the robot's limits are others."
    source: ClassVar[str] = (
        "Limits from the card, which names where each comes from; 3 % of the travel allows for play and zeroing."
    )

    rank: int = measuring(2)  # most extreme samples that are ignored at each end
    tolerance: float = 0.03  # share of the travel between the limits
    wrong_unit: float = 1.0  # share of the travel beyond which the unit is to blame

    def measure(self, episode: Episode) -> Measured:
        """How far each state dimension goes beyond its limits."""
        motion = motion_of(episode)
        bounds = limits_of(motion.layout)
        if bounds is None:
            return Measured(unknown="no joint limits: the robot's card gives none for these dimensions")
        lower, upper = bounds
        if motion.frames <= 2 * self.rank:
            return Measured(unknown=f"fewer than {2 * self.rank + 1} samples")
        ordered = motion.sorted.astype(np.float64, copy=False)
        beyond = np.fmax(lower - ordered[:, self.rank], ordered[:, -1 - self.rank] - upper)
        return Measured({"beyond": beyond / _travel(lower, upper)})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Distances of more than `tolerance`."""
        beyond = manifest["beyond"][:, : len(manifest.dims)]
        alien = robust.median(beyond) > self.wrong_unit
        for dim in np.flatnonzero(alien).tolist():
            label = manifest.dims[dim].label
            yield finding(
                self,
                Kind.RISK,
                None,
                f"{label} is beyond the limits of the card {manifest.embodiment.key} by "
                f"{robust.median(beyond[:, dim]):.1f} times their width in most episodes; its unit is not the card's",
                channel=label,
                code="wrong_unit",
                measured=robust.median(beyond[:, dim]),
                threshold=self.wrong_unit,
                unit="travels",
            )
        for row, dim in np.argwhere((beyond > self.tolerance) & ~alien).tolist():
            label = manifest.dims[dim].label
            yield finding(
                self,
                Kind.RISK,
                row,
                f"{label} goes {beyond[row, dim]:.1%} of its travel beyond the limits of the card "
                f"{manifest.embodiment.key} in {manifest.where(row)} (at most {self.tolerance:.0%} allowed); the joint "
                "cannot have been there",
                channel=label,
                measured=beyond[row, dim],
                threshold=self.tolerance,
                unit="share of the travel",
            )


@lru_cache(maxsize=64)
def limits_of(layout: Layout) -> tuple[FloatArray, FloatArray] | None:
    """Lower and upper limit (D,) of the state's dimensions; NaN where the card knows none, and for the action.

    None when it knows none at all, or was itself guessed from the data.
    """
    if layout.card.inferred:
        return None
    lower, upper = np.full(len(layout.dims), np.nan), np.full(len(layout.dims), np.nan)
    for i, joint in enumerate(layout.joints[: layout.states]):
        if joint is not None:
            lower[i] = np.nan if joint.lower is None else joint.lower
            upper[i] = np.nan if joint.upper is None else joint.upper
    return (lower, upper) if np.isfinite(np.fmax(lower, upper)).any() else None


def _travel(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Distance between the limits; the size of the one that is known where the other is not."""
    return np.where(np.isfinite(upper - lower), upper - lower, np.fmax(np.maximum(np.abs(lower), 1), np.abs(upper)))
