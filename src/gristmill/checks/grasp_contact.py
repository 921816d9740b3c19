"""Picks that no sensor felt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.grasping import SUSTAINED_S, TOUCHED, Hand, can_feel, claimed, failed, grips, hands_of, sustained
from gristmill.manifest import Manifest, finding


@dataclass(frozen=True, kw_only=True)
class GraspContact:
    """Does a sensor feel it when something is picked?

    A grasp is claimed by the task's text (pick, grasp, lift, put, ..., but not an arm, nor after "not") or, where the
    card says which end of the gripper's range is closed, by a gripper that closes and opens again. Then a contact or
    tactile sensor, the effort of the gripper, or a force-torque sensor at the wrist must rise from its zero for a tenth
    of a second while the gripper is closed. The zero is taken at the episode's start, and the rise is counted in
    multiples of the sensor's own noise. Without it the demonstration grasped nothing, or the sensor recorded nothing;
    either way a policy learns to go on with an empty hand. When no claimed grasp of the whole corpus is felt, the
    sensor is to blame and is named once. Efforts of an arm's joints follow its motion and do not count as a sensor.
    Episodes that are labelled as failed say so already, and are told as a trait.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True, channels=True, task=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column(
            "felt", unit="times its noise", about="what a sensor felt for 0.1 s during a claimed grasp", metric=True
        ),
        Column("labelled_failed", "bool", about="the recording labels the episode as failed"),
    )
    fix: ClassVar[str] = "Look at the episode; drop it if nothing was grasped, and mend the sensor if it was."
    source: ClassVar[str] = (
        "Contact as a rise beyond the sensor's noise, as in Romano et al., Human-Inspired Robotic Grasp Control with "
        "Tactile Sensing, IEEE T-RO 27 (6), 2011. Noise alone reaches 6 standard deviations once in 500 million "
        "samples."
    )

    swing: float = measuring(0.2)  # share of the range that a closing gripper travels
    min_felt: float = TOUCHED  # times the sensor's noise
    dead_from: int = 3  # grasps of which none is felt that make a dead sensor

    def measure(self, episode: Episode) -> Measured:
        """What was felt while a grasp is claimed; one event with the span of the claim."""
        if not can_feel(episode):
            return Measured(unknown="no sensor of contact, force or the gripper's effort was recorded")
        hands = [hand for hand in hands_of(episode) if hand.sensors]
        if not hands:
            return Measured(unknown="a sensor was recorded, but no gripper that it belongs to is known")
        told = claimed(episode)
        found = [window for hand in hands for window in self._windows(hand, told)]
        if not found:
            return Measured()
        clock = hands[0].motion.clock
        lasting = clock.frames(SUSTAINED_S)
        felt = [sustained(hand.felt_anywhere[start:stop], lasting) for hand, start, stop in found]
        best = int(np.argmax(felt))
        hand, start, stop = found[best]
        event = Event(*clock.span_s(start, stop), felt[best], hand.label, detail="text" if told else "gripper")
        return Measured({"felt": felt[best], "labelled_failed": failed(episode)}, (event,))

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Claimed grasps that were not felt; one finding for the corpus where none was."""
        events, felt = manifest.events, manifest["felt"]
        claims = int(np.count_nonzero(~np.isnan(felt)))
        if claims >= self.dead_from and not (felt >= self.min_felt).any():
            yield finding(
                self,
                Kind.RISK,
                None,
                f"No sensor feels any of the {claims} grasps that are claimed (at most {np.nanmax(felt):.1f} times its "
                f"noise, at least {self.min_felt:g} expected); it was not connected, or measures something else",
                fix="Leave the sensor's channels out of the training data, or mend their recording.",
                measured=np.nanmax(felt),
                threshold=self.min_felt,
                unit="times the sensor's noise",
                code="dead_sensor",
            )
            return
        for i in np.flatnonzero(events.strength < self.min_felt).tolist():
            row = int(events.row[i])
            by_label = manifest["labelled_failed"][row] == 1
            claim = "The task claims a grasp" if events.detail[i] == "text" else "The gripper closes and opens"
            end = "; it is labelled as failed" if by_label else "; a policy learns to go on with an empty hand"
            yield finding(
                self,
                Kind.TRAIT if by_label else Kind.RISK,
                row,
                f"{claim} in {manifest.where(row)}, but its sensor feels nothing (at most {events.strength[i]:.1f} "
                f"times its noise for {SUSTAINED_S:g} s, at least {self.min_felt:g} expected){end}",
                channel=events.channel[i],
                spans_s=((events.start_s[i], events.end_s[i]),),
                measured=events.strength[i],
                threshold=self.min_felt,
                unit="times the sensor's noise",
            )

    def _windows(self, hand: Hand, told: bool) -> list[tuple[Hand, int, int]]:
        """Where contact is expected: while the gripper is closed, or anywhere if it is not known when that is."""
        if hand.closing and hand.motion.frames:
            closings = grips(hand.closing * hand.position, self.swing * hand.range)
            if not told:
                closings = [grip for grip in closings if grip.stop < hand.motion.frames]
            if closings or not told:
                return [(hand, grip.start, grip.stop) for grip in closings]
        return [(hand, 0, hand.motion.frames)] if told and hand.motion.frames else []
