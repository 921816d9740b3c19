"""Which rows of the action command which rows of the state, by the names on the card, and what they hold."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from gristmill.conventions.claims import claims_of
from gristmill.embodiment import Joint
from gristmill.layout import Layout
from gristmill.motion import Motion
from gristmill.types import FloatArray, IntArray

# Coordinates of rotations: q and -q are one rotation, and angles wrap around together, so none has a sign of its own.
_ROTATION = re.compile(r"quat|orient|rot|roll|pitch|yaw|euler|axis_?angle|(^|[^a-z])[qr][wxyz]$")


@lru_cache(maxsize=64)
def paired_rows(layout: Layout) -> tuple[IntArray, IntArray]:
    """Rows of state and of action of the joints or positions that the action commands, by the card's names."""
    claims = claims_of(layout)
    if claims is None:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    kinds = ("revolute", "prismatic")
    coordinates = {n for arm in claims.card.arms for n in arm.position}
    if claims.card.control_mode in ("eef_position", "eef_pose", "eef_delta"):
        turned = {n for arm in claims.card.arms for role in ("state", "action") for n in arm.rotation_of(role)[0]}
        wanted = coordinates or {j.name for j in claims.card.joints if _is_place(j) and j.name not in turned}
    else:
        wanted = {j.name for j in claims.card.joints if j.kind in kinds}
    where: dict[str, list[int]] = {}
    for row, joint in enumerate(claims.joints):
        if joint is not None and joint.name in wanted:
            where.setdefault(joint.name, []).append(row)
    pairs = [rows for rows in where.values() if len(rows) == 2 and rows[0] < layout.states <= rows[1]]
    return np.array([p[0] for p in pairs], np.intp), np.array([p[1] for p in pairs], np.intp)


def paired_values(motion: Motion) -> tuple[FloatArray, FloatArray]:
    """States and actions (p, t) of `paired_rows`, of angles that wrap around the angle that was turned.

    One may be recorded within -pi and pi and commanded within 0 and 2 pi: then both are brought to the same turn.
    """
    state, action = paired_rows(motion.layout)
    been, told = motion.path[state].astype(np.float64), motion.path[action].astype(np.float64)
    claims = claims_of(motion.layout)
    if motion.path is motion.values or claims is None:
        return been, told  # nothing wraps around
    for i, row in enumerate(state.tolist()):
        joint = claims.joints[row]
        if joint is None or joint.kind != "revolute" or not joint.scale:
            continue
        if not all(np.array_equal(motion.path[r], motion.values[r]) for r in (row, int(action[i]))):
            turn = 2 * np.pi / abs(joint.scale)
            told[i] += turn * np.rint((been[i].mean() - told[i].mean()) / turn)
    return been, told


def _is_place(joint: Joint) -> bool:
    return joint.kind == "other" and joint.unit not in ("rad", "deg") and not _ROTATION.search(joint.name.casefold())
