"""Quaternions that are not of unit length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.conventions.claims import NOTHING, claims_of, without_claims
from gristmill.conventions.quaternions import length_error
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class QuaternionNorm:
    """Are the quaternions on the card quaternions of rotations?

    Their length is 1. Another length means that the four numbers were normalized one by one, averaged, or are
    something else than the card says. Taken is the median over the samples, so a stray one does not count.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("length_error", about="largest median distance of a quaternion's length from 1"),
    )
    fix: ClassVar[str] = "Undo the normalization, or correct which dimensions the card calls a rotation."
    source: ClassVar[str] = "float16 rounds a length by less than 0.001; linear interpolation over 15 degrees by 0.01."

    max_error: float = 0.01

    unfit = without_claims

    def measure(self, episode: Episode) -> Measured:
        """Distance of the lengths from 1."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        rows = [a.quaternion for a in (*claims.states, *claims.actions) if len(a.quaternion)] if claims else []
        if not rows or not motion.frames:
            return Measured(unknown="no quaternion is claimed, or no samples" if claims else NOTHING)
        return Measured({"length_error": max(length_error(motion.values[r]) for r in rows)})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Lengths that differ from 1 by more than `max_error`."""
        error = manifest["length_error"]
        for row in np.flatnonzero(error > self.max_error).tolist():
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"quaternions of {manifest.where(row)} differ from unit length by {error[row]:.3g} (at most "
                f"{self.max_error:g} allowed); they are no rotations",
                measured=error[row],
                threshold=self.max_error,
            )
