"""Joints in degrees where the card says radians, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.conventions.claims import NOTHING, ArmRows, Claims, claims_of, without_claims
from gristmill.conventions.joints import joints_rad
from gristmill.conventions.orientations import orientations
from gristmill.conventions.turning import excess
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.layout import Layout
from gristmill.manifest import Manifest, finding
from gristmill.motion import Motion, motion_of
from gristmill.types import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class AngleUnit:
    """Are the joints in the unit on the card, degrees or radians?

    Radians: joints whose numbers lie three times as far from zero as their limits, and would lie within these as
    degrees, are in degrees. A joint without limits, such as a wheel, may turn as far as it likes. Degrees: an end
    effector turns by at most the sum of its joints' turns; where it turns several times as far, the joints are in
    radians, which needs its rotation beside an arm's joints.
    """

    version: ClassVar[int] = 3
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("turns", per="dim", about="third largest size of a joint that is claimed in rad, in its largest reach"),
        Column(
            "excess", about="angle that an end effector turned over the sum of what its joints turned, in most pairs"
        ),
    )
    fix: ClassVar[str] = "Correct the joints' `unit` on the card, or convert the numbers."
    source: ClassVar[str] = (
        "Triangle inequality of rotation angles. A factor of 57 lies between both units; 3 is far from 1 and from 57."
    )

    rank: int = measuring(2)  # most extreme samples that are ignored
    max_turns: float = 3.0  # times its largest reach that a joint may be away from its zero
    max_excess: float = 3.0

    unfit = without_claims

    def measure(self, episode: Episode) -> Measured:
        """Sizes of joints in rad, and turns of end effectors."""
        motion = motion_of(episode)
        claims = claims_of(motion.layout)
        if claims is None:
            return Measured(unknown=NOTHING)
        rows, reach, arms = _asked(motion.layout)
        if motion.frames <= 2 * self.rank or (not len(rows) and not arms):
            return Measured(
                unknown="no joint is claimed in rad with limits, and no end effector beside joints in deg; or too short"
            )
        values = {}
        if len(rows):
            turns = motion.layout.unknown()
            ordered = motion.sorted[rows]
            turns[rows] = np.maximum(ordered[:, -1 - self.rank], -ordered[:, self.rank]) / reach
            values["turns"] = turns
        told = [_excess(motion, claims, arm) for arm in arms]
        values["excess"] = max((t for t in told if np.isfinite(t)), default=np.nan)
        if not len(rows) and not np.isfinite(values["excess"]):
            return Measured(unknown="the end effector hardly turns")
        return Measured(values)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Joints beyond any reach, and end effectors that turned more than their joints."""
        turns, over = manifest["turns"][:, : len(manifest.dims)], manifest["excess"]
        card = manifest.embodiment.key
        # As degrees the numbers must make sense: within the reach, give or take a tenth.
        degrees = (turns > self.max_turns) & (turns <= 1.1 * 180 / np.pi)
        for row in np.flatnonzero(degrees.any(axis=1)).tolist():
            dims = np.flatnonzero(degrees[row])
            worst = int(dims[np.argmax(turns[row, dims])])
            label = manifest.dims[worst].label
            more = f" and {len(dims) - 1} more dimensions" if len(dims) > 1 else ""
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"{label}{more} of {manifest.where(row)} lies {turns[row, worst]:.1f} times as far from zero as the "
                f"joint reaches, read in rad as the card {card} says, and within its reach read in deg",
                channel=label,
                code="degrees",
                measured=turns[row, worst],
                threshold=self.max_turns,
                unit="reaches",
            )
        for row in np.flatnonzero(over > self.max_excess).tolist():
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"the end effector of {manifest.where(row)} turns {over[row]:.1f} times as far as all its joints "
                f"together, read in deg as the card {card} says (at most 1 is possible); they are in rad",
                code="radians",
                measured=over[row],
                threshold=self.max_excess,
            )


@lru_cache(maxsize=64)
def _asked(layout: Layout) -> tuple[IntArray, FloatArray, tuple[ArmRows, ...]]:
    """State rows of joints in rad with limits, the largest size that each reaches, and arms in deg with a rotation."""
    claims = claims_of(layout)
    assert claims is not None
    rows, reach = [], []
    for row, joint in enumerate(claims.joints[: layout.states]):
        if joint is None or joint.kind != "revolute" or joint.unit != "rad":
            continue
        if joint.lower is not None and joint.upper is not None:
            rows.append(row)
            reach.append(max(abs(joint.lower), abs(joint.upper), np.pi / 6))
    arms = tuple(
        arm
        for arm in claims.states
        if len(arm.joints)
        and len(arm.rotation)
        and all((j := claims.joints[r]) is not None and j.unit == "deg" for r in arm.joints.tolist())
    )
    return np.array(rows, np.intp), np.array(reach), arms


def _excess(motion: Motion, claims: Claims, arm: ArmRows) -> float:
    joints = joints_rad(motion, arm.joints)
    order = claims.card.quaternion_order
    if joints is None:
        return np.nan
    # Angles between rotations are the same in either order of a quaternion.
    rotation = orientations(motion, claims, arm, order if order != "unknown" else "xyzw")
    return excess(rotation, joints) if rotation is not None and np.isfinite(rotation).all() else np.nan
