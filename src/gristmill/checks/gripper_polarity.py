"""Grippers that open where the card says that they close."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.conventions.claims import NOTHING, claims_of
from gristmill.conventions.contact import contact_of
from gristmill.conventions.grips import grips
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class GripperPolarity:
    """Does the gripper close, as the card means it, when something is grasped?

    Contact is read from forces, from the gripper's effort, or from an object that begins to move. Before contact a
    gripper moves towards what its card calls closed, after it towards open. Where all of these changes go the other
    way, the polarity is reversed: mixed with other robots, the policy would learn to open in order to grasp. Without
    such a signal, without a range on the card, or with a card that was guessed, nothing is known.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, channels=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("closing", per="dim", about="changes around contacts: 1 all towards closed, -1 all towards open"),
        Column("size", per="dim", about="largest of these changes as a share of the card's range"),
        Column("signal", "text", about="channel that told the contacts"),
    )
    fix: ClassVar[str] = "Exchange `closed` and `open` on the card, or invert the gripper's numbers."
    source: ClassVar[str] = (
        "A grasp shuts the fingers first; corpora differ in what 0 means (Open X-Embodiment aligns it by hand: "
        "octo-models oxe_standardization_transforms.py). 0.6 asks for four fifths of the changes to go the wrong way."
    )

    against: float = 0.6  # strength from which on the changes contradict the card
    min_size: float = 0.03  # share of the card's range

    def measure(self, episode: Episode) -> Measured:
        """How each claimed gripper moved around contacts."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        if claims is None or not claims.grippers:
            return Measured(unknown="no range of a gripper is claimed" if claims else NOTHING)
        contact = contact_of(episode, motion.clock.times_s)
        if contact is None:
            return Measured(unknown="no force, effort of a gripper or object's position tells when something is held")
        closing, size = motion.layout.unknown(), motion.layout.unknown()
        for row, gripper in claims.grippers:
            found = grips(motion.values[row], contact, gripper.closed, gripper.open, motion.clock.period_s)
            if found.count:
                closing[row], size[row] = found.closing, found.size / abs(gripper.open - gripper.closed)
        if not np.isfinite(closing).any():
            return Measured({"signal": contact.channel}, unknown="no gripper moves when contact begins or ends")
        return Measured({"closing": closing, "size": size, "signal": contact.channel})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Grippers whose changes contradict the card, where no other gripper of the episode explains the contact."""
        closing = manifest["closing"][:, : len(manifest.dims)]
        size = np.nan_to_num(manifest["size"][:, : len(manifest.dims)])
        explained = np.asarray((closing >= self.against).any(axis=1))
        wrong = (closing <= -self.against) & (size >= self.min_size) & ~explained[:, None]
        reversed_ = np.count_nonzero(wrong.any(axis=1))
        told = reversed_ + np.count_nonzero(explained)
        for row, dim in np.argwhere(wrong).tolist():
            label = manifest.dims[dim].label
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"{label} moves towards what the card {manifest.embodiment.key} calls open when contact begins and "
                f"towards closed when it ends, by {manifest['signal'][row]} in {manifest.where(row)} "
                f"({reversed_} of {told} episodes with grasps are so); its polarity is reversed",
                channel=label,
                measured=closing[row, dim],
                threshold=-self.against,
                unit="share of the changes",
            )
