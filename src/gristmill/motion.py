"""How an episode moved: shared work for every low-dimensional check, done once an episode and only when asked for.

All arrays have one row a dimension, the state's rows first, then the action's (`Episode.dims`), contiguous in
time. NumPy only: importing anything heavier would cost more than measuring a small corpus.
"""

from __future__ import annotations

import numpy as np

from gristmill.clock import Clock
from gristmill.episode import Channel, Episode
from gristmill.layout import Layout, layout_of
from gristmill.lazy import lazy
from gristmill.types import FloatArray, IntArray, Mask, Signal
from gristmill.wrapping import LEAST_STEP, nearest, turns_of

VERSION = 2  # raise it when a quantity below changes its value

# Why state and action cannot be compared sample by sample.
HELD = "state and action have clocks of their own; [resample] in the recipe brings them to one timeline"

# Steps within so many units in the last place of the largest value are rounding.
_ROUNDING = {char: 4 * float(np.finfo(char).eps) for char in "fd"}
# No sensor and no command reaches this, nor moves by less than one over it; squares stay finite in float32.
_HUGE = 1e15
# A dimension whose range is below so many mean second differences is noise, and is not scaled up to look like
# motion. White noise of 200 samples spans about 3, a joint that travels between 50 and 1000.
_NOISE_SPAN = 100.0
# Of two peers, the one that moved less counts as if it had moved at least this share of the other's range.
_SHARE_OF_WIDEST = 0.1

# Dimensions that take at most so many values, whole numbers all, are choices and no places. Atari's full set has 18
# actions (Bellemare et al., The Arcade Learning Environment, JAIR 47, 2013); keys and one-hot codes have two.
_CHOICES = 18


def motion_of(episode: Episode) -> Motion:
    """The motion of an episode, kept with it.

    Raises:
        RecordingError: the recording cannot be read.
    """
    motion = episode.derived.get("motion")
    if motion is None:
        motion = episode.derived["motion"] = Motion(episode)
    return motion


