"""Human-like motion as a sum of minimum-jerk submovements.

A reach is a fifth-order polynomial in time (Flash and Hogan, "The coordination of arm movements",
J. Neuroscience 1985); successive ones overlap and add (Flash and Henis, "Arm trajectory modifications
during reaching towards visual targets", J. Cognitive Neuroscience 1991).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Move(NamedTuple):
    """One submovement: where it starts in time, how long it takes, and what it adds."""

    start_s: float
    duration_s: float
    delta: np.ndarray  # (d,)


def minimum_jerk(phase: np.ndarray) -> np.ndarray:
    """Share of the way covered at a phase; 0 before 0 and 1 after 1."""
    p = np.clip(phase, 0, 1)
    return p**3 * (10 - 15 * p + 6 * p**2)


def path(start: np.ndarray, moves: Sequence[Move], times_s: np.ndarray) -> np.ndarray:
    """Positions (k, d) at the times (k,), from `start` (d,)."""
    begin = np.array([m.start_s for m in moves])
    last = np.array([m.duration_s for m in moves])
    share = minimum_jerk((times_s[:, None] - begin) / last)
    return start + share @ np.array([m.delta for m in moves])


def unsteadiness(rng: np.random.Generator, times_s: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Slow wander of a hand that holds a leader arm: (k, d), standard deviation `size` (d,), below 2.5 Hz."""
    waves = 5
    frequency_hz = rng.uniform(0.3, 2.5, (waves, len(size)))
    phase = rng.uniform(0, 2 * np.pi, (waves, len(size)))
    sum_of_waves = np.sin(2 * np.pi * frequency_hz * times_s[:, None, None] + phase).sum(axis=1)
    return sum_of_waves * np.sqrt(2 / waves) * size
