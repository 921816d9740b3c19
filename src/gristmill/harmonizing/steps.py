"""Actions as targets and as steps: what a card's steps lead to, and steps of any frame between poses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gristmill import rotations
from gristmill.embodiment import Embodiment, RotationForm
from gristmill.harmonizing.model import Model
from gristmill.harmonizing.native import Native
from gristmill.harmonizing.poses import Pose, integrate, matrices, shifted, turned
from gristmill.types import FloatArray, Mask

_SAME = 1e-9  # by which two matrices of one rotation may differ
_NOTHING = Pose(None, None)


def trouble(card: Embodiment) -> str:
    """Why a card's steps cannot be followed; "" when they can, or when its actions are no steps."""
    if card.delta_from == "unknown":
        return "the card does not say what steps are added to (delta_from)"
    if card.control_mode == "eef_delta" and card.action_frame not in ("base", "end_effector"):
        return "the card does not say in which frame steps are (action_frame)"
    return ""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """How the steps of one episode and its targets hang together.

    Attributes:
        card: says what steps are added to, and in which frame they are.
        state: the episode's states in the model.
        numbers: arm -> numbers of the state's rotation (t, k), for steps that are differences of them.
        reached: arm -> numbers (t, k) that the recorded steps lead to.
        forms: arm -> the form of these numbers.
    """

    card: Embodiment
    state: Model
    numbers: dict[str, FloatArray]
    reached: dict[str, FloatArray]
    forms: dict[str, RotationForm]

    @classmethod
    def of(cls, card: Embodiment, state: Model, native: Native, action: Native) -> Steps:
        """From the states of an episode, for its actions."""
        numbers: dict[str, FloatArray] = {}
        reached: dict[str, FloatArray] = {}
        forms: dict[str, RotationForm] = {}
        for arm in card.arms if card.rotation_delta == "difference" else ():
            given, steps = native.numbers(arm), action.numbers(arm)
            if given is not None and steps is not None and given[1] == steps[1]:
                numbers[arm.name], forms[arm.name] = given
                summed = card.delta_from == "command"
                reached[arm.name] = given[0][:1] + np.cumsum(steps[0], axis=0) if summed else given[0] + steps[0]
        return cls(card, state, numbers, reached, forms)

    def since(self, state: Model) -> Steps:
        """The same steps from other states, whose rotations are written as near to the recorded numbers as can be."""
        numbers: dict[str, FloatArray] = {}
        for arm, own in self.numbers.items():
            turn, before = state.poses.get(arm, _NOTHING).rotation, self.state.poses[arm].rotation
            if turn is None:
                continue
            form, order = self.forms[arm], self.card.quaternion_order
            if before is None or turn.shape != before.shape:
                numbers[arm] = rotations.from_matrix(turn, form, order)
                continue
            near = rotations.nearest_form(turn, form, np.nan_to_num(own), order)
            numbers[arm] = np.where(_same(turn, before)[:, None], own, near)
        return replace(self, state=state, numbers=numbers)

    def targets(self, steps: Model) -> Model:
        """Where steps lead; what has no state to start from is left out."""
        made = Model(steps.frames, openings=steps.openings, others=steps.others)
        for name, step in steps.joints.items():
            if name in self.state.joints:
                start = self.state.joints[name]
                made.joints[name] = start[:1] + np.cumsum(step) if self._summed else start + step
        for name, step in steps.poses.items():
            start = self.state.poses.get(name, _NOTHING)
            if name in steps.differences:
                made.poses[name] = self._reached(name, start, step.position_m)
            elif self._summed and (step.position_m is not None or step.rotation is not None):
                made.poses[name] = integrate(start, step, self._frame)
            else:
                made.poses[name] = start.after(step, self._frame)
        return made

    def steps(self, targets: Model) -> Model:
        """The inverse of `targets`."""
        made = Model(targets.frames, openings=targets.openings, others=targets.others)
        for name, target in targets.joints.items():
            if name in self.state.joints:
                start = self.state.joints[name]
                if self._summed:
                    start = np.concatenate([start[:1], target[:-1]])
                made.joints[name] = target - start
        for name, target in targets.poses.items():
            start = self.state.poses.get(name, _NOTHING)
            step = target.step_from(target.shifted(start) if self._summed else start, self._frame)
            made.poses[name] = step if self.card.rotation_delta == "compose" else Pose(step.position_m, None)
            if name in self.numbers and target.rotation is not None:
                made.differences[name] = self._differences(name, target.rotation)
        return made

    @property
    def _frame(self) -> str:
        return "end_effector" if self.card.action_frame == "end_effector" else "base"

    @property
    def _summed(self) -> bool:
        return self.card.delta_from == "command"

    def _reached(self, arm: str, start: Pose, moved_m: FloatArray | None) -> Pose:
        """Where the recorded steps lead whose rotations are differences of numbers."""
        turn = self._turned(arm)
        begin = shifted(turn, start.rotation) if self._summed else start.rotation
        if moved_m is not None and self._frame == "end_effector":
            moved_m = None if begin is None else turned(begin, moved_m)
        if moved_m is None or start.position_m is None:
            return Pose(None, turn)
        if self._summed:
            return Pose(start.position_m[:1] + np.cumsum(moved_m, axis=0), turn)
        return Pose(start.position_m + moved_m, turn)

    def _turned(self, arm: str) -> FloatArray | None:
        """(t, 3, 3) rotations that the recorded steps lead to, where they are differences of the state's numbers."""
        if arm not in self.reached:
            return None
        return matrices(self.reached[arm], self.forms[arm], self.card.quaternion_order)

    def _differences(self, arm: str, target: FloatArray) -> FloatArray:
        """(t, k) what leads from the numbers before to those of the targets (t, 3, 3); undoes `_turned`.

        Many numbers mean one rotation: the recorded ones where a target is as recorded, elsewhere those nearest to
        where the step starts.
        """
        form, order, start = self.forms[arm], self.card.quaternion_order, self.numbers[arm]
        own = np.zeros(len(target), bool)
        made = np.empty((len(target), start.shape[1]))
        recorded = self._turned(arm)
        if recorded is not None and recorded.shape == target.shape:
            own = _same(target, recorded)
            made[own] = rotations.nearest_form(target[own], form, self.reached[arm][own], order)
        if not self._summed:
            made[~own] = rotations.nearest_form(target[~own], form, start[~own], order)
            return made - start
        last = start[:1]
        for sample, as_recorded in enumerate(own.tolist()):
            one = slice(sample, sample + 1)
            if not as_recorded:
                made[one] = rotations.nearest_form(target[one], form, last, order)
            if np.isfinite(made[one]).all():
                last = made[one]
        return made - np.concatenate([start[:1], made[:-1]])


def _same(first: FloatArray, second: FloatArray) -> Mask:
    """(t,) whether matrices (t, 3, 3) are one rotation."""
    return np.abs(first - second).max(axis=(1, 2), initial=0.0) <= _SAME
