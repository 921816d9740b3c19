"""Where in an episode a fault goes: where the arm moves, or where it does not."""

from __future__ import annotations

import numpy as np

from gristmill.synth.edit.draft import Draft
from gristmill.synth.faults.fault import CannotHostError
from gristmill.synth.faults.signals import Signals

_BUSY = 0.6  # of the liveliest stretch's motion
_LEAST = 0.05  # shares of the joints' ranges, summed, that are covered while the arm "really moves"
_MARGIN_S = 0.3  # from both ends of an episode


def moving_stretch(draft: Draft, signals: Signals, rng: np.random.Generator, frames: int, role: str = "state") -> int:
    """The first row of a stretch of so many frames in which states (or actions) move clearly.

    Raises:
        CannotHostError: the episode is too short, or nothing in it moves enough.
    """
    first, stop = _inner(draft, frames)
    if not signals.of_role(role):
        raise CannotHostError(f"the corpus records no {role}")
    covered = np.concatenate([[0.0], np.cumsum(signals.motion(draft, role))])
    motion = covered[first + frames : stop + frames] - covered[first:stop]
    # Every part of it has to move, so that no half of the stretch could be called still.
    half = max(1, frames // 2)
    weakest = np.minimum(
        covered[first + half : stop + half] - covered[first:stop],
        covered[first + frames : stop + frames] - covered[first + frames - half : stop + frames - half],
    )
    good = (motion >= max(_BUSY * motion.max(), _LEAST)) & (weakest >= 0.25 * motion)
    if not good.any():
        raise CannotHostError(f"the arm hardly moves for {frames / draft.rate_hz:.1f} s on end")
    return first + int(rng.choice(np.flatnonzero(good)))


def any_stretch(draft: Draft, rng: np.random.Generator, frames: int) -> int:
    """The first row of a stretch of so many frames somewhere inside.

    Raises:
        CannotHostError: the episode is too short.
    """
    first, stop = _inner(draft, frames)
    return int(rng.integers(first, stop))


def _inner(draft: Draft, frames: int) -> tuple[int, int]:
    """Possible first rows of a stretch that keeps clear of both ends: first..stop."""
    margin = max(2, round(_MARGIN_S * draft.rate_hz))
    stop = len(draft) - margin - frames + 1
    if stop <= margin:
        raise CannotHostError(
            f"the episode of {len(draft) / draft.rate_hz:.1f} s is too short for {frames} frames inside"
        )
    return margin, stop
