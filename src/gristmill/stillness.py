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


class Windows(NamedTuple):
    """Sliding windows over m thinned samples."""

    hop: int  # samples of the recording from one thinned sample to the next
    width: int  # thinned samples in a window
    relative: FloatArray  # (r, m) thinned positions from the first, as weighted shares of `Motion.scale`
    sums: FloatArray  # (r, m - width + 1) sum of the relative positions in each window
    spread: FloatArray  # (m - width + 1,) standard deviation in each window, of the dimension that moved most

    def samples(self, start: int, stop: int) -> tuple[int, int]:
        """Samples of the recording covered by the windows `start` to `stop` (exclusive), stop exclusive."""
        return start * self.hop, (stop + self.width - 2) * self.hop + 1


def sliding(motion: Motion, window_s: float, rows: slice) -> Windows | None:
    """Windows of about `window_s` seconds over some rows, or None when the episode is shorter than two of them."""
    hop = motion.clock.frames(THINNED_S)
    width = max(3, round(window_s / (hop * motion.clock.period_s)))
    thin = motion.values[rows, ::hop]
    if thin.shape[1] < 2 * width or not len(thin):
        return None
    count, samples = thin.shape
    # Positions and their squares, each after a column of zeros, so that one running sum gives all windows.
    both = np.zeros((2, count, samples + 1))
    relative = both[0, :, 1:]
    np.subtract(thin, thin[:, :1], out=relative)
    relative *= (_weights(motion.layout)[rows] / motion.scale[rows])[:, None]
    np.square(both[0], out=both[1])
    running = np.add.accumulate(both, axis=2)
    sums, squares = running[:, :, width:] - running[:, :, :-width]
    variance = np.maximum.reduce(squares - np.square(sums) * (1 / width), axis=0) * (1 / width)
    return Windows(hop, width, relative, sums, np.sqrt(np.maximum(variance, 0)))


@lru_cache(maxsize=64)
def _weights(layout: Layout) -> FloatArray:
    """(D,) factors on each dimension's relative position."""
    weights = np.ones(len(layout.dims))
    weights[layout.action] = 1 / COMMAND_TREMBLE
    return weights
