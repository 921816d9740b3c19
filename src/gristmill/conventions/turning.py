"""How far an end effector turned, against what its joints can have turned it by.

The angle between two orientations is at most the sum of the turns of all joints between them (the triangle
inequality of rotations). Joints whose numbers are taken for a larger unit than they are in break it.
"""

from __future__ import annotations

import numpy as np

from gristmill.types import FloatArray

_SAMPLES = 48
_LEAST_RAD = 0.2  # turns that are large enough to compare
_UNITS = 1.1 * 180 / np.pi  # what degrees for radians explain, give or take a tenth
_SHARE = 0.1  # of the samples, and of their partners, that have to agree


def excess(rotation: FloatArray, joints_rad: FloatArray) -> float:
    """Angle turned over the sum of the joints' turns; at most 1 if the unit is right.

    It is reached by a tenth of the samples, each against a tenth of the others, so that a stale one does not count.
    Nor do pairs that turned further than joints of either unit could have turned them: there, something else moved.

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
    apart = joints_rad[at][:, None] - joints_rad[at][None]
    # A joint that went round once stands where it stood.
    possible = np.abs(apart - 2 * np.pi * np.rint(apart / (2 * np.pi))).sum(axis=2)
    told = (turned > _LEAST_RAD) & (turned <= _UNITS * possible)
    ratio = np.divide(turned, possible, out=np.zeros_like(turned), where=told)
    rank = len(at) - 1 - int(_SHARE * len(at))
    reached = np.partition(np.partition(ratio, rank, axis=1)[:, rank], rank)[rank]
    return float(reached) if reached > 0 else np.nan
