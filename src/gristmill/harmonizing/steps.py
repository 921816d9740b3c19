"""Actions as targets and as steps: what a card's steps lead to, and steps of any frame between poses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gristmill import rotations
from gristmill.embodiment import Embodiment
from gristmill.harmonizing.model import Model
from gristmill.harmonizing.native import Native
from gristmill.harmonizing.poses import Pose, integrate
from gristmill.types import FloatArray


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
        numbers: arm -> recorded numbers of the state's rotation (t, k), for steps that are differences of them.
        forms: arm -> the form of these numbers.
    """

    card: Embodiment
    state: Model
    numbers: dict[str, FloatArray]
    forms: dict[str, str]

    @classmethod
    def of(cls, card: Embodiment, state: Model, native: Native, action: Native) -> Steps:
        """From the states of an episode, for its actions."""
        numbers: dict[str, FloatArray] = {}
        forms: dict[str, str] = {}
        for arm in card.arms:
            given, steps = native.numbers(arm), action.numbers(arm)
            if given is not None and steps is not None and given[1] == steps[1]:
                numbers[arm.name], forms[arm.name] = given
        return cls(card, state, numbers, forms)

    def targets(self, steps: Model) -> Model:
        """Where steps lead; what has no state to start from is left out."""
        made = Model(steps.frames, openings=steps.openings, others=steps.others)
        for name, step in steps.joints.items():
            if name in self.state.joints:
                start = self.state.joints[name]
                summed = self.card.delta_from == "command"
                made.joints[name] = start[:1] + np.cumsum(step) if summed else start + step
        for name, step in steps.poses.items():
            start = self.state.poses.get(name, Pose(None, None))
            made.poses[name] = self._reached(name, start, step)
        return made

    def steps(self, targets: Model) -> Model:
        """The inverse of `targets`."""
        made = Model(targets.frames, openings=targets.openings, others=targets.others)
        for name, target in targets.joints.items():
            if name in self.state.joints:
                start = self.state.joints[name]
                if self.card.delta_from == "command":
                    start = np.concatenate([start[:1], target[:-1]])
                made.joints[name] = target - start
        for name, target in targets.poses.items():
            start = self.state.poses.get(name, Pose(None, None))
            if self.card.delta_from == "command":
                start = target.shifted(start)
            step = target.step_from(start, self._frame)
            made.poses[name] = Pose(step.position_m, self._difference(name, target, step))
        return made

    @property
    def _frame(self) -> str:
        return "end_effector" if self.card.action_frame == "end_effector" else "base"

    def _reached(self, arm: str, start: Pose, step: Pose) -> Pose:
        if self.card.rotation_delta != "compose":
            turn = self._added(arm, step)
            moved = Pose(step.position_m, None)
            place = integrate(start, moved, self._frame) if self._summed(step) else start.after(moved, self._frame)
            return Pose(place.position_m, turn)
        if self.card.delta_from == "command" and (step.position_m is not None or step.rotation is not None):
            return integrate(start, step, self._frame)
        return start.after(step, self._frame)

    def _summed(self, step: Pose) -> bool:
        return self.card.delta_from == "command" and step.position_m is not None

    def _added(self, arm: str, step: Pose) -> FloatArray | None:
        """Rotations of the state's numbers plus the step's, where the card says that steps are differences."""
        if self.card.rotation_delta != "difference" or step.rotation is None or arm not in self.numbers:
            return None
        form = self.forms[arm]
        difference = rotations.from_matrix(step.rotation, form)  # type: ignore[arg-type]
        if self.card.delta_from == "command":
            total = self.numbers[arm][:1] + np.cumsum(difference, axis=0)
        else:
            total = self.numbers[arm] + difference
        return rotations.to_matrix(total, form)  # type: ignore[arg-type]

    def _difference(self, arm: str, target: Pose, step: Pose) -> FloatArray | None:
        """The rotation whose numbers are the difference of the target's and the state's; undoes `_added`."""
        if self.card.rotation_delta == "compose":
            return step.rotation
        if self.card.rotation_delta != "difference" or target.rotation is None or arm not in self.numbers:
            return None
        form = self.forms[arm]
        numbers = rotations.from_matrix(target.rotation, form)  # type: ignore[arg-type]
        start = self.numbers[arm]
        if self.card.delta_from == "command":
            start = np.concatenate([start[:1], numbers[:-1]])
        turn = (numbers - start + np.pi) % (2 * np.pi) - np.pi  # the numbers are angles
        return rotations.to_matrix(turn, form)  # type: ignore[arg-type]
