"""Actions that are steps where the card says places, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.conventions.claims import NOTHING, claims_of
from gristmill.conventions.pairs import paired_rows
from gristmill.conventions.steps import reading
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class ActionMode:
    """Are actions the places or the steps that the card says they are?

    Places stay near the state; steps add up to how the state changes. Both readings are tried on the joints, or on
    the end effector's position, that the action commands by name. The card is contradicted only where the other
    reading holds and its own does not.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("place", about="correlation of action and state"),
        Column("distance", about="size of action minus state over the size of the state's motion"),
        Column("step", about="correlation of added actions with changes of the state, at the best delay"),
    )
    fix: ClassVar[str] = "Correct `control_mode` on the card."
    source: ClassVar[str] = (
        "Commanded and reached positions of good recordings correlate above 0.95 and differ by less than a third of "
        "the motion; added steps correlate above 0.9 with motion over 0.2 s."
    )

    holds: float = 0.85  # correlation from which on a reading holds
    fails: float = 0.7  # correlation below which it does not
    max_distance: float = 1.0  # beyond which an action is not near the state

    def measure(self, episode: Episode) -> Measured:
        """Both readings."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        if claims is None:
            return Measured(unknown=NOTHING)
        state, action = paired_rows(motion.layout)
        if not claims.mode or not len(state):
            return Measured(unknown="the card does not say what actions are, or none commands a state by name")
        found = reading(motion.values[state], motion.values[action], motion.clock.period_s)
        if found is None:
            return Measured(unknown="too short, or the state hardly moves")
        return Measured({"place": found.place, "distance": found.distance, "step": found.step})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Episodes that contradict the card's control mode."""
        place, distance, step = (np.nan_to_num(manifest[c]) for c in ("place", "distance", "step"))
        card = manifest.embodiment
        near = (place >= self.holds) & (distance <= self.max_distance)
        if card.control_mode in ("joint_delta", "eef_delta"):
            wrong, said = near & ~np.isnan(manifest["place"]), "they are places"
        else:
            wrong, said = (step >= self.holds) & (place < self.fails) & ~near, "they are steps"
        for row in np.flatnonzero(wrong).tolist():
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"actions of {manifest.where(row)} correlate {place[row]:.2f} with the state and lie "
                f"{distance[row]:.2g} times its motion away from it, added up they correlate {step[row]:.2f} with its "
                f"changes; {said}, the card {card.key} says {card.control_mode}",
                measured=place[row],
                threshold=self.holds,
                unit="correlation",
            )
