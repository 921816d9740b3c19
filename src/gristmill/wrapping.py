"""Angles that are recorded within one turn: where they leave it at one edge and come back at the other.

A heading within +-pi falls by 2 pi when it passes pi, and nothing has moved. What takes differences needs the path
that was turned instead. Only what looks like such a wrap is undone: a jump of almost a whole turn, by a dimension that
stays within one, whose rest goes on as the motion around it does. A joint that jumps by anything else still jumps.

Source: phase unwrapping by Itoh (Applied Optics 21(14), 1982), with the checks above against what is no angle.
"""

from __future__ import annotations

import math

import numpy as np

from gristmill.layout import Layout
from gristmill.types import FloatArray, Signal

RADIANS, DEGREES = 2 * math.pi, 360.0
# Steps below this share of a turn are no wraps, so that no sample may move by more than a tenth of one.
_ALMOST = 0.9
LEAST_STEP = _ALMOST * RADIANS  # the smallest step that may be a wrap, whatever the unit
# What is left of a jump may be so many times as large as the steps next to it and the usual one.
_GOES_ON = 4.0
# A dimension whose usual step is a larger share of a turn is noise, which leaves no jump to tell.
_STEADY = 0.05
_ROUNDING = 1e-5  # of a turn: angles in single precision, and a pi with six digits
_TURNS = {"rad": (RADIANS,), "deg": (DEGREES,), "unknown": (RADIANS, DEGREES)}


def turns_of(values: Signal, steps: Signal, layout: Layout) -> tuple[FloatArray, Signal] | None:
    """The whole turns by which rows wrap, or None where none does.

    Args:
        values: (D, t) finite, in each row's unit.
        steps: (D, t - 1) their differences.
        layout: what the rows are.

    Returns:
        (D,) a full turn in the row's unit, 0 where it does not wrap; and (D, t - 1) turns that each step holds.
    """
    full = np.zeros(len(values))
    counts = np.zeros_like(steps)
    for row in np.flatnonzero(np.maximum.reduce(np.abs(steps), axis=1) >= LEAST_STEP).tolist():
        for turn in _possible(layout, row):
            found = _wraps(values[row].astype(np.float64), turn, known=layout.unit(row) != "")
            if found.any():
                full[row], counts[row] = turn, found
                break
    return (full, counts) if full.any() else None


def nearest(differences: Signal, turn: FloatArray) -> Signal:
    """Differences (r, t) of angles, each by the shorter way round where its row's `turn` (r,) is not 0."""
    whole = np.where(turn > 0, turn, np.inf)[:, None]
    shift = np.where(turn > 0, turn, 0.0)[:, None] * np.rint(differences / whole)
    return (differences - shift).astype(differences.dtype)


def _possible(layout: Layout, row: int) -> tuple[float, ...]:
    """Full turns in the units that this row may have; none for what its card calls no angle."""
    if layout.parts[row] != "arm":
        return ()
    joint = layout.joints[row]
    return _TURNS.get("unknown" if joint is None else joint.unit, ())


def _wraps(values: FloatArray, turn: float, *, known: bool) -> FloatArray:
    """(t - 1,) whole turns in each step of one row, 0 where it does not wrap."""
    steps = np.subtract(values[1:], values[:-1])
    none = np.zeros(len(steps))
    ordered, slack = np.sort(values), _ROUNDING * turn
    low, high = (ordered[1], ordered[-2]) if len(ordered) > 3 else (ordered[0], ordered[-1])  # without a stray sample
    centred = low >= -turn / 2 - slack and high <= turn / 2 + slack
    positive = low >= -slack and high <= turn + slack
    if not (centred or positive or (known and high - low <= turn + slack)):
        return none
    jumps = np.abs(steps) >= _ALMOST * turn
    turns = np.where(jumps, np.rint(steps / turn), 0.0)
    rest = np.abs(steps - turn * turns)
    usual = float(np.median(rest))
    if usual > _STEADY * turn:
        return none
    # A spike is two jumps side by side, which must not vouch for each other.
    calm = np.pad(np.where(jumps, 0.0, rest), 2)
    nearby = np.maximum.reduce([calm[:-4], calm[1:-3], calm[3:-1], calm[4:]], axis=0)
    return np.where(rest <= _GOES_ON * (nearby + usual) + slack, turns, 0.0)
