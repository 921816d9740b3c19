"""One topic's times by every clock that a log keeps: when a message was recorded, published, and stamped."""

from __future__ import annotations

import numpy as np

from gristmill.formats.logs.options import ClockName
from gristmill.types import IntArray, TimesS


class MessageTimes:
    """Nanoseconds of n messages, kept as integers until an origin is subtracted.

    Args:
        log_ns: (n,) when they were recorded.
        clock: whose times count.
    """

    def __init__(self, log_ns: IntArray, clock: ClockName) -> None:
        self._clock: ClockName = clock
        self._log_ns = log_ns
        self._publish_ns = log_ns.copy()
        # A stamp of 0 is one that nobody set.
        self._header_ns: IntArray = np.zeros(len(log_ns), np.int64)

    def published(self, rows: IntArray, publish_ns: IntArray) -> None:
        """Note when these messages were published."""
        self._publish_ns[rows] = publish_ns

    def stamped(self, rows: IntArray, header_ns: IntArray | None) -> None:
        """Note what the headers of these messages say, None where their type has none."""
        if header_ns is not None:
            self._header_ns[rows] = header_ns

    @property
    def used_ns(self) -> IntArray:
        """(n,) by the clock that counts; log time where a message has no header."""
        if self._clock == "header":
            return np.where(self._header_ns != 0, self._header_ns, self._log_ns)
        return self._publish_ns if self._clock == "publish" else self._log_ns

    def others_s(self, used_s: TimesS, origin_ns: int) -> dict[str, TimesS]:
        """Name of a clock -> (n,) seconds from the origin, NaN where a message says nothing; the used one first.

        Clocks that say the same as log time, or nothing at all, are left out.

        Args:
            used_s: (n,) times in use; the array itself is given back.
            origin_ns: the episode's start.
        """
        found: dict[str, IntArray] = {"log": self._log_ns}
        if not np.array_equal(self._publish_ns, self._log_ns):
            found["publish"] = self._publish_ns
        if self._header_ns.any():
            found["header"] = self._header_ns
        found.pop(self._clock, None)
        if self._clock == "header" and not self._header_ns.any():
            found.pop("log")  # it is what counts, for want of headers
        clocks = {self._clock: used_s}
        for name, times_ns in found.items():
            clocks[name] = np.where(times_ns != 0, (times_ns - origin_ns) / 1e9, np.nan)
        return clocks if len(clocks) > 1 else {}
