"""Actions that are steps where the card says places, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.conventions.claims import NOTHING, claims_of, without_claims
from gristmill.conventions.following import distance
from gristmill.conventions.pairs import paired_rows, paired_values
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
    reading holds and its own does not: places that the state repeats later, as when a robot whisks, are places.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("place", about="correlation of action and state"),
        Column("distance", about="size of action minus state over the size of the state's motion"),
        Column("late", about="the same at the best delay, both around their means; null where action and state agree"),
        Column("step", about="correlation of added actions with changes of the state, at the best delay"),
    )
    fix: ClassVar[str] = "Correct `control_mode` on the card."
    source: ClassVar[str] = (
        "Commanded and reached positions of good recordings correlate above 0.95 and differ by less than a third of "
        "the motion; added steps correlate above 0.9 with motion over 0.2 s."
    )

    holds: float = measuring(0.85)  # correlation from which on a reading holds
    fails: float = 0.7  # correlation below which it does not
    max_distance: float = 1.0  # beyond which an action is not near the state
    max_late: float = 0.33  # up to which the state repeats its action later

    unfit = without_claims

    def measure(self, episode: Episode) -> Measured:
        """Both readings."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        if claims is None:
            return Measured(unknown=NOTHING)
        if not claims.mode or not len(paired_rows(motion.layout)[0]):
            return Measured(unknown="the card does not say what actions are, or none commands a state by name")
        been, told = paired_values(motion)
        found = reading(been, told, motion.clock.period_s)
        if found is None:
            return Measured(unknown="too short, or the state hardly moves")
        values = {"place": found.place, "distance": found.distance, "step": found.step}
        if found.place < self.holds:
            values["late"] = distance(been, told, motion.clock.period_s)
        return Measured(values)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Episodes that contradict the card's control mode."""
        place, distance, step = (np.nan_to_num(manifest[c]) for c in ("place", "distance", "step"))
        card = manifest.embodiment
        near = (place >= self.holds) & (distance <= self.max_distance)
        if card.control_mode in ("joint_delta", "eef_delta"):
            wrong, said = near & ~np.isnan(manifest["place"]), "they are places"
        else:
            near |= manifest["late"] <= self.max_late
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
