"""Moves cuts to where video packets can be cut without re-encoding; what cannot be moved is marked.

It comes last, before a snapshot is frozen, so that what a snapshot says is what an export writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gristmill.select.trim import Stretch
from gristmill.types import IntArray


@dataclass(frozen=True, slots=True)
class Cuttable:
    """Where one camera of an episode can be cut, in the episode's frames."""

    starts: IntArray  # a copy can begin here
    stops: IntArray  # a copy can end before this frame


@dataclass(frozen=True, slots=True)
class Aligned:
    """A stretch after alignment."""

    stretch: Stretch
    reencode: tuple[str, ...]  # cameras that cannot be cut here
    moved: bool


@dataclass(frozen=True, kw_only=True)
class Align:
    """How far a cut may move. It moves inward only: what was cut out stays out."""

    max_shift_frames: int = 2

    def apply(self, stretch: Stretch, length: int, cameras: Mapping[str, Cuttable]) -> Aligned:
        """Align one stretch of an episode of `length` frames.

        An end of the episode itself is never moved. Of all places within reach, the one that leaves the fewest
        cameras to re-encode is taken, and among those the nearest.
        """
        room = stretch.stop - stretch.start - 1
        reach = min(self.max_shift_frames, room // 2)
        start, stop = stretch
        if start > 0:
            start = self._best(start, +1, reach, [c.starts for c in cameras.values()])
        if stop < length:
            stop = self._best(stop, -1, reach, [c.stops for c in cameras.values()])
        torn = tuple(sorted(k for k, c in cameras.items() if not (np.isin(start, c.starts) and np.isin(stop, c.stops))))
        return Aligned(Stretch(start, stop), torn, (start, stop) != stretch)

    @staticmethod
    def _best(at: int, direction: int, reach: int, allowed: list[IntArray]) -> int:
        places = [at + direction * i for i in range(reach + 1)]
        return min(places, key=lambda p: (sum(p not in a for a in allowed), abs(p - at)))
