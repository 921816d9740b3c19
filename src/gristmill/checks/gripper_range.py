"""Grippers whose numbers are not in the range that the card states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.conventions.claims import NOTHING, claims_of, without_claims
from gristmill.conventions.contact import contact_of
from gristmill.conventions.grips import grips
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class GripperRange:
    """Are the gripper's numbers in the range on the card?

    Numbers far beyond what the card calls closed and open are in another unit: percent instead of shares, -1 to 1
    instead of 0 to 1. Numbers that use less than a tenth of the range in every episode of the corpus may be, too, if
    the gripper was seen to close on something (which needs a force, its effort or an object's position): metres
    instead of shares. Where it grasps without ever opening by a tenth, they are; where it is open and closes by less
    than that, it may hold wide objects, which is a risk only. Normalized by the card, such a gripper hardly moves.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True, channels=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("beyond", per="dim", about="distance beyond the card's range as a share of it; negative within"),
        Column("used", per="dim", about="range of the numbers as a share of the card's"),
        Column("opened", per="dim", about="how far it opened, as a share of the way from closed to open"),
        Column("grasps", "int", about="contacts around which a gripper moved; null where no signal tells"),
    )
    fix: ClassVar[str] = "Correct `closed` and `open` on the card, or the gripper's unit."
    source: ClassVar[str] = (
        "Units of grippers differ by factors of 2 (-1 to 1), 12 (metres) and 100 (percent); overtravel of a leader by "
        "about a tenth (LeRobot let grippers run from -10 to 110)."
    )

    rank: int = measuring(2)  # most extreme samples that are ignored at each end
    max_beyond: float = 0.4  # share of the range
    min_used: float = 0.1  # share of the range that the widest episode must use
    min_episodes: int = 3

    unfit = without_claims

    def measure(self, episode: Episode) -> Measured:
        """How the numbers of each claimed gripper lie in its range."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        if claims is None or not claims.grippers:
            return Measured(unknown="no range of a gripper is claimed" if claims else NOTHING)
        if motion.frames <= 2 * self.rank:
            return Measured(unknown=f"fewer than {2 * self.rank + 1} samples")
        beyond, used, opened = (motion.layout.unknown() for _ in range(3))
        contact = contact_of(episode, motion.clock.times_s)
        count = None if contact is None else 0
        for row, gripper in claims.grippers:
            low, high = (float(motion.sorted[row, i]) for i in (self.rank, -1 - self.rank))
            lower, upper = sorted((gripper.closed, gripper.open))
            beyond[row] = max(lower - low, high - upper) / (upper - lower)
            used[row] = (high - low) / (upper - lower)
            widest = high if gripper.open > gripper.closed else low
            opened[row] = (widest - gripper.closed) / (gripper.open - gripper.closed)
            if contact is not None and count is not None:
                period = motion.clock.period_s
                count += grips(motion.values[row], contact, gripper.closed, gripper.open, period).count
        values = {"beyond": beyond, "used": used, "opened": opened, "grasps": count}
        if contact is None:
            return Measured(values, unknown="no signal tells grasps, so only numbers beyond the range are told")
        return Measured(values)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Numbers beyond the range; and grippers that grasp but use little of it in any episode."""
        beyond, used, opened = (manifest[c][:, : len(manifest.dims)] for c in ("beyond", "used", "opened"))
        card = manifest.embodiment.key
        for row, dim in np.argwhere(beyond > self.max_beyond).tolist():
            label = manifest.dims[dim].label
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"{label} lies beyond the range of the card {card} by {beyond[row, dim]:.1f} times that range in "
                f"{manifest.where(row)} (at most {self.max_beyond:g} allowed); its unit is not the card's",
                channel=label,
                code="beyond",
                measured=beyond[row, dim],
                threshold=self.max_beyond,
                unit="ranges",
            )
        grasping = np.nan_to_num(manifest["grasps"]) > 0
        for dim in np.flatnonzero(robust.known(used) > 0).tolist():
            rows = np.flatnonzero(grasping & ~np.isnan(used[:, dim]))
            if len(rows) < self.min_episodes or not np.nanmax(used[:, dim]) < self.min_used:
                continue
            label = manifest.dims[dim].label
            never_opens = float(np.nanmax(opened[:, dim])) < self.min_used
            so = "its unit is not the card's" if never_opens else "its unit is not the card's, or it holds wide objects"
            for row in rows.tolist():
                yield finding(
                    self,
                    Kind.DEFECT if never_opens else Kind.RISK,
                    row,
                    f"{label} grasps and uses {used[row, dim]:.1%} of the range of the card {card} in "
                    f"{manifest.where(row)}, and no episode uses more than {np.nanmax(used[:, dim]):.1%} (at least "
                    f"{self.min_used:.0%} is needed); {so}",
                    channel=label,
                    code="unused",
                    measured=used[row, dim],
                    threshold=self.min_used,
                    unit="share of the range",
                )
