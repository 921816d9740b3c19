"""Signals as paths: at most one pair of lowest and highest value a pixel column, so that no peak is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gristmill.types import FloatArray

COLUMNS = 600  # of a timeline; each is at least as wide as a pixel on most screens
WIDE = 1200  # inner coordinates are whole numbers, twice as fine as the columns
HIGH = 200
ABSURD = 1e100  # a value beyond this is no measurement, and differences of such values overflow
GAP = 3.0  # a line is interrupted where the step in time is this many times the usual one


class Frame(NamedTuple):
    """What a plot shows: seconds across, the signal's unit upwards."""

    start_s: float
    end_s: float
    low: float
    high: float

    def x(self, times_s: FloatArray) -> FloatArray:
        """Inner coordinate of these times."""
        return (np.asarray(times_s) - self.start_s) / (self.end_s - self.start_s) * WIDE

    def y(self, values: FloatArray) -> FloatArray:
        """Inner coordinate of these values; larger values are higher up."""
        return (self.high - np.asarray(values)) / (self.high - self.low) * HIGH


def drawable(values: np.ndarray) -> FloatArray:
    """As float64, with NaN for what is not finite or absurd."""
    values = np.asarray(values).astype(np.float64)
    return np.where(np.abs(values) < ABSURD, values, np.nan)


def limits(*signals: FloatArray) -> tuple[float, float] | None:
    """Lowest and highest finite value, with room around; None when nothing is finite."""
    finite = [s[np.isfinite(s)] for s in signals]
    known = np.concatenate(finite) if finite else np.empty(0)
    if not len(known):
        return None
    low, high = float(known.min()), float(known.max())
    # A constant is drawn as a line in the middle, whatever its size.
    room = (high - low) * 0.06 or max(abs(high) * 0.05, 1e-6)
    return low - room, high + room


def path(times_s: FloatArray, values: FloatArray, frame: Frame) -> str:
    """SVG path of one signal (t,): a line, or a closed band of lowest and highest values when it is long.

    Values that are not finite and steps in time over `GAP` times the median interrupt it.
    """
    times_s = np.asarray(times_s, dtype=np.float64)
    values = np.asarray(values, dtype=np.float64)
    fine = np.isfinite(values) & np.isfinite(times_s)
    parts = []
    long = len(values) > 1.5 * COLUMNS
    for start, stop in _pieces(times_s, fine):
        x = np.clip(frame.x(times_s[start:stop]), -WIDE, 2 * WIDE)
        y = np.clip(frame.y(values[start:stop]), -HIGH, 2 * HIGH)
        parts.append(_band(x, y) if long else _line(np.rint(x), np.rint(y)))
    return "".join(parts)


def _columns(column: np.ndarray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    if not len(column):
        return np.empty(0), np.empty(0), np.empty(0)
    order = np.argsort(column, kind="stable")
    column, y = column[order], y[order]
    first = np.flatnonzero(np.diff(column, prepend=column[0] - 1))
    return column[first], np.minimum.reduceat(y, first), np.maximum.reduceat(y, first)


def _pieces(times_s: FloatArray, fine: np.ndarray) -> Iterator[tuple[int, int]]:
    """Stretches of finite samples without a gap in time."""
    if not fine.any():
        return
    step = np.diff(np.where(np.isfinite(times_s), times_s, np.nan))
    usual = float(np.median(step[np.isfinite(step)])) if np.isfinite(step).any() else 0.0
    broken = ~(fine[1:] & fine[:-1])
    if usual > 0:
        broken |= np.nan_to_num(step, nan=np.inf) > GAP * usual
    edges = np.concatenate(([0], np.flatnonzero(broken) + 1, [len(fine)]))
    for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if fine[start]:
            yield start, stop


def _line(x: FloatArray, y: FloatArray) -> str:
    steps = np.stack((np.diff(x), np.diff(y)), axis=1).astype(np.int64)
    if not len(steps):  # a lone sample: a short dash, so that it can be seen
        return f"M{int(x[0]) - 1} {int(y[0])}h2"
    text = "".join(f"{dx}{dy}" if dy < 0 else f"{dx} {dy}" for dx, dy in _joined(steps))
    return f"M{int(x[0])} {int(y[0])}l{text}"


def _joined(steps: np.ndarray) -> Iterator[tuple[str, int]]:
    """Steps as text pieces; a space only where a sign does not separate already."""
    first = True
    for dx, dy in steps.tolist():
        yield (str(dx) if first or dx < 0 else f" {dx}"), dy
        first = False


def _band(x: FloatArray, y: FloatArray) -> str:
    column, top, bottom = _columns(np.clip((x / WIDE * COLUMNS).astype(np.int64), 0, COLUMNS - 1), y)
    # Neighbouring columns must touch, else a steep slope falls apart into dashes.
    top[1:], bottom[1:] = np.minimum(top[1:], bottom[:-1]), np.maximum(bottom[1:], top[:-1])
    across = np.rint((column + 0.5) * WIDE / COLUMNS)
    there_x, there_y = np.concatenate((across, across[::-1])), np.rint(np.concatenate((top, bottom[::-1])))
    return _line(there_x, there_y) + "z"
