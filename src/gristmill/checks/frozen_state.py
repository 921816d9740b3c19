"""A state that stands still, bit for bit, while the commands go on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.grouping import by_channel, strongest
from gristmill.layout import Layout
from gristmill.manifest import Manifest, finding
from gristmill.motion import Motion, motion_of
from gristmill.runs import runs_of
from gristmill.types import FloatArray, IntArray

_PARTS = 4  # parts of a run whose mean commands are compared


@dataclass(frozen=True, kw_only=True)
class FrozenState:
    """Does the robot's state repeat bit for bit while it is being commanded to move?

    A live sensor never repeats all its dimensions exactly for long; a driver that has lost its connection does.
    Runs of bit-identical samples of one state feature count when the commands of its joints moved meanwhile:
    the distance between the mean commands of the run's quarters, so that a trembling hand is no motion, as a
    share of the range of that command in the episode. The last moments of a run are left out, for a robot that
    sets off answers late. A robot that rests, commands and all, is not frozen. A
    gripper that holds stands still while its command goes on to squeeze, so gripper commands count little.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("repeated", about="share of the samples at which every state dimension repeats the one before"),
    )
    fix: ClassVar[str] = "Drop the episode or cut the frozen span out; check the connection to the robot's driver."
    source: ClassVar[str] = (
        "The longest delay from command to state that was measured on real corpora is 0.21 s, so a live state has "
        "answered after 0.25 s. 3 % of the range is above the tremble of hand-held leader arms, and three quarters of "
        "a gripper's are more than squeezing needs."
    )

    at_least_s: float = measuring(0.3)  # shorter runs are not kept
    answer_s: float = measuring(0.25)  # commands within so long before the end of a run need no answer yet
    gripper_counts: float = measuring(0.04)  # share at which the way of a gripper's or hand's command counts
    min_s: float = 0.4
    min_commanded: float = 0.03  # share of the command's range

    def measure(self, episode: Episode) -> Measured:
        """Runs of repeated state; strength is the share of their range that commands moved meanwhile."""
        motion = motion_of(episode)
        layout = motion.layout
        if not layout.states or layout.states == len(layout.dims):
            return Measured(unknown="needs a state and an action")
        if motion.frames < 3:
            return Measured(unknown="fewer than 3 samples")
        shortest = motion.clock.frames(self.at_least_s)
        repeated = int(np.count_nonzero(motion.repeats))
        events = []
        if len(layout.features) > 1 or repeated >= shortest:
            for key, rows in layout.features.items():
                events += self._frozen(motion, key, rows, shortest)
        return Measured({"repeated": repeated / len(motion.repeats)}, strongest(events))

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Runs of `min_s` or more during which a command moved by `min_commanded`."""
        events = manifest.events
        keep = (events.end_s - events.start_s >= self.min_s) & (events.strength >= self.min_commanded)
        for group in by_channel(events, keep):
            longest = max(b - a for a, b in group.spans_s)
            yield finding(
                self,
                Kind.DEFECT,
                group.row,
                f"{group.channel} of {manifest.where(group.row)} repeats bit for bit {group.when} while its commands "
                f"move by {group.strongest:.0%} of their range; {longest:.2f} s without a new value is more than "
                f"{self.min_s:g} s, and a policy learns that commands have no effect",
                channel=group.channel,
                spans_s=group.spans_s,
                measured=longest,
                threshold=self.min_s,
                unit="s",
            )

    def _frozen(self, motion: Motion, key: str, rows: slice, shortest: int) -> Iterator[Event]:
        commands, weights = self._commands(motion.layout, rows)
        if not len(commands):
            return
        still = np.maximum.reduce(motion.step_sizes[rows], axis=0) == 0
        answered = min(motion.clock.frames(self.answer_s), shortest - 1)
        for start, stop in runs_of(still, shortest):
            values = motion.values[commands, start : stop + 1 - answered]
            means = np.array([part.mean(axis=1) for part in np.array_split(values, _PARTS, axis=1) if part.size])
            moved = float((np.ptp(means, axis=0) * weights / motion.scale[commands]).max())
            yield Event(*motion.clock.span_s(start, stop + 1), moved, key)

    def _commands(self, layout: Layout, rows: slice) -> tuple[IntArray, FloatArray]:
        """Commands that this state feature answers, all of them when none is its own; and what each counts."""
        mine = np.arange(rows.start, rows.stop)
        if not layout.arm[mine].any():
            return mine[:0], np.zeros(0)
        own = layout.index[layout.pairs.action][np.isin(layout.index[layout.pairs.state], mine)]
        commands = own if len(own) else layout.index[layout.action]
        return commands, np.where(layout.arm[commands], 1.0, self.gripper_counts)
