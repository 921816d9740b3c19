"""Statistics of a camera's pixels as LeRobot stores them: (3, 1, 1) arrays in [0, 1].

Frames that are looked at enter a histogram of 256 levels a channel, from which every statistic follows
exactly and which add up over episodes. Which frames are looked at is stated here: all frames that are encoded,
and `SAMPLED` evenly spaced ones of those that are copied, of each every k-th pixel so that at most
`SIDE_PX` remain along the longer side.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import av
import numpy as np
from av.error import FFmpegError

from gristmill.episode import Camera
from gristmill.errors import VideoError
from gristmill.statistics import QUANTILES
from gristmill.types import Rgb

SAMPLED = 32
SIDE_PX = 160
_BATCH = 8  # pictures in memory at once

_LEVELS = np.arange(256) / 255.0
_MOMENTS = ("min", "max", "mean", "std")


class PixelHistogram:
    """How often each level of each channel was seen; `frames` pictures of `counts[c, level]` pixels."""

    def __init__(self) -> None:
        self.counts = np.zeros((3, 256), dtype=np.int64)
        self.frames = 0

    def add(self, frames: Rgb) -> None:
        """Take in pictures (t, h, w, 3), thinned to `SIDE_PX`."""
        step = max(1, -(-max(frames.shape[1:3]) // SIDE_PX))
        for channel in range(3):
            self.counts[channel] += np.bincount(frames[:, ::step, ::step, channel].reshape(-1), minlength=256)
        self.frames += len(frames)

    def merge(self, other: PixelHistogram) -> None:
        """Take in what another histogram saw."""
        self.counts += other.counts
        self.frames += other.frames

    def statistics(self) -> dict[str, np.ndarray]:
        """Minimum, maximum, mean, deviation, quantiles, each (3, 1, 1) in [0, 1]; `count` (1,) is in frames.

        Raises:
            VideoError: nothing was seen.
        """
        if not self.frames:
            raise VideoError("no frame to take statistics of")
        seen = self.counts > 0
        total = self.counts.sum(axis=1)
        mean = self.counts @ _LEVELS / total
        spread = np.einsum("cl,cl->c", self.counts, (_LEVELS[None] - mean[:, None]) ** 2) / total
        found = {
            "min": _LEVELS[seen.argmax(axis=1)],
            "max": _LEVELS[255 - seen[:, ::-1].argmax(axis=1)],
            "mean": mean,
            "std": np.sqrt(spread),
        }
        cumulative = self.counts.cumsum(axis=1)
        for name, share in QUANTILES.items():
            found[name] = np.array([_quantile(c, share) for c in cumulative])
        return {k: v.reshape(3, 1, 1) for k, v in found.items()} | {"count": np.array([self.frames])}


class CameraStatistics:
    """One camera's statistics over a dataset, from histograms and from statistics carried over.

    Moments merge exactly. Quantiles do not: they are given only when every episode came with a histogram.
    """

    def __init__(self) -> None:
        self._histogram = PixelHistogram()
        self._carried: list[Mapping[str, np.ndarray]] = []

    def add(self, part: PixelHistogram | Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Take in one episode; returns its own statistics."""
        if isinstance(part, PixelHistogram):
            self._histogram.merge(part)
            return part.statistics()
        self._carried.append({k: part[k] for k in (*_MOMENTS, "count")})
        return dict(part)

    def finish(self) -> dict[str, np.ndarray] | None:
        """Statistics over all episodes, or None when there were none."""
        if not self._carried:
            return self._histogram.statistics() if self._histogram.frames else None
        parts = list(self._carried)
        if self._histogram.frames:
            parts.append(self._histogram.statistics())
        n = np.array([float(p["count"][0]) for p in parts]).reshape(-1, 1, 1, 1)
        means = np.stack([p["mean"] for p in parts])
        mean = (means * n).sum(axis=0) / n.sum()
        variance = ((np.stack([p["std"] for p in parts]) ** 2 + (means - mean) ** 2) * n).sum(axis=0) / n.sum()
        return {
            "min": np.min([p["min"] for p in parts], axis=0),
            "max": np.max([p["max"] for p in parts], axis=0),
            "mean": mean,
            "std": np.sqrt(variance),
            "count": np.array([int(n.sum())]),
        }


def usable(stats: Mapping[str, np.ndarray] | None) -> dict[str, np.ndarray] | None:
    """Declared statistics of one episode's camera in the written shapes, or None when they make no sense."""
    if not stats or any(k not in stats for k in (*_MOMENTS, "count")):
        return None
    names = [k for k in (*_MOMENTS, *QUANTILES) if k in stats]
    arrays = {k: np.asarray(stats[k], dtype=np.float64) for k in names}
    if any(a.size != 3 or not np.isfinite(a).all() for a in arrays.values()):
        return None
    count = np.asarray(stats["count"], dtype=np.int64).reshape(-1)
    low, high, mean, std = (arrays[k].reshape(3) for k in _MOMENTS)
    sound = (low >= 0).all() and (high <= 1).all() and (low <= mean).all() and (mean <= high).all() and (std >= 0).all()
    if not sound or count.size != 1 or count[0] < 1:
        return None
    return {k: a.reshape(3, 1, 1) for k, a in arrays.items()} | {"count": count}


def sampled(frames: int) -> list[int]:
    """The evenly spaced frames, first and last among them, that stand for an episode of so many frames."""
    return sorted({int(i) for i in np.round(np.linspace(0, frames - 1, min(frames, SAMPLED)))})


def of_camera(camera: Camera, frames: Sequence[int]) -> PixelHistogram:
    """Histogram of the sampled ones among these frames of a camera.

    Raises:
        VideoError: the file does not decode.
    """
    histogram = PixelHistogram()
    wanted = [frames[i] for i in sampled(len(frames))]
    for at in range(0, len(wanted), _BATCH):
        histogram.add(camera.rgb(wanted[at : at + _BATCH]))
    return histogram


def of_images(encoded: Sequence[bytes | None], where: str) -> PixelHistogram:
    """Histogram of encoded images (PNG, JPEG).

    Raises:
        VideoError: one does not decode; the text begins with `where`.
    """
    histogram = PixelHistogram()
    for i, data in enumerate(encoded):
        try:
            with av.open(io.BytesIO(data or b""), mode="r") as container:
                picture = next(container.decode(video=0), None)
        except FFmpegError as error:
            raise VideoError(f"{where}: image {i} does not decode ({error.strerror}); restore or drop it") from error
        if picture is None:
            raise VideoError(f"{where}: image {i} holds no picture; restore or drop it")
        histogram.add(np.asarray(picture.to_ndarray(format="rgb24"), dtype=np.uint8)[None])
    return histogram


def _quantile(cumulative: np.ndarray, share: float) -> float:
    """Linear interpolation between the two order statistics around `share`, as numpy.quantile does."""
    position = share * (int(cumulative[-1]) - 1)
    lower = int(np.floor(position))
    upper = min(lower + 1, int(cumulative[-1]) - 1)
    low, high = (_LEVELS[int(np.searchsorted(cumulative, i, side="right"))] for i in (lower, upper))
    return float(low + (high - low) * (position - lower))
