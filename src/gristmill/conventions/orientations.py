"""Recorded orientations of end effectors as rotations, read as the card says."""

from __future__ import annotations

import numpy as np

from gristmill.conventions.claims import ArmRows, Claims
from gristmill.motion import Motion
from gristmill.rotations import to_matrix
from gristmill.types import FloatArray

_ANGLES = ("axis_angle", "euler_rpy")


def orientations(motion: Motion, claims: Claims, arm: ArmRows, order: str | None = None) -> FloatArray | None:
    """(t, 3, 3) rotations by the card's order of quaternions, and by each number's unit, sign and zero.

    Args:
        motion: of the episode.
        claims: of its card.
        arm: whose end effector.
        order: of quaternions, instead of the card's.

    Returns:
        None where nothing is recorded, or the card leaves order or unit open.
    """
    order = order or claims.card.quaternion_order
    if not len(arm.rotation) or (arm.form == "quaternion" and order == "unknown"):
        return None
    values = motion.values[arm.rotation].T.astype(np.float64)
    for column, row in enumerate(arm.rotation.tolist()):
        joint = claims.joints[row]
        if arm.form in _ANGLES:
            if joint is None or joint.unit not in ("rad", "deg") or joint.scale is None or joint.zero is None:
                return None
            values[:, column] = joint.scale * (values[:, column] - joint.zero)
        elif joint is not None:
            values[:, column] *= joint.sign
    return to_matrix(values, arm.form, order)
