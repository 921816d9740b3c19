"""Faults of the collection: the same episode twice, exactly or nearly so."""

from __future__ import annotations

import numpy as np

from gristmill.finding import Kind
from gristmill.synth.edit.draft import Draft
from gristmill.synth.faults.fault import Fault, Mark
from gristmill.synth.faults.signals import Signals

_SENSOR_NOISE = 1.0  # grey levels


def exact_duplicate(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """The same values and packets under another number."""
    return Mark()


def near_duplicate(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """The same episode with a little noise in values and pictures."""
    values = signals.values(draft)
    noisy = values + rng.normal(0, 1, values.shape) * severity * signals.span
    signals.put(draft, np.where(signals.span > 0, noisy, values))
    noise = np.random.default_rng(rng.integers(2**63))

    def touch(number: int, picture: np.ndarray) -> np.ndarray:
        grain = noise.normal(0, _SENSOR_NOISE, picture.shape)
        return np.clip(np.round(picture + grain), 0, 255).astype(np.uint8)

    for reel in draft.reels.values():
        reel.touch = touch
    return Mark()


FAULTS = (
    Fault(
        name="exact_duplicate",
        check="duplicates",
        kind=Kind.DEFECT,
        severity=1,
        unit="copies",
        about="one more copy of an episode, at the end of the corpus",
        plant=exact_duplicate,
        scales=False,
        adds_episode=True,
    ),
    Fault(
        name="near_duplicate",
        check=None,
        kind=Kind.DEFECT,
        severity=0.001,
        unit="share of the range",
        about="standard deviation of the noise in a copy of an episode, at the end of the corpus",
        plant=near_duplicate,
        adds_episode=True,
    ),
)
