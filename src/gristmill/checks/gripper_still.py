"""Grippers that never move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.layout import layout_of_dims
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class GripperStill:
    """Does the gripper move at all?

    Tasks that only reach leave it alone; a demonstration of grasping in which it does not move is a failed one,
    or its channel was not recorded. The range of each gripper dimension is compared with the card's, else with
    what is usual in the corpus. One that never moves in any episode is named once.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("range", per="dim", about="range of each gripper dimension, in its unit; null for other dimensions"),
    )
    fix: ClassVar[str] = "If the task needs a grasp, look at the episode and drop it when the grasp is missing."
    source: ClassVar[str] = "A twentieth of the range is above the play and noise of hobby-servo grippers."

    min_share: float = 0.05  # of the card's range, or of the usual one

    def measure(self, episode: Episode) -> Measured:
        """Range of each gripper dimension."""
        motion = motion_of(episode)
        grippers = motion.layout.grippers
        if not len(grippers):
            return Measured(unknown="no gripper is known by the card or by name")
        if motion.frames < 2:
            return Measured(unknown="fewer than 2 samples")
        ranges = motion.layout.unknown()
        ranges[grippers] = motion.range[grippers]
        return Measured({"range": ranges})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Ranges below `min_share`; one finding for the corpus where no episode moves it."""
        layout = layout_of_dims(manifest.dims, manifest.embodiment)
        for dim in layout.grippers.tolist():
            spread = manifest["range"][:, dim]
            if not robust.known(spread):
                continue
            joint = layout.joints[dim]
            declared = manifest.embodiment.gripper(joint.name) if joint is not None else None
            whole = abs(declared.open - declared.closed) if declared else float(robust.quantile(spread, 0.9))
            still = spread <= self.min_share * whole
            label = manifest.dims[dim].label
            if still[~np.isnan(spread)].all():
                yield finding(
                    self,
                    Kind.TRAIT,
                    None,
                    f"{label} never moves in {robust.known(spread)} episodes (less than {self.min_share:.0%} of "
                    f"{whole:.3g}); nothing about grasping can be learned from this corpus",
                    channel=label,
                    measured=np.nanmax(spread),
                    threshold=self.min_share * whole,
                    code="never_moves",
                )
                continue
            for row in np.flatnonzero(still).tolist():
                yield finding(
                    self,
                    Kind.TRAIT,
                    row,
                    f"{label} moves by {spread[row]:.3g} in {manifest.where(row)}, less than {self.min_share:.0%} of "
                    f"{whole:.3g}: it neither grasps nor releases",
                    channel=label,
                    measured=spread[row],
                    threshold=self.min_share * whole,
                )
