"""Rotations in every form that recordings hold them in, vectorized over leading axes: quaternions (..., 4) and so on.

Matrices stand in the middle: `to_matrix` and `from_matrix` lead from and to each form. Quaternions are xyzw unless
said otherwise. Formulas: Shepperd, "Quaternion from rotation matrix", Journal of Guidance and Control 1978; Zhou et
al., "On the Continuity of Rotation Representations in Neural Networks", CVPR 2019 (6D).
"""

from __future__ import annotations

import numpy as np

from gristmill.limbs import ROTATION_WIDTH, RotationForm
from gristmill.types import FloatArray

_SMALL_RAD = 1e-6  # below it, series replace quotients of vanishing numbers
_POLE = 1e-8  # cosine of pitch: taking roll for 0 is wrong by it, and rounding by the smallest number over it


def to_matrix(values: FloatArray, form: RotationForm, order: str = "xyzw") -> FloatArray:
    """(..., 3, 3) matrices of rotations in this form.

    Args:
        values: (..., k) with k as in `ROTATION_WIDTH`.
        form: how they are written.
        order: of a quaternion, "xyzw" or "wxyz".

    Raises:
        ValueError: the form or its width is not known.
    """
    values = np.asarray(values, np.float64)
    if form not in ROTATION_WIDTH or values.shape[-1] != ROTATION_WIDTH[form]:
        raise ValueError(f"{values.shape[-1]} numbers are no rotation as {form!r}")
    if form == "quaternion":
        return matrix_of_quaternion(xyzw(values, order))
    if form == "axis_angle":
        return matrix_of_axis_angle(values)
    if form == "euler_rpy":
        return matrix_of_rpy(values)
    if form == "6d":
        return matrix_of_6d(values)
    return values.reshape(*values.shape[:-1], 3, 3)


def from_matrix(matrix: FloatArray, form: RotationForm, order: str = "xyzw") -> FloatArray:
    """(..., k) rotations in this form; the inverse of `to_matrix`.

    Raises:
        ValueError: the form is not known.
    """
    if form == "quaternion":
        return from_xyzw(quaternion_of_matrix(matrix), order)
    if form == "axis_angle":
        return axis_angle_of_matrix(matrix)
    if form == "euler_rpy":
        return rpy_of_matrix(matrix)
    if form == "6d":
        return sixd_of_matrix(matrix)
    if form == "matrix":
        return matrix.reshape(*matrix.shape[:-2], 9)
    raise ValueError(f"no rotation is written as {form!r}")


def xyzw(quaternion: FloatArray, order: str) -> FloatArray:
    """(..., 4) quaternions in xyzw order."""
    if order == "xyzw":
        return quaternion
    if order == "wxyz":
        return np.roll(quaternion, -1, axis=-1)
    raise ValueError(f"the order of a quaternion is xyzw or wxyz, not {order!r}")


def from_xyzw(quaternion: FloatArray, order: str) -> FloatArray:
    """(..., 4) xyzw quaternions in another order."""
    return np.roll(quaternion, 1, axis=-1) if order == "wxyz" else xyzw(quaternion, order)


