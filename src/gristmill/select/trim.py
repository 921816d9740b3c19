"""Which frames of an episode stay: idle heads go, tails shrink, long pauses are cut, short ones are left alone.

Nobody loses a whole episode to idleness unless asked: when too little would be left, the episode stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

import numpy as np

from gristmill.finding import Finding
from gristmill.types import TimesS

# Recorded times are float32: after an hour they are off by a hundredth of a frame.
_ROUNDING = 0.02
_GAPS = "timestamps"  # the check whose spans reach from the sample before a gap to the one after
IDLE = "idle"  # the check whose spans are stillness; spans of other checks are cut as they are


class Stretch(NamedTuple):
    """Frames `start` .. `stop` (exclusive) of an episode."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What is left of one episode. `spans` is empty only when everything went, as asked."""

    spans: tuple[Stretch, ...]
    rules: tuple[str, ...]  # "trim.head", "trim.tail", "trim.middle", "trim.<check>", "trim.too_little_left", ...


@dataclass(frozen=True, kw_only=True)
class Trim:
    """How much stillness stays.

    The defaults keep what a policy needs: it must learn to stop, and a demonstrator may think for a moment.
    """

    keep_head_s: float = 0.1  # stillness left before the first motion
    keep_tail_s: float = 0.5  # stillness left after the last motion
    cut_pauses_over_s: float = field(default=5.0, metadata={"min": 0.1})  # shorter pauses are only flagged
    keep_pause_s: float = 0.5  # stillness left on either side of a cut pause
    min_kept_s: float = 1.0  # shorter pieces are not worth an episode
    drop_idle_episodes: bool = False  # whether an episode of which too little is left goes altogether

    def apply(self, findings: Sequence[Finding], length: int, rate_hz: float, times_s: TimesS | None = None) -> Trimmed:
        """What is left of an episode of `length` frames.

        Args:
            findings: those whose rule says "trim"; their spans are in seconds from the episode's start.
            length: frames.
            rate_hz: declared rate.
            times_s: (length,) recorded times, where frame k does not stand at k / rate; spans of cameras count
                their frames at the declared rate all the same.
        """
        cuts: list[Stretch] = []
        rules: list[str] = []
        for finding in findings:
            recorded = None if times_s is None or finding.camera is not None else _ascending(times_s, rate_hz)
            for start_s, end_s in finding.spans_s:
                first, last = (_frame(t, rate_hz, length, recorded) for t in (start_s, end_s))
                if finding.check == _GAPS:
                    first = min(first + 1, last)  # the samples on both sides of a gap are sound
                cut, rule = self._cut(finding, Stretch(first, last), length, rate_hz)
                if cut.stop > cut.start or (finding.check == _GAPS and 0 < cut.start < length):
                    cuts.append(cut)
                    rules.append(rule)
        if not cuts:
            return Trimmed((Stretch(0, length),), ())
        least = max(1, ceil(self.min_kept_s * rate_hz))
        kept = tuple(s for s in _complement(cuts, length) if s.stop - s.start >= least)
        if kept:
            return Trimmed(kept, tuple(dict.fromkeys(rules)))
        if self.drop_idle_episodes or any(f.check != IDLE for f in findings):
            # What was to be cut out for being wrong may not come back because little else is left.
            return Trimmed((), (*dict.fromkeys(rules), "trim.nothing_left"))
        return Trimmed((Stretch(0, length),), ("trim.too_little_left",))

    def _cut(self, finding: Finding, span: Stretch, length: int, rate_hz: float) -> tuple[Stretch, str]:
        """The frames that go because of one span, and the rule that says so."""
        if finding.check != IDLE:
            return span, f"trim.{finding.check}"
        # The check allows a run to begin a little after the start, or to end a little before the end.
        if finding.code == "idle_head" or span.start == 0:
            return Stretch(0, span.stop - round(self.keep_head_s * rate_hz)), "trim.head"
        if finding.code == "idle_tail" or span.stop == length:
            return Stretch(span.start + round(self.keep_tail_s * rate_hz), length), "trim.tail"
        if span.stop - span.start <= self.cut_pauses_over_s * rate_hz:
            return Stretch(span.start, span.start), "trim.middle"
        side = round(self.keep_pause_s * rate_hz)
        return Stretch(span.start + side, span.stop - side), "trim.middle"


def _frame(time_s: float, rate_hz: float, length: int, recorded: TimesS | None) -> int:
    """The first frame at or after a time; frame k stands at k / rate, or where it was recorded."""
    if recorded is not None:
        return min(length, int(np.searchsorted(recorded, time_s - _ROUNDING / rate_hz)))
    return min(length, max(0, ceil(time_s * rate_hz - _ROUNDING)))


def _ascending(times_s: TimesS, rate_hz: float) -> TimesS:
    """Times in which a frame can be looked up: one that runs backwards or is none stands with the one before."""
    usable = np.where(np.isfinite(times_s), times_s, np.arange(len(times_s)) / rate_hz)
    return np.maximum.accumulate(usable)


def _complement(cuts: Sequence[Stretch], length: int) -> list[Stretch]:
    kept, at = [], 0
    for start, stop in sorted(cuts):
        if start > at:
            kept.append(Stretch(at, start))
        at = max(at, stop)
    if at < length:
        kept.append(Stretch(at, length))
    return kept
