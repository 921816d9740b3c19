"""By how much the state follows its commands: shared by the checks that ask for it.

Source: cross-correlation with parabolic peak interpolation (Knapp and Carter, "The generalized correlation method for
estimation of time delay", IEEE Transactions on Acoustics, Speech, and Signal Processing, 1976).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gristmill.motion import HELD, Motion
from gristmill.runs import runs_of, widened
from gristmill.types import FloatArray, Mask

_LATE = 1.5  # periods from which on an interval is a gap
_DIFFERENCE_S = 0.1  # velocities are taken over this time, so that sensor noise does not drown them
_LEAST_VARYING = 1e-3  # share of velocities' energy below which they are one speed
_LEAST_ENERGY = 0.01  # share of the whole energies below which what meets at a delay is too little to compare


@dataclass(slots=True, eq=False)  # made for every episode, and a frozen one takes four times as long to make
class CommandLag:
    """The delay at which velocities of the state agree best with those of its commands.

    Attributes:
        lag_s: that delay.
        match: correlation there, 0 to 1, of what velocities vary around their means.
    """

    lag_s: float
    match: float
    _motion: Motion
    _state: FloatArray
    _known: Mask | None
    _bounds: tuple[int, int]

    def of_rates(self) -> tuple[float, float]:
        """Delay and correlation with the commands read as velocities."""
        motion, rows = self._motion, self._motion.layout.arm_pairs.action
        rates = (motion.values[rows] / motion.scale[rows, None])[:, : self._state.shape[1]]
        lag, match = _delay(self._state, rates - rates.mean(axis=1)[:, None], self._known, *self._bounds)
        return lag * motion.clock.period_s, match


def lag_of(motion: Motion, min_delay_s: float, max_delay_s: float) -> CommandLag | str:
    """The lag of an episode between two delays, or why it cannot be told."""
    if motion.held:
        return HELD  # samples that were held are late by themselves
    pairs = motion.layout.arm_pairs
    if not pairs.count:
        return "no dimension of the action commands one of the state by name"
    hop = motion.clock.frames(_DIFFERENCE_S)
    first = min(0, round(min_delay_s / motion.clock.period_s))
    last = round(max_delay_s / motion.clock.period_s)
    if motion.frames - hop < 2 * (last - first) or last <= first:
        return f"shorter than {2 * (max_delay_s - min_delay_s) + _DIFFERENCE_S:g} s"
    state, command = _velocity(motion, pairs.state, hop), _velocity(motion, pairs.action, hop)
    known = None
    if not motion.clock.regular or np.count_nonzero(motion.repeats) >= 2 * hop:
        known = ~_disturbed(motion, 2 * hop, hop)
    lag, match = _delay(state, command, known, first, last)
    return CommandLag(lag * motion.clock.period_s, match, motion, state, known, (first, last))


def _disturbed(motion: Motion, shortest: int, hop: int) -> Mask:
    """Velocities that touch a gap in time, a frozen stretch or the jump out of it: they say nothing of the lag."""
    steps = motion.clock.intervals_s > _LATE * motion.clock.period_s
    for start, stop in runs_of(motion.repeats, shortest):
        steps[start : stop + 1] = True
    return widened(steps, hop - 1, 0)[: motion.frames - hop]


def _velocity(motion: Motion, rows: np.ndarray | slice, hop: int) -> FloatArray:
    values = motion.path[rows]
    return (values[:, hop:] - values[:, :-hop]) / motion.scale[rows, None]


def _delay(state: FloatArray, command: FloatArray, known: Mask | None, first: int, last: int) -> tuple[float, float]:
    """Delay in samples within [first, last] at which `state` follows `command` best, and how well it does there.

    Args:
        state: (p, k) velocities.
        command: (p, k) velocities.
        known: (k,) where both can be trusted; None everywhere.
        first: smallest delay, at most 0.
        last: largest delay.
    """
    lags = last - first
    count, frames = state.shape
    # Rows are laid end to end, so that one correlation serves all joints. The zeros between them are as wide
    # as any delay, so no row meets its neighbour.
    both = np.zeros((2, count, frames + lags), state.dtype)
    both[0, :, -first : frames - first] = state
    both[1, :, :frames] = command
    if known is not None:
        both[0, :, -first : frames - first] *= known
        both[1, :, :frames] *= known
    padded, shifted = both.reshape(2, -1)
    shifted = shifted[: padded.size - lags]
    sums = np.zeros((2, frames + lags + 1))  # of squares, from the left
    np.add.accumulate(np.einsum("ijk,ijk->ik", both, both), axis=1, out=sums[:, 1:])
    least = _LEAST_ENERGY * sums.item(0, -1) * sums.item(1, -1)
    if not least > 0:
        return np.nan, np.nan
    met = _met(sums, frames, first) if known is None else _met_known(padded, shifted, known, count, first, lags)
    np.sqrt(np.maximum(met, least, out=met), out=met)
    scores = np.correlate(padded, shifted, "valid") / met
    best = int(scores.argmax())
    if not 0 < best < lags:
        return np.nan, np.nan  # the largest correlation lies elsewhere: no delay within bounds
    before, peak, after = scores[best - 1 : best + 2].tolist()
    bend = before - 2 * peak + after
    # At one speed every delay agrees; what tells them apart is how far velocities vary around their means.
    means = np.add.reduce(both, axis=2)
    steady = np.einsum("ij,ij->i", means, means) / (frames if known is None else np.count_nonzero(known))
    varies = 1 - max((steady / sums[:, -1]).tolist())
    match = 1 - (1 - peak) / varies if varies > _LEAST_VARYING else 0.0
    return first + best + (0.5 * (before - after) / bend if bend < 0 else 0.0), max(match, 0.0)


def _met(sums: FloatArray, frames: int, first: int) -> FloatArray:
    """(lags + 1,) product of both energies over the pairs that meet at each delay.

    What a delay leaves without a partner counts on neither side. Otherwise motion that does not rest where an episode
    begins and ends would make every delay but 0 look worse than it is.

    Args:
        sums: (2, frames + lags + 1) of squares of states, which begin at sample -first, and of commands.
        frames: samples of either.
        first: smallest delay, at most 0.
    """
    state = sums[0, frames:] - sums[0, : sums.shape[1] - frames]
    ends = frames - first
    command = sums[1, ends : ends - len(state) : -1].copy()
    if first:
        command[:-first] -= sums[1, -first:0:-1]
    return state * command


def _met_known(state: FloatArray, command: FloatArray, known: Mask, count: int, first: int, lags: int) -> FloatArray:
    """(lags + 1,) product of both energies over the pairs that are known on both sides at each delay.

    Masked normalized cross-correlation (Padfield, IEEE Trans. Image Processing 2012).
    """
    frames = len(known)
    masks = np.zeros((2, count, frames + lags), state.dtype)
    masks[0, :, -first : frames - first] = known
    masks[1, :, :frames] = known
    of_state, of_command = masks.reshape(2, -1)
    of_command = of_command[: len(command)]
    by_state = np.correlate(np.square(state), of_command, "valid")
    # Squares of squares may be too small for single precision.
    return by_state.astype(np.float64) * np.correlate(of_state, np.square(command), "valid")
