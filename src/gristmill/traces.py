"""What every camera check reads: one small row of measurements a frame, taken in a single pass over the luma.

The work is done on blocks of frames in NumPy, in memory that is allocated once a camera. Frames above 64 x 64
pixels are thinned out to at least as many. That costs about a tenth of decoding. A compiled kernel would halve
it again, but its import and compilation in every process cost more than that saves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np

from gristmill.episode import Camera
from gristmill.errors import VideoError
from gristmill.types import FloatArray, IntArray, TimesS

VERSION = 2  # raise it when a measurement below changes its value

# Every n-th pixel of every n-th row is measured: n as large as leaves so many pixels, and at most 4.
_LEAST_PIXELS = 64 * 64
_COARSEST = 4
# Frames are measured in blocks of so many pixels, which fit into a processor's second-level cache.
_BLOCK_PIXELS = 1 << 17
_MOST_FRAMES = 64
# Levels that count as dark and bright, of 255.
_DARK, _BRIGHT = 16, 250
_GRID = 8  # blocks a side for `diff_peak`
# Grey levels, percentiles and the hash are taken from about so many pixels of a frame, spread evenly.
_SAMPLED_PIXELS = 2500


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CameraTraces:
    """Per-frame measurements of one camera: t decoded frames, levels 0..255 in full range."""

    times_s: TimesS  # (t,) from the episode's start
    mean: FloatArray  # (t,) grey level
    std: FloatArray  # (t,) of the grey levels: contrast
    p02: FloatArray  # (t,) 2nd percentile of the levels
    p98: FloatArray  # (t,) 98th percentile
    dark: FloatArray  # (t,) share of pixels at 16 or below
    bright: FloatArray  # (t,) share of pixels at 250 or above
    diff: FloatArray  # (t,) mean absolute difference to the frame before; the first is NaN
    diff_peak: FloatArray  # (t,) the same in that block of an 8 x 8 grid where it is largest
    sharp: FloatArray  # (t,) variance of the Laplacian (Pech-Pacheco et al., ICPR 2000)
    phash: IntArray  # (t,) uint64: which of 8 x 9 blocks is brighter than the one to its left
    stride: int = 1  # n: every n-th pixel of every n-th row was measured
    lost: int = 0  # packets that gave no frame

    def __len__(self) -> int:
        return len(self.times_s)


def trace(camera: Camera) -> CameraTraces:
    """Decode a camera's frames once and measure each.

    Damage in the middle of a video leaves the frames before it; of single images, all others. `lost` says how many
    are missing.

    Raises:
        VideoError: the file is missing or cannot be opened.
    """
    packets = camera.packets()
    kernel = _Kernel(len(packets), full_range=packets.full_range)
    taken: list[int] = []
    shape: tuple[int, ...] = ()
    try:
        for number, plane in enumerate(_planes(camera)):
            if plane is None:
                continue
            shape = shape or plane.shape
            if plane.shape == shape and number < len(packets):  # of another size, it compares with no other
                kernel.add(plane)
                taken.append(number)
    except VideoError:
        # The packets were readable, so the frames up to here are real; `lost` reports the others.
        if not len(packets):
            raise
    return kernel.result(packets.times_s[taken])


def _planes(camera: Camera) -> Iterator[np.ndarray | None]:
    """Frames (h, w) one by one, without a copy where the camera can do so."""
    planes = getattr(camera, "planes", None)
    return planes() if planes else (frame for block in camera.luma() for frame in block)


def to_arrays(traces: CameraTraces) -> dict[str, np.ndarray]:
    """The traces as arrays for storage; scalars become arrays of one element."""
    return {f.name: np.atleast_1d(np.asarray(getattr(traces, f.name))) for f in fields(CameraTraces)}


def from_arrays(arrays: Mapping[str, np.ndarray]) -> CameraTraces:
    """The inverse of `to_arrays`."""
    cells: dict[str, Any] = {f.name: np.asarray(arrays[f.name]) for f in fields(CameraTraces)}
    for name in ("stride", "lost"):
        cells[name] = int(cells[name][0])
    return CameraTraces(**cells)


class _Kernel:
    """Collects frames in order and measures them a block at a time."""

    def __init__(self, frames: int, *, full_range: bool) -> None:
        self._rows = np.empty((3, frames), np.float32)
        self._counts = np.zeros((frames, 256), np.int32)
        self._phash = np.zeros(frames, np.uint64)
        self._frames = frames
        self._done = 0
        self._memory: _Memory | None = None
        self._full_range = full_range

    def add(self, plane: np.ndarray) -> None:
        """Take a frame (h, w)."""
        if self._memory is None:
            self._memory = _Memory(*plane.shape)
        if self._done + self._memory.waiting == self._frames:
            return
        self._memory.add(plane)
        if self._memory.full:
            self._measure()

    def _measure(self) -> None:
        memory = self._memory
        if memory is None or not memory.waiting:
            return
        at = slice(self._done, self._done + memory.waiting)
        sample = memory.sample()
        self._counts[at] = level_counts(sample)
        self._rows[:2, at] = memory.differences()
        self._rows[2, at] = memory.laplacian_variance()
        self._phash[at] = difference_hash(sample)
        self._done = at.stop
        memory.next_block()

    def result(self, times_s: TimesS) -> CameraTraces:
        # Times (n,) of the frames that were added.
        self._measure()
        n = self._done
        diff, peak, sharp = self._rows[:, :n]
        diff[:1] = peak[:1] = np.nan  # there is no frame before the first
        # Grey level that each coded level stands for.
        black, white = (0, 255) if self._full_range else (16, 235)
        gain = 255 / (white - black)
        levels = np.clip((np.arange(256) - black) * gain, 0, 255).astype(np.float32)
        counts = self._counts[:n]
        below = np.cumsum(counts, axis=1)
        total = below[:, -1:]
        share = counts.astype(np.float32) / np.maximum(total, 1).astype(np.float32)
        # Not by matrix products: for this little work, threads of the linear algebra library cost more than they do.
        mean, power = (np.einsum("ij,j->i", share, x) for x in (levels, levels**2))
        return CameraTraces(
            times_s=times_s,
            mean=mean,
            std=np.sqrt(np.maximum(power - mean**2, 0)),
            p02=levels[(50 * below < total).sum(axis=1)],
            p98=levels[(50 * below < 49 * total).sum(axis=1)],
            dark=share[:, levels <= _DARK].sum(axis=1),
            bright=share[:, levels >= _BRIGHT].sum(axis=1),
            diff=diff * gain,
            diff_peak=peak * gain,
            sharp=sharp * gain**2,
            phash=self._phash[:n],
            stride=self._memory.stride if self._memory else 1,
            lost=self._frames - n,
        )


class _Memory:
    """A block of frames and one before them, thinned out, with room for intermediate results; all int16."""

    def __init__(self, height: int, width: int) -> None:
        self.stride = min(_COARSEST, max(1, math.isqrt(height * width // _LEAST_PIXELS)))
        height, width = -(-height // self.stride), -(-width // self.stride)
        chunk = min(_MOST_FRAMES, max(1, _BLOCK_PIXELS // max(1, height * width)))
        self._step = max(1, math.ceil(math.sqrt(height * width / _SAMPLED_PIXELS)))
        self._frames = np.zeros((chunk + 1, height, width), np.int16)
        self._change = np.empty((chunk, height, width), np.int16)
        inner = max(0, height - 2) * width
        self._curve = np.empty((2, chunk, inner), np.int16)
        self._square = np.empty((chunk, inner), np.float32)
        self.waiting = 0  # frames not measured yet

    @property
    def full(self) -> bool:
        return self.waiting == len(self._change)

    def add(self, plane: np.ndarray) -> None:
        """Take a frame, thinned out."""
        self.waiting += 1
        self._frames[self.waiting] = plane[:: self.stride, :: self.stride]

    def next_block(self) -> None:
        """Begin anew; the last frame stays in front."""
        self._frames[0] = self._frames[self.waiting]
        self.waiting = 0

    def sample(self) -> np.ndarray:
        """(n, h, w) some pixels of each frame, spread evenly."""
        return np.ascontiguousarray(self._frames[1 : self.waiting + 1, :: self._step, :: self._step])

    def differences(self) -> FloatArray:
        """(2, n): mean absolute difference to the frame before, of the whole frame and of its busiest block."""
        n = self.waiting
        change = self._change[:n]
        np.subtract(self._frames[1 : n + 1], self._frames[:n], out=change)
        np.abs(change, out=change)
        sums, areas = block_sums(change, _GRID, _GRID)
        whole = sums.sum(axis=(1, 2)) / max(1, change[0].size)
        return np.stack([whole, (sums / areas).max(axis=(1, 2))])

    def laplacian_variance(self) -> FloatArray:
        """Variance (n,) of the four-neighbour Laplacian over all pixels that have four neighbours."""
        n, (_, height, width) = self.waiting, self._frames.shape
        if height < 3 or width < 3:
            return np.zeros(n)
        # Rows are laid end to end, so that every step runs along one stretch of memory; what is taken across
        # the end of a row is struck out again.
        flat = self._frames[1 : n + 1].reshape(n, -1)
        curve, middle = self._curve[:, :n]
        np.add(flat[:, : -2 * width], flat[:, 2 * width :], out=curve)
        np.add(curve, flat[:, width - 1 : -width - 1], out=curve)
        np.add(curve, flat[:, width + 1 : flat.shape[1] - width + 1], out=curve)
        np.multiply(flat[:, width:-width], np.int16(4), out=middle)
        np.subtract(curve, middle, out=curve)
        curve.reshape(n, height - 2, width)[:, :, :: width - 1] = 0
        square = self._square[:n]
        square[...] = curve
        count = (height - 2) * (width - 2)
        return np.einsum("ij,ij->i", square, square) / count - (square.sum(axis=1) / count) ** 2


def level_counts(pixels: np.ndarray) -> IntArray:
    """(n, 256) number of pixels of each level in int16 frames (n, h, w)."""
    own = pixels.reshape(len(pixels), -1) + 256 * np.arange(len(pixels))[:, None]
    return np.bincount(own.reshape(-1), minlength=256 * len(pixels)).reshape(-1, 256)


def difference_hash(pixels: np.ndarray) -> IntArray:
    """64-bit hashes (n,) of int16 frames (n, h, w) from 8 x 9 block means; similar frames differ in few bits."""
    if pixels.shape[1] < 8 or pixels.shape[2] < 9:
        return np.zeros(len(pixels), np.uint64)
    sums, areas = block_sums(pixels, 8, 9)
    means = sums / areas
    bits = means[:, :, 1:] > means[:, :, :-1]
    return np.packbits(bits.reshape(len(pixels), 64), axis=1).view(">u8").reshape(-1).astype(np.uint64)


def block_sums(pixels: np.ndarray, rows: int, columns: int) -> tuple[IntArray, IntArray]:
    """Sums (n, rows, columns) over a grid of blocks of int16 frames (n, h, w), and the blocks' sizes in pixels.

    Levels are 0..255. Blocks are of one size, but for the last row and column, which take what is left over.
    Frames smaller than the grid have as many blocks as lines.
    """
    n, height, width = pixels.shape
    rows, columns = min(rows, height), min(columns, width)
    tall, wide = height // rows, width // columns
    # Over rows first, since that runs along whole lines of memory; 128 lines of 255 still fit into 16 bits.
    dtype = np.int16 if height - tall * (rows - 1) <= 128 else np.int32
    bands = np.add.reduce(pixels[:, : tall * rows].reshape(n, rows, tall, width), axis=2, dtype=dtype)
    if height > tall * rows:
        bands[:, -1] += np.add.reduce(pixels[:, tall * rows :], axis=1, dtype=dtype)
    sums = np.add.reduceat(bands, _starts(wide, columns), axis=2, dtype=np.int32)
    heights, widths = np.full(rows, tall), np.full(columns, wide)
    heights[-1], widths[-1] = height - tall * (rows - 1), width - wide * (columns - 1)
    return sums, heights[:, None] * widths


@lru_cache(maxsize=64)
def _starts(size: int, parts: int) -> list[int]:
    return [size * i for i in range(parts)]
