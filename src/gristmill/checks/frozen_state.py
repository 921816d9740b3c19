"""A state that stands still, bit for bit, while the commands go on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.grouping import by_channel, strongest
from gristmill.manifest import Manifest, finding
from gristmill.motion import Motion, motion_of
from gristmill.runs import runs_of
from gristmill.types import FloatArray, IntArray, Signal

_PARTS = 4  # parts of a run whose mean commands are compared


@dataclass(frozen=True, kw_only=True)
class FrozenState:
    """Does the robot's state repeat bit for bit while it is being commanded to move?

    A live sensor never repeats all its dimensions exactly for long; a driver that has lost its connection does.
    Runs of bit-identical samples of one state feature count when the commands of its joints kept moving meanwhile:
    the distance between the mean commands of the run's quarters, so that a trembling hand is no motion, as a share
    of the range of that command in the episode. A single step is none either, so each command's largest is taken
    out. The first sample of a run is left out, for it is what the command there led to, and so are the last
    moments, for a robot that sets off answers late. A robot that rests, commands and all, is not frozen. A gripper
    that holds stands still while its command goes on to squeeze, so gripper commands count little. Keys and other
    choices are no places between which a command moves. Where most episodes have such runs, the state does not
    answer such commands, or no driver ever worked: that is said once of the corpus and accuses no episode.
    """

    version: ClassVar[int] = 2
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
    usual: float = 0.8  # share of the episodes from which on such runs are this corpus's way
    min_episodes: int = 5  # that have them

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
        events: list[Event] = []
        if len(layout.features) > 1 or repeated >= shortest:
            if motion.choices[layout.action].all():
                return Measured(unknown="its commands are choices, such as keys, between which nothing moves")
            for key, rows in layout.features.items():
                events += self._frozen(motion, key, rows, shortest)
        return Measured({"repeated": repeated / len(motion.repeats)}, strongest(events))

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Runs of `min_s` or more during which a command moved by `min_commanded`; once where most have them."""
        events = manifest.events
        keep = (events.end_s - events.start_s >= self.min_s) & (events.strength >= self.min_commanded)
        having, known = len(np.unique(events.row[keep])), robust.known(manifest["repeated"])
        if having >= max(self.min_episodes, self.usual * known):
            yield self._usual(having, int(known))
            return
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

    def _usual(self, having: int, known: int) -> Finding:
        return finding(
            self,
            Kind.TRAIT,
            None,
            f"in {having} of {known} episodes the state repeats bit for bit while commands go on, so that none stands "
            f"out (from {self.usual:.0%} on it is how this corpus is); its commands may be no places, or be answered "
            "only at times",
            code="usual",
            measured=having / known,
            threshold=self.usual,
            unit="share of episodes",
            fix="Look at an episode; if its robot did move, the connection to the driver was lost all along.",
        )

    def _frozen(self, motion: Motion, key: str, rows: slice, shortest: int) -> Iterator[Event]:
        commands, weights = self._commands(motion, rows)
        if not len(commands):
            return
        still = np.maximum.reduce(motion.step_sizes[rows], axis=0) == 0
        answered = min(motion.clock.frames(self.answer_s), shortest - 1)
        for start, stop in runs_of(still, shortest):
            values = motion.path[commands, start + 1 : stop + 1 - answered]
            moved = float((_way(values) * weights / motion.scale[commands]).max())
            yield Event(*motion.clock.span_s(start, stop + 1), moved, key)

    def _commands(self, motion: Motion, rows: slice) -> tuple[IntArray, FloatArray]:
        """Commands that this state feature answers, all of them when none is its own; and what each counts."""
        layout = motion.layout
        mine = np.arange(rows.start, rows.stop)
        if not layout.arm[mine].any():
            return mine[:0], np.zeros(0)
        own = layout.index[layout.pairs.action][np.isin(layout.index[layout.pairs.state], mine)]
        commands = own if len(own) else layout.index[layout.action]
        commands = commands[~motion.choices[commands]]
        return commands, np.where(layout.arm[commands], 1.0, self.gripper_counts)


def _way(values: Signal) -> FloatArray:
    """(c,) distance between the mean commands (c, k) of the quarters, each command without its largest single step."""
    steps = np.diff(values, axis=1)
    count = min(_PARTS, steps.shape[1])
    if count < 2:
        return np.zeros(len(values))
    steps[np.arange(len(steps)), np.abs(steps).argmax(axis=1)] = 0
    gone = np.pad(np.add.accumulate(steps, axis=1), ((0, 0), (1, 0)))
    means = np.array([part.mean(axis=1) for part in np.array_split(gone, count, axis=1)])
    return np.ptp(means, axis=0)