class Motion:
    """Quantities of one episode with t samples and D = state + action dimensions.

    Values that are not finite are replaced by a line between their neighbours (see `gaps`), so that one NaN
    disturbs no other measurement. Channels with clocks of their own are brought to the first one's by holding
    the newest sample, as a policy would see them.

    `values` are what was recorded. An angle that is recorded within one turn jumps where it leaves it; `path` and
    everything that is a difference (steps, speed, ...) is taken of the angle that was turned (see `wrapping`).
    """

    def __init__(self, episode: Episode) -> None:
        channels = [c for role in ("state", "action") for c in episode.channels.values() if c.role == role]
        self.layout: Layout = layout_of(channels, episode.embodiment)
        self.clock = Clock(channels[0].times_s if channels else episode.times_s, episode.rate_hz)
        self.values, self.gaps, self._largest = _filled(_stacked(channels, self.clock.times_s))
        # Whether a channel was brought here from another clock: its samples are then up to a period old.
        self.held: bool = any(not _same(c.times_s, self.clock.times_s) for c in channels)
        self.frames: int = self.values.shape[1]  # t

    @lazy
    def sorted(self) -> Signal:
        """(D, t) values in ascending order."""
        return np.sort(self.values, axis=1)

    @lazy
    def low(self) -> FloatArray:
        """(D,) second smallest value: one stray sample does not widen the range."""
        return _column(self.sorted, 1)

    @lazy
    def high(self) -> FloatArray:
        """(D,) second largest value."""
        return _column(self.sorted, self.frames - 2)

    @lazy
    def range(self) -> FloatArray:
        """(D,) `high - low`."""
        return self.high - self.low

    @lazy
    def resolution(self) -> FloatArray:
        """(D,) smallest step that is more than rounding, in the dimension's unit; about 0 where there is none."""
        sizes, ordered = self.sorted_steps, self.sorted
        if not sizes.shape[1]:
            return np.zeros(len(sizes), sizes.dtype)
        real = sizes > _ROUNDING[sizes.dtype.char] * np.maximum(ordered[:, -1:], -ordered[:, :1])
        # Where nothing is more than rounding, this is the smallest rounding error, most often 0.
        return sizes[np.arange(len(sizes)), real.argmax(axis=1)]

    @lazy
    def choices(self) -> Mask:
        """(D,) which dimensions change among a few whole numbers, as keys do: nothing moves between those."""
        ordered = self.sorted
        chosen = np.zeros(len(ordered), bool)
        if not self.frames:
            return chosen
        # Most dimensions are no whole numbers, which their extremes and their middle tell.
        told = ordered[:, [0, self.frames // 2, -1]]
        for row in np.flatnonzero((np.rint(told) == told).all(axis=1)).tolist():
            values = ordered[row, np.append(np.flatnonzero(np.diff(ordered[row])), -1)]
            chosen[row] = 1 < len(values) <= _CHOICES and bool((np.rint(values) == values).all())
        return chosen

    @lazy
    def _wraps(self) -> tuple[FloatArray, Signal] | None:
        """A full turn of each dimension (D,), and the turns that each of its recorded steps holds; None without any."""
        # A step is at most twice the largest value: most episodes end here, and nearly all others at the next line.
        if 2 * self._largest < LEAST_STEP or self.frames < 2:
            return None
        steps = self._recorded_steps
        flat = steps.ravel()
        if np.maximum.reduce(flat) < LEAST_STEP and np.minimum.reduce(flat) > -LEAST_STEP:
            return None
        return turns_of(self.values, steps, self.layout)

    @lazy
    def _recorded_steps(self) -> Signal:
        return np.subtract(self.values[:, 1:], self.values[:, :-1])

    @lazy
    def path(self) -> Signal:
        """(D, t) values, of angles that wrap the angle that was turned since the first sample."""
        if self._wraps is None:
            return self.values
        full, turns = self._wraps
        path = self.values.copy()
        path[:, 1:] -= full[:, None] * np.add.accumulate(turns, axis=1)
        return path

    @lazy
    def steps(self) -> Signal:
        """(D, t - 1) differences of `path` from sample to sample, in the dimension's unit."""
        if self._wraps is None:
            return self._recorded_steps
        full, turns = self._wraps
        return (self._recorded_steps - full[:, None] * turns).astype(self.values.dtype)

    def apart(self, rows: IntArray | slice, others: IntArray | slice) -> Signal:
        """(r, t) values of some rows less those of as many others, of angles that wrap the shorter way round."""
        differences = self.values[rows] - self.values[others]
        if self._wraps is None:
            return differences
        full = self._wraps[0]
        return nearest(differences, np.maximum(full[rows], full[others]))

    @lazy
    def step_sizes(self) -> Signal:
        """(D, t - 1) absolute `steps`."""
        return np.abs(self.steps)

    @lazy
    def sorted_steps(self) -> Signal:
        """(D, t - 1) `step_sizes` in ascending order."""
        return np.sort(self.step_sizes, axis=1)

    @lazy
    def repeats(self) -> Mask:
        """(t - 1,) where the whole state equals the sample before, bit for bit; false without a state."""
        sizes = self.step_sizes[self.layout.state]
        if not len(sizes):
            return np.zeros(sizes.shape[1], bool)
        return np.maximum.reduce(sizes, axis=0) == 0

    @lazy
    def bends(self) -> Signal:
        """(D, t - 2) second differences, in the dimension's unit."""
        return np.subtract(self.steps[:, 1:], self.steps[:, :-1])

    @lazy
    def bend_sizes(self) -> Signal:
        """(D, t - 2) absolute `bends`."""
        return np.abs(self.bends)

    @lazy
    def turns(self) -> Signal:
        """(D, t - 2) product of neighbouring steps: negative where a dimension reverses, in unit squared."""
        return np.multiply(self.steps[:, 1:], self.steps[:, :-1])

    @lazy
    def step_s(self) -> FloatArray | float:
        """Seconds a step took: one number when the clock is regular, else (t - 1,).

        Intervals that are too short, reversed or unknown count as a quarter of the period at least.
        """
        period = self.clock.period_s
        if self.clock.regular:
            return period
        return np.fmax(self.clock.intervals_s, period / 4).astype(self.values.dtype)

    @lazy
    def speed(self) -> Signal:
        """(D, t - 1) velocity, in the dimension's unit per second; a gap in time is no jump."""
        return self.steps / self.step_s

    @lazy
    def acceleration(self) -> Signal:
        """(D, t - 2) in the dimension's unit per second squared."""
        return _rate(self.speed, self.step_s)

    @lazy
    def jerk(self) -> Signal:
        """(D, t - 3) in the dimension's unit per second cubed."""
        step_s = self.step_s
        return _rate(self.acceleration, (step_s[1:] + step_s[:-1]) / 2 if isinstance(step_s, np.ndarray) else step_s)

    @lazy
    def scale(self) -> FloatArray:
        """(D,) what counts as a whole motion of each dimension, in its unit; never 0.

        Its range, with floors: from the noise of its sensor, and from the widest range among its peers (the other
        arm joints, hand joints or grippers), so that the tremble of a joint at rest is not taken for motion.
        """
        if self.frames < 3:
            return np.ones(len(self.values), self.values.dtype)
        noise = np.add.reduce(self.bend_sizes, axis=1) / (self.frames - 2)
        reach = self.range if self._wraps is None else _range(np.sort(self.path, axis=1))
        scale = np.maximum(reach, _NOISE_SPAN * noise)
        np.maximum(scale, _SHARE_OF_WIDEST * self.layout.widest(reach), out=scale)
        scale[scale < 1 / _HUGE] = 1
        return scale

    @lazy
    def weight(self) -> FloatArray:
        """(D,) one over `scale` squared: the factor that makes squares of unlike units comparable."""
        return 1 / np.square(self.scale)

    @lazy
    def activity(self) -> FloatArray:
        """(t - 1,) speed of the whole robot: norm over `layout.moving` of each dimension's scale per second."""
        rows = self.layout.moving
        return np.sqrt(self.weight[rows] @ np.square(self.steps[rows])) / self.step_s


def _column(ordered: Signal, rank: int) -> FloatArray:
    """One rank of sorted values; the middle where there are too few, 0 where there are none."""
    if ordered.shape[1] < 3:
        rank = 0
    return ordered[:, rank] if ordered.shape[1] else np.zeros(len(ordered), ordered.dtype)


def _range(ordered: Signal) -> FloatArray:
    """From the second smallest to the second largest of sorted values."""
    return _column(ordered, ordered.shape[1] - 2) - _column(ordered, 1)


def _rate(values: Signal, step_s: FloatArray | float) -> Signal:
    """Differences of values that stand in the middle of steps, per second."""
    if isinstance(step_s, np.ndarray):
        step_s = (step_s[1:] + step_s[:-1])[: values.shape[1] - 1] / 2
    return (values[:, 1:] - values[:, :-1]) / step_s


def _stacked(channels: list[Channel], times_s: FloatArray) -> Signal:
    """All channels as one (D, t) matrix: float32 if every channel fits into it, else float64."""
    single = all(c.values.dtype == np.float32 for c in channels)
    width = sum(c.values.shape[1] for c in channels)
    matrix = np.empty((width, len(times_s)), np.float32 if single else np.float64)
    at = 0
    for c in channels:
        values = c.values if c.times_s is times_s else _held(c, times_s)
        matrix[at : at + values.shape[1]] = values.T
        at += values.shape[1]
    return matrix


def _held(channel: Channel, times_s: FloatArray) -> np.ndarray:
    """A channel at other times: the newest sample at or before each, the first one before that."""
    if _same(channel.times_s, times_s):
        return channel.values
    if not len(channel.times_s):
        return np.full((len(times_s), channel.values.shape[1]), np.nan)
    newest = np.searchsorted(channel.times_s, times_s, side="right") - 1
    return channel.values[np.clip(newest, 0, len(channel.times_s) - 1)]


def _same(a: FloatArray, b: FloatArray) -> bool:
    return a is b or np.array_equal(a, b)


def _filled(values: Signal) -> tuple[Signal, Mask | None, float]:
    """Values without gaps and beyond measure, where they were not finite (None: nowhere), and the largest size."""
    largest = float(np.maximum.reduce(np.abs(values), axis=None)) if values.size else 0.0
    if largest <= _HUGE:  # false for NaN, too
        return values, None, largest
    gaps = ~np.isfinite(values)
    at = np.arange(values.shape[1])
    for row in np.flatnonzero(gaps.any(axis=1)):
        known = ~gaps[row]
        values[row] = np.interp(at, at[known], values[row, known]) if known.any() else 0
    np.clip(values, -_HUGE, _HUGE, out=values)
    return values, gaps if gaps.any() else None, float(np.abs(values).max())
