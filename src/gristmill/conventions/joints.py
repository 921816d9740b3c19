"""Joints in the robot's model, by the card's unit, zero and sign."""

from __future__ import annotations

import numpy as np

from gristmill.conventions.claims import claims_of
from gristmill.motion import Motion
from gristmill.types import FloatArray, IntArray


def joints_rad(motion: Motion, rows: IntArray) -> FloatArray | None:
    """(t, j) joints in rad; None unless the card tells every unit. Zeros that it does not tell are left out."""
    claims = claims_of(motion.layout)
    if claims is None or not len(rows):
        return None
    values = np.empty((motion.frames, len(rows)))
    for column, row in enumerate(rows.tolist()):
        joint = claims.joints[row]
        if joint is None or joint.scale is None or joint.kind != "revolute":
            return None
        values[:, column] = joint.scale * (motion.values[row] - (joint.zero or 0.0))
    return values
