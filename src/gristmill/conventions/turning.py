"""How far an end effector turned, against what its joints can have turned it by.

The angle between two orientations is at most the sum of the turns of all joints between them (the triangle
inequality of rotations). Joints whose numbers are taken for a larger unit than they are in break it.
"""

from __future__ import annotations

import numpy as np

from gristmill.types import FloatArray

_SAMPLES = 48
_LEAST_RAD = 0.2  # turns that are large enough to compare


def excess(rotation: FloatArray, joints_rad: FloatArray) -> float:
    """Largest angle turned over the sum of the joints' turns, between any two samples; at most 1 if the unit is right.

    Args:
        rotation: (t, 3, 3) of the end effector, up to constant frames and inversion.
        joints_rad: (t, j) all joints that carry it.

    Returns:
        NaN when the end effector hardly turns.
    """
    if len(rotation) < 2:
        return np.nan
    at = np.linspace(0, len(rotation) - 1, min(_SAMPLES, len(rotation))).astype(np.intp)
    flat = rotation[at].reshape(len(at), 9)
    # The trace of Ra^T Rb is the sum of products of their elements.
    turned = np.arccos(np.clip((flat @ flat.T - 1) / 2, -1, 1))
    possible = np.abs(joints_rad[at][:, None] - joints_rad[at][None]).sum(axis=2)
    large = turned > _LEAST_RAD
    if not large.any():
        return np.nan
    return float((turned[large] / np.maximum(possible[large], 1e-6)).max())
