"""Poses of end effectors: read from recorded columns, written back, and steps between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gristmill import rotations
from gristmill.embodiment import RotationForm
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
                position = None if start.rotation is None else _turned(rotations.inverse(start.rotation), position)
        if self.rotation is not None and start.rotation is not None:
            rotation = rotations.relative(start.rotation, self.rotation, frame)
        return Pose(position, rotation)

    def after(self, step: Pose, frame: str) -> Pose:
        """Where steps lead from here; undoes `step_from`."""
        position = rotation = None
        if self.position_m is not None and step.position_m is not None:
            moved = step.position_m
            if frame == "end_effector":
                moved = None if self.rotation is None else _turned(self.rotation, moved)
            position = None if moved is None else self.position_m + moved
        if self.rotation is not None and step.rotation is not None:
            rotation = rotations.compose(self.rotation, step.rotation, frame)
        return Pose(position, rotation)

    def shifted(self, first: Pose) -> Pose:
        """The poses one sample earlier, beginning with the first one of `first`."""
        return Pose(_shifted(self.position_m, first.position_m), _shifted(self.rotation, first.rotation))

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
    for sample in range(count):
        pose = pose.after(steps.at(sample), frame)
        made.append(pose)
    return Pose(_joined([p.position_m for p in made]), _joined([p.rotation for p in made]))


def numbers(values: FloatArray, places: Sequence[Place], form: RotationForm) -> FloatArray:
    """(t, k) recorded numbers of a rotation, with angles in rad."""
    return values * _rad(places, form)


def recorded(values: FloatArray, places: Sequence[Place], form: RotationForm) -> FloatArray:
    """The inverse of `numbers`."""
    return values / _rad(places, form)


def rotation_why_not(places: Sequence[Place], form: RotationForm, order: str) -> str:
    """Why these columns give no rotation; "" when they do."""
    if form == "quaternion" and order == "unknown":
        return "the card does not say whether quaternions are xyzw or wxyz"
    if form in _ANGLES and any(p.joint.unit not in ("rad", "deg") for p in places):
        return "the card does not give its angles in rad or deg"
    return ""


def _rad(places: Sequence[Place], form: RotationForm) -> FloatArray:
    if form not in _ANGLES:
        return np.ones(len(places))
    return np.array([np.pi / 180 if p.joint.unit == "deg" else 1.0 for p in places])


def _turned(rotation: FloatArray, vectors: FloatArray) -> FloatArray:
    return (rotation @ vectors[..., None])[..., 0]


def _shifted(values: FloatArray | None, first: FloatArray | None) -> FloatArray | None:
    return None if values is None or first is None else np.concatenate([first[:1], values[:-1]])


def _joined(parts: Sequence[FloatArray | None]) -> FloatArray | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known and len(known) == len(parts) else None
