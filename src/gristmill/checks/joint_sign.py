"""Joints that go the other way than their commands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.conventions.claims import NOTHING, claims_of
from gristmill.conventions.pairs import paired_rows
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class JointSign:
    """Does every joint go the way that its command goes?

    Where one joint's state and action correlate negatively while others follow, the sign of one of both is wrong: a
    policy would steer that joint away from where it should go. It needs actions that command the state by name.
    Steps are added up first; those of an end effector must be in the base's frame. A sign that is wrong in both alike
    cannot be seen so.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("agreement", per="dim", about="correlation of a joint's state with its command; null where it rests"),
    )
    fix: ClassVar[str] = "Set `sign` of the joint on the card, or negate its state or its action."
    source: ClassVar[str] = "Commanded and reached positions of joints that move correlate above 0.9."

    against: float = 0.8  # negative correlation from which on a sign is wrong
    least_share: float = measuring(0.1)  # of the widest joint's range that a joint must move by

    def measure(self, episode: Episode) -> Measured:
        """Correlation of each joint with its command."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        if claims is None:
            return Measured(unknown=NOTHING)
        state, action = paired_rows(motion.layout)
        if not claims.mode or not len(state):
            return Measured(unknown="the card does not say what actions are, or none commands a state by name")
        if claims.card.control_mode == "eef_delta" and claims.card.action_frame != "base":
            return Measured(unknown="steps that are not in the base's frame have no coordinate of the state each")
        if motion.frames < 10:
            return Measured(unknown="fewer than 10 samples")
        been = motion.values[state].astype(np.float64)
        told = motion.values[action].astype(np.float64)
        if claims.mode == "step":
            told = np.cumsum(told, axis=1)
            # Sums drift; what matters is which way a joint goes within a second or so.
            hop = motion.clock.frames(0.5)
            been, told = been[:, hop:] - been[:, :-hop], told[:, hop:] - told[:, :-hop]
        if not been.shape[1]:
            return Measured(unknown="shorter than half a second")
        been -= been.mean(axis=1, keepdims=True)
        told -= told.mean(axis=1, keepdims=True)
        power = np.sqrt(np.square(been).sum(axis=1) * np.square(told).sum(axis=1))
        least = self.least_share * motion.layout.widest(motion.range)
        moves = (motion.range[state] > least[state]) & (motion.range[action] > least[action]) & (power > 0)
        agreement = motion.layout.unknown()
        agreement[state[moves]] = (been * told).sum(axis=1)[moves] / power[moves]
        return Measured({"agreement": agreement})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Joints that go against their commands."""
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
