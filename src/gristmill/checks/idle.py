"""Pauses: the robot stands and nothing is commanded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.grouping import strongest, when
from gristmill.manifest import Manifest, finding
from gristmill.motion import Motion, motion_of
from gristmill.runs import runs_of, widened
from gristmill.stillness import Grid, Windows, grid_of, may_rest, sliding
from gristmill.types import Mask

_DEEP = 0.25  # the second, deeper look for pauses inside slow motion
_WHY = {
    "head": "a policy that copies it waits for ever at the start",
    "middle": "a policy learns to hesitate there",
    "tail": "it teaches little and weighs as much as motion",
}

_AT = {"head": "at the head", "middle": "in the middle", "tail": "at the tail"}


class Rest(NamedTuple):
    """A stretch in which nothing moved, and how much of it was spent waiting for a gripper or a contact."""

    start_s: float
    end_s: float
    waited_s: float

    @property
    def idle_s(self) -> float:
        """Seconds that nothing explains."""
        return self.end_s - self.start_s - self.waited_s


@dataclass(frozen=True, kw_only=True)
class Idle:
    """Does the robot stand still for long at the beginning, in the middle or at the end?

    The variance of every dimension is taken within a sliding window; the window is as still as its least still
    dimension, state or command, gripper included. Windows far below the episode's own usual motion form runs.
    A run is idle when over its whole length no dimension leaves a narrow band: a robot that moves slowly but
    steadily does leave it. The second after a gripper was commanded, or after contact began or ended, is waited
    for on purpose and does not count. A pause at the head teaches a policy to wait for ever; in the middle it is
    hesitation; a short rest at the end is how a policy learns to stop.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True, channels=True, card=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("reach", about="widest range of an arm's dimension, in its unit"),
        Column("begin_s", unit="s", about="first time"),
        Column("end_s", unit="s", about="end of the last sample"),
    )
    fix: ClassVar[str] = "Trim pauses at the head, and long ones in the middle; keep a short rest at the end."
    source: ClassVar[str] = (
        "Measured on public demonstrations: precise human pushing at 10 Hz slows down for up to 2.5 s, but drifts by "
        "4 % of its range and more while it does; a simulated humanoid creeps for 4 s and drifts by 19 %."
    )

    window_s: float = measuring(0.5)
    still_below: float = measuring(0.012)  # standard deviation in a window, as a share of the range
    of_usual: float = measuring(0.15)  # and as a share of the episode's usual one
    wait_s: float = measuring(1.0)  # after a gripper's command or a change of contact
    at_least_s: float = measuring(0.6)  # shorter runs are not kept
    min_head_s: float = 1.25
    min_middle_s: float = 1.5
    min_tail_s: float = 2.0
    max_band: float = 0.03  # share of its range that any dimension may stray while idle
    edge_s: float = 0.25  # a run that begins or ends so close to the border is head or tail
    min_reach: float = 0.03  # an episode whose widest motion is below this share of the usual one is idle throughout

    def measure(self, episode: Episode) -> Measured:
        """Still runs; strength is how far any dimension's windowed mean strays, as a share of its range.

        The detail says how many seconds of the run were spent waiting for a gripper or a contact.
        """
        motion = motion_of(episode)
        layout = motion.layout
        grid = grid_of(motion, self.window_s)
        if grid is None:
            return Measured(unknown=f"shorter than {2 * self.window_s:g} s, or without state and action")
        reach = float(np.maximum.reduce(motion.range[layout.moving]))
        begin_s, end_s = motion.clock.span_s(0, motion.frames)
        values = {"reach": reach, "begin_s": begin_s, "end_s": end_s}
        # A run of w windows covers w + width - 1 samples.
        least = max(1, round(self.at_least_s / (grid.hop * motion.clock.period_s)) - grid.width + 1)
        if may_rest(motion, grid, layout.moving, self.still_below) < least:
            return Measured(values)
        spread = sliding(motion, grid, layout.moving).spread
        usual = float(np.sort(spread)[int(0.95 * (len(spread) - 1))])
        level = min(self.still_below, self.of_usual * usual)
        if np.count_nonzero(spread <= level) < least:
            return Measured(values)
        # The state rests: now the commands are looked at as well.
        windows = sliding(motion, grid, slice(None))
        busy = self._busy(episode, motion, grid, windows)
        events: dict[tuple[int, int], Event] = {}
        for bound in (level, _DEEP * level):
            for start, stop in runs_of(windows.spread <= bound, least):
                waited = np.count_nonzero(busy[start:stop]) * grid.hop * motion.clock.period_s
                events.setdefault((start, stop), _event(motion, grid, windows, start, stop, waited))
        return Measured(values, strongest(list(events.values())))

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Runs within the band that last long enough for their place; whole episodes without motion."""
        events = manifest.events
        runs: dict[int, list[Rest]] = {}
        for i in np.flatnonzero(events.strength <= self.max_band).tolist():
            rest = Rest(float(events.start_s[i]), float(events.end_s[i]), float(events.detail[i] or 0))
            runs.setdefault(int(events.row[i]), []).append(rest)
        reach = manifest["reach"]
        unmoved = reach < self.min_reach * robust.median(reach)
        for row in np.flatnonzero(unmoved).tolist():
            runs[row] = [Rest(float(manifest["begin_s"][row]), float(manifest["end_s"][row]), 0.0)]
        for row in sorted(runs):
            yield from self._of_episode(manifest, row, _united(runs[row]))

    def _of_episode(self, manifest: Manifest, row: int, rests: list[Rest]) -> Iterator[Finding]:
        begin_s, end_s = float(manifest["begin_s"][row]), float(manifest["end_s"][row])
        places: dict[str, list[Rest]] = {place: [] for place in _WHY}
        for rest in rests:
            at_head, at_tail = rest.start_s <= begin_s + self.edge_s, rest.end_s >= end_s - self.edge_s
            place = "head" if at_head else "tail" if at_tail else "middle"
            if rest.idle_s >= getattr(self, f"min_{place}_s"):
                places[place].append(rest)
        for place, found in places.items():
            if not found:
                continue
            limit = getattr(self, f"min_{place}_s")
            longest = max(found, key=lambda rest: rest.idle_s)
            spans = [(rest.start_s, rest.end_s) for rest in found]
            yield finding(
                self,
                Kind.RISK,
                row,
                f"the robot stands still {when(spans)} of {end_s:.2f} s in {manifest.where(row)} "
                f"({_spent(longest, len(found))}, {limit:g} s allowed {_AT[place]}); {_WHY[place]}",
                code=f"idle_{place}",
                spans_s=spans,
                measured=longest.idle_s,
                threshold=limit,
                unit="s",
            )

    def _busy(self, episode: Episode, motion: Motion, grid: Grid, windows: Windows) -> Mask:
        """Windows that begin within `wait_s` of a gripper's command or a change of contact."""
        cells = len(windows.spread)
        busy = np.zeros(cells + grid.width - 1, bool)
        after = round(self.wait_s / (grid.hop * motion.clock.period_s))
        # A gripper moved between two thinned samples by a tenth of its range.
        for row in motion.layout.grippers.tolist():
            busy[1:] |= np.abs(np.diff(windows.relative[row])) > 0.1
        for channel in episode.channels.values():
            if "contact" in channel.key.casefold() and channel.values.shape == (motion.frames, channel.values.shape[1]):
                touch = np.any(np.nan_to_num(channel.values[:: grid.hop].astype(np.float64)) > 0, axis=1)
                busy[1:] |= touch[1:] != touch[:-1]
        return widened(busy, 0, after)[:cells]


