"""Quaternions in another order than the card says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads
from gristmill.conventions.chains import misfit
from gristmill.conventions.claims import NOTHING, claims_of, without_claims
from gristmill.conventions.joints import joints_rad
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class QuaternionOrder:
    """Is the quaternion xyzw or wxyz, as the card says?

    The end effector is carried by the arm's joints, so its rotations are a product of turns about fixed axes in the
    joints' order. Such axes are fitted to the quaternion in either order; they exist for the true one only, however
    base and tool are mounted. It needs an arm's joints, in order and with their unit, beside its quaternion. Where
    most episodes contradict the card and none supports it, those that hardly turn are counted in; where a tracker is
    too noisy for single episodes, far more of a corpus must side with the other order than chance would have.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("claimed_rad", unit="rad", about="misfit of the best chain, read in the card's order"),
        Column("other_rad", unit="rad", about="misfit of the best chain, read in the other order"),
    )
    fix: ClassVar[str] = "Correct `quaternion_order` on the card, or reorder the numbers."
    source: ClassVar[str] = (
        "Product of exponentials (Brockett 1984). Encoders of 12 bits misfit by 0.002 rad; a factor of 4 between both "
        "orders is beyond what noise does to 24 postures. A corpus is counted by the sign test, at 5 deviations."
    )

    least_rad: float = 0.004  # misfit of the claimed order below which it is right
    factor: float = 4.0  # by which the other order must fit better
    fits_rad: float = 0.03  # misfit up to which an order explains the rotations
    share: float = 0.9  # of the telling episodes from which on the others are counted in
    tie: float = 1.05  # ratio of misfits up to which an episode sides with neither order
    deviations: float = 5.0  # by which sides of a whole corpus must differ, where single episodes are too noisy

    unfit = without_claims

    def measure(self, episode: Episode) -> Measured:
        """Misfit in either order, of the arm that tells most."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        order = claims.card.quaternion_order if claims else "unknown"
        arms = [a for a in claims.states if len(a.quaternion) and len(a.joints)] if claims else []
        if not arms or order == "unknown":
            return Measured(
                unknown="no order, or no arm with joints and a quaternion, is claimed" if claims else NOTHING
            )
        told = None
        for arm in arms:
            joints = joints_rad(motion, arm.joints)
            found = None if joints is None else misfit(motion.values[arm.quaternion].T, joints)
            if found is not None and (told is None or max(found[:2]) > max(told[:2])):
                told = found
        if told is None:
            return Measured(unknown="the unit of the arm's joints is not known, or too little of it moves")
        claimed, other = (told.xyzw, told.wxyz) if order == "xyzw" else (told.wxyz, told.xyzw)
        return Measured({"claimed_rad": claimed, "other_rad": other})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Episodes whose joints explain the quaternion in the other order only."""
        claimed, other = manifest["claimed_rad"], manifest["other_rad"]
        against = (claimed > self.least_rad) & (claimed > self.factor * other) & (other < self.fits_rad)
        for_it = (other > self.least_rad) & (other > self.factor * claimed) & (claimed < self.fits_rad)
        # What the claimed order's misfit had to exceed, episode by episode.
        limit = np.maximum(self.least_rad, self.factor * other)
        if against.sum() >= max(3.0, self.share * (against.sum() + for_it.sum())):
            counted = (claimed > other) & ~for_it & ~against
            limit, against = np.where(counted, other, limit), against | counted
        lost, won = claimed > self.tie * other, other > self.tie * claimed
        surplus = float(lost.sum()) - float(won.sum())
        if surplus > self.deviations * np.sqrt(lost.sum() + won.sum()) and robust.median(other[lost]) < self.fits_rad:
            limit, against = np.where(lost & ~against, self.tie * other, limit), against | lost
        order = manifest.embodiment.quaternion_order
        actual = "wxyz" if order == "xyzw" else "xyzw"
        for row in np.flatnonzero(against).tolist():
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"read as {order}, as the card {manifest.embodiment.key} says, the quaternion of {manifest.where(row)} "
                f"misses what the joints do by {claimed[row]:.2g} rad, read as {actual} by {other[row]:.2g} rad; "
                f"it is {actual}",
                measured=claimed[row],
                threshold=limit[row],
                unit="rad",
            )
