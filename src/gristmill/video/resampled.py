"""A camera on another timeline: each frame is the recording's nearest one, and frames may repeat or be left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gristmill.digest import packets_digest
from gristmill.episode import Camera, CameraInfo
from gristmill.errors import VideoError
from gristmill.lazy import lazy
from gristmill.timeline import Resample, Timeline, at_rate, camera_rows, camera_times_s
from gristmill.types import IntArray, Luma, Rgb
from gristmill.video.packets import Packets


class ResampledCamera:
    """Implements `gristmill.episode.Camera`. There is no file of its own, so that an export encodes it anew.

    Args:
        source: the recorded camera.
        timeline: of the resampled episode.
        rule: as the timeline was made by.
    """

    path: Path | None = None

    def __init__(self, source: Camera, timeline: Timeline, rule: Resample) -> None:
        self.source = source
        self.info: CameraInfo = at_rate(source.info, timeline.rate_hz)
        self.frames = timeline.frames
        self.timeline = timeline
        self._rule = rule

    @lazy
    def _found(self) -> tuple[IntArray, IntArray]:
        times_s = camera_times_s(self.source)
        if not len(times_s):
            raise VideoError(f"camera {self.info.key} has no frames; leave it out, or restore its file")
        return camera_rows(times_s, self.timeline, self._rule, self.info.key)

    @property
    def rows(self) -> IntArray:
        """(t,) the recorded frame behind each frame; equal neighbours are repeats.

        Raises:
            VideoError: the camera cannot be read.
        """
        return self._found[0]

    @property
    def provenance(self) -> IntArray:
        """(t,) uint8, see `gristmill.timeline.Provenance`; raises as `rows` does."""
        return self._found[1]

    @property
    def repeats(self) -> IntArray:
        """Frames that show what the frame before shows; raises as `rows` does."""
        return np.flatnonzero(np.diff(self.rows) == 0) + 1

    @lazy
    def _packets(self) -> Packets:
        recorded, rows = self.source.packets(), self.rows
        if rows.max(initial=-1) >= len(recorded):
            raise VideoError(
                f"camera {self.info.key} has {len(recorded)} frames where its times promise {int(rows.max()) + 1}; "
                "restore its file"
            )
        content = [recorded.digest.encode(), np.ascontiguousarray(rows, "<i8").tobytes()]
        return Packets(
            times_s=self.timeline.times_s,
            sizes=recorded.sizes[rows],
            keyframe=np.ones(len(rows), bool),
            hashes=recorded.hashes[rows],
            digest=packets_digest(content),
            full_range=recorded.full_range,
        )

    def packets(self) -> Packets:
        """One packet a frame, with size and content of the recorded frame behind it."""
        return self._packets

    def planes(self) -> Iterator[np.ndarray | None]:
        """Grey levels (h, w) frame by frame; None where the recorded frame cannot be decoded."""
        yield from self._frames()

    def luma(self, *, chunk: int = 64) -> Iterator[Luma]:
        """Grey levels in chunks of at most `chunk` frames, in order; the recording is decoded once."""
        waiting: list[Luma] = []
        for frame in self._frames():
            if frame is None:
                if waiting:
                    yield np.stack(waiting)
                raise VideoError(f"camera {self.info.key}: a recorded frame cannot be decoded; restore its file")
            if waiting and (len(waiting) == chunk or frame.shape != waiting[0].shape):
                yield np.stack(waiting)
                waiting = []
            waiting.append(frame)
        if waiting:
            yield np.stack(waiting)

    def rgb(self, frames: Sequence[int]) -> Rgb:
        """These frames in colour (n, h, w, 3); a repeated one is decoded once.

        Raises:
            VideoError: also when there is no such frame.
        """
        wrong = [number for number in frames if not 0 <= number < self.frames]
        if wrong:
            raise VideoError(f"camera {self.info.key} has no frame {wrong[0]}; the episode has {self.frames}")
        rows, place = np.unique(self.rows[list(frames)], return_inverse=True)
        return self.source.rgb(rows.tolist())[place.reshape(-1)]

    def _frames(self) -> Iterator[np.ndarray | None]:
        """Frames (h, w) of the timeline. Its rows never go backwards, so recorded ones pass by once."""
        rows = self.rows.tolist()
        at = number = 0
        planes = getattr(self.source, "planes", None)
        for frame in planes() if planes else (plane for block in self.source.luma() for plane in block):
            while at < len(rows) and rows[at] == number:
                yield frame
                at += 1
            number += 1
            if at == len(rows):
                return
        if at < len(rows):
            raise VideoError(
                f"camera {self.info.key} ends after {number} frames where its times promise {rows[-1] + 1}; "
                "restore its file"
            )
