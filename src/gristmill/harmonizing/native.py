"""Between recorded columns and the robot's model, one role at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gristmill import rotations
from gristmill.embodiment import Arm, Embodiment
from gristmill.harmonizing import poses, scalars
from gristmill.harmonizing.model import Model, parts_of
from gristmill.harmonizing.places import Place, Places
from gristmill.harmonizing.poses import Pose
from gristmill.types import FloatArray

METRES = {"m": 1.0, "mm": 1e-3}


@dataclass(eq=False)
class Native:
    """The recorded columns of one role.

    Attributes:
        role: "state" or "action".
        card: what they mean.
        places: where each joint is.
        values: channel -> (t, d) float64.
        frames: t.
        steps: whether joints and poses are steps instead of places.
        why: label -> why a column is not converted; filled by `read`.
    """

    role: str
    card: Embodiment
    places: Places
    values: Mapping[str, FloatArray]
    frames: int
    steps: bool = False
    why: dict[str, str] = field(default_factory=dict)

    def read(self, *, movable: bool) -> Model:
        """The model of these columns; joints and poses only when they are places or steps (`movable`)."""
        model = Model(self.frames)
        parts = parts_of(self.card)
        others = {*self.card.base_velocity, *self.card.pass_through}
        opens = {*parts.grippers, *(a.gripper for a in self.card.arms if a.gripper)}
        for label in self.places.strange:
            self.why[label] = "the card names no such joint"
        for name, labels in self.places.twice.items():
            self.why |= dict.fromkeys(labels, f"two dimensions answer to the card's joint {name!r}")
        for name, place in self.places.of.items():
            if name in others:
                model.others[name] = self._other(place)
            elif name in opens:
                self._read_gripper(place, model)
            elif name in parts.nowhere:
                self.why[place.label] = "the card puts it in no arm and does not list it under pass_through"
            elif name not in parts.poses:
                self._read_joint(place, model, movable)
        for arm in self.card.arms:
            self._read_pose(arm, model, movable)
        return model

    def write(self, model: Model, signs: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Recorded columns of a model: the inverse of `read`. `signs` are those of each arm's quaternions."""
        made = {key: np.full((model.frames, v.shape[1]), np.nan) for key, v in self.values.items()}

        def put(place: Place, values: FloatArray) -> None:
            made[place.channel][:, place.column] = values

        for name, values in model.others.items():
            if name in self.places.of:
                place = self.places.of[name]
                put(place, values / (self._speed(place) or 1.0))
        for name, values in model.openings.items():
            if name in self.places.of:
                put(self.places.of[name], scalars.from_opening(values, self.places.of[name], self.card))
        for name, values in model.joints.items():
            if name in self.places.of:
                place = self.places.of[name]
                put(place, scalars.joint_from_model(values, place.joint, step=self.steps))
        for arm in self.card.arms:
            pose = model.poses.get(arm.name, Pose(None, None))
            for place, values in self._written(arm, pose, signs.get(arm.name)):
                put(place, values)
        return made

    def signs(self) -> dict[str, FloatArray]:
        """Arm -> (t,) sign of each recorded quaternion against the one that `write` would choose; a choice of form."""
        found = {}
        for arm in self.card.arms:
            places, form = self._rotation(arm)
            if places and form == "quaternion" and self.card.quaternion_order != "unknown":
                given = rotations.xyzw(self._columns(places), self.card.quaternion_order)
                own = rotations.quaternion_of_matrix(rotations.matrix_of_quaternion(given))
                found[arm.name] = np.where(np.sum(given * own, axis=1) < 0, -1.0, 1.0)
        return found

    def numbers(self, arm: Arm) -> tuple[FloatArray, str] | None:
        """(t, k) recorded numbers of an arm's rotation, angles in rad, and their form; None where there are none."""
        places, form = self._rotation(arm)
        return (poses.numbers(self._columns(places), places, form), form) if places else None

    # -- details ----------------------------------------------------------------------------------

    def _read_joint(self, place: Place, model: Model, movable: bool) -> None:
        reason = scalars.why_not(place.joint)
        if not movable:
            reason = _immovable(self.card)
        if reason:
            self.why[place.label] = reason
        else:
            model.joints[place.joint.name] = scalars.joint_to_model(self._column(place), place.joint, step=self.steps)

    def _read_gripper(self, place: Place, model: Model) -> None:
        reason = scalars.gripper_why_not(place, self.card)
        if reason:
            self.why[place.label] = reason
        else:
            model.openings[place.joint.name] = scalars.opening(self._column(place), place, self.card)

    def _read_pose(self, arm: Arm, model: Model, movable: bool) -> None:
        position = self.places.all(arm.position)
        places, form = self._rotation(arm)
        reason = "" if movable else _immovable(self.card)
        if reason:
            self.why |= {p.label: reason for p in (*(position or ()), *(places or ()))}
            return
        place_m = turn = None
        if position:
            if all(p.joint.unit in METRES for p in position):
                place_m = self._columns(position) * [METRES[p.joint.unit] for p in position]
            else:
                self.why |= {p.label: "the card does not give its unit as m or mm" for p in position}
        if places:
            reason = poses.rotation_why_not(places, form, self.card.quaternion_order)
            if reason:
                self.why |= {p.label: reason for p in places}
            else:
                given = poses.numbers(self._columns(places), places, form)
                turn = rotations.to_matrix(given, form, self.card.quaternion_order)
        model.poses[arm.name] = Pose(place_m, turn)

    def _written(self, arm: Arm, pose: Pose, signs: FloatArray | None):
        """Pairs of place and (t,) values."""
        position = self.places.all(arm.position)
        if position and pose.position_m is not None and all(p.joint.unit in METRES for p in position):
            for column, place in enumerate(position):
                yield place, pose.position_m[:, column] / METRES[place.joint.unit]
        places, form = self._rotation(arm)
        if places and pose.rotation is not None:
            if poses.rotation_why_not(places, form, self.card.quaternion_order):
                return
            values = rotations.from_matrix(pose.rotation, form, self.card.quaternion_order)
            if signs is not None and len(signs) == len(values):
                values = values * signs[:, None]
            values = poses.recorded(values, places, form)
            for column, place in enumerate(places):
                yield place, values[:, column]

    def _rotation(self, arm: Arm):
        names, form = arm.rotation_of(self.role)
        return self.places.all(names), form

    def _other(self, place: Place) -> FloatArray:
        return self._column(place) * (self._speed(place) or 1.0)

    def _speed(self, place: Place) -> float | None:
        """Factor of the base's velocity; what passes through keeps its numbers."""
        return place.joint.scale if place.joint.name in self.card.base_velocity else None

    def _column(self, place: Place) -> FloatArray:
        return self.values[place.channel][:, place.column]

    def _columns(self, places: list[Place]) -> FloatArray:
        return np.stack([self._column(p) for p in places], axis=1)


def _immovable(card: Embodiment) -> str:
    if card.control_mode == "unknown":
        return "the card does not say what actions are (control_mode)"
    return f"actions are {card.control_mode}: neither places nor steps"
