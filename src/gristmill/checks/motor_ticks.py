"""Encoder counts where the card says angles, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.conventions.claims import NOTHING, claims_of, without_claims
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.layout import Layout
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of
from gristmill.streams import is_resampled
from gristmill.types import IntArray

_COUNTS = 400.0  # more than a full turn in degrees
_RESAMPLED = "the episode was resampled, and values between two counts are not whole"


@dataclass(frozen=True, kw_only=True)
class MotorTicks:
    """Are joints whose unit is on the card raw counts of an encoder, or counts angles?

    A joint in rad or deg that holds whole numbers only and goes beyond 400 is in counts. A joint in ticks that holds
    fractions is not, unless it was resampled: values between two counts are no counts, so nothing is known. `raw_ticks`
    tells the same of corpora of which no card says anything, as a trait.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True, channels=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("whole", per="dim", about="share of whole numbers of joints with a claimed unit"),
        Column("largest", per="dim", about="largest size of the same"),
    )
    fix: ClassVar[str] = "Correct the joints' `unit` on the card, with `ticks_per_turn` and `zero_tick` for counts."
    source: ClassVar[str] = "Dynamixel and Feetech servos count 1024 or 4096 a turn."

    min_whole: float = 1.0  # share of whole numbers of an angle from which on it is in counts
    max_fractions: float = 0.05  # share of other numbers that counts may hold

    unfit = without_claims

    def measure(self, episode: Episode) -> Measured:
        """Share of whole numbers."""
        motion = motion_of(episode)
        if claims_of(motion.layout) is None:
            return Measured(unknown=NOTHING)
        angles, ticks = _claimed(motion.layout)
        if not len(angles) + len(ticks) or motion.frames < 2:
            return Measured(unknown="no joint is claimed in rad, deg or ticks, or fewer than 2 samples")
        why = None
        if is_resampled(episode):
            if not len(angles):
                return Measured(unknown=_RESAMPLED)
            why, ticks = _RESAMPLED if len(ticks) else None, ticks[:0]
        whole, largest = motion.layout.unknown(), motion.layout.unknown()
        ends = np.abs(motion.sorted[:, (0, -1)]).max(axis=1)
        rows = np.concatenate([angles[ends[angles] >= _COUNTS], ticks])
        largest[angles], largest[ticks] = ends[angles], ends[ticks]
        whole[angles] = 0.0  # unless they are large enough to be counts
        if len(rows):
            values = motion.values[rows]
            whole[rows] = (np.rint(values) == values).mean(axis=1)
        return Measured({"whole": whole, "largest": largest}, unknown=why)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Angles that are counts, and counts that are none."""
        whole, largest = (manifest[c][:, : len(manifest.dims)] for c in ("whole", "largest"))
        card = manifest.embodiment
        units = [j.unit if j is not None else "" for j in card.match_dims(manifest.dims)]
        counts = np.array([u == "tick" for u in units], bool)
        wrong = np.where(counts, whole < 1 - self.max_fractions, (whole >= self.min_whole) & (largest < 2**31))
        for row in np.flatnonzero(wrong.any(axis=1)).tolist():
            dims = np.flatnonzero(wrong[row])
            first = int(dims[0])
            label = manifest.dims[first].label
            more = f" and {len(dims) - 1} more dimensions" if len(dims) > 1 else ""
            if counts[first]:
                said = f"holds {1 - whole[row, first]:.0%} numbers that are not whole; it is no encoder count"
            else:
                said = f"holds whole numbers up to {largest[row, first]:.0f} only; it is an encoder count"
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"{label}{more} of {manifest.where(row)}, {units[first]} by the card {card.key}, {said}",
                channel=label,
                code="fractions" if counts[first] else "counts",
                measured=whole[row, first],
                threshold=1 - self.max_fractions if counts[first] else self.min_whole,
                unit="share of whole numbers",
            )


@lru_cache(maxsize=64)
def _claimed(layout: Layout) -> tuple[IntArray, IntArray]:
    """State rows of joints in rad or deg, and in ticks."""
    claims = claims_of(layout)
    joints = list(enumerate(claims.joints[: layout.states])) if claims else []
    angles = [r for r, j in joints if j is not None and j.unit in ("rad", "deg")]
    return np.array(angles, np.intp), np.array([r for r, j in joints if j is not None and j.unit == "tick"], np.intp)
