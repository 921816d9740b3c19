"""What every camera check reads: one small row of measurements a frame, taken in a single pass over the luma.

The work is done on blocks of frames in NumPy, in memory that is allocated once a camera. Large frames are
measured on every second pixel of every second row. That costs about a tenth of decoding. A compiled kernel
would halve it again, but its import and compilation in every process cost more than that saves.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np

from gristmill.episode import Camera
from gristmill.errors import VideoError
from gristmill.types import FloatArray, IntArray, Luma, TimesS

VERSION = 1  # raise it when a measurement below changes its value

# Frames of more pixels are measured at half resolution. 64 to 160 pixel frames have no detail to spare.
_FULL_RESOLUTION_PIXELS = 160 * 160
# A block of frames should stay in the processor's second-level cache.
_BLOCK_BYTES = 1 << 20
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
    sharp: FloatArray  # (t,) variance of the Laplacian (Pech-Pacheco et al., ICPR 2000) on evenly spread rows
    phash: IntArray  # (t,) uint64: which of 8 x 9 blocks is brighter than the one to its left
    stride: int = 1  # 2 when measured at half resolution
    lost: int = 0  # packets that gave no frame

    def __len__(self) -> int:
        return len(self.times_s)


def trace(camera: Camera) -> CameraTraces:
    """Decode a camera's frames once and measure each.

    Damage in the middle of a file leaves the frames before it; `lost` says how many are missing.

    Raises:
        VideoError: the file is missing or cannot be opened.
    """
    packets = camera.packets()
    pixels = (camera.info.height or 480) * (camera.info.width or 640)
    chunk = max(1, min(64, _BLOCK_BYTES // max(1, pixels)))
    kernel = _Kernel(len(packets), chunk, full_range=packets.full_range)
    try:
        for block in camera.luma(chunk=chunk):
            kernel.add(block)
    except VideoError:
        # The packets were readable, so the frames up to here are real; `lost` reports the others.
        if not len(packets):
            raise
    return kernel.result(packets.times_s)


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
    """Measures blocks of frames in order; keeps the last frame for the next block's first difference."""

    def __init__(self, frames: int, chunk: int, *, full_range: bool) -> None:
        self._rows = np.empty((3, frames), np.float32)
        self._counts = np.zeros((frames, 256), np.int32)
        self._phash = np.zeros(frames, np.uint64)
        self._frames = frames
        self._chunk = chunk
        self._done = 0
        self._memory: _Memory | None = None
        self._full_range = full_range

    def add(self, luma: Luma) -> None:
        """Measure a block (n, h, w), n at most `chunk`."""
        luma = luma[: self._frames - self._done]
        if self._memory is None:
            self._memory = _Memory(self._chunk, luma.shape[1], luma.shape[2])
        memory, n = self._memory, len(luma)
        at = slice(self._done, self._done + n)
        pixels = memory.load(luma)
        step = memory.sampling
        sample = np.ascontiguousarray(pixels[:, ::step, ::step])
        for frame, counts in zip(sample, self._counts[at], strict=True):
            counts[:] = np.bincount(frame.reshape(-1), minlength=256)
        self._rows[:2, at] = memory.differences(n)
        self._rows[2, at] = memory.laplacian_variance(n)
        self._phash[at] = difference_hash(sample)
        self._done += n

    def result(self, times_s: TimesS) -> CameraTraces:
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
        mean = share @ levels
        return CameraTraces(
            times_s=times_s[:n],
            mean=mean,
            std=np.sqrt(np.maximum(share @ levels**2 - mean**2, 0)),
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
    """The block of frames at work, one frame before it and room for intermediate results, all int16 (n, h, w)."""

    def __init__(self, chunk: int, height: int, width: int) -> None:
        self.stride = 2 if height * width > _FULL_RESOLUTION_PIXELS else 1
        if self.stride == 2:
            height, width = (height + 1) // 2, width // 2
        self.sampling = max(1, math.ceil(math.sqrt(height * width / _SAMPLED_PIXELS)))
        self._frames = np.zeros((chunk + 1, height, width), np.int16)
        self._change = np.empty((chunk, len(range(0, height, self.stride)), width), np.int16)
        rows = len(range(0, height - 2, 2 * self.stride))
        self._curve = np.empty((2, chunk, rows, max(0, width - 2)), np.int16)
        self._square = np.empty(self._curve.shape[1:], np.float32)
        self._used = 0

    def load(self, luma: Luma) -> np.ndarray:
        """The block as int16 (n, h, w), at half resolution if the frames are large; the frame before it is kept."""
        self._frames[0] = self._frames[self._used]
        self._used = len(luma)
        block = self._frames[1 : 1 + len(luma)]
        if self.stride == 1:
            block[...] = luma
            return block
        # Pairs of pixels are masked as one number: many times faster than picking every second byte.
        pairs = luma[:, ::2, : luma.shape[2] // 2 * 2].view("<u2")
        np.bitwise_and(pairs, 0xFF, out=block.view(np.uint16))
        return block

    def differences(self, n: int) -> FloatArray:
        """(2, n): mean absolute difference to the frame before, of the whole frame and of its busiest block."""
        change = self._change[:n]
        step = self.stride
        np.subtract(self._frames[1 : n + 1, ::step], self._frames[:n, ::step], out=change)
        np.abs(change, out=change)
        sums, areas = block_sums(change, _GRID, _GRID)
        whole = sums.sum(axis=(1, 2)) / max(1, change[0].size)
        return np.stack([whole, (sums / areas).max(axis=(1, 2))])

    def laplacian_variance(self, n: int) -> FloatArray:
        """Variance (n,) of the four-neighbour Laplacian on evenly spread rows."""
        curve, middle = self._curve[:, :n]
        if not curve.size:
            return np.zeros(n)
        frames, step = self._frames[1 : n + 1], 2 * self.stride
        above, centre, under = frames[:, :-2:step], frames[:, 1:-1:step], frames[:, 2::step]
        np.add(above[:, :, 1:-1], under[:, :, 1:-1], out=curve)
        np.add(curve, centre[:, :, :-2], out=curve)
        np.add(curve, centre[:, :, 2:], out=curve)
        np.multiply(centre[:, :, 1:-1], np.int16(4), out=middle)
        np.subtract(curve, middle, out=curve)
        square = self._square[:n]
        square[...] = curve
        square = square.reshape(n, -1)
        return np.einsum("ij,ij->i", square, square) / square.shape[1] - square.mean(axis=1) ** 2


def difference_hash(pixels: np.ndarray) -> IntArray:
    """64-bit hashes (n,) of int16 frames (n, h, w) from 8 x 9 block means; similar frames differ in few bits."""
    sums, areas = block_sums(pixels, 8, 9)
    means = sums / areas
    bits = means[:, :, 1:] > means[:, :, :-1]
    return np.packbits(bits.reshape(len(pixels), 64), axis=1).view(">u8").reshape(-1).astype(np.uint64)


def block_sums(pixels: np.ndarray, rows: int, columns: int) -> tuple[IntArray, IntArray]:
    """Sums (n, rows, columns) over a grid of blocks of int16 frames (n, h, w), and the blocks' sizes in pixels.

    Levels are 0..255. Frames smaller than the grid use some of their lines in several blocks.
    """
    at_y, at_x = _edges(pixels.shape[1], rows), _edges(pixels.shape[2], columns)
    tallest = max(b - a for a, b in at_y)
    # Over rows first, since that runs along whole lines of memory; 128 lines of 255 still fit into 16 bits.
    bands = np.empty((len(pixels), rows, pixels.shape[2]), np.int16 if tallest <= 128 else np.int32)
    for i, (a, b) in enumerate(at_y):
        np.add.reduce(pixels[:, a:b], axis=1, dtype=bands.dtype, out=bands[:, i])
    sums = np.add.reduceat(bands, [a for a, _ in at_x], axis=2, dtype=np.int32)
    heights, widths = (np.array([b - a for a, b in at]) for at in (at_y, at_x))
    return sums, heights[:, None] * widths


@lru_cache(maxsize=64)
def _edges(size: int, parts: int) -> tuple[tuple[int, int], ...]:
    at = [size * i // parts for i in range(parts + 1)]
    return tuple((min(a, size - 1), max(b, min(a, size - 1) + 1)) for a, b in itertools.pairwise(at))
