"""Faults of the metadata: it names other rows, other counts, other statistics than the data has."""

from __future__ import annotations

import numpy as np

from gristmill.finding import Kind
from gristmill.synth.edit.columns import numbers
from gristmill.synth.edit.draft import Draft
from gristmill.synth.faults.fault import CannotHostError, Fault, Mark
from gristmill.synth.faults.signals import Signals


def wrong_pointer(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """The metadata leads to another episode's rows.

    Where files are shared (v3.0), the bounds in the episodes table are those of an episode some places away; where
    an episode has its own file (v2.x), the rows in that file say that they are that other episode's.
    """
    away = max(1, round(severity))
    others = [i for i in (draft.index - away, draft.index + away) if i in draft.neighbours]
    if not others:
        raise CannotHostError(f"there is no episode {away} places away")
    draft.points_at = int(rng.choice(others))
    return Mark()


def count_lie(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """The metadata promises more frames than there are."""
    draft.length += max(1, round(severity))
    return Mark()


def index_hole(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """The global row numbers skip some in the middle of the episode."""
    if "index" not in draft.rows.column_names:
        raise CannotHostError("the rows carry no index")
    if len(draft) < 4:
        raise CannotHostError(f"the episode has only {len(draft)} rows")
    at = int(rng.integers(2, len(draft) - 1))
    values = numbers(draft.rows, "index")
    values[at:] += max(1, round(severity))
    draft.set("index", values)
    return Mark()


def stale_stats(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """The declared statistics are of other values: extremes and means are off by a share of the range."""
    keys = [k for k in signals.keys if k in draft.declared]
    if not keys:
        raise CannotHostError("the metadata declares no statistics of single episodes")
    key = keys[0]
    span = np.array([s for s, d in zip(signals.span, signals.dims, strict=True) if d.channel == key])
    draft.stats_shift = {key: severity * np.where(span > 0, span, 1.0)}
    return Mark(channel=key)


FAULTS = (
    Fault(
        name="wrong_pointer",
        check="pointers",
        kind=Kind.DEFECT,
        severity=1,
        unit="episodes",
        about="how many places away the rows lie that the metadata leads to",
        plant=wrong_pointer,
    ),
    Fault(
        name="count_lie",
        check="files",
        kind=Kind.DEFECT,
        severity=7,
        unit="frames",
        about="how many frames too many the metadata promises",
        plant=count_lie,
    ),
    Fault(
        name="index_hole",
        check="schema",
        kind=Kind.DEFECT,
        severity=3,
        unit="rows",
        about="how many numbers the index column skips",
        plant=index_hole,
    ),
    Fault(
        name="stale_stats",
        check="stats",
        kind=Kind.DEFECT,
        severity=0.5,
        unit="share of the range",
        about="by how much declared extremes and means are off",
        plant=stale_stats,
    ),
)
