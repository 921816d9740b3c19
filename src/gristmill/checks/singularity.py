"""Arms near a singularity, and Euler angles near gimbal lock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.embodiment import plain_name
from gristmill.episode import Episode
from gristmill.errors import UsageError
from gristmill.finding import Event, Finding, Kind
from gristmill.grouping import by_channel, strongest
from gristmill.layout import Layout, layout_of_dims
from gristmill.manifest import Manifest, finding
from gristmill.motion import Motion, motion_of
from gristmill.runs import runs_of
from gristmill.types import FloatArray

if TYPE_CHECKING:
    from gristmill.kinematics.chains import Chain
    from gristmill.kinematics.dexterity import Usual
    from gristmill.kinematics.recorded import RecordedJoints

_MOST = 1e6  # amplification beyond which numbers are rounding
_ARM, _EULER = "arm", "euler"
_PLACE = ("x", "y", "z")


@dataclass(frozen=True, kw_only=True)
class Singularity:
    """Does an arm, or a rotation that is written as Euler angles, come near a singularity?

    At a singularity an arm cannot move its tip in some direction; near one it can, but its joints have to turn
    many times faster than elsewhere. Actions of an end effector then mean large and sudden motions of joints, and
    inverse kinematics jumps between solutions. Measured is the smallest singular value of the arm's Jacobian,
    with the tip's speed divided by a length of the arm's own so that moving and turning weigh alike, against its
    median over the ranges of the arm's joints: the amplification is how many times faster the joints turn than
    they usually would. Directions that an arm can never move in do not count, and arms of up to three joints are
    only asked to move their tip, not to turn it. It needs a model of the robot, named on the card.

    Roll, pitch and yaw have one, too: where pitch comes near 90 degrees, roll and yaw turn about the same axis, and
    a small turn of the hand makes both jump. Their amplification is one over the cosine of pitch. Actions by
    joints are not hurt by an arm's singularity, so there it is told as a trait.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("amplification", about="largest amplification of any arm; null without a model", metric=True),
        Column("manipulability", about="smallest manipulability of any arm, as a share of its median", metric=True),
        Column("euler_amplification", about="largest amplification of roll and yaw; null without Euler angles"),
    )
    fix: ClassVar[str] = (
        "Use joint actions for these spans, or drop them; write rotations as quaternions or in 6D, not as Euler angles."
    )
    source: ClassVar[str] = (
        "Yoshikawa, IJRR 4 (2), 1985; Nakamura and Hanafusa, ASME J. Dyn. Syst. 108, 1986; the length after Angeles, "
        "Fundamentals of Robotic Mechanical Systems, 5.8. At an amplification of 20, an arm with a length of 0.35 m "
        "and a usual singular value of 0.2, whose joints turn at 3 rad/s, moves its tip at 1 cm/s at most: slower than "
        "people do. Pitch is then within 3 degrees of gimbal lock."
    )

    noticed: float = measuring(10.0)  # amplification from which a span is kept
    shortest_s: float = measuring(0.1)
    max_amplification: float = 20.0

    def measure(self, episode: Episode) -> Measured:
        """Spans of high amplification; strength is the highest."""
        motion = motion_of(episode)
        layout = motion.layout
        angles = _euler_rows(layout)
        if layout.card.model is None and not angles:
            return Measured(unknown="the robot's card names no model (urdf or mjcf) and no Euler angles")
        if motion.frames < 3:
            return Measured(unknown="fewer than 3 samples")
        arms = _arms(layout) if layout.card.model is not None else ""
        if isinstance(arms, str) and not angles:
            return Measured(unknown=arms)
        values: dict[str, float] = {}
        events: list[Event] = []
        if not isinstance(arms, str):
            worst, least = 0.0, np.inf
            for amplification, manipulability, found in self._of_arms(motion, *arms):
                worst, least = max(worst, amplification), min(least, manipulability)
                events += found
            values |= {"amplification": worst, "manipulability": least}
        for row, scale, zero in angles:
            cosine = np.abs(np.cos(scale * (motion.values[row] - zero)))
            amplified = np.minimum(1 / np.maximum(cosine, 1 / _MOST), _MOST)
            values["euler_amplification"] = max(values.get("euler_amplification", 0.0), float(amplified.max()))
            labels = [layout.labels[row]] * len(amplified)
            events += self._spans(motion, amplified, labels, _EULER)
        return Measured(values, strongest(events))

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Spans beyond `max_amplification`."""
        events = manifest.events
        by_joints = _acts_by_joints(manifest)
        for group in by_channel(events, events.strength > self.max_amplification):
            what = group.details[0]
            if what == _EULER:
                kind = Kind.RISK
                said = (
                    f"{group.channel} of {manifest.where(group.row)} comes near 90 degrees {group.when}, where roll "
                    f"and yaw turn about one axis: they swing {group.strongest:.0f} times as fast as the hand turns "
                    f"(at most {self.max_amplification:g} expected)"
                )
            else:
                kind = Kind.TRAIT if by_joints else Kind.RISK
                said = (
                    f"{what} of {manifest.where(group.row)} is near a singularity {group.when}: {group.channel} has to "
                    f"turn {group.strongest:.0f} times as fast as usual for the same motion of the tip (at most "
                    f"{self.max_amplification:g} expected), so actions of the end effector are ill-defined there"
                )
            yield finding(
                self,
                kind,
                group.row,
                said,
                channel=group.channel,
                spans_s=group.spans_s,
                measured=group.strongest,
                threshold=self.max_amplification,
                unit="times",
                code="gimbal_lock" if what == _EULER else "arm",
            )

    def _of_arms(
        self, motion: Motion, recorded: RecordedJoints, arms: tuple[tuple[Chain, Usual], ...]
    ) -> Iterator[tuple[float, float, list[Event]]]:
        """Largest amplification, smallest relative manipulability and spans of each arm."""
        from gristmill.kinematics.dexterity import nearest_singular_joint, scaled

        whole = recorded.configurations(motion)
        for chain, usual in arms:
            jacobians = recorded.model.jacobians(whole, chain.tip, chain.joints)
            found = usual.of(jacobians)
            amplified = np.minimum(_median(usual.smallest) / np.maximum(found.smallest, 1e-300), _MOST)
            high = np.flatnonzero(amplified >= self.noticed)
            labels = [""] * len(amplified)
            hard = nearest_singular_joint(scaled(jacobians[high], usual.length_m, usual.task), usual.rank)
            for i, joint in zip(high, hard, strict=True):
                labels[i] = motion.layout.labels[recorded.row_of(int(chain.joints[joint]))]
            spans = self._spans(motion, amplified, labels, f"{_ARM} {chain.name}")
            yield float(amplified.max()), float(found.manipulability.min() / _median(usual.manipulability)), spans

    def _spans(self, motion: Motion, amplified: FloatArray, labels: list[str], detail: str) -> list[Event]:
        spans = []
        for start, stop in runs_of(amplified >= self.noticed, motion.clock.frames(self.shortest_s)):
            at = start + int(amplified[start:stop].argmax())
            spans.append(Event(*motion.clock.span_s(start, stop), float(amplified[at]), labels[at], detail=detail))
        return spans


def _acts_by_joints(manifest: Manifest) -> bool:
    """Whether actions are of joints: by the card's control mode, or because they are named like its joints."""
    mode = manifest.embodiment.control_mode
    if mode != "unknown":
        return mode.startswith("joint_")
    layout = layout_of_dims(manifest.dims, manifest.embodiment)
    return any(j is not None and j.kind in ("revolute", "prismatic") for j in layout.joints[layout.action])


