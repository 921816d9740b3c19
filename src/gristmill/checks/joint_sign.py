"""Joints that go the other way than their commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.conventions.claims import NOTHING, Claims, claims_of, without_claims
from gristmill.conventions.following import correlations
from gristmill.conventions.joints import joints_rad
from gristmill.conventions.orientations import orientations
from gristmill.conventions.pairs import paired_rows, paired_values
from gristmill.conventions.signs import Forward, sign_misfit
from gristmill.episode import Episode
from gristmill.errors import UsageError
from gristmill.finding import Finding, Kind
from gristmill.layout import Layout
from gristmill.manifest import Manifest, finding
from gristmill.motion import Motion, motion_of
from gristmill.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class JointSign:
    """Does every joint go the way that its command goes?

    Where one joint's state and action correlate negatively while others follow, the sign of one of both is wrong: a
    policy would steer that joint away from where it should go. A joint that is shaken seems to go against commands that
    it follows late, so one that follows them at any delay goes with them; rotations of an end effector have no signs,
    and are left out. It needs actions that command the state by name. Steps are added up first; those of an end
    effector must be in the base's frame. A sign that is wrong in both alike is seen only against the robot's model, if
    the card names one and the state holds the end effector's rotation: the angles by which it turned must be those of
    the model, and become so when one joint is turned over.
    """

    version: ClassVar[int] = 3
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column(
            "agreement",
            per="dim",
            about="correlation of a joint's state with its command, if need be at the best delay; null where it rests",
        ),
        Column("misfit_rad", unit="rad", about="difference of angles turned, recorded and by the robot's model"),
        Column("flipped_rad", unit="rad", per="dim", about="the same with the sign of this joint turned over"),
    )
    fix: ClassVar[str] = "Set `sign` of the joint on the card, or negate its state or its action."
    source: ClassVar[str] = "Commanded and reached positions of joints that move correlate above 0.9."

    against: float = 0.8  # negative correlation from which on a sign is wrong
    factor: float = 4.0  # by which the model must fit better with a joint turned over
    fits_rad: float = 0.03  # misfit up to which it fits
    doubt: float = measuring(0.5)  # correlation at some delay from which on a joint may as well follow its command
    least_share: float = measuring(0.1)  # of the widest joint's range that a joint must move by

    unfit = without_claims

    def measure(self, episode: Episode) -> Measured:
        """Correlation of each joint with its command, and misfit with the robot's model."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        if claims is None:
            return Measured(unknown=NOTHING)
        if motion.frames < 10:
            return Measured(unknown="fewer than 10 samples")
        agreement = self._agreement(motion, claims)
        modelled = _by_model(motion, claims) if claims.card.model is not None else None
        if agreement is None and modelled is None:
            return Measured(
                unknown="no action commands a state by name, coordinate by coordinate, and no model and rotation of an "
                "end effector tell what the joints do"
            )
        values: dict[str, float | FloatArray] = {} if agreement is None else {"agreement": agreement}
        if modelled is not None:
            values |= {"misfit_rad": modelled[0], "flipped_rad": modelled[1]}
        return Measured(values)

    def _agreement(self, motion: Motion, claims: Claims) -> FloatArray | None:
        """(D,) correlation of the state with its command; None where nothing commands it."""
        state, action = paired_rows(motion.layout)
        card = claims.card
        # Steps that are not in the base's frame have no coordinate of the state each.
        if not claims.mode or not len(state) or (card.control_mode == "eef_delta" and card.action_frame != "base"):
            return None
        been, told = paired_values(motion)
        if claims.mode == "step":
            told = np.cumsum(told, axis=1)
            # Sums drift; what matters is which way a joint goes within a second or so.
            hop = motion.clock.frames(0.5)
            been, told = been[:, hop:] - been[:, :-hop], told[:, hop:] - told[:, :-hop]
        if not been.shape[1]:
            return None
        least = self.least_share * motion.layout.widest(motion.range)
        moves = np.flatnonzero(
            (motion.range[state] > least[state])
            & (motion.range[action] > least[action])
            & (np.ptp(been, axis=1) > 0)
            & (np.ptp(told, axis=1) > 0)
        )
        agreement = motion.layout.unknown()
        agreement[state[moves]] = self._agreements(been[moves], told[moves], motion.clock.period_s)
        return agreement

    def _agreements(self, been: FloatArray, told: FloatArray, period_s: float) -> FloatArray:
        """(p,) correlations at once, or, of joints that follow after some delay only, at the best one."""
        at_once = correlations(been, told, period_s, 0.0)[0]
        against = np.flatnonzero(at_once < self.doubt)
        if len(against):
            best = correlations(been[against], told[against], period_s).max(axis=0)
            at_once[against] = np.where(best >= self.doubt, best, at_once[against])
        return at_once

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Joints that go against their commands, or against the robot's model."""
        agreement = manifest["agreement"][:, : len(manifest.dims)]
        for row, dim in np.argwhere(agreement <= -self.against).tolist():
            label = manifest.dims[dim].label
            same = int((agreement[:, dim] <= -self.against).sum())
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"{label} goes against its command in {manifest.where(row)}, with a correlation of "
                f"{agreement[row, dim]:.2f} (in {same} of {int((~np.isnan(agreement[:, dim])).sum())} episodes); the "
                "sign of its state or of its action is wrong",
                channel=label,
                measured=agreement[row, dim],
                threshold=-self.against,
                unit="correlation",
            )
        misfit, flipped = manifest["misfit_rad"], manifest["flipped_rad"][:, : len(manifest.dims)]
        for row in np.flatnonzero(misfit > self.fits_rad).tolist():
            fitting = (flipped[row] <= self.fits_rad) & (self.factor * flipped[row] < misfit[row])
            if not fitting.any():
                continue
            labels = [manifest.dims[d].label for d in np.flatnonzero(fitting).tolist()]
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"the end effector of {manifest.where(row)} turns by other angles than the model of the card "
                f"{manifest.embodiment.key} says ({misfit[row]:.2g} rad off), and by these with the sign of "
                f"{' or '.join(labels)} turned over ({np.nanmin(flipped[row]):.2g} rad off)",
                channel=labels[0],
                code="model",
                measured=misfit[row],
                threshold=self.fits_rad,
                unit="rad",
            )


def _by_model(motion: Motion, claims: Claims) -> tuple[float, FloatArray] | None:
    """Largest misfit of any arm with the robot's model, and (D,) the same with single joints turned over."""
    told = None
    for arm in claims.states:
        joints = joints_rad(motion, arm.joints)
        forward = _forward(motion.layout).get(arm.arm.name)
        rotation = orientations(motion, claims, arm)
        if joints is None or forward is None or rotation is None:
            continue
        found = sign_misfit(rotation, joints, forward)
        if found is not None and (told is None or found.claimed > told[0]):
            told = found.claimed, motion.layout.unknown()
            told[1][arm.joints] = found.flipped
    return told


@lru_cache(maxsize=16)
def _forward(layout: Layout) -> Mapping[str, Forward]:
    """Forward kinematics of each arm, by the card's model; none where it cannot be used."""
    from gristmill.kinematics import forward_of

    try:
        return forward_of(layout.card)
    except UsageError:
        return {}  # `singularity` and `self_collision` say why
