"""States that follow their commands later than elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import Motion, motion_of
from gristmill.runs import runs_of, widened
from gristmill.types import FloatArray, Mask

_LATE = 1.5  # periods from which on an interval is a gap
_DIFFERENCE_S = 0.1  # velocities are taken over this time, so that sensor noise does not drown them


@dataclass(frozen=True, kw_only=True)
class Lag:
    """Does the state follow the commands later (or earlier) than in the rest of the corpus?

    The velocity of each arm joint is correlated with the velocity of its command at every delay from
    `min_delay_s` to `max_delay_s`, over all joints together; the delay with the largest correlation, refined by
    a parabola, is the lag. Actions that are velocities themselves are tried as they are, and the reading that
    fits the corpus better counts. Gaps in time, and stretches in which the whole state repeats bit for bit, are
    left out. Every robot lags a little; an episode that lags otherwise than its corpus was recorded with another
    clock or another buffer, and teaches another delay.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("lag_s", unit="s", about="delay from commanded to reached positions", metric=True),
        Column("match", about="correlation of velocities at that delay, -1 to 1"),
        Column("rate_lag_s", unit="s", about="the same, with the actions read as velocities"),
        Column("rate_match", about="correlation at that delay"),
    )
    fix: ClassVar[str] = "Shift the state by the difference, or drop the episode; record both with one clock."
    source: ClassVar[str] = (
        "Cross-correlation with parabolic peak interpolation, the standard estimate of a time delay (Knapp and "
        "Carter 1976). Lags scatter by 1 to 7 ms between good episodes, simulated or "
        "real; 0.06 s is two frames at 30 Hz."
    )

    min_delay_s: float = measuring(-0.2)
    max_delay_s: float = measuring(0.8)
    sure: float = measuring(0.9)  # correlation from which on actions are positions, and are not tried as velocities
    max_off_s: float = 0.06  # difference from the corpus's median lag
    min_deviations: float = 8.0  # and so many robust standard deviations of the corpus's lags
    min_match: float = 0.3  # correlation below which a lag means nothing
    min_episodes: int = 4

    def measure(self, episode: Episode) -> Measured:
        """Lag and correlation, with actions as positions and as velocities."""
        motion = motion_of(episode)
        pairs = motion.layout.arm_pairs
        if not pairs.count:
            return Measured(unknown="no dimension of the action commands one of the state by name")
        hop = motion.clock.frames(_DIFFERENCE_S)
        first = min(0, round(self.min_delay_s / motion.clock.period_s))
        last = round(self.max_delay_s / motion.clock.period_s)
        if motion.frames - hop < 2 * (last - first) or last <= first:
            return Measured(unknown=f"shorter than {2 * (self.max_delay_s - self.min_delay_s) + _DIFFERENCE_S:g} s")
        state, command = _velocity(motion, pairs.state, hop), _velocity(motion, pairs.action, hop)
        known = None
        if not motion.clock.regular or np.count_nonzero(motion.repeats) >= 2 * hop:
            known = ~_disturbed(motion, 2 * hop, hop)
        period = motion.clock.period_s
        lag, match = _delay(state, command, known, first, last)
        values = {"lag_s": lag * period, "match": match}
        if not match >= self.sure:
            rates = (motion.values[pairs.action] / motion.scale[pairs.action, None])[:, : state.shape[1]]
            lag, match = _delay(state, rates - rates.mean(axis=1)[:, None], known, first, last)
            values |= {"rate_lag_s": lag * period, "rate_match": match}
        return Measured(values)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Lags that differ from the median lag by more than `max_off_s`."""
        match = np.nan_to_num(manifest["match"])
        rate_match = np.nan_to_num(manifest["rate_match"])  # where it was not tried, it is no better
        rates = robust.median(rate_match) > robust.median(match)
        lag = manifest["rate_lag_s" if rates else "lag_s"]
        lag = np.where((rate_match if rates else match) >= self.min_match, lag, np.nan)
        if robust.known(lag) < self.min_episodes:
            return
        usual = float(robust.median(lag))
        limit = max(self.max_off_s, self.min_deviations * float(robust.deviation(lag)))
        for row in np.flatnonzero(np.abs(lag - usual) > limit).tolist():
            later = "later" if lag[row] > usual else "earlier"
            yield finding(
                self,
                Kind.RISK,
                row,
                f"the state of {manifest.where(row)} follows its commands after {lag[row]:.2f} s, "
                f"{abs(lag[row] - usual):.2f} s {later} than in the rest of the corpus (at most {limit:.2f} s "
                "allowed); mixed delays teach a policy to act at the wrong time",
                measured=abs(lag[row] - usual),
                threshold=limit,
                unit="s",
            )


def _disturbed(motion: Motion, shortest: int, hop: int) -> Mask:
    """Velocities that touch a gap in time, a frozen stretch or the jump out of it: they say nothing of the lag."""
    steps = motion.clock.intervals_s > _LATE * motion.clock.period_s
    for start, stop in runs_of(motion.repeats, shortest):
        steps[start : stop + 1] = True
    return widened(steps, hop - 1, 0)[: motion.frames - hop]


def _velocity(motion: Motion, rows: np.ndarray | slice, hop: int) -> FloatArray:
    values = motion.values[rows]
    return (values[:, hop:] - values[:, :-hop]) / motion.scale[rows, None]


def _delay(state: FloatArray, command: FloatArray, known: Mask | None, first: int, last: int) -> tuple[float, float]:
    """Delay in samples within [first, last] at which `state` follows `command` best, and the correlation there.

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
    # What the energies are of depends on the delay only where something is unknown.
    energy = float(np.vdot(padded, padded)) * float(np.vdot(shifted, shifted))
    if not energy > 0:
        return np.nan, np.nan
    scores = np.correlate(padded, shifted, "valid") / np.sqrt(energy)
    if known is not None:
        scores *= _masked(padded, shifted, known, count, first, lags)
    best = int(scores.argmax())
    if not 0 < best < lags:
        return np.nan, np.nan  # the largest correlation lies elsewhere: no delay within bounds
    before, peak, after = (float(score) for score in scores[best - 1 : best + 2])
    bend = before - 2 * peak + after
    return first + best + (0.5 * (before - after) / bend if bend < 0 else 0.0), peak


def _masked(state: FloatArray, command: FloatArray, known: Mask, count: int, first: int, lags: int) -> FloatArray:
    """Factor (lags + 1,) that makes up for pairs which a mask takes away at each delay.

    Masked normalized cross-correlation (Padfield, IEEE Trans. Image Processing 2012): at each delay both
    energies are taken over the pairs that are known on both sides.
    """
    frames = len(known)
    masks = np.zeros((2, count, frames + lags), state.dtype)
    masks[0, :, -first : frames - first] = known
    masks[1, :, :frames] = known
    of_state, of_command = masks.reshape(2, -1)
    of_command = of_command[: len(command)]
    there = np.correlate(np.square(state), of_command, "valid") * np.correlate(of_state, np.square(command), "valid")
    whole = float(np.vdot(state, state)) * float(np.vdot(command, command))
    return np.sqrt(whole / np.maximum(there, 0.01 * whole))
