"""Steps in another frame than the card says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.conventions.claims import NOTHING, claims_of, without_claims
from gristmill.conventions.orientations import orientations
from gristmill.conventions.steps import frames
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class DeltaFrame:
    """Are steps of the end effector in the frame that the card says, the base's or its own?

    Steps are added up as they are, and turned by the end effector's rotation first; one of both follows the motion of
    the position. It needs the end effector's position and rotation in the state.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("base", about="correlation of motion with steps read in the frame of the base"),
        Column("end_effector", about="correlation of motion with steps read in the frame of the end effector"),
    )
    fix: ClassVar[str] = "Correct `action_frame` on the card."
    source: ClassVar[str] = (
        "Commanded steps correlate above 0.9 with motion over 0.2 s; in a wrong frame they do so only where both agree."
    )

    holds: float = 0.7  # correlation from which on a reading holds
    fails: float = 0.9  # correlation below which the claimed reading does not
    factor: float = 4.0  # by which the other reading must come nearer to a correlation of 1

    unfit = without_claims

    def measure(self, episode: Episode) -> Measured:
        """Both readings, of the arm whose steps tell most."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        if claims is None:
            return Measured(unknown=NOTHING)
        card = claims.card
        if claims.mode != "step" or card.action_frame not in ("base", "end_effector"):
            return Measured(unknown="the card claims no steps in a frame")
        told = None
        for state, action in zip(claims.states, claims.actions, strict=True):
            turned = orientations(motion, claims, state)
            if turned is not None and len(state.position) and len(action.position):
                place, steps = (claims.signs(rows) * motion.values[rows] for rows in (state.position, action.position))
                found = frames(place, turned, steps, motion.clock.period_s)
                if found is not None and (told is None or max(found) > max(told)):
                    told = found
        if told is None:
            return Measured(unknown="no position and rotation of an end effector beside its steps, or it hardly moves")
        return Measured({"base": told[0], "end_effector": told[1]})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Episodes whose motion follows the steps in the other frame only."""
        claimed = manifest.embodiment.action_frame
        if claimed not in ("base", "end_effector"):
            return
        other = "base" if claimed == "end_effector" else "end_effector"
        own, better = manifest[claimed], manifest[other]
        wrong = (better >= self.holds) & (own < self.fails) & (self.factor * (1 - better) < 1 - own)
        for row in np.flatnonzero(wrong).tolist():
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"motion of {manifest.where(row)} correlates {own[row]:.2f} with steps in the frame of the "
                f"{_words(claimed)}, as the card {manifest.embodiment.key} says, and {better[row]:.2f} in that of the "
                f"{_words(other)}",
                measured=own[row],
                threshold=self.fails,
                unit="correlation",
            )


def _words(frame: str) -> str:
    return frame.replace("_", " ")