def _median(ordered: FloatArray) -> float:
    return max(float(ordered[len(ordered) // 2]), 1e-300)


@lru_cache(maxsize=64)
def _arms(layout: Layout) -> tuple[RecordedJoints, tuple[tuple[Chain, Usual], ...]] | str:
    """The arms that were recorded, with what is usual of each; or why there is none."""
    from gristmill.kinematics.dexterity import usual
    from gristmill.kinematics.recorded import limbs_of, recorded_joints

    recorded = recorded_joints(layout)
    if isinstance(recorded, str):
        return recorded
    try:
        chains = limbs_of(recorded, layout.card)
    except UsageError as error:
        return str(error)
    if not chains:
        return "the recorded joints make up no arm of two joints or more"
    return recorded, tuple((chain, usual(recorded.model, chain)) for chain in chains)


@lru_cache(maxsize=64)
def _euler_rows(layout: Layout) -> tuple[tuple[int, float, float], ...]:
    """Rows of pitch angles, with rad per unit and zero of each; only where the card says that they are of a pose."""
    middle = {arm.rotation_of(role)[0][1] for arm in layout.card.arms for role in ("state", "action")
              if arm.rotation_of(role)[1] == "euler_rpy"}  # fmt: skip
    found = []
    for row, (dim, joint) in enumerate(zip(layout.dims, layout.joints, strict=True)):
        if joint is None or joint.unit not in ("rad", "deg") or joint.scale is None or joint.zero is None:
            continue
        if joint.name in middle or _pitch_of_pose(layout, dim.channel, plain_name(dim.name)):
            found.append((row, joint.scale, joint.zero))
    return tuple(found)


def _pitch_of_pose(layout: Layout, channel: str, name: str) -> bool:
    """Whether a dimension called pitch stands beside roll, yaw, x, y and z of one name: a joint of a waist does not."""
    if not name.endswith("pitch"):
        return False
    names = {plain_name(d.name) for d in layout.dims if d.channel == channel}
    return {name.removesuffix("pitch") + part for part in ("roll", "yaw", *_PLACE)} <= names
