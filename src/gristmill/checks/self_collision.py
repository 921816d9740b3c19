"""Robots that run into themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.embodiment import Embodiment
from gristmill.episode import CorpusFacts, Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.grouping import by_channel, listed, strongest
from gristmill.layout import Layout
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of
from gristmill.runs import runs_of

if TYPE_CHECKING:
    from gristmill.kinematics.recorded import RecordedJoints
    from gristmill.kinematics.self_collision import SelfDistance

_NO_MODEL = "the robot's card names no model (urdf or mjcf)"


@dataclass(frozen=True, kw_only=True)
class SelfCollision:
    """Do two links of the robot come nearer to each other than a margin, or into each other?

    A real robot cannot be inside itself, so where its recorded joints put it there, the zero or sign of a joint,
    its unit, or the model is wrong; where it nearly is, a small error of a policy breaks something. The signed
    distance between the collision shapes of links is computed for each sample from the model that the card
    names. Left out, as in MoveIt's setup assistant, are neighbours, links that are fixed to each other, and
    pairs that touch in the neutral position or in nearly all positions. Meshes count with their convex hulls.
    Joints that were not recorded are taken to be neutral; two links that none of the recorded joints moves against
    each other are not compared.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("clearance", unit="m", about="least signed distance, at most `reach_m`; negative inside", metric=True),
    )
    fix: ClassVar[str] = (
        "Compare zero, sign and unit of the joints with the model; drop the span if the robot really touched itself."
    )
    source: ClassVar[str] = (
        "Signed distances by MuJoCo (mj_geomDistance); pairs as in MoveIt's setup assistant; 2 mm allow for the "
        "rounding of shapes and encoders."
    )

    margin_m: float = measuring(0.0)
    reach_m: float = measuring(0.02)  # distances beyond are not told apart
    shortest: int = measuring(3)  # samples; shorter ones are spikes, which have a check of their own
    tolerance_m: float = 0.002

    def unfit(self, facts: CorpusFacts, card: Embodiment) -> str:
        """Without a model of the robot there is nothing to compute distances of."""
        return _NO_MODEL if card.model is None else ""

    def measure(self, episode: Episode) -> Measured:
        """Spans in which links are nearer than the margin; strength is by how much, in metres."""
        layout = motion_of(episode).layout
        if layout.card.model is None:
            return Measured(unknown=_NO_MODEL)
        found = _shapes(layout)
        if isinstance(found, str):
            return Measured(unknown=found)
        motion = motion_of(episode)
        if not motion.frames:
            return Measured(unknown="no samples")
        recorded, distance = found
        nearest = distance.nearest(recorded.configurations(motion), max(self.reach_m, self.margin_m))
        channel = layout.dims[int(recorded.rows[0])].channel
        events = []
        for start, stop in runs_of(nearest.distance_m < self.margin_m, self.shortest):
            at = start + int(nearest.distance_m[start:stop].argmin())
            pair = " and ".join(distance.named(int(nearest.pair[at])))
            depth = self.margin_m - float(nearest.distance_m[at])
            events.append(Event(*motion.clock.span_s(start, stop), depth, channel, detail=pair))
        return Measured({"clearance": float(nearest.distance_m.min())}, strongest(events))

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Spans deeper than the tolerance."""
        events = manifest.events
        for group in by_channel(events, events.strength > self.tolerance_m):
            pair = group.details[int(np.argmax(group.strengths))]
            nearest = self.margin_m - group.strongest
            where = f"{-nearest * 1000:.0f} mm inside each other" if nearest < 0 else f"{nearest * 1000:.0f} mm apart"
            yield finding(
                self,
                Kind.RISK,
                group.row,
                f"{pair} are {where} in {manifest.where(group.row)} {group.when} (at least "
                f"{self.margin_m * 1000:g} mm apart expected): a joint's zero, sign or unit does not fit the model, or "
                "the robot ran into itself",
                channel=group.channel,
                spans_s=group.spans_s,
                measured=nearest,
                threshold=self.margin_m - self.tolerance_m,
                unit="m",
            )


@lru_cache(maxsize=64)
def _shapes(layout: Layout) -> tuple[RecordedJoints, SelfDistance] | str:
    """The joints that were recorded and the shapes that they move, or why there are none."""
    from gristmill.kinematics.recorded import recorded_joints
    from gristmill.kinematics.self_collision import SelfDistance

    recorded = recorded_joints(layout)
    if isinstance(recorded, str):
        return recorded
    missing = recorded.model.files.missing
    if missing:
        return f"the model's shapes are not complete ({listed(missing, most=2)})"
    distance = SelfDistance(recorded.model, recorded.numbers)
    if not len(distance.shapes):
        return f"{recorded.model.files.path} has no collision shapes that the recorded joints move against each other"
    return recorded, distance
