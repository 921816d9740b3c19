"""What a recording tells of grasping: what its task claims, what its gripper does, what its sensors feel.

Shared by the checks of contact and grasps, once an episode. Nothing here needs to know which end of a gripper's
range is closed; where a card says so, it is used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import numpy as np

from gristmill import robust
from gristmill.embodiment import Gripper, plain_name
from gristmill.episode import Channel, Episode
from gristmill.grasp_claims import claims_grasp
from gristmill.layout import Layout, part_of
from gristmill.motion import Motion, motion_of
from gristmill.runs import runs_of
from gristmill.types import FloatArray

Sense = Literal["touch", "effort", "wrench"]

_TOUCH = re.compile(r"contact|tactile|touch|fingerpressure|fsr")
_WRENCH = re.compile(r"wrench|ftsensor|force|^(observation)?ft$")
_EFFORT = re.compile(r"effort|torque|current|load")
_EFFORTS = re.compile(r"effort|torque|currents?$")  # of a whole channel: "current_state" is none
_NOT_A_PLACE = re.compile(r"effort|torque|current|load|force|velocity|speed|vel$")
_NO_PLACES = re.compile(r"effort|torque|currents?$|force|velocity|velocities|speed|vel$")
_SIDES = ("left", "right")

# Seconds at the beginning of an episode from which a sensor's zero is taken: the hand is still empty, and at rest.
_AT_START_S = 0.5
_FEWEST = 3  # samples for it
_STEADY = 0.05  # share of samples that differ from the one before, below which a sensor has no noise


# Multiples of a sensor's noise from which it feels something; noise alone reaches 6 once in 500 million samples.
TOUCHED = 6.0
SUSTAINED_S = 0.1  # and how long it has to

# How far, as a share of its range, and how long a gripper closes before it feels something.
_APPROACH, _APPROACH_S = 0.03, 0.5


class Place(NamedTuple):
    """Where in the channels a sensor is."""

    key: str
    columns: tuple[int, ...]
    sense: Sense
    side: str  # "left", "right" or ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Hand:
    """One gripper of one episode of t samples.

    Attributes:
        motion: the episode's.
        state: row of its position, or None if only commands were recorded.
        command: row of its command, or None.
        polarity: its closed and open position by the card, or None.
        sensors: what it feels with.
        channels: the recording's.
    """

    motion: Motion
    state: int | None
    command: int | None
    polarity: Gripper | None
    sensors: tuple[Place, ...]
    channels: Mapping[str, Channel]

    @property
    def row(self) -> int:
        """The row that tells best where the gripper is."""
        row = self.state if self.state is not None else self.command
        assert row is not None  # a hand has one of them
        return row

    @property
    def label(self) -> str:
        """What findings call the gripper."""
        return self.motion.layout.labels[self.row]

    @cached_property
    def position(self) -> FloatArray:
        """(t,) where it is, in its own unit."""
        return self.motion.values[self.row].astype(np.float64)

    @cached_property
    def commanded(self) -> FloatArray | None:
        """(t,) where it shall be."""
        return None if self.command is None else self.motion.values[self.command].astype(np.float64)

    @cached_property
    def range(self) -> float:
        """Its whole travel: the card's, or that of this episode."""
        if self.polarity is not None:
            return abs(self.polarity.open - self.polarity.closed)
        return float(np.ptp(self.position)) if len(self.position) else 0.0

    @cached_property
    def closing(self) -> int:
        """+1 if its numbers grow as it closes, -1 if they fall, 0 where the card does not say."""
        return 0 if self.polarity is None else int(np.sign(self.polarity.closed - self.polarity.open))

    @cached_property
    def closing_seen(self) -> int:
        """As `closing`, or by how the gripper moved just before it first felt something; 0 where neither tells."""
        if self.closing or not self.sensors:
            return self.closing
        touched = runs_of(self.felt >= TOUCHED, self.motion.clock.frames(SUSTAINED_S))
        if not touched:
            return 0
        at = touched[0][0]
        moved = self.position[at] - self.position[max(0, at - self.motion.clock.frames(_APPROACH_S))]
        return int(np.sign(moved)) if abs(moved) >= _APPROACH * self.range else 0

    @cached_property
    def felt(self) -> FloatArray:
        """(t,) what touch and effort sensors feel, in multiples of their own noise."""
        return self._felt(("touch", "effort"))

    @cached_property
    def felt_anywhere(self) -> FloatArray:
        """(t,) the same, with a force-torque sensor at the wrist."""
        return self._felt(("touch", "effort", "wrench")) if self.feels("wrench") else self.felt

    def feels(self, *senses: Sense) -> bool:
        """Whether it has a sensor of one of these."""
        return any(sensor.sense in senses for sensor in self.sensors)

    def _felt(self, senses: tuple[Sense, ...]) -> FloatArray:
        times_s = self.motion.clock.times_s
        most = np.zeros(len(times_s))
        for sensor in self.sensors:
            if sensor.sense in senses:
                values = held(self.channels[sensor.key], times_s)[:, sensor.columns]
                np.maximum(most, noises(values, self.motion.clock.frames(_AT_START_S)), out=most)
        return most


