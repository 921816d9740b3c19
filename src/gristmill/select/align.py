"""Moves cuts to where video packets can be cut without re-encoding; what cannot be moved is marked.

It comes last, before a snapshot is frozen, so that what a snapshot says is what an export writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gristmill.episode import Camera
from gristmill.select.trim import Stretch
from gristmill.types import IntArray


@dataclass(frozen=True, slots=True)
class Cuttable:
    """Where one camera of an episode can be cut, in the episode's frames, ascending."""

    starts: IntArray  # a copy can begin here
    stops: IntArray  # a copy can end before this frame


def cuttable(camera: Camera, frames: int) -> Cuttable:
    """Where the camera can be cut; frames that are pictures of their own can be cut anywhere.

    Raises:
        VideoError: the file cannot be read.
    """
    from gristmill.video.camera import VideoCamera  # it loads PyAV

    if not isinstance(camera, VideoCamera):
        return Cuttable(np.arange(frames), np.arange(1, frames + 1))
    first, _ = camera.file_range(0, 1)
    return Cuttable(camera.index.starts - first, camera.index.stops - first)


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
        reach = min(self.max_shift_frames, (stretch.stop - stretch.start - 1) // 2)
        start, stop = stretch
        if start > 0:
            start = _best([start + i for i in range(reach + 1)], [c.starts for c in cameras.values()])
        if stop < length:
            stop = _best([stop - i for i in range(reach + 1)], [c.stops for c in cameras.values()])
        torn = (k for k, c in cameras.items() if start not in c.starts or stop not in c.stops)
        return Aligned(Stretch(start, stop), tuple(sorted(torn)), (start, stop) != stretch)


def _best(places: list[int], allowed: list[IntArray]) -> int:
    """The first of the places at which the fewest cameras are torn."""
    return min(places, key=lambda place: sum(place not in frames for frames in allowed))
