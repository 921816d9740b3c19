"""Where nothing moved: variance within a sliding window, over all dimensions at once.

Positions are thinned to about 10 samples a second, which is enough for pauses that matter and cheap.
A window is as still as its least still dimension, so a gripper that closes or a command that moves on
keeps the robot from being called idle.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gristmill.types import FloatArray

if TYPE_CHECKING:
    from gristmill.layout import Layout
    from gristmill.motion import Motion

THINNED_S = 0.1  # time from one looked-at sample to the next
# Leader arms are held by a trembling hand: a command counts as still with so much more deviation.
COMMAND_TREMBLE = 3.0


class Grid(NamedTuple):
    """How an episode is thinned and cut into windows."""

    hop: int  # samples of the recording from one thinned sample to the next
    width: int  # thinned samples in a window

    def samples(self, start: int, stop: int) -> tuple[int, int]:
        """Samples of the recording covered by the windows `start` to `stop` (exclusive), stop exclusive."""
        return start * self.hop, (stop + self.width - 2) * self.hop + 1


class Windows(NamedTuple):
    """Sliding windows over r rows of m thinned samples."""

    relative: FloatArray  # (r, m) positions from the first, as weighted shares of `Motion.scale`
    sums: FloatArray  # (r, m - width + 1) sum of the relative positions in each window
    spread: FloatArray  # (m - width + 1,) standard deviation in each window, of the row that moved most


def grid_of(motion: Motion, window_s: float) -> Grid | None:
    """Windows of about `window_s` seconds, or None when the episode is shorter than two of them."""
    hop = motion.clock.frames(THINNED_S)
    width = max(3, round(window_s / (hop * motion.clock.period_s)))
    enough = len(motion.values) and -(-motion.frames // hop) >= 2 * width
    return Grid(hop, width) if enough else None


def may_rest(motion: Motion, grid: Grid, rows: slice, below: float) -> int:
    """An upper bound on the number of windows with a standard deviation of at most `below`, found quickly.

    No two of n values differ by more than sqrt(2 n) of their standard deviations, so a window whose ends lie
    further apart is not still.
    """
    thin = motion.path[rows, :: grid.hop]
    apart = np.abs(thin[:, grid.width - 1 :] - thin[:, : 1 - grid.width])
    limit = motion.scale[rows] / _weights(motion.layout)[rows] * (below * float(np.sqrt(2 * grid.width)))
    return int(np.count_nonzero(np.logical_and.reduce(apart <= limit[:, None], axis=0)))


def sliding(motion: Motion, grid: Grid, rows: slice) -> Windows:
    """Position and variance in every window."""
    thin = motion.path[rows, :: grid.hop]
    count, samples = thin.shape
    # Positions and their squares, each after a column of zeros, so that one running sum gives all windows.
    both = np.zeros((2, count, samples + 1))
    relative = both[0, :, 1:]
    np.subtract(thin, thin[:, :1], out=relative)
    relative *= (_weights(motion.layout)[rows] / motion.scale[rows])[:, None]
    np.square(both[0], out=both[1])
    running = np.add.accumulate(both, axis=2)
    sums, squares = running[:, :, grid.width :] - running[:, :, : -grid.width]
    share = 1 / grid.width
    variance = np.maximum.reduce(squares - np.square(sums) * share, axis=0) * share
    return Windows(relative, sums, np.sqrt(np.maximum(variance, 0)))


@lru_cache(maxsize=64)
def _weights(layout: Layout) -> FloatArray:
    """(D,) factors on each dimension's relative position."""
    weights = np.ones(len(layout.dims))
    weights[layout.action] = 1 / COMMAND_TREMBLE
    return weights
