"""Whether actions are places or steps, and in which frame steps are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gristmill.types import FloatArray

_WINDOW_S = 0.2  # over which steps are added up, so that noise does not drown them
_REACH_S = 0.3  # by which a robot may follow its steps later


class Reading(NamedTuple):
    """How actions agree with states, read as places and read as steps.

    Attributes:
        place: correlation of action and state, -1 to 1, over all dimensions that move.
        distance: root mean square of action minus state over that of the state around its mean.
        step: correlation of added actions with how the state changed, at the best delay.
    """

    place: float
    distance: float
    step: float


def reading(state: FloatArray, action: FloatArray, period_s: float) -> Reading | None:
    """Reads actions (p, t) as places and as steps of states (p, t); None when too little moves."""
    window, reach = max(1, round(_WINDOW_S / period_s)), max(1, round(_REACH_S / period_s))
    if state.shape[1] < 4 * (window + reach):
        return None
    state, action = np.asarray(state, np.float64), np.asarray(action, np.float64)
    state_range = np.ptp(state, axis=1)
    moving = state_range > 0.1 * state_range.max(initial=0.0)
    if not moving.any() or not state_range.max() > 0:
        return None
    scale = state_range[moving, None]
    state, action = state[moving] / scale, action[moving] / scale
    middle = state - state.mean(axis=1, keepdims=True)
    place = _correlation(middle, action - action.mean(axis=1, keepdims=True))
    distance = float(np.sqrt(np.mean(np.square(action - state)) / np.mean(np.square(middle))))
    return Reading(place, distance, _followed(state, action, window, reach))


def frames(
    position: FloatArray, rotation: FloatArray, steps: FloatArray, period_s: float
) -> tuple[float, float] | None:
    """How steps agree with motions, read in the frame of the base and in that of the end effector.

    Args:
        position: (3, t) of the end effector.
        rotation: (t, 3, 3) of the end effector.
        steps: (3, t) commanded.
        period_s: seconds a sample.

    Returns:
        Correlation of added steps with motions in either reading; None when too little moves.
    """
    window, reach = max(1, round(_WINDOW_S / period_s)), max(1, round(_REACH_S / period_s))
    if position.shape[1] < 4 * (window + reach) or not np.ptp(position, axis=1).max() > 0:
        return None
    position, steps = np.asarray(position, np.float64), np.asarray(steps, np.float64)
    if not np.isfinite(rotation).all():
        return None
    turned = np.einsum("tij,jt->it", rotation, steps)
    return _followed(position, steps, window, reach), _followed(position, turned, window, reach)


def _followed(state: FloatArray, steps: FloatArray, window: int, reach: int) -> float:
    """Best correlation, over delays up to `reach`, of steps added over a window with the change of the state."""
    total = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
    added = total[:, window:-1] - total[:, : -window - 1]  # steps t .. t + window - 1
    added = added - added.mean(axis=1, keepdims=True)
    changed = state[:, window:] - state[:, :-window]
    changed = changed - changed.mean(axis=1, keepdims=True)
    count = changed.shape[1]
    return max(_correlation(changed[:, d:], added[:, : count - d]) for d in range(reach + 1))


def _correlation(a: FloatArray, b: FloatArray) -> float:
    power = float(np.vdot(a, a)) * float(np.vdot(b, b))
    return float(np.vdot(a, b)) / np.sqrt(power) if power > 0 else 0.0
