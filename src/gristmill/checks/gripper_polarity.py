"""Grippers that open where the card says that they close."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.conventions.claims import NOTHING, claims_of, without_claims
from gristmill.conventions.contact import contact_of
from gristmill.conventions.grips import grips
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.grasping import side_of
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class GripperPolarity:
    """Does the gripper close, as the card means it, when something is grasped?

    Contact is read from forces, from the gripper's effort, or from an object that begins to move. Before contact a
    gripper moves towards what its card calls closed, after it towards open. Where these changes go the other way in
    most of the corpus, the polarity is reversed: mixed with other robots, the policy would learn to open in order to
    grasp. A single episode may open its fingers and then push something, so one accuses nobody. Without such a
    signal, without a range on the card, or with a card that was guessed, nothing is known.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True, channels=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("closing", per="dim", about="changes around contacts: 1 all towards closed, -1 all towards open"),
        Column("size", per="dim", about="largest of these changes as a share of the card's range"),
        Column("changes", per="dim", about="number of these changes"),
        Column("signal", "text", about="channel that told the contacts"),
    )
    fix: ClassVar[str] = "Exchange `closed` and `open` on the card, or invert the gripper's numbers."
    source: ClassVar[str] = (
        "A grasp shuts the fingers first; corpora differ in what 0 means (Open X-Embodiment aligns it by hand: "
        "octo-models oxe_standardization_transforms.py). 0.6 asks for four fifths of the changes to go the wrong way. "
        "A fifth of the range is more than fingers give way when they push something."
    )

    against: float = 0.6  # strength from which on the changes contradict the card
    min_size: float = measuring(0.2)  # share of the card's range by which a change counts
    majority: float = 0.67  # share of the episodes with grasps that must contradict the card
    min_changes: int = 4  # in these episodes together

    unfit = without_claims

    def measure(self, episode: Episode) -> Measured:
        """How each claimed gripper moved around contacts."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        if claims is None or not claims.grippers:
            return Measured(unknown="no range of a gripper is claimed" if claims else NOTHING)
        contact = contact_of(episode, motion.clock.times_s)
        if contact is None:
            return Measured(unknown="no force, effort of a gripper or object's position tells when something is held")
        closing, size, changes = (motion.layout.unknown() for _ in range(3))
        of_signal = side_of(contact.channel)
        for row, gripper in claims.grippers:
            side = side_of(motion.layout.labels[row])
            if side and of_signal and side != of_signal:
                continue  # it is the other hand that feels
            whole, period_s = abs(gripper.open - gripper.closed), motion.clock.period_s
            found = grips(
                motion.values[row], contact, gripper.closed, gripper.open, period_s, least=self.min_size * whole
            )
            if found.count:
                closing[row], size[row], changes[row] = found.closing, found.size / whole, found.count
        if not np.isfinite(closing).any():
            return Measured({"signal": contact.channel}, unknown="no gripper moves when contact begins or ends")
        return Measured({"closing": closing, "size": size, "changes": changes, "signal": contact.channel})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Grippers that contradict the card in most episodes in which no other gripper explains the contact."""
        closing, changes = (manifest[c][:, : len(manifest.dims)] for c in ("closing", "changes"))
        explained = np.asarray((closing >= self.against).any(axis=1))
        for dim in np.flatnonzero((closing <= -self.against).any(axis=0)).tolist():
            told = ~np.isnan(closing[:, dim]) & (~explained | (closing[:, dim] >= self.against))
            wrong = told & (closing[:, dim] <= -self.against)
            if wrong.sum() < self.majority * told.sum() or changes[wrong, dim].sum() < self.min_changes:
                continue
            label = manifest.dims[dim].label
            for row in np.flatnonzero(wrong).tolist():
                yield finding(
                    self,
                    Kind.DEFECT,
                    row,
                    f"{label} moves towards what the card {manifest.embodiment.key} calls open when contact begins "
                    f"and towards closed when it ends, by {manifest['signal'][row]} in {manifest.where(row)} "
                    f"({wrong.sum()} of {told.sum()} episodes with grasps are so); its polarity is reversed",
                    channel=label,
                    measured=closing[row, dim],
                    threshold=-self.against,
                    unit="share of the changes",
                )
