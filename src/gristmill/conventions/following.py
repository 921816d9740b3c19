"""How signals agree with others that they follow later, at whichever delay suits them best.

A joint that is shaken twice a second and answers after a quarter of it seems to do the opposite of what it is told.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gristmill.types import FloatArray

REACH_S = 0.8  # by which a robot may follow its commands later, as in the check `lag`
_EVERY_S = 0.05  # delays that are tried


def correlations(state: FloatArray, action: FloatArray, period_s: float, reach_s: float = REACH_S) -> FloatArray:
    """(k, p) correlation of each state (p, t) with its action (p, t), at k delays from 0 to `reach_s`."""
    found = []
    for been, told in _late(state, action, period_s, reach_s):
        power = np.sqrt(np.square(been).sum(axis=1) * np.square(told).sum(axis=1))
        cross = (been * told).sum(axis=1)
        found.append(np.divide(cross, power, out=np.zeros_like(power), where=power > 0))
    return np.array(found)


def distance(state: FloatArray, action: FloatArray, period_s: float) -> float:
    """Least root mean square of action (p, t) minus state (p, t) over that of the state, both around their means.

    Dimensions that move by less than a tenth of the widest are left out, the others count alike.

    Returns:
        0 where the state repeats its action after some delay; infinity where nothing moves.
    """
    span = np.ptp(state, axis=1)
    moves = span > 0.1 * span.max(initial=0.0)
    if not moves.any():
        return np.inf
    state, action = state[moves] / span[moves, None], action[moves] / span[moves, None]
    least = np.inf
    for been, told in _late(state, action, period_s, REACH_S):
        power = float(np.vdot(been, been))
        if power > 0:
            least = min(least, float(np.sqrt(np.square(told - been).sum() / power)))
    return least


def _late(
    state: FloatArray, action: FloatArray, period_s: float, reach_s: float
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """States, and what was commanded a delay before, each around its mean; half of an episode has to remain."""
    frames = state.shape[1]
    last, every = min(round(reach_s / period_s), frames // 2), max(1, round(_EVERY_S / period_s))
    for delay in range(0, last + 1, every):
        been, told = state[:, delay:], action[:, : frames - delay]
        yield been - been.mean(axis=1, keepdims=True), told - told.mean(axis=1, keepdims=True)
