"""From single events to findings: one finding an episode and channel, with all its spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gristmill.finding import Event, Span
from gristmill.manifest import Events
from gristmill.types import FloatArray, Mask

MOST = 32  # events that one check keeps of one episode; the strongest ones
_SHOWN = 3  # spans written out in a message


class Group(NamedTuple):
    """Events of one episode and channel, in order of time."""

    row: int
    channel: str | None
    spans_s: tuple[Span, ...]
    strengths: FloatArray
    details: tuple[str, ...]

    @property
    def strongest(self) -> float:
        """Largest strength."""
        return float(self.strengths.max())

    @property
    def total_s(self) -> float:
        """Seconds of all spans together."""
        return sum(b - a for a, b in self.spans_s)

    @property
    def when(self) -> str:
        """The spans in words."""
        return when(self.spans_s)


def by_channel(events: Events, keep: Mask | None = None) -> Iterator[Group]:
    """The events that `keep` (m,) selects, grouped by episode and channel, in order of the episodes."""
    chosen = range(len(events)) if keep is None else np.flatnonzero(keep).tolist()
    groups: dict[tuple[int, str | None], list[int]] = {}
    for i in chosen:
        groups.setdefault((int(events.row[i]), events.channel[i]), []).append(i)
    for (row, channel), members in groups.items():
        members.sort(key=lambda i: events.start_s[i])
        yield Group(
            row,
            channel,
            tuple(Span(float(events.start_s[i]), float(events.end_s[i])) for i in members),
            np.array([events.strength[i] for i in members], np.float64),
            tuple(events.detail[i] for i in members),
        )


def strongest(events: Sequence[Event], most: int = MOST) -> Sequence[Event]:
    """At most `most` events, the strongest, in their order: hostile data must not fill the store."""
    if len(events) <= most:
        return events
    kept = set(sorted(range(len(events)), key=lambda i: -events[i].strength)[:most])
    return [e for i, e in enumerate(events) if i in kept]


def when(spans_s: Sequence[tuple[float, float]]) -> str:
    """Spans in words: `at 3.20 s`, `from 3.20 to 4.23 s and 2 more times`."""
    shown = [f"{a:.2f} s" if b - a < 0.15 else f"{a:.2f} to {b:.2f} s" for a, b in spans_s[:_SHOWN]]
    words = ("from " if spans_s[0][1] - spans_s[0][0] >= 0.15 else "at ") + ", ".join(shown)
    rest = len(spans_s) - len(shown)
    return words + (f" and {rest} more time{'s' if rest > 1 else ''}" if rest else "")


def listed(names: Iterable[str], most: int = 6) -> str:
    """Names with commas, cut after `most` with the number left out."""
    names = list(names)
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
