"""Actions that are the next state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import HELD, motion_of


@dataclass(frozen=True, kw_only=True)
class ActionIsNextState:
    """Were the actions made from the states afterwards?

    Some recordings hold no commands; the state of the next sample was written in their place. Such actions say
    nothing of force, contact or delay: what pressed on an object looks like what rested on it. Counted are the
    cells in which the action equals the next state bit for bit, among those where the state changed.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column(
            "share", about="share of the changed state cells that the action before equals; a sample of them if small"
        ),
    )
    fix: ClassVar[str] = "Know it when mixing with corpora that record commands; shift or relabel one of them."
    source: ClassVar[str] = "Real commands and answers never agree bit for bit; 95 % leaves room for the last sample."

    min_share: float = 0.95
    always: float = 0.9  # share of the episodes from which on it is said once

    def measure(self, episode: Episode) -> Measured:
        """Share of cells in which the action equals the next state."""
        motion = motion_of(episode)
        if motion.held:
            return Measured(unknown=HELD)
        pairs = motion.layout.pairs
        if not pairs.count or motion.frames < 3:
            return Measured(unknown="no action that commands a state dimension by name, or fewer than 3 samples")
        state, action = motion.values[pairs.state], motion.values[pairs.action]
        # A handful of samples tells recorded actions from made ones, which agree nearly everywhere.
        hop = max(1, motion.frames // 8)
        equal = action[:, :-1:hop] == state[:, 1::hop]
        if np.count_nonzero(equal) < equal.size / 2:
            return Measured({"share": np.count_nonzero(equal) / equal.size})
        changed = motion.steps[pairs.state] != 0
        total = int(np.count_nonzero(changed))
        if not total:
            return Measured(unknown="the state never changes")
        changed &= action[:, :-1] == state[:, 1:]
        return Measured({"share": np.count_nonzero(changed) / total})

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Shares of `min_share` or more; once for the corpus when nearly all episodes are so."""
        share = manifest["share"]
        known = int(np.count_nonzero(~np.isnan(share)))
        rows = np.flatnonzero(share >= self.min_share)
        more = {"threshold": self.min_share, "unit": "share of samples"}
        if known and len(rows) >= self.always * known:
            yield finding(
                self,
                Kind.TRAIT,
                None,
                f"in {len(rows)} of {known} episodes the action is the next state, bit for bit; it was not recorded "
                "but made, and says nothing of force or delay",
                measured=float(np.median(share[rows])),
                **more,
            )
            return
        for row in rows.tolist():
            yield finding(
                self,
                Kind.TRAIT,
                row,
                f"{share[row]:.0%} of the actions of {manifest.where(row)} are the next state, bit for bit "
                f"(from {self.min_share:.0%} on they were made, not recorded), unlike in the rest of the corpus",
                measured=share[row],
                **more,
            )
