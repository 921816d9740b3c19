"""Poses of end effectors: read from recorded columns, written back, and steps between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gristmill import rotations
from gristmill.embodiment import RotationForm
from gristmill.harmonizing import scalars
from gristmill.harmonizing.places import Place
from gristmill.types import FloatArray

_ANGLES = ("axis_angle", "euler_rpy")


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """Poses of t samples; either part may be absent."""

    position_m: FloatArray | None  # (t, 3)
    rotation: FloatArray | None  # (t, 3, 3)

    def step_from(self, start: Pose, frame: str) -> Pose:
        """Steps that lead from `start` here, seen from the "base" or the "end_effector" of the start."""
        position = rotation = None
        if self.position_m is not None and start.position_m is not None:
            position = self.position_m - start.position_m
            if frame == "end_effector":
                position = None if start.rotation is None else turned(rotations.inverse(start.rotation), position)
        if self.rotation is not None and start.rotation is not None:
            rotation = rotations.relative(start.rotation, self.rotation, frame)
        return Pose(position, rotation)

    def after(self, step: Pose, frame: str) -> Pose:
        """Where steps lead from here; undoes `step_from`."""
        position = rotation = None
        if self.position_m is not None and step.position_m is not None:
            moved = step.position_m
            if frame == "end_effector":
                moved = None if self.rotation is None else turned(self.rotation, moved)
            position = None if moved is None else self.position_m + moved
        if self.rotation is not None and step.rotation is not None:
            rotation = rotations.compose(self.rotation, step.rotation, frame)
        return Pose(position, rotation)

    def shifted(self, first: Pose) -> Pose:
        """The poses one sample earlier, beginning with the first one of `first`."""
        return Pose(shifted(self.position_m, first.position_m), shifted(self.rotation, first.rotation))

    def at(self, sample: int) -> Pose:
        """One of the poses, as (1, ...)."""
        take = slice(sample, sample + 1)
        return Pose(
            None if self.position_m is None else self.position_m[take],
            None if self.rotation is None else self.rotation[take],
        )


def integrate(start: Pose, steps: Pose, frame: str) -> Pose:
    """Poses (t) that steps lead to when each is added to the one before, the first to the first of `start`."""
    pose, made = start.at(0), []
    count = len(next(x for x in (steps.position_m, steps.rotation) if x is not None))
    if not count:
        return start.after(steps, frame)
    for sample in range(count):
        pose = pose.after(steps.at(sample), frame)
        made.append(pose)
    return Pose(_joined([p.position_m for p in made]), _joined([p.rotation for p in made]))


def position_why_not(places: Sequence[Place]) -> str:
    """Why these columns give no position; "" when they do."""
    if any(p.joint.unit not in ("m", "mm") for p in places):
        return "the card does not give its unit as m or mm"
    return ""


def metres(values: FloatArray, places: Sequence[Place], *, step: bool) -> FloatArray:
    """(t, 3) positions, or steps of them, in metres, by each coordinate's unit, sign and zero."""
    return np.stack([scalars.joint_to_model(v, p.joint, step=step) for v, p in zip(values.T, places, strict=True)], 1)


def recorded_position(position_m: FloatArray, places: Sequence[Place], *, step: bool) -> FloatArray:
    """The inverse of `metres`."""
    pairs = zip(position_m.T, places, strict=True)
    return np.stack([scalars.joint_from_model(v, p.joint, step=step) for v, p in pairs], 1)


def numbers(values: FloatArray, places: Sequence[Place], form: RotationForm, *, step: bool) -> FloatArray:
    """(t, k) recorded numbers of a rotation by each one's sign and zero, angles in rad; steps have no zero."""
    scale, zero = _rule(places, form)
    return scale * (values if step else values - zero)


def recorded(values: FloatArray, places: Sequence[Place], form: RotationForm, *, step: bool) -> FloatArray:
    """The inverse of `numbers`."""
    scale, zero = _rule(places, form)
    return values / scale + (0.0 if step else zero)


def matrices(values: FloatArray, form: RotationForm, order: str) -> FloatArray:
    """(t, 3, 3) rotations of `numbers`, which need not be quite a rotation's: the nearest one counts."""
    made = rotations.to_matrix(values, form, order)
    return rotations.orthonormal(made) if form == "matrix" else made


def rotation_why_not(places: Sequence[Place], form: RotationForm, order: str) -> str:
    """Why these columns give no rotation; "" when they do."""
    if form == "quaternion" and order == "unknown":
        return "the card does not say whether quaternions are xyzw or wxyz"
    if form in _ANGLES and any(p.joint.unit not in ("rad", "deg") for p in places):
        return "the card does not give its angles in rad or deg"
    return ""


def _rule(places: Sequence[Place], form: RotationForm) -> tuple[FloatArray, FloatArray]:
    """Factor and zero of each number; those of a quaternion, of 6D and of a matrix have a sign alone."""
    if form not in _ANGLES:
        return np.array([float(p.joint.sign) for p in places]), np.zeros(len(places))
    scales, zeros = [p.joint.scale for p in places], [p.joint.zero for p in places]
    return np.array(scales, np.float64), np.array(zeros, np.float64)


def turned(rotation: FloatArray, vectors: FloatArray) -> FloatArray:
    """(t, 3) vectors turned by rotations (t, 3, 3)."""
    return (rotation @ vectors[..., None])[..., 0]


def shifted(values: FloatArray | None, first: FloatArray | None) -> FloatArray | None:
    """Values (t, ...) one sample earlier, beginning with the first one of `first`; None without either."""
    return None if values is None or first is None else np.concatenate([first[:1], values[:-1]])


def _joined(parts: Sequence[FloatArray | None]) -> FloatArray | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known and len(known) == len(parts) else None
