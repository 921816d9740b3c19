"""How far an arm is from a singularity: singular values of its Jacobian, manipulability, its usual values.

Translation and rotation have different units, so speeds of the tip are divided by a length before singular values
are taken. The length is the arm's own: the root mean square of its Jacobian's upper half over that of the lower
half, over the ranges of its joints. Then moving and turning weigh alike on average (the idea of the characteristic
length: Angeles, "Fundamentals of Robotic Mechanical Systems", section 5.8), and the values have no unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from gristmill.kinematics.chains import Chain
from gristmill.kinematics.model import RobotModel
from gristmill.types import FloatArray, IntArray

Task = Literal["pose", "position"]

SAMPLES = 4096  # configurations that an arm's usual values are taken from
_SEED = 20_240_601
_NONE = 1e-6  # share of the largest singular value below which a direction cannot be moved in at all


class Singularities(NamedTuple):
    """Of k configurations."""

    smallest: FloatArray  # (k,) smallest singular value of the scaled Jacobian
    manipulability: FloatArray  # (k,) Yoshikawa's measure of the same: the product of its singular values


def task_of(chain: Chain) -> Task:
    """What an arm of so many joints is for: up to three place its tip, more turn it, too."""
    return "pose" if len(chain.joints) > 3 else "position"


def scaled(jacobians: FloatArray, length_m: float, task: Task = "pose") -> FloatArray:
    """(k, 6, j) Jacobians with their upper half divided by a length; for "position" that half alone, (k, 3, j)."""
    upper = jacobians[:, :3] / length_m
    return upper if task == "position" else np.concatenate([upper, jacobians[:, 3:]], axis=1)


def singularities(matrices: FloatArray, rank: int) -> Singularities:
    """Of (k, r, j) scaled Jacobians of which `rank` singular values are not always 0.

    Yoshikawa, "Manipulability of Robotic Mechanisms", The International Journal of Robotics Research 4 (2), 1985.
    """
    values = _singular_values(matrices)[:, :rank]
    return Singularities(values[:, -1], np.prod(values, axis=1))


@dataclass(frozen=True, eq=False, kw_only=True)
class Usual:
    """What is usual of one arm over the ranges of its joints.

    Attributes:
        length_m: by which speeds of the tip are divided.
        task: whether turning counts.
        rank: singular values that are not 0 everywhere.
        smallest: (SAMPLES,) smallest singular values in ascending order.
        manipulability: (SAMPLES,) in ascending order.
    """

    length_m: float
    task: Task
    rank: int
    smallest: FloatArray
    manipulability: FloatArray

    def share_below(self, smallest: FloatArray) -> FloatArray:
        """Share of the arm's configurations whose smallest singular value is below each of these."""
        return np.searchsorted(self.smallest, smallest) / len(self.smallest)

    def of(self, jacobians: FloatArray) -> Singularities:
        """Singular values of this arm's Jacobians (k, 6, j)."""
        return singularities(scaled(jacobians, self.length_m, self.task), self.rank)


def usual(model: RobotModel, chain: Chain, task: Task | None = None) -> Usual:
    """What is usual of an arm: sampled evenly over the ranges of its joints, always the same samples."""
    low, high = model.limits[:, chain.joints]
    rng = np.random.default_rng(_SEED)
    positions = low + (high - low) * rng.random((SAMPLES, len(chain.joints)))
    jacobians = jacobians_of(model, chain, positions)
    chosen = task or task_of(chain)
    moving, turning = np.sqrt(np.mean(np.square(jacobians[:, :3]))), np.sqrt(np.mean(np.square(jacobians[:, 3:])))
    length_m = float(moving / turning) if turning > 0 and moving > 0 else 1.0
    matrices = scaled(jacobians, length_m, chosen)
    values = _singular_values(matrices)
    # A planar arm never leaves its plane; that direction says nothing of singularities.
    largest = values.max(axis=0)
    rank = max(1, int(np.count_nonzero(largest > _NONE * largest[0]))) if largest[0] > 0 else 1
    found = singularities(matrices, rank)
    return Usual(
        length_m=length_m,
        task=chosen,
        rank=rank,
        smallest=np.sort(found.smallest),
        manipulability=np.sort(found.manipulability),
    )


def jacobians_of(model: RobotModel, chain: Chain, positions: FloatArray) -> FloatArray:
    """(k, 6, j) Jacobians of an arm's tip at positions (k, j) of its joints."""
    return model.jacobians(model.configurations(positions, chain.joints), chain.tip, chain.joints)


def yoshikawa(jacobians: FloatArray) -> FloatArray:
    """(k,) manipulability of Jacobians (k, r, j) as they are: sqrt(det(J J^T)), or sqrt(det(J^T J)) if j < r."""
    return np.prod(_singular_values(jacobians), axis=1)


def nearest_singular_joint(matrices: FloatArray, rank: int) -> IntArray:
    """(k,) the joint that moves most when the tip is asked to go where it can hardly go.

    Args:
        matrices: (k, r, j) scaled Jacobians.
        rank: singular values that are not always 0. Those beyond belong to directions in which the arm never moves,
            and to motions of its joints that leave the tip where it is; neither tells of a singularity.
    """
    _, _, turned = np.linalg.svd(matrices, full_matrices=False)
    return np.abs(turned[:, rank - 1]).argmax(axis=1)


def _singular_values(matrices: FloatArray) -> FloatArray:
    if not len(matrices):
        return np.zeros((0, min(matrices.shape[1:])))
    return np.linalg.svd(matrices, compute_uv=False)
