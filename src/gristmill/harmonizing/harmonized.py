"""What harmonizing gives: blocks of canonical numbers with masks, what was lost, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from gristmill.errors import UsageError
from gristmill.types import FloatArray, Mask, TimesS

Blocks = Mapping[str, "Block"]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One part of the canonical space, such as `left.position_m`.

    Attributes:
        names: k names.
        values: (t, k) float64; NaN where the mask is false.
        mask: (k,) false for what this embodiment, or this recording, lacks.
    """

    names: tuple[str, ...]
    values: FloatArray
    mask: Mask


@dataclass(frozen=True, eq=False, kw_only=True)
class Harmonized:
    """One episode in canonical numbers.

    Attributes:
        times_s: (t,) seconds from the episode's start.
        state: block name -> block.
        action: the same blocks; targets when `actions` is "absolute", else steps from the state.
        actions: "absolute", "base" or "end_effector": what the action's numbers are, and the frame of its steps.
        residuals: label of a recorded dimension -> largest difference, in its own unit, between what was recorded and
            what `restore` gives; infinite where a recorded number does not come back at all. Only dimensions that do
            not come back within 1e-6 (of their largest value) are here.
        lossy: the same labels -> why.
        unconverted: label -> why its numbers are not in the canonical space.
        holes: channel with a clock of its own -> spans, in seconds, in which it has no sample that is near enough to
            be held: the newest is more than one and a half of its periods old. Its numbers are NaN there.
    """

    times_s: TimesS
    state: Blocks
    action: Blocks
    actions: str
    residuals: Mapping[str, float] = field(default_factory=dict)
    lossy: Mapping[str, str] = field(default_factory=dict)
    unconverted: Mapping[str, str] = field(default_factory=dict)
    holes: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    # The way back; None when samples were left out, which nothing brings back.
    back: Callable[[Blocks, Blocks], dict[str, FloatArray]] | None = field(default=None, repr=False)

    def vector(self, role: str) -> tuple[FloatArray, Mask, tuple[str, ...]]:
        """All blocks of "state" or "action" side by side: values (t, K), mask (K,) and K names `block/name`."""
        blocks = self.state if role == "state" else self.action
        if not blocks:
            return np.empty((len(self.times_s), 0)), np.empty(0, bool), ()
        return (
            np.concatenate([b.values for b in blocks.values()], axis=1),
            np.concatenate([b.mask for b in blocks.values()]),
            tuple(f"{key}/{name}" for key, b in blocks.items() for name in b.names),
        )

    def restore(self, state: Blocks | None = None, action: Blocks | None = None) -> dict[str, FloatArray]:
        """Recorded numbers again: channel -> (t, d) float64, NaN in columns that were not converted.

        Args:
            state: other canonical states to bring back, in the same blocks; by default the episode's own.
            action: other canonical actions, such as a policy's.

        Raises:
            UsageError: the episode was harmonized to another rate.
        """
        if self.back is None:
            raise UsageError("what was held at another rate cannot be restored; harmonize without rate_hz for that")
        return self.back(self.state if state is None else state, self.action if action is None else action)

    inverse = restore
