"""What a fault is, and what is known of one that was planted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gristmill.errors import UsageError
from gristmill.finding import Kind
from gristmill.synth.edit.draft import Draft
from gristmill.synth.faults.signals import Signals


class CannotHostError(UsageError):
    """An episode, or the whole corpus, has no place for a fault; the text says why."""


class Mark(NamedTuple):
    """Where a fault lies in an episode. `span_s` is in recorded seconds (a camera's: of video), end exclusive."""

    channel: str | None = None
    camera: str | None = None
    span_s: tuple[float, float] | None = None


# Changes the draft; gets the corpus's signals, a random stream of its own and the severity in the fault's unit.
Plant = Callable[[Draft, Signals, np.random.Generator, float], Mark]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One kind of fault. `severity` is the default, in `unit`; a factor given by the user scales it."""

    name: str
    check: str | None  # the check that has to find it; None where finding it is a matter of selection
    kind: Kind
    severity: float
    unit: str
    about: str  # what severity means, in one phrase
    plant: Plant
    scales: bool = True  # whether there is more and less of it
    adds_episode: bool = False  # the fault is a new episode at the end of the corpus


def frames_of(duration_s: float, rate_hz: float) -> int:
    """Frames that a duration lasts, at least one."""
    return max(1, round(duration_s * rate_hz))


def filmed_span(draft: Draft, first: int, stop: int) -> tuple[float, float]:
    """Time of the frames first..stop in an episode's videos, which run at the declared rate whatever rows say."""
    return first / draft.rate_hz, stop / draft.rate_hz


def span_of(draft: Draft, first: int, stop: int) -> tuple[float, float]:
    """Recorded time of the rows first..stop; the last one lasts one period."""
    times_s = draft.times_s
    return float(times_s[first]), float(times_s[stop - 1] + 1 / draft.rate_hz)
