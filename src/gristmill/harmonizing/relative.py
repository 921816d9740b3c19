"""Targets as steps from the state in the frame of the base or of the end effector, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gristmill.harmonizing.model import Model
from gristmill.harmonizing.poses import Pose
from gristmill.types import FloatArray

_TURN_RAD = 2 * np.pi


@dataclass(frozen=True, slots=True, eq=False)
class Relative:
    """How one episode's targets are told.

    Attributes:
        actions: "absolute", or the frame of the steps: "base" or "end_effector".
        continuous: joints that turn without end: their steps go the shorter way round.
        recorded: the recorded targets. Of the positions that are one, those nearest to them come back.
    """

    actions: str
    continuous: frozenset[str]
    recorded: Model

    def steps(self, targets: Model, where: Model) -> Model:
        """Steps that lead from the states `where` to the targets; the targets themselves when they are absolute."""
        if self.actions == "absolute":
            return targets
        made = Model(targets.frames, openings=targets.openings, others=targets.others)
        for name, target in targets.joints.items():
            if name in where.joints:
                step = target - where.joints[name]
                made.joints[name] = _near(step, np.zeros_like(step)) if name in self.continuous else step
        for name, pose in targets.poses.items():
            made.poses[name] = pose.step_from(where.poses.get(name, Pose(None, None)), self.actions)
        return made

    def targets(self, acted: Model, been: Model) -> Model:
        """The inverse of `steps`."""
        if self.actions == "absolute":
            return acted
        made = Model(acted.frames, openings=acted.openings, others=acted.others)
        for name, step in acted.joints.items():
            if name in been.joints:
                made.joints[name] = been.joints[name] + step
                recorded = self.recorded.joints.get(name)
                if name in self.continuous and recorded is not None and recorded.shape == step.shape:
                    made.joints[name] = _near(made.joints[name], np.nan_to_num(recorded))
        for name, step in acted.poses.items():
            made.poses[name] = been.poses.get(name, Pose(None, None)).after(step, self.actions)
        return made


def _near(angles_rad: FloatArray, goal_rad: FloatArray) -> FloatArray:
    """(t,) angles, whole turns away from those given, that lie nearest to the goals (t,)."""
    return angles_rad + _TURN_RAD * np.round((goal_rad - angles_rad) / _TURN_RAD)
