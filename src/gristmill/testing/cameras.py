"""A camera whose frames lie in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gristmill.episode import CameraInfo
from gristmill.types import Luma, Rgb


class ArrayCamera:
    """A camera made of grey frames (t, h, w) uint8; each frame counts as one packet and keyframe."""

    path: Path | None = None

    def __init__(self, luma: np.ndarray, *, key: str = "observation.images.top", rate_hz: float = 30.0) -> None:
        self._luma = np.ascontiguousarray(luma, dtype=np.uint8)
        self.frames, height, width = self._luma.shape
        self.info = CameraInfo(key=key, height=height, width=width, rate_hz=rate_hz)

    def packets(self):
        """One packet a frame, at the declared rate."""
        from gristmill.digest import packets_digest
        from gristmill.video.packets import Packets

        payloads = [frame.tobytes() for frame in self._luma]
        return Packets(
            times_s=np.arange(self.frames) / (self.info.rate_hz or 30.0),
            sizes=np.array([len(p) for p in payloads], np.int32),
            keyframe=np.ones(self.frames, bool),
            digest=packets_digest(payloads),
            hashes=np.array([int(packets_digest([p])[:16], 16) for p in payloads], np.uint64),
        )

    def luma(self, *, chunk: int = 64) -> Iterator[Luma]:
        """The frames in order, at most `chunk` at once."""
        for start in range(0, self.frames, chunk):
            yield self._luma[start : start + chunk]

    def rgb(self, frames: Sequence[int]) -> Rgb:
        """Some frames, grey in all three channels."""
        return np.repeat(self._luma[list(frames)][..., None], 3, axis=3)