def noises(values: FloatArray, start: int) -> FloatArray:
    """(t,) largest deviation of any column of (t, d) values from its zero, in multiples of the column's noise.

    The zero is the median of the first `start` samples. The noise is taken from differences of neighbours, which a
    grasp, a drift or the weight of a hand hardly changes (Rice, "Bandwidth choice for nonparametric regression",
    Annals of Statistics 12, 1984, in its robust form), and is at least the smallest step that was recorded. A sensor
    that hardly ever changes, as one that only says yes or no, has no noise, and each of its steps counts.
    """
    values = np.asarray(values, np.float64)
    if len(values) < 2 or not values.shape[1]:
        return np.zeros(len(values))
    known = np.isfinite(values)
    values = np.where(known, np.clip(values, -1e15, 1e15), 0.0)
    first = np.sort(values[: max(_FEWEST, start)], axis=0)
    zero = first[(len(first) - 1) // 2]
    steps = np.sort(np.abs(values[1:] - values[:-1]), axis=0)
    changes = np.count_nonzero(steps, axis=0)
    smallest = steps[np.minimum(len(steps) - changes, len(steps) - 1), np.arange(steps.shape[1])]
    steady = changes < _STEADY * len(steps)
    typical = robust.NORMAL / np.sqrt(2) * steps[(len(steps) - 1) // 2]
    noise = np.maximum(typical, np.where(steady, smallest / 10, smallest))
    away = np.where(known, np.abs(values - zero), 0.0)
    return np.divide(away, noise, out=np.zeros_like(away), where=noise > 0).max(axis=1)


class Grip(NamedTuple):
    """One closing of a gripper, in samples."""

    start: int  # where it begins to close
    closed: int  # where it has come to rest
    stop: int  # where it begins to open again; the number of samples if it never does


def grips(closeness: FloatArray, swing: float) -> list[Grip]:
    """Every closing by at least `swing` of a gripper whose numbers grow as it closes, and when it opens by as much.

    A value counts as an extreme as long as the signal stays within a tenth of the swing of it, so that a closing
    begins where the gripper leaves its rest, not where it came to it.
    """
    found: list[Grip] = []
    if swing <= 0:
        return found
    slack, signal = swing / 10, closeness.tolist()
    closing = False
    open_at = closed_at = rest_at = 0
    low = high = signal[0] if signal else 0.0
    for i, value in enumerate(signal):
        if not closing:
            low = min(low, value)
            if value <= low + slack:
                open_at = i
            if value - low >= swing:
                closing, high, closed_at, rest_at = True, value, i, i
        else:
            if value > high + slack:
                rest_at = i
            high = max(high, value)
            if value >= high - slack:
                closed_at = i
            if high - value >= swing:
                found.append(Grip(open_at, rest_at, closed_at + 1))
                closing, low, open_at = False, value, i
    if closing:
        found.append(Grip(open_at, rest_at, len(signal)))
    return found


def sustained(values: FloatArray, samples: int) -> float:
    """The value that `samples` of these reach; 0 where there are not so many."""
    if len(values) < samples:
        return 0.0
    return float(np.partition(values, len(values) - samples)[len(values) - samples])


def hands_of(episode: Episode) -> tuple[Hand, ...]:
    """The grippers of an episode with their sensors, kept with it; empty where no gripper is known.

    Raises:
        RecordingError: the recording cannot be read.
    """
    hands = episode.derived.get("hands")
    if hands is None:
        hands = episode.derived["hands"] = _hands(episode)
    return hands


def can_feel(episode: Episode) -> bool:
    """Whether a gripper of this recording has a sensor at all; costs next to nothing.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return bool(_places_of(episode))


def claimed(episode: Episode) -> bool:
    """Whether a task of the episode claims a grasp."""
    return any(map(claims_grasp, episode.tasks))


def failed(episode: Episode) -> bool:
    """Whether the recording itself says that the task failed: it has a success channel that ends false."""
    for channel in episode.channels.values():
        if channel.role == "success" and len(channel.values):
            return not bool(np.nan_to_num(np.asarray(channel.values[-1], np.float64)).any())
    return False


_places: dict[tuple, tuple[Place, ...]] = {}


def places_of(channels: Mapping[str, Channel]) -> tuple[Place, ...]:
    """The sensors among these channels."""
    key = tuple([(c.key, c.role, c.names) for c in channels.values()])
    places = _places.get(key)
    if places is None:
        if len(_places) >= 64:
            _places.clear()
        places = _places[key] = tuple(p for c in channels.values() if c.role != "action" for p in _places_in(c))
    return places


def _places_of(episode: Episode) -> tuple[Place, ...]:
    places = episode.derived.get("sensors")
    if places is None:
        places = episode.derived["sensors"] = places_of(episode.channels)
    return places


def ranked(values: FloatArray, share: float) -> float:
    """The order statistic nearest below `share` of some values, of which there is one at least; quickly."""
    return float(np.sort(values)[int(share * (len(values) - 1))])


def held(channel: Channel, times_s: FloatArray) -> FloatArray:
    """(t, d) a channel's values at other times: the newest at or before each."""
    if channel.times_s is times_s or np.array_equal(channel.times_s, times_s):
        return np.asarray(channel.values, np.float64)
    if not len(channel.times_s):
        return np.full((len(times_s), channel.values.shape[1]), np.nan)
    newest = np.searchsorted(channel.times_s, times_s, side="right") - 1
    return np.asarray(channel.values[np.clip(newest, 0, len(channel.times_s) - 1)], np.float64)


def _places_in(channel: Channel) -> list[Place]:
    columns: dict[tuple[Sense, str], list[int]] = {}
    for i in range(channel.values.shape[1]):
        name = channel.names[i] if i < len(channel.names) else ""
        sense = _sense(plain_name(channel.key), plain_name(name))
        if sense is not None:
            columns.setdefault((sense, side_of(f"{channel.key} {name}")), []).append(i)
    return [Place(channel.key, tuple(at), sense, side) for (sense, side), at in columns.items()]


def _sense(key: str, name: str) -> Sense | None:
    """What a dimension feels. The effort of a joint of the arm follows its motion and load, so it is none."""
    if _TOUCH.search(key) or _TOUCH.search(name):
        return "touch"
    gripper = any(part_of(text, None) == "gripper" for text in (key, name) if text)
    if gripper and (_EFFORT.search(name) or _EFFORTS.search(key) or "force" in key + name):
        return "effort"
    if _WRENCH.search(name) or (_WRENCH.search(key) and not _EFFORTS.search(key.replace("forcetorque", ""))):
        return "wrench"
    return None


def side_of(text: str) -> str:
    """Which hand a name is of: "left", "right", or "" where it does not say."""
    return next((side for side in _SIDES if side in text.casefold()), "")


def _hands(episode: Episode) -> tuple[Hand, ...]:
    motion = motion_of(episode)
    places = _places_of(episode)
    rows = _gripper_rows(motion.layout)
    hands = []
    for side, state, command in rows:
        own = tuple(p for p in places if len(rows) == 1 or p.side == side)
        hands.append(
            Hand(
                motion=motion,
                state=state,
                command=command,
                polarity=_polarity(motion.layout, state, command),
                sensors=own,
                channels=episode.channels,
            )
        )
    return tuple(hands)


@lru_cache(maxsize=64)
def _gripper_rows(layout: Layout) -> tuple[tuple[str, int | None, int | None], ...]:
    """(side, state row, command row) of each gripper; of several fingers of one side, the first speaks for all."""
    answers = dict(
        zip(layout.index[layout.pairs.state].tolist(), layout.index[layout.pairs.action].tolist(), strict=True)
    )
    found: dict[str, tuple[int | None, int | None]] = {}
    for row in layout.grippers.tolist():
        dim = layout.dims[row]
        if _NOT_A_PLACE.search(plain_name(dim.name)) or _NO_PLACES.search(plain_name(dim.channel)):
            continue
        side = side_of(f"{dim.channel} {dim.name}")
        if dim.role == "state":
            found.setdefault(side, (row, answers.get(row)))
        else:
            found.setdefault(side, (None, row))
    return tuple((side, state, command) for side, (state, command) in found.items())


def _polarity(layout: Layout, state: int | None, command: int | None) -> Gripper | None:
    joint = layout.joints[state if state is not None else command]  # type: ignore[index]
    return None if joint is None else layout.card.gripper(joint.name)
