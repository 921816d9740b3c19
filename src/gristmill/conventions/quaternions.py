"""Length and sign of quaternions."""

from __future__ import annotations

import numpy as np

from gristmill.types import FloatArray, IntArray

_SAME = 0.5  # cosine of half the angle between neighbours, above which they are one rotation


def length_error(quaternion: FloatArray) -> float:
    """Median distance of the lengths of quaternions (4, t) from 1; NaN without any."""
    if not quaternion.shape[1]:
        return np.nan
    return float(np.median(np.abs(np.sqrt(np.add.reduce(np.square(quaternion, dtype=np.float64))) - 1)))


def sign_flips(quaternion: FloatArray) -> IntArray:
    """Samples whose quaternion (4, t) is nearly minus the one before: the same rotation with other numbers."""
    squares = np.add.reduce(np.square(quaternion, dtype=np.float64))
    cosine = np.add.reduce(np.multiply(quaternion[:, 1:], quaternion[:, :-1], dtype=np.float64))
    size = np.sqrt(squares[1:] * squares[:-1])
    return np.flatnonzero((cosine < -_SAME * size) & (size > 0)) + 1
