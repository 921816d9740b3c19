"""Which rows of the action command which rows of the state, by the names on the card."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gristmill.conventions.claims import claims_of
from gristmill.layout import Layout
from gristmill.types import IntArray


@lru_cache(maxsize=64)
def paired_rows(layout: Layout) -> tuple[IntArray, IntArray]:
    """Rows of state and of action of the joints and positions that an arm's action commands, by the card's names."""
    claims = claims_of(layout)
    if claims is None:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    kinds = ("revolute", "prismatic")
    coordinates = {n for arm in claims.card.arms for n in arm.position}
    if claims.card.control_mode in ("eef_position", "eef_pose", "eef_delta"):
        wanted = coordinates or {j.name for j in claims.card.joints if j.kind == "other"}
    else:
        wanted = {j.name for j in claims.card.joints if j.kind in kinds}
    where: dict[str, list[int]] = {}
    for row, joint in enumerate(claims.joints):
        if joint is not None and joint.name in wanted:
            where.setdefault(joint.name, []).append(row)
    pairs = [rows for rows in where.values() if len(rows) == 2 and rows[0] < layout.states <= rows[1]]
    return np.array([p[0] for p in pairs], np.intp), np.array([p[1] for p in pairs], np.intp)
