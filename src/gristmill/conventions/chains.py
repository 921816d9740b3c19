"""Which order of a quaternion agrees with the joints of the arm that carries the end effector.

An arm is a chain of rotations about fixed axes, R = exp(s1 q1) ... exp(sn qn) R0 (product of exponentials; Brockett
1984, Lynch and Park, "Modern Robotics", chapter 4). Read in the wrong order, a quaternion is that of the inverse
rotation between other fixed frames, and the inverse of a chain has its joints from the tip to the base. So axes that
explain the rotations exist for the true order only, however base and tool are mounted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gristmill.rotations import axis_angle_of_matrix, matrix_of_axis_angle, matrix_of_quaternion, skew
from gristmill.types import FloatArray

_SAMPLES = 24  # postures that are compared
_STILL_RAD = 0.03  # a joint that moves less says nothing
_ROUNDS = 15
_FITS_RAD = 1e-4  # a misfit than which no better one needs to be sought
_SMALL_RAD = 1e-4


class Misfit(NamedTuple):
    """Root mean square angle in rad between recorded rotations and those of the best chain, by order."""

    xyzw: float
    wxyz: float
    moved: float  # rad, root mean square angle from the first posture


def misfit(quaternion: FloatArray, joints_rad: FloatArray) -> Misfit | None:
    """How well a chain of these joints explains a quaternion in either order.

    Args:
        quaternion: (t, 4) as recorded.
        joints_rad: (t, j) from the base to the tip.

    Returns:
        None when fewer than two joints move, or there is no quaternion.
    """
    length = np.linalg.norm(quaternion, axis=1)
    if len(quaternion) < _SAMPLES or not length.min() > 0.1:
        return None
    joints = joints_rad[:, np.ptp(joints_rad, axis=0) > _STILL_RAD]
    if joints.shape[1] < 2:
        return None
    at = np.linspace(0, len(joints) - 1, _SAMPLES).astype(np.intp)
    # The middle posture is where the axes are described: nearest to all others.
    middle = at[np.argmin(np.sum((joints[at] - joints[at].mean(axis=0)) ** 2, axis=1))]
    bent = joints[at] - joints[middle]
    found = []
    for turned in (quaternion, np.roll(quaternion, -1, axis=1)):
        matrix = matrix_of_quaternion(turned[[*at, middle]].astype(np.float64))
        steps = matrix[:-1] @ matrix[-1].T
        found.append(_fitted(steps, bent))
    moved = float(np.sqrt(np.mean(np.sum(axis_angle_of_matrix(steps) ** 2, axis=1))))
    return Misfit(found[0], found[1], moved)


def _fitted(steps: FloatArray, bent: FloatArray) -> float:
    """Smallest root mean square misfit in rad over unit axes: Levenberg and Marquardt from the linear solution.

    Postures near the middle one come first: there motions nearly add up, and the axes found are near the true ones.
    """
    order = np.argsort(np.linalg.norm(bent, axis=1))
    near = order[: len(order) // 2]
    seen = axis_angle_of_matrix(steps[near])
    axes = _unit(np.linalg.lstsq(bent[near], seen, rcond=1e-2)[0])
    axes, _ = _descended(steps[near], bent[near], axes)
    return _descended(steps, bent, axes)[1]


def _descended(steps: FloatArray, bent: FloatArray, axes: FloatArray) -> tuple[FloatArray, float]:
    """Better axes, and their misfit. Axes move on the sphere: along two directions each."""
    best, damping, tried = np.inf, 1e-3, axes
    kept = gradient = sides = np.empty(0)
    for _ in range(_ROUNDS):
        error, slope = _errors(steps, bent, tried)
        now = float(np.sqrt(np.mean(np.sum(error**2, axis=1))))
        if now < best:
            settled = best - now < 1e-2 * now
            axes, best, damping = tried, now, damping / 5
            if settled or best < _FITS_RAD:
                break
            sides = _sides(axes)  # (j, 3, 2)
            gradient = np.einsum("nkjc,jcs->nkjs", slope, sides).reshape(-1, 2 * len(axes))
            kept = error.reshape(-1)
        else:
            damping *= 10
        normal = gradient.T @ gradient
        normal[np.diag_indices_from(normal)] += damping * np.trace(normal) / len(normal) + 1e-12
        move = np.linalg.solve(normal, gradient.T @ kept).reshape(-1, 2)
        tried = _unit(axes + np.einsum("jcs,js->jc", sides, move))
    return axes, best


def _sides(axes: FloatArray) -> FloatArray:
    """(j, 3, 2) two directions that are perpendicular to each axis (j, 3) and to each other."""
    other = np.eye(3)[np.abs(axes).argmin(axis=1)]
    first = _unit(np.cross(axes, other))
    return np.stack([first, np.cross(axes, first)], axis=-1)


def _errors(steps: FloatArray, bent: FloatArray, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rotation vectors (n, 3) from the chain's steps to the seen ones, and their slopes (n, 3, j, 3) over the axes."""
    vectors = bent[:, :, None] * axes
    each = matrix_of_axis_angle(vectors)
    left = _left_jacobian(vectors) * bent[:, :, None, None]
    slope = np.empty((len(bent), 3, len(axes), 3))
    chain = np.broadcast_to(np.eye(3), (len(bent), 3, 3))
    for j in range(len(axes)):
        slope[:, :, j] = chain @ left[:, j]
        chain = chain @ each[:, j]
    return axis_angle_of_matrix(steps @ np.swapaxes(chain, 1, 2)), slope


def _left_jacobian(vectors: FloatArray) -> FloatArray:
    """(..., 3, 3) of rotation vectors: how a change of the vector turns its rotation (Sola et al. 2018, eq. 145)."""
    angle = np.linalg.norm(vectors, axis=-1)[..., None, None]
    small = angle < _SMALL_RAD
    safe = np.where(small, 1.0, angle)
    first = np.where(small, 0.5, (1 - np.cos(safe)) / safe**2)
    second = np.where(small, 1 / 6, (safe - np.sin(safe)) / safe**3)
    cross = skew(vectors)
    return np.eye(3) + first * cross + second * (cross @ cross)


def _unit(axes: FloatArray) -> FloatArray:
    return axes / np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), 1e-9)
