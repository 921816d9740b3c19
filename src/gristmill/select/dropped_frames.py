"""What happens to an episode in which time steps are missing: tolerated, filled in, or set aside, by severity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gristmill.finding import Finding
from gristmill.kept import Fill
from gristmill.types import TimesS

_CHECK, _CODES = "timestamps", ("time_gap", "dropped_frames")  # the findings that this decision answers

Outcome = Literal["none", "tolerate", "fill", "quarantine"]


def is_gap(finding: Finding) -> bool:
    """Whether a finding says that time steps are missing."""
    return finding.check == _CHECK and finding.code in _CODES


@dataclass(frozen=True, slots=True)
class Handled:
    """The outcome for one stretch, and the edits that carry it out."""

    outcome: Outcome
    missing: int  # steps, in the largest gap
    fills: tuple[Fill, ...] = ()

    @property
    def rule(self) -> str:
        """The rule's name, "" when no step was missing."""
        return "" if self.outcome == "none" else f"dropped_frames.{self.outcome}"


@dataclass(frozen=True, kw_only=True)
class DroppedFrames:
    """How many steps may be missing in one gap.

    A filled step repeats the frame before the gap; the column `is_observed` is false there. Filling invents data,
    so it has to be asked for.
    """

    tolerate_steps: int = 1  # up to so many: the episode stays as it is
    fill_steps: int = 0  # up to so many: filled in; more: quarantined

    def handle(self, times_s: TimesS, rate_hz: float, *, start: int = 0, accused: bool = True) -> Handled:
        """Look at the steps between frames.

        Args:
            times_s: (t,) times of the stretch's frames.
            rate_hz: declared rate.
            start: number of the stretch's first frame in its episode.
            accused: whether the gate set the episode aside for its gaps. Without that no gap condemns it: a check
                found it small enough, or a recipe wants it so.
        """
        steps = np.diff(times_s) * rate_hz
        missing = np.where(np.isfinite(steps), np.rint(steps) - 1, 0).astype(np.int64)
        gaps = np.flatnonzero(missing > 0)
        if not len(gaps):
            return Handled("none", 0)
        largest = int(missing[gaps].max())
        if largest <= self.tolerate_steps or not (accused or largest <= self.fill_steps):
            return Handled("tolerate", largest)
        if largest <= self.fill_steps:
            return Handled("fill", largest, tuple(Fill(start + int(g), int(missing[g])) for g in gaps))
        return Handled("quarantine", largest)