def _event(motion: Motion, grid: Grid, windows: Windows, start: int, stop: int, waited_s: float) -> Event:
    # Means span the run less one window; steady motion would have gone on through it.
    drift = float(np.ptp(windows.sums[:, start:stop], axis=1).max()) / grid.width
    band = drift * (1 + (grid.width - 1) / (stop - start))
    return Event(*motion.clock.span_s(*grid.samples(start, stop)), band, detail=f"{waited_s:.3f}")


def _spent(rest: Rest, of: int) -> str:
    """How long a rest lasts and how much of it counts, in the hundredths of a second in which its span is told."""
    lasts = round(rest.end_s, 2) - round(rest.start_s, 2)
    words = f"{lasts:.2f} s" + (" at the longest" if of > 1 else "")
    waited = round(rest.waited_s, 2)
    if not waited:
        return words
    return f"{words}, {lasts - waited:.2f} s without {waited:.2f} s of waiting for a gripper or a contact"


def _united(rests: list[Rest]) -> list[Rest]:
    """Rests merged where they overlap, in order."""
    united: list[Rest] = []
    for rest in sorted(rests):
        if united and rest.start_s <= united[-1].end_s:
            last = united[-1]
            united[-1] = Rest(last.start_s, max(last.end_s, rest.end_s), max(last.waited_s, rest.waited_s))
        else:
            united.append(rest)
    return united
