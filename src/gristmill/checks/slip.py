"""Objects that slip out of a gripper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.grasping import SUSTAINED_S, TOUCHED, Hand, can_feel, failed, hands_of, ranked
from gristmill.grouping import by_channel, strongest
from gristmill.manifest import Manifest, finding
from gristmill.runs import runs_of
from gristmill.types import FloatArray

_LOST, _FURTHER = "lost", "further"
_WINDOW = 256  # samples that are looked at together
_OPENED, _SLACK = 0.1, 0.02  # shares of the range: how far a gripper has opened, and stands still


@dataclass(frozen=True, kw_only=True)
class Slip:
    """Is something lost while it is carried?

    Something is carried from when a sensor at the fingers feels it until the gripper, or its command, begins to
    open. If what is felt collapses in between and stays away, it slipped out; if the gripper closes further although
    its command stands still, it slipped in the fingers or out of them. The rest of the demonstration then handles
    nothing, and actions no longer fit what the task says. It needs a contact or tactile sensor, or the effort of the
    gripper; a force-torque sensor at the wrist does not feel how firmly something is held. Episodes that are labelled
    as failed say so already, and are told as a trait.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True, channels=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("carried_s", unit="s", about="how long something was carried", metric=True),
        Column("labelled_failed", "bool", about="the recording labels the episode as failed"),
    )
    fix: ClassVar[str] = "Look at the episode; drop it or cut it before the slip, unless slips are to be learned from."
    source: ClassVar[str] = (
        "Slip as a loss of grip force and as motion of the fingers under a constant command, as in Romano et al., IEEE "
        "T-RO 27 (6), 2011. A sixth of the usual force is far below what friction needs to hold with the same margin."
    )

    collapse: float = measuring(0.15)  # share of what is usually felt while carrying
    further: float = measuring(0.1)  # share of the gripper's range
    rest_s: float = measuring(0.2)  # how long fingers stand still before they can slip
    shortest_s: float = measuring(0.1)
    carried_at_least_s: float = measuring(0.3)
    min_lost_s: float = 0.15

    def measure(self, episode: Episode) -> Measured:
        """Losses of each gripper; strength is how long they last, in s."""
        if not can_feel(episode):
            return Measured(unknown="no sensor of contact or of the gripper's effort was recorded")
        hands = [hand for hand in hands_of(episode) if hand.feels("touch", "effort")]
        if not hands:
            return Measured(unknown="no gripper is known that has a sensor at its fingers")
        carried, events = 0.0, []
        for hand in hands:
            for start, stop in _carries(hand):
                seconds = (stop - start) * hand.motion.clock.period_s
                if seconds >= self.carried_at_least_s:
                    carried += seconds
                    events += self._losses(hand, start, stop)
        return Measured({"carried_s": carried, "labelled_failed": failed(episode)}, strongest(events))

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Losses that last."""
        events = manifest.events
        for group in by_channel(events, events.strength >= self.min_lost_s):
            by_label = manifest["labelled_failed"][group.row] == 1
            how = "what its fingers feel collapses" if _LOST in group.details else "it closes further by itself"
            end = "the episode is labelled as failed" if by_label else "what follows handles nothing"
            yield finding(
                self,
                Kind.TRAIT if by_label else Kind.RISK,
                group.row,
                f"{group.channel} loses what it carries in {manifest.where(group.row)} {group.when}: {how} for "
                f"{group.strongest:.2f} s while it is not told to open (at most {self.min_lost_s:g} s expected); {end}",
                channel=group.channel,
                spans_s=group.spans_s,
                measured=group.strongest,
                threshold=self.min_lost_s,
                unit="s",
            )

    def _losses(self, hand: Hand, start: int, stop: int) -> Iterator[Event]:
        clock = hand.motion.clock
        felt = hand.felt[start:stop]
        shortest = clock.frames(self.shortest_s)
        usual = ranked(felt, 0.75)
        for a, b in runs_of(felt < max(TOUCHED, self.collapse * usual), shortest):
            yield Event(*clock.span_s(start + a, start + b), (b - a) * clock.period_s, hand.label, detail=_LOST)
        rest = self._at_rest(hand, start, stop)
        if rest is None:
            return
        closeness = hand.closing_seen * hand.position[rest.start : stop]
        moved = closeness - ranked(closeness[: rest.stop - rest.start], 0.5) > self.further * hand.range
        if hand.commanded is not None:
            command = hand.closing_seen * hand.commanded[rest.start : stop]
            held = ranked(command[: rest.stop - rest.start], 0.5)
            moved &= command - held < self.further * hand.range / 2
        for a, b in runs_of(moved, shortest):
            span_s = clock.span_s(rest.start + a, rest.start + b)
            yield Event(*span_s, (b - a) * clock.period_s, hand.label, detail=_FURTHER)

    def _at_rest(self, hand: Hand, start: int, stop: int) -> slice | None:
        """The first samples at which the fingers stand still on what they hold; a state that hung does not count."""
        width = max(2, hand.motion.clock.frames(self.rest_s))
        position, repeats = hand.position, hand.motion.repeats
        for at in range(start, stop - width + 1, _WINDOW):
            end = min(at + _WINDOW + width - 1, stop)
            windows = sliding_window_view(position[at:end], width)
            rests = np.ptp(windows, axis=1) <= self.further / 5 * hand.range
            rests &= ~sliding_window_view(repeats[at : end - 1], width - 1).all(axis=1)
            if rests.any():
                first = at + int(rests.argmax())
                return slice(first, first + width)
        return None


def _carries(hand: Hand) -> list[tuple[int, int]]:
    """Samples from when something is firmly felt to when the gripper or its command begins to open, for each grasp."""
    if not hand.closing_seen or hand.range <= 0:
        return []
    signals = [hand.closing_seen * s for s in (hand.position, hand.commanded) if s is not None]
    found: list[tuple[int, int]] = []
    after = 0
    for begin, _ in runs_of(hand.felt >= TOUCHED, hand.motion.clock.frames(SUSTAINED_S)):
        if begin < after:
            continue
        stop = after = _opening(signals, begin, hand.range)
        felt = hand.felt[begin:stop]
        if len(felt):
            firm = np.flatnonzero(felt >= ranked(felt, 0.75) / 2)
            found.append((begin + int(firm[0]), stop))
    return found


def _opening(closeness: list[FloatArray], begin: int, whole: float) -> int:
    """The sample at which a gripper begins to open, from `begin` on.

    It is told by whichever signal, of its position and of its command, first falls by a tenth of the range: the sample
    at which that leaves its most closed place. Windows double, so that no more is looked at than twice the answer.
    """
    frames, size = len(closeness[0]), _WINDOW
    while True:
        end = min(begin + size, frames)
        found = []
        for signal in closeness:
            part = signal[begin:end]
            opened = np.maximum.accumulate(part) - part > _OPENED * whole
            if opened.any():
                found.append((int(opened.argmax()), signal))
        if found:
            first = min(at for at, _ in found)
            return begin + min(_left(s[begin : begin + first + 1], _SLACK * whole) for at, s in found if at == first)
        if end == frames:
            return frames
        size *= 2


def _left(closeness: FloatArray, slack: float) -> int:
    """Samples up to the last one within `slack` of the most closed place."""
    return int(np.flatnonzero(closeness >= closeness.max() - slack)[-1]) + 1