def matrix_of_quaternion(quaternion: FloatArray) -> FloatArray:
    """(..., 3, 3) of xyzw quaternions (..., 4), which need not be of unit length; NaN for those of length 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        x, y, z, w = np.moveaxis(quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return _matrix(rows)


def quaternion_of_matrix(matrix: FloatArray) -> FloatArray:
    """(..., 4) xyzw quaternions of unit length, with w >= 0 where it is not tiny."""
    m = matrix
    trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
    diagonal = np.stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2], trace], axis=-1)
    # Four candidates, one for each component that may be the largest (Shepperd); the best conditioned one is taken.
    a, b, c = m[..., 2, 1], m[..., 0, 2], m[..., 1, 0]
    d, e, f = m[..., 1, 2], m[..., 2, 0], m[..., 0, 1]
    xx, yy, zz = 1 + 2 * diagonal[..., 0] - trace, 1 + 2 * diagonal[..., 1] - trace, 1 + 2 * diagonal[..., 2] - trace
    candidates = np.stack(
        [
            np.stack([xx, c + f, b + e, a - d], axis=-1),
            np.stack([c + f, yy, a + d, b - e], axis=-1),
            np.stack([b + e, a + d, zz, c - f], axis=-1),
            np.stack([a - d, b - e, c - f, 1 + trace], axis=-1),
        ],
        axis=-2,
    )
    best = np.nan_to_num(diagonal, nan=-1.0).argmax(axis=-1)
    chosen = np.take_along_axis(candidates, best[..., None, None], axis=-2)[..., 0, :]
    quaternion = chosen / np.linalg.norm(chosen, axis=-1, keepdims=True)
    return np.where(quaternion[..., 3:] < 0, -quaternion, quaternion)


def matrix_of_axis_angle(vector: FloatArray) -> FloatArray:
    """(..., 3, 3) of rotation vectors (..., 3): axis times angle in rad (Rodrigues)."""
    angle = np.linalg.norm(vector, axis=-1)[..., None, None]
    small = angle < _SMALL_RAD
    safe = np.where(small, 1.0, angle)
    sine = np.where(small, 1 - angle**2 / 6, np.sin(safe) / safe)
    cosine = np.where(small, 0.5 - angle**2 / 24, (1 - np.cos(safe)) / safe**2)
    cross = skew(vector)
    return np.eye(3) + sine * cross + cosine * (cross @ cross)


def axis_angle_of_matrix(matrix: FloatArray) -> FloatArray:
    """(..., 3) rotation vectors with angles in [0, pi]."""
    quaternion = quaternion_of_matrix(matrix)
    length = np.linalg.norm(quaternion[..., :3], axis=-1, keepdims=True)
    w = quaternion[..., 3:]
    small = length < _SMALL_RAD
    safe = np.where(small, 1.0, length)
    return quaternion[..., :3] * np.where(small, 2.0, 2 * np.arctan2(length, w) / safe)


def matrix_of_rpy(rpy: FloatArray) -> FloatArray:
    """(..., 3, 3) of roll, pitch and yaw (..., 3) in rad about the fixed x, y and z axes, in that order (URDF's)."""
    (cr, cp, cy), (sr, sp, sy) = np.moveaxis(np.cos(rpy), -1, 0), np.moveaxis(np.sin(rpy), -1, 0)
    rows = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return _matrix(rows)


def rpy_of_matrix(matrix: FloatArray) -> FloatArray:
    """(..., 3) roll, pitch in [-pi/2, pi/2] and yaw; at the poles of pitch, where only their sum counts, roll is 0."""
    m = matrix
    cosine = np.hypot(m[..., 0, 0], m[..., 1, 0])
    pole = cosine < _POLE
    roll = np.where(pole, 0.0, np.arctan2(m[..., 2, 1], m[..., 2, 2]))
    yaw = np.where(pole, np.arctan2(-m[..., 0, 1], m[..., 1, 1]), np.arctan2(m[..., 1, 0], m[..., 0, 0]))
    return np.stack([roll, np.arctan2(-m[..., 2, 0], cosine), yaw], axis=-1)


def matrix_of_6d(values: FloatArray) -> FloatArray:
    """(..., 3, 3) from first and second column (..., 6), made orthonormal by Gram and Schmidt (Zhou et al. 2019)."""
    first, second = values[..., :3], values[..., 3:]
    with np.errstate(invalid="ignore", divide="ignore"):
        x = first / np.linalg.norm(first, axis=-1, keepdims=True)
        y = second - np.sum(x * second, axis=-1, keepdims=True) * x
        y = y / np.linalg.norm(y, axis=-1, keepdims=True)
    return np.stack([x, y, np.cross(x, y)], axis=-1)


def orthonormal(matrix: FloatArray) -> FloatArray:
    """(t, 3, 3) the rotations nearest to matrices (t, 3, 3) (Kabsch, Acta Cryst. A32, 1976); NaN where one is NaN."""
    made = np.full(matrix.shape, np.nan)
    rows = np.flatnonzero(np.isfinite(matrix).all(axis=(-2, -1)))
    left, _, right = np.linalg.svd(matrix[rows])
    left[:, :, 2] *= np.linalg.det(left @ right)[:, None]
    made[rows] = left @ right
    return made


def sixd_of_matrix(matrix: FloatArray) -> FloatArray:
    """(..., 6) first column, then second column."""
    return np.concatenate([matrix[..., :, 0], matrix[..., :, 1]], axis=-1)


def skew(vector: FloatArray) -> FloatArray:
    """(..., 3, 3) matrices that take the cross product with (..., 3) vectors."""
    x, y, z = np.moveaxis(np.asarray(vector, np.float64), -1, 0)
    nothing = np.zeros_like(x)
    return _matrix([[nothing, -z, y], [z, nothing, -x], [-y, x, nothing]])


def inverse(matrix: FloatArray) -> FloatArray:
    """(..., 3, 3) the rotations back."""
    return np.swapaxes(matrix, -1, -2)


def relative(start: FloatArray, end: FloatArray, frame: str = "base") -> FloatArray:
    """(..., 3, 3) rotation that leads from `start` to `end`, seen from the base or from the start itself.

    In the base's frame it is composed from the left (`end = step @ start`), in the end effector's from the right.

    Raises:
        ValueError: the frame is neither "base" nor "end_effector".
    """
    if frame == "base":
        return end @ inverse(start)
    if frame == "end_effector":
        return inverse(start) @ end
    raise ValueError(f"the frame of a step is base or end_effector, not {frame!r}")


def compose(start: FloatArray, step: FloatArray, frame: str = "base") -> FloatArray:
    """(..., 3, 3) where a step leads; undoes `relative`."""
    if frame == "base":
        return step @ start
    if frame == "end_effector":
        return start @ step
    raise ValueError(f"the frame of a step is base or end_effector, not {frame!r}")


def angle(matrix: FloatArray) -> FloatArray:
    """(...,) angle of rotations in rad, in [0, pi]."""
    return np.linalg.norm(axis_angle_of_matrix(matrix), axis=-1)


def continuous(quaternion: FloatArray) -> FloatArray:
    """(t, 4) the same rotations with signs chosen so that each is near the last known one; the first one is kept.

    Rows that are not finite stay as they are and are passed over.
    """
    made = quaternion.copy()
    rows = np.flatnonzero(np.isfinite(quaternion).all(axis=-1))
    known = quaternion[rows]
    turned = np.sum(known[1:] * known[:-1], axis=-1) < 0
    signs = np.where(np.cumsum(np.concatenate([[0], turned])) % 2 == 1, -1.0, 1.0)[: len(rows)]
    made[rows] = known * signs[:, None]
    return made


def nearest_form(matrix: FloatArray, form: RotationForm, near: FloatArray, order: str = "xyzw") -> FloatArray:
    """(..., k) rotations in this form: of all numbers that mean one rotation, those nearest to `near` (..., k).

    A quaternion may be negated, a rotation vector made longer by whole turns, roll, pitch and yaw turned on by whole
    turns and written with pitch beyond the pole; 6D and matrices are unique.

    Raises:
        ValueError: the form is not known.
    """
    plain = from_matrix(matrix, form, order)
    if form == "quaternion":
        return np.where(np.sum(plain * near, axis=-1, keepdims=True) < 0, -plain, plain)
    if form == "axis_angle":
        return _nearest_vector(plain, near)
    if form == "euler_rpy":
        other = np.array([np.pi, np.pi, np.pi]) + plain * [1.0, -1.0, 1.0]
        first, second = (v + 2 * np.pi * np.round((near - v) / (2 * np.pi)) for v in (plain, other))
        nearer = np.sum((second - near) ** 2 - (first - near) ** 2, axis=-1, keepdims=True) < -_SMALL_RAD
        return np.where(nearer, second, first)
    return plain


def _nearest_vector(vector: FloatArray, near: FloatArray) -> FloatArray:
    """Rotation vectors (..., 3), longer by whole turns along their own axis; of no rotation, along that of `near`."""
    angle_rad = np.linalg.norm(vector, axis=-1, keepdims=True)
    length = np.linalg.norm(near, axis=-1, keepdims=True)
    none = angle_rad < 1e-12
    axis = np.where(none, near / np.where(length > 0, length, 1.0), vector / np.where(none, 1.0, angle_rad))
    turns = np.round((np.sum(axis * near, axis=-1, keepdims=True) - angle_rad) / (2 * np.pi))
    return vector + 2 * np.pi * turns * axis


def _matrix(rows: list[list[FloatArray]]) -> FloatArray:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
