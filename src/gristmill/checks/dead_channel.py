"""Joints that do not move at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.grouping import listed
from gristmill.layout import layout_of_dims
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of
from gristmill.types import Mask


@dataclass(frozen=True, kw_only=True)
class DeadChannel:
    """Is a dimension constant that moves elsewhere?

    A joint whose state does not change at all within an episode is dead when its command moved, or when it
    moves in nearly all the rest of the corpus. Without either sign it may simply not have been needed: a
    gripper in a task that grasps nothing, the other arm. When many joints are constant at once it is not the
    joint that failed. Dimensions that are constant in every episode are one trait of the corpus: they
    carry nothing and divide by zero when normalized.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("range", per="dim", about="largest minus smallest value, in the dimension's unit"),
    )
    fix: ClassVar[str] = (
        "Drop the episode, or leave the dimension out of it; check the joint's sensor and its entry in the recorder."
    )
    source: ClassVar[str] = (
        "A quarter of a command's usual range is more than any dead band; a joint that moves in 80 % of the "
        "episodes, and never by a mere flicker of its encoder, does not rest bit for bit by choice."
    )

    at_least_s: float = measuring(1.0)  # shorter recordings may hold a rest only
    commanded: float = 0.25  # share of the command's usual range that must have moved
    usual: float = 0.8  # share of the episodes in which a joint moves that is not known to have been commanded
    never_below: float = 0.02  # of the usual range of the arm's widest joint, in those
    few: float = 0.25  # share of the joints that may be constant at once; more were not needed, or all froze
    min_episodes: int = 3

    def measure(self, episode: Episode) -> Measured:
        """Full range of every dimension."""
        motion = motion_of(episode)
        if motion.frames < 5 or motion.frames * motion.clock.period_s < self.at_least_s:
            return Measured(unknown=f"shorter than {self.at_least_s:g} s")
        return Measured({"range": motion.sorted[:, -1] - motion.sorted[:, 0]})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Constant dimensions that were commanded, or that move everywhere else."""
        layout = layout_of_dims(manifest.dims, manifest.embodiment)
        spread = np.asarray(manifest["range"][:, : len(layout.dims)], np.float64)
        known = np.logical_not(np.isnan(spread))
        episodes = int(np.count_nonzero(np.any(known, axis=1)))
        moved = np.where(spread > 0, spread, np.nan)
        share = robust.known(moved) / np.maximum(robust.known(spread), 1)
        yield from self._never(manifest, np.any(known, axis=0) & (share == 0), episodes)
        if episodes < self.min_episodes:
            return
        still = (spread == 0) & (np.arange(len(layout.dims)) < layout.states) & (share >= 0.5)
        # Joints that are constant together were not needed, or the whole robot stood still.
        together = max(1.0, self.few * np.count_nonzero(share[: layout.states] > 0))
        still &= np.count_nonzero(still, axis=1, keepdims=True) <= together
        if not still.any():
            return
        usual = robust.median(moved)
        command = np.full(spread.shape, np.nan)
        command[:, layout.pairs.state] = (spread / usual)[:, layout.pairs.action]
        # An arm's joint that moves nearly everywhere, and never by a mere flicker.
        least = self.never_below * np.fmax(usual, layout.widest(np.nan_to_num(usual)))
        always = layout.arm & (share >= self.usual) & (robust.quantile(moved, 0.02) >= least)
        for row, dim in np.argwhere(still & ((command >= self.commanded) | always)).tolist():
            yield self._dead(manifest, row, dim, float(command[row, dim]), float(usual[dim]), layout.unit(dim))

    def _dead(self, manifest: Manifest, row: int, dim: int, command: float, usual: float, unit: str) -> Finding:
        label = manifest.dims[dim].label
        why = (
            f"while its command moves by {command:.0%} of what is usual"
            if command >= self.commanded
            else "while it moves in the other episodes"
        )
        return finding(
            self,
            Kind.DEFECT,
            row,
            f"{label} is constant for the whole of {manifest.where(row)} {why} (its usual range is "
            f"{usual:.3g} {unit or 'units'}); a policy reads a position that is not the joint's",
            channel=label,
            measured=0.0,
            threshold=usual,
            unit=unit,
        )

    def _never(self, manifest: Manifest, never: Mask, episodes: int) -> Iterator[Finding]:
        for key in dict.fromkeys(d.channel for d in manifest.dims):
            dims = [d for i, d in enumerate(manifest.dims) if d.channel == key]
            dead = [d for i, d in enumerate(manifest.dims) if d.channel == key and never[i]]
            if dead:
                names = listed(d.name or str(d.index) for d in dead)
                yield finding(
                    self,
                    Kind.TRAIT,
                    None,
                    f"{len(dead)} of {len(dims)} dimensions of {key} never change in {episodes} episodes: {names}; "
                    "they carry nothing and divide by zero when normalized by their spread",
                    channel=key,
                    code="never_moves",
                    measured=len(dead),
                    threshold=0,
                    unit="dimensions",
                    fix="Leave these dimensions out of training, or normalize with a floor under the spread.",
                )
