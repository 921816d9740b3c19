"""Inverse kinematics by damped least squares, within joint limits, with what is left over told.

Buss and Kim, "Selectively Damped Least Squares for Inverse Kinematics", Journal of Graphics Tools 10 (3), 2005,
section 2; damping as in Sugihara, "Solvability-Unconcerned Inverse Kinematics by the Levenberg-Marquardt Method",
IEEE Transactions on Robotics 27 (5), 2011: half the squared error plus a constant, so that steps are bold where the
target is near and careful where it cannot be reached.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gristmill import rotations
from gristmill.kinematics.chains import Chain
from gristmill.kinematics.model import RobotModel
from gristmill.types import FloatArray, IntArray

_LEAST_DAMPING = 1e-9
_AT_REST = 1e-10  # change of joints, in rad or m, at which a search ends
_REACHED = 1e-12  # sum of squared, weighted errors at which a pose counts as reached: a micrometre or microradian
_SEED = 20_240_603


class Solved(NamedTuple):
    """Joint positions for k poses, and how far they miss them."""

    positions: FloatArray  # (k, j) within the joints' limits
    missed_m: FloatArray  # (k,) distance that is left
    missed_rad: FloatArray  # (k,) angle that is left
    steps: IntArray  # (k,) steps that were taken


def solve(
    model: RobotModel,
    chain: Chain,
    poses: FloatArray,
    start: FloatArray | None = None,
    *,
    length_m: float = 0.3,
    most_steps: int = 60,
    restarts: int = 12,
) -> Solved:
    """Joint positions that bring the chain's tip to each pose in turn; every search begins where the last one ended.

    Args:
        model: the robot.
        chain: the arm.
        poses: (k, 4, 4) in the frame of the chain's base.
        start: (j,) where to begin; by default the neutral position. Arms with more than one solution stay near it.
        length_m: metres that count as much as a radian (see `dexterity.Usual.length_m`).
        most_steps: steps of one search.
        restarts: searches from other positions, always the same ones, when a pose is not reached from the last one.
    """
    poses = np.asarray(poses, np.float64)
    low, high = model.limits[:, chain.joints]
    now = np.array(model.neutral[chain.joints] if start is None else start, np.float64).clip(low, high)
    weight = np.repeat([1 / length_m, 1.0], 3)
    others = low + (high - low) * np.random.default_rng(_SEED).random((restarts, len(low)))
    out = Solved(
        np.empty((len(poses), len(now))), np.empty(len(poses)), np.empty(len(poses)), np.zeros(len(poses), int)
    )
    for i, target in enumerate(poses):
        best = None
        for begin in (now, *others):
            found = _search(model, chain, target, begin, weight, most_steps)
            out.steps[i] += found.steps
            if best is None or found.size < best.size:
                best = found
            if best.size < _REACHED:
                break
        assert best is not None  # the first search always ends somewhere
        now = best.at
        out.positions[i] = best.at
        out.missed_m[i], out.missed_rad[i] = np.linalg.norm(best.error[:3]), np.linalg.norm(best.error[3:])
    return out


class _Found(NamedTuple):
    at: FloatArray  # (j,)
    error: FloatArray  # (6,) metres and a rotation vector that are left
    size: float  # sum of its squares, weighted
    steps: int


def _search(
    model: RobotModel, chain: Chain, target: FloatArray, at: FloatArray, weight: FloatArray, most_steps: int
) -> _Found:
    """One descent from `at`: steps that do not help are taken back and damped more."""
    low, high = model.limits[:, chain.joints]
    error, jacobian = _offset(model, chain, at, target)
    size, scale = float(np.square(weight * error).sum()), 1.0
    for steps in range(most_steps):
        moved = _step(weight[:, None] * jacobian, weight * error, size, scale, at, low, high)
        tried = (at + moved).clip(low, high)
        if size < _REACHED * 1e-6 or np.abs(tried - at).max() < _AT_REST:
            return _Found(at, error, size, steps)
        further = _offset(model, chain, tried, target)
        left = float(np.square(weight * further[0]).sum())
        if left < size:
            at, (error, jacobian), size, scale = tried, further, left, max(scale / 4, 1e-4)
        else:
            scale *= 8
    return _Found(at, error, size, most_steps)


def _step(
    jacobian: FloatArray,
    error: FloatArray,
    size: float,
    scale: float,
    at: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> FloatArray:
    """One damped step; joints that stand at a limit and would leave it are held, and the others make up for them."""
    damping = scale * (size / 2 + _LEAST_DAMPING)
    free = np.ones(len(at), bool)
    for _ in range(2):
        part = jacobian[:, free]
        step = np.zeros(len(at))
        step[free] = np.linalg.solve(part.T @ part + damping * np.eye(part.shape[1]), part.T @ error)
        stuck = free & (((at <= low) & (step < 0)) | ((at >= high) & (step > 0)))
        if not stuck.any() or stuck.sum() == free.sum():
            return np.where(stuck, 0.0, step)
        free &= ~stuck
    return step


def _offset(model: RobotModel, chain: Chain, at: FloatArray, target: FloatArray) -> tuple[FloatArray, FloatArray]:
    """From where the tip is to where it should be: metres and a rotation vector (6,), and the Jacobian (6, j)."""
    whole = model.configurations(at[None], chain.joints)
    found = model.frames(whole, chain.tip, chain.joints)
    position, rotation = found.position_m[0], found.rotation[0]
    jacobian = model.jacobians_of(found, chain.tip, chain.joints)[0]
    if chain.base is not None:
        root = model.poses(whole, chain.base)[0]
        back = root[:3, :3].T
        position, rotation = back @ (position - root[:3, 3]), back @ rotation
        jacobian = np.concatenate([back @ jacobian[:3], back @ jacobian[3:]])
    turn = rotations.axis_angle_of_matrix(target[:3, :3] @ rotation.T)
    return np.concatenate([target[:3, 3] - position, turn]), jacobian
