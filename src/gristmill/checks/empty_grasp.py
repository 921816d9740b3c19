"""Grippers that close on nothing, or not at all, where a grasp is claimed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.grasping import SUSTAINED_S, TOUCHED, Hand, can_feel, claimed, failed, grips, hands_of, ranked, sustained
from gristmill.manifest import Manifest, finding
from gristmill.types import FloatArray, IntArray

_WAYS = {1: "up", -1: "down"}  # whether the gripper's numbers grow or fall as it closes


@dataclass(frozen=True, kw_only=True)
class EmptyGrasp:
    """Where a grasp is claimed, does the gripper close, and is something between its fingers?

    An object keeps the fingers from going where they are told to go, or, where commands were not recorded, from
    the closed end of their range. How far they are kept is compared with what is usual in episodes of the same task
    (tasks of few episodes are put together): where they reach their command as if nothing were there, and no sensor
    at the fingers feels anything, they closed on nothing. A gripper that closes by far less than usual never
    grasped. Which way is closed is told by the card, or by what sensors at the fingers feel; with neither, the answer
    is unknown. Tasks whose objects are too thin to keep the fingers apart are left alone. Episodes that are labelled
    as failed say so already, and are told as a trait.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True, channels=True, task=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("travel_up", about="largest closing if numbers grow as the gripper closes, in its unit"),
        Column("travel_down", about="largest closing if they fall"),
        Column(
            "kept_up", about="how far the fingers are kept from where they should go, if numbers grow; in their unit"
        ),
        Column("kept_down", about="the same if numbers fall"),
        Column("closing", about="1 if numbers grow as it closes, -1 if they fall, 0 where this episode does not tell"),
        Column("whole", about="the gripper's travel by the card, in its unit"),
        Column("felt", unit="times its noise", about="what a sensor at the fingers felt for 0.1 s; null without one"),
        Column("labelled_failed", "bool", about="the recording labels the episode as failed"),
    )
    fix: ClassVar[str] = "Look at the episode; drop it if nothing was grasped, or correct its task text."
    source: ClassVar[str] = (
        "Fingers that stall before their commanded place hold something: the object detection of parallel grippers, "
        "such as gOBJ of Robotiq's 2F-85 (instruction manual, register 0x07D0). Quartiles over the task say how far."
    )

    swing: float = measuring(0.2)  # share of the range that a closing gripper travels at least
    min_travel: float = 0.3  # share of the usual closing
    min_kept: float = 0.1  # share of what is usual
    telling: float = 0.03  # share of the usual closing by which objects have to keep the fingers apart at least
    min_felt: float = TOUCHED
    grasps_needed: int = 5  # episodes that claim a grasp, below which nothing counts as usual
    task_needed: int = 10  # episodes of one task, below which it is put together with other rare ones
    agreeing: float = 0.9  # share of episodes that have to agree on which way is closed

    def measure(self, episode: Episode) -> Measured:
        """Closing of the gripper that closes most, and how far its fingers are kept; one event with its span."""
        feels = can_feel(episode)
        if not feels and not episode.embodiment.grippers:
            return Measured(unknown="neither a card that says which way is closed nor a sensor at the fingers")
        hands = [h for h in hands_of(episode) if h.closing or h.feels("touch", "effort")]
        if not hands:
            return Measured(unknown="no gripper of which a card or a sensor says which way is closed")
        if not claimed(episode):
            return Measured()
        motion = hands[0].motion
        if motion.frames < 3:
            return Measured(unknown="fewer than 3 samples")
        hand = max(hands, key=_share)
        values: dict[str, Any] = {"closing": hand.closing_seen, "labelled_failed": failed(episode)}
        if hand.polarity is not None:
            values["whole"] = hand.range
        if hand.feels("touch", "effort"):
            values["felt"] = sustained(hand.felt, motion.clock.frames(SUSTAINED_S))
        events = []
        for way, name in _WAYS.items():
            values[f"travel_{name}"] = _travel(way * hand.position)
            span, values[f"kept_{name}"] = self._kept(hand, way)
            start, stop = span or (0, motion.frames)
            events.append(Event(*motion.clock.span_s(start, stop), values[f"travel_{name}"], hand.label, detail=name))
        return Measured(values, events)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Closings that are far smaller than usual, or that nothing stood in the way of."""
        way = self._way(manifest)
        claims = np.flatnonzero(~np.isnan(manifest["travel_up"]))
        if way is None or not len(claims):
            return
        if len(claims) < self.grasps_needed:
            # With too few episodes to compare, a closing is small if it is no more than a tremble of the range.
            yield from self._still(
                manifest, claims, way, self.swing / 2 * float(robust.median(manifest["whole"][claims]))
            )
            return
        for rows, alike in self._alike(manifest, claims):
            usual = _usual(manifest[f"travel_{way}"][alike])
            yield from self._still(manifest, rows, way, self.min_travel * usual)
            yield from self._empty(manifest, rows, alike, way, usual)

    def _still(self, manifest: Manifest, rows: IntArray, way: str, least: float) -> Iterator[Finding]:
        """Closings below `least`."""
        travel = manifest[f"travel_{way}"]
        for row in rows[travel[rows] < least].tolist():
            yield self._finding(
                manifest,
                row,
                way,
                f"closes by {travel[row]:.3g} in {manifest.where(row)}, whose task claims a grasp (at least "
                f"{least:.3g} expected): it never grasped anything",
                measured=travel[row],
                threshold=least,
                code="never_closes",
            )

    def _empty(self, manifest: Manifest, rows: IntArray, alike: IntArray, way: str, usual: float) -> Iterator[Finding]:
        """Closings in which nothing keeps the fingers, where something usually does."""
        kept, travel = manifest[f"kept_{way}"], manifest[f"travel_{way}"]
        closed = rows[travel[rows] >= self.min_travel * usual]
        usually_kept = _usual(kept[alike[travel[alike] >= self.min_travel * usual]])
        if not usually_kept >= self.telling * usual > 0:
            return
        limit = self.min_kept * usually_kept
        silent = ~(manifest["felt"][closed] >= self.min_felt)  # true where there is no sensor, too
        for row in closed[(kept[closed] <= limit) & silent].tolist():
            yield self._finding(
                manifest,
                row,
                way,
                f"closes on nothing in {manifest.where(row)}, whose task claims a grasp: its fingers stop "
                f"{kept[row]:.3g} from where they should go, and an object usually keeps them {usually_kept:.3g} "
                f"away (at least {limit:.3g} expected)",
                measured=kept[row],
                threshold=limit,
                code="closes_on_nothing",
            )

    def _alike(self, manifest: Manifest, claims: IntArray) -> list[tuple[IntArray, IntArray]]:
        """Episodes, and those that they are compared with.

        Objects differ from task to task, so these are those of the same task. Rare tasks are put together, and
        compared with all episodes when even together they are too few.
        """
        of_task: dict[tuple[str, ...], list[int]] = {}
        for row in claims.tolist():
            of_task.setdefault(manifest.tasks[row], []).append(row)
        groups = [np.array(rows, np.intp) for rows in of_task.values() if len(rows) >= self.task_needed]
        rare = np.array(sorted(r for rows in of_task.values() if len(rows) < self.task_needed for r in rows), np.intp)
        pairs: list[tuple[IntArray, IntArray]] = [(rows, rows) for rows in groups]
        if len(rare):
            pairs.append((rare, rare if len(rare) >= self.grasps_needed else claims))
        return pairs

    def _finding(self, manifest: Manifest, row: int, way: str, said: str, **more: Any) -> Finding:
        events = manifest.events
        own = int(np.searchsorted(events.row, row))
        own += events.detail[own] != way  # each episode has one event for either way
        by_label = manifest["labelled_failed"][row] == 1
        return finding(
            self,
            Kind.TRAIT if by_label else Kind.RISK,
            row,
            f"{events.channel[own]} {said}" + ("; the episode is labelled as failed" if by_label else ""),
            channel=events.channel[own],
            spans_s=((events.start_s[own], events.end_s[own]),),
            **more,
        )

    def _way(self, manifest: Manifest) -> str | None:
        """Which way is closed, if the card or nearly all episodes that can tell agree on it."""
        told = manifest["closing"]
        told = told[~np.isnan(told) & (told != 0)]
        for way, name in _WAYS.items():
            if len(told) and np.count_nonzero(told == way) >= self.agreeing * len(told):
                return name
        return None

    def _kept(self, hand: Hand, way: int) -> tuple[tuple[int, int] | None, float]:
        """The closing in which the fingers were kept farthest from where they should go, and how far."""
        best: tuple[tuple[int, int] | None, float] = (None, np.nan)
        closeness = way * hand.position
        for grip in grips(closeness, self.swing * hand.range):
            inside = slice(grip.closed, max(grip.stop, grip.closed + 1))
            if hand.commanded is not None and hand.state is not None:
                target: FloatArray | float = way * hand.commanded[inside]
            elif hand.polarity is not None:
                target = way * hand.polarity.closed
            else:
                continue
            kept = max(0.0, ranked(target - closeness[inside], 0.5))
            if not kept <= best[1]:
                best = ((grip.start, grip.stop), kept)
        return best


def _travel(closeness: FloatArray) -> float:
    """The largest rise of a signal over any lowest value before it."""
    return float((closeness - np.minimum.accumulate(closeness)).max())


def _usual(values: FloatArray) -> float:
    """What good episodes do: the upper quartile, which holds until three quarters of a task's episodes are bad."""
    return float(robust.quantile(values, 0.75))


def _share(hand: Hand) -> float:
    """How much of its range a gripper moves through."""
    return float(np.ptp(hand.position)) / hand.range if hand.range > 0 else 0.0
