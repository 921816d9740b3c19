"""Positions in counts of a motor's encoder."""

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

_BEYOND_DEGREES = 400.0  # more than a full turn in degrees


@dataclass(frozen=True, kw_only=True)
class RawTicks:
    """Are positions raw encoder counts?

    Uncalibrated servo arms report whole numbers, 0 to 1023 or 0 to 4095 for a turn. They train as well as radians
    within one robot and fail across two, for every arm has its own zero. Counted are state dimensions that hold
    whole numbers only and go beyond a full turn in degrees, unless the card says that this is their unit.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("dimensions", "int", about="state dimensions that look like encoder counts"),
        Column("largest", about="largest absolute value among them"),
    )
    fix: ClassVar[str] = (
        "Calibrate the arm, or convert counts to radians with each joint's zero; or say so on the card."
    )
    source: ClassVar[str] = "Dynamixel and Feetech servos count 1024 or 4096 a turn."

    min_share: float = 0.5  # of the episodes

    def measure(self, episode: Episode) -> Measured:
        """Number of such dimensions."""
        motion = motion_of(episode)
        rows = motion.layout.state
        if not motion.layout.states or motion.frames < 2:
            return Measured(unknown="no state, or fewer than 2 samples")
        ordered = motion.sorted[rows]
        largest = np.maximum(ordered[:, -1], -ordered[:, 0])
        if not np.maximum.reduce(largest) >= _BEYOND_DEGREES:
            return Measured({"dimensions": 0, "largest": 0.0})
        values = motion.values[rows]
        ticks = (largest >= _BEYOND_DEGREES) & (largest < 2**31) & (np.rint(values) == values).all(axis=1)
        for i, joint in enumerate(motion.layout.joints[rows]):
            if joint is not None and joint.unit in ("tick", "deg", "percent", "pixel"):
                ticks[i] = False
        return Measured({"dimensions": int(ticks.sum()), "largest": float(largest[ticks].max(initial=0.0))})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """One finding for the corpus when most episodes have such dimensions."""
        count = manifest["dimensions"]
        known = robust.known(count)
        having = int(np.count_nonzero(count > 0))
        if having and having >= self.min_share * known:
            states = sum(d.role == "state" for d in manifest.dims)
            yield finding(
                self,
                Kind.TRAIT,
                None,
                f"{np.nanmax(count):.0f} of {states} state dimensions hold whole numbers up to "
                f"{np.nanmax(manifest['largest']):.0f} in {having} of {known} episodes; they look like raw encoder "
                "counts, whose zero differs from arm to arm",
                measured=np.nanmax(manifest["largest"]),
                threshold=_BEYOND_DEGREES,
            )
