"""Which joint's sign disagrees with how the end effector turned, by the robot's model.

Angles between orientations do not depend on how base and tool are mounted, so the model's and the recorded ones can be
compared without knowing either. They do depend on every joint's sign, unless the joint is alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gristmill.types import FloatArray

Forward = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

_SAMPLES = 24


class SignMisfit(NamedTuple):
    """Root mean square difference in rad of the angles between postures, recorded against modelled."""

    claimed: float
    flipped: FloatArray  # (j,) with the sign of each joint turned over


def sign_misfit(rotation: FloatArray, joints_rad: FloatArray, forward: Forward) -> SignMisfit | None:
    """Misfit of the model with the claimed signs, and with each of them turned over.

    Args:
        rotation: (t, 3, 3) of the end effector as recorded, in any fixed frames.
        joints_rad: (t, j) in the robot's model, by the claimed signs.
        forward: forward kinematics of these joints: positions (n, 3) and rotations (n, 3, 3).

    Returns:
        None when there are too few samples.
    """
    if len(rotation) < _SAMPLES or not np.isfinite(rotation).all():
        return None
    at = np.linspace(0, len(rotation) - 1, _SAMPLES).astype(np.intp)
    seen, joints = _angles(rotation[at]), joints_rad[at]
    count = joints.shape[1]
    signs = np.ones((count + 1, count))
    signs[np.arange(1, count + 1), np.arange(count)] = -1
    turned = forward((signs[:, None] * joints).reshape(-1, count))[1].reshape(count + 1, _SAMPLES, 3, 3)
    off = np.array([np.sqrt(np.mean(np.square(_angles(one) - seen))) for one in turned])
    return SignMisfit(float(off[0]), off[1:])


def _angles(rotation: FloatArray) -> FloatArray:
    """(n, n) angle between any two orientations: the trace of Ra^T Rb is the sum of products of their elements."""
    flat = rotation.reshape(len(rotation), 9)
    return np.arccos(np.clip((flat @ flat.T - 1) / 2, -1, 1))
