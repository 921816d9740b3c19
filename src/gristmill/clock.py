"""Times of an episode's samples: intervals between neighbours, never across episodes."""

from __future__ import annotations

import numpy as np

from gristmill.lazy import lazy
from gristmill.types import FloatArray, TimesS

_REGULAR = 0.02  # intervals within this share of the period count as equal (float32 times round by far less)
# A median interval outside of these is no sampling: a megahertz, and a sample every twelve days.
_SHORTEST_S, _LONGEST_S = 1e-6, 1e6


class Clock:
    """One series of recorded times.

    Args:
        times_s: (t,) seconds from the episode's start, as recorded.
        rate_hz: declared rate; gives the period where the times themselves do not.
    """

    def __init__(self, times_s: TimesS, rate_hz: float) -> None:
        self.times_s = times_s
        self.rate_hz = rate_hz

    @lazy
    def intervals_s(self) -> FloatArray:
        """(t - 1,) differences of neighbouring times."""
        with np.errstate(invalid="ignore", over="ignore"):  # of times that are infinite
            return np.subtract(self.times_s[1:], self.times_s[:-1])

    @lazy
    def ordered_s(self) -> FloatArray:
        """(t - 1,) intervals in ascending order, NaN last."""
        return np.sort(self.intervals_s)

    @lazy
    def median_s(self) -> float | None:
        """Median of the intervals that go forward, None when none does or it is no time between samples."""
        ordered = self.ordered_s
        if len(ordered) and not (ordered[0] > 0 and ordered[-1] < np.inf):
            ordered = ordered[np.isfinite(ordered) & (ordered > 0)]
        if not len(ordered):
            return None
        median = float(ordered[len(ordered) // 2] + ordered[(len(ordered) - 1) // 2]) / 2
        return median if _SHORTEST_S <= median <= _LONGEST_S else None

    @lazy
    def period_s(self) -> float:
        """Seconds from sample to sample: the median interval, or the declared one."""
        if self.median_s is not None:
            return self.median_s
        return 1 / self.rate_hz if np.isfinite(self.rate_hz) and self.rate_hz > 0 else 1.0

    @lazy
    def regular(self) -> bool:
        """Whether all intervals equal the period within 2 %."""
        ordered = self.ordered_s
        if not len(ordered):
            return True
        slack = _REGULAR * self.period_s
        return bool(ordered[0] >= self.period_s - slack and ordered[-1] <= self.period_s + slack)

    def span_s(self, start: int, stop: int) -> tuple[float, float]:
        """Seconds from sample `start` to the end of sample `stop - 1`, as a finite, ordered pair."""
        last = len(self.times_s) - 1
        if last < 0:
            return 0.0, 0.0
        begin = self._at(min(max(start, 0), last))
        end = self._at(stop) if stop <= last else self._at(last) + self.period_s
        return (begin, end) if begin <= end else (end, begin)

    def _at(self, sample: int) -> float:
        time = float(self.times_s[sample])
        return time if np.isfinite(time) else sample * self.period_s

    def frames(self, seconds: float) -> int:
        """Whole samples in this many seconds, at least one."""
        return max(1, round(seconds / self.period_s))
