"""Quaternions that change their sign in mid-motion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from gristmill.check import Column, Measured, Reads
from gristmill.conventions.claims import NOTHING, claims_of, without_claims
from gristmill.conventions.quaternions import sign_flips
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of


@dataclass(frozen=True, kw_only=True)
class QuaternionFlip:
    """Do quaternions jump to their negatives?

    q and -q are one rotation, so a robot does nothing where the sign flips, but a policy sees all four numbers jump
    and learns their average, which is no rotation. Counted are samples that are nearly minus the one before.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (Column("flips", "int", about="sign flips of all quaternions"),)
    fix: ClassVar[str] = "Choose signs so that neighbours are near each other (`gristmill.rotations.continuous`)."
    source: ClassVar[str] = "The double cover of rotations by unit quaternions; Zhou et al. 2019, section 1."

    max_flips: int = 0

    unfit = without_claims

    def measure(self, episode: Episode) -> Measured:
        """Every flip as an event."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        arms = [a for a in (*claims.states, *claims.actions) if len(a.quaternion)] if claims else []
        if not arms or motion.frames < 2:
            return Measured(unknown="no quaternion is claimed, or fewer than 2 samples" if claims else NOTHING)
        events = []
        for arm in arms:
            label = motion.layout.dims[arm.quaternion[0]].channel
            for sample in sign_flips(motion.values[arm.quaternion]).tolist():
                events.append(Event(*motion.clock.span_s(sample - 1, sample + 1), 1.0, channel=label))
        return Measured({"flips": len(events)}, events=events)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Episodes and channels with more than `max_flips` flips."""
        spans: dict[tuple[int, str], list[tuple[float, float]]] = {}
        events = manifest.events
        for i in range(len(events)):
            key = int(events.row[i]), str(events.channel[i])
            spans.setdefault(key, []).append((float(events.start_s[i]), float(events.end_s[i])))
        for (row, channel), found in spans.items():
            if len(found) > self.max_flips:
                yield finding(
                    self,
                    Kind.DEFECT,
                    row,
                    f"the quaternion in {channel} changes its sign {len(found)} times in {manifest.where(row)}, first "
                    f"at {found[0][0]:.2f} s (at most {self.max_flips} allowed); its numbers jump where the robot "
                    "does not",
                    channel=channel,
                    spans_s=found,
                    measured=len(found),
                    threshold=self.max_flips,
                    unit="flips",
                )
