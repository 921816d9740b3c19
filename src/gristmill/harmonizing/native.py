"""Between recorded columns and the robot's model, one role at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gristmill import rotations
from gristmill.embodiment import Arm, Embodiment, RotationForm
from gristmill.harmonizing import poses, scalars
from gristmill.harmonizing.model import Model, parts_of
from gristmill.harmonizing.places import Place, Places
from gristmill.harmonizing.poses import Pose
from gristmill.types import FloatArray


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
        opens = {*parts.grippers, *(a.gripper for a in self.card.arms if a.gripper)}
        for label in self.places.strange:
            self.why[label] = "the card names no such joint"
        for name, labels in self.places.twice.items():
            self.why |= dict.fromkeys(labels, f"two dimensions answer to the card's joint {name!r}")
        for name, place in self.places.of.items():
            if name in self.card.base_velocity:
                self._read_speed(place, model)
            elif name in self.card.pass_through:
                model.others[name] = self._column(place)
            elif name in opens:
                self._read_gripper(place, model)
            elif name in parts.nowhere:
                self.why[place.label] = "the card puts it in no arm and does not list it under pass_through"
            elif name not in parts.poses:
                self._read_joint(place, model, movable)
        for arm in self.card.arms:
            self._read_pose(arm, model, movable)
        read = {p.label for arm in self.card.arms for p in (*self._position(arm), *(self._rotation(arm)[0]))}
        for name in parts.poses & set(self.places.of):
            if self.places.of[name].label not in read:
                self.why[self.places.of[name].label] = (
                    f"the {self.role} lacks other numbers of this position or rotation"
                )
        return model

    def write(self, model: Model, near: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Recorded columns of a model: the inverse of `read`.

        Args:
            model: what to write.
            near: arm -> (t, k) numbers of rotations; of all that mean one rotation, the nearest to them is written.
        """
        made = {key: np.full((model.frames, v.shape[1]), np.nan) for key, v in self.values.items()}

        def put(place: Place, values: FloatArray) -> None:
            made[place.channel][:, place.column] = values

        for name, values in model.others.items():
            if name in self.places.of:
                place = self.places.of[name]
                speed = name in self.card.base_velocity
                put(place, scalars.joint_from_model(values, place.joint) if speed else values)
        for name, values in model.openings.items():
            if name in self.places.of:
                put(self.places.of[name], scalars.from_opening(values, self.places.of[name], self.card))
        for name, values in model.joints.items():
            if name in self.places.of:
                place = self.places.of[name]
                put(place, scalars.joint_from_model(values, place.joint, step=self.steps))
        for arm in self.card.arms:
            for place, values in self._written(arm, model, near.get(arm.name)):
                put(place, values)
        return made

    def rotations(self) -> dict[str, FloatArray]:
        """Arm -> `numbers` of its rotation, of those that have any."""
        found = {arm.name: self.numbers(arm) for arm in self.card.arms}
        return {name: given[0] for name, given in found.items() if given is not None}

    def numbers(self, arm: Arm) -> tuple[FloatArray, RotationForm] | None:
        """(t, k) numbers of an arm's rotation and their form, angles in rad; None where they mean none."""
        places, form = self._rotation(arm)
        if not places or poses.rotation_why_not(places, form, self.card.quaternion_order):
            return None
        return poses.numbers(self._columns(places), places, form, step=self.steps), form

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

    def _read_speed(self, place: Place, model: Model) -> None:
        reason = scalars.speed_why_not(place.joint, turning=place.joint.name == self.card.base_velocity[2])
        if reason:
            self.why[place.label] = reason
        else:
            model.others[place.joint.name] = scalars.joint_to_model(self._column(place), place.joint)

    def _read_pose(self, arm: Arm, model: Model, movable: bool) -> None:
        position = self._position(arm)
        places, form = self._rotation(arm)
        reason = "" if movable else _immovable(self.card)
        if reason:
            self.why |= {p.label: reason for p in (*position, *places)}
            return
        place_m = turn = None
        if position:
            reason = poses.position_why_not(position)
            self.why |= {p.label: reason for p in position if reason}
            if not reason:
                place_m = poses.metres(self._columns(position), position, step=self.steps)
        if places:
            reason = poses.rotation_why_not(places, form, self.card.quaternion_order)
            self.why |= {p.label: reason for p in places if reason}
            given = self.numbers(arm)
            if given is not None and self.steps and self.card.rotation_delta != "compose":
                model.differences[arm.name] = given[0]
            elif given is not None:
                turn = poses.matrices(*given, self.card.quaternion_order)
        model.poses[arm.name] = Pose(place_m, turn)

    def _written(self, arm: Arm, model: Model, near: FloatArray | None):
        """Pairs of place and (t,) values."""
        pose = model.poses.get(arm.name, Pose(None, None))
        position = self._position(arm)
        if position and pose.position_m is not None and not poses.position_why_not(position):
            values = poses.recorded_position(pose.position_m, position, step=self.steps)
            yield from zip(position, values.T, strict=True)
        places, form = self._rotation(arm)
        if not places or poses.rotation_why_not(places, form, self.card.quaternion_order):
            return
        values = model.differences.get(arm.name)
        if values is None and pose.rotation is not None:
            order = self.card.quaternion_order
            if near is not None and near.shape[:-1] == pose.rotation.shape[:-2]:
                values = rotations.nearest_form(pose.rotation, form, np.nan_to_num(near), order)
            else:
                values = rotations.from_matrix(pose.rotation, form, order)
        if values is not None:
            yield from zip(places, poses.recorded(values, places, form, step=self.steps).T, strict=True)

    def _position(self, arm: Arm) -> list[Place]:
        return self.places.all(arm.position) or []

    def _rotation(self, arm: Arm) -> tuple[list[Place], RotationForm]:
        names, form = arm.rotation_of(self.role)
        return self.places.all(names) or [], form

    def _column(self, place: Place) -> FloatArray:
        return self.values[place.channel][:, place.column]

    def _columns(self, places: list[Place]) -> FloatArray:
        return np.stack([self._column(p) for p in places], axis=1)


def _immovable(card: Embodiment) -> str:
    if card.control_mode == "unknown":
        return "the card does not say what actions are (control_mode)"
    return f"actions are {card.control_mode}: neither places nor steps"
