"""Numbers of messages -> columns of a channel: aligned by name, whatever the order within each message."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gristmill.errors import RecordingError
from gristmill.formats.logs.ros_bytes import Group, MessageError
from gristmill.types import IntArray, Table

JOINT_FIELDS = ("position", "velocity", "effort")
MAX_WIDTH = 512  # more numbers a message are a scan, a map or a picture, not the state of a robot

_NAMES = ("name", "names", "joint_names")
# Book-keeping of messages: when and by whom they were sent, how an array is laid out.
_SKIPPED = re.compile(r"(.*\.)?(header|stamp|timestamp|layout)(\..*|$)|seq$|sequence$|time_from_start\..*")


@dataclass(frozen=True, slots=True)
class Place:
    """One number of a message."""

    label: str  # a joint's name, or the number's path: "pose.position.x", "data[3]"
    path: str
    index: int
    nameless: bool = False  # the message names no joints, so it is called by its number


def is_joints(group: Group) -> bool:
    """Whether the message names its numbers, as sensor_msgs/JointState does."""
    return joint_names(group) is not None and any(f in group.numbers for f in JOINT_FIELDS)


def joint_names(group: Group) -> tuple[str, ...] | None:
    """The names that a message gives to its numbers; None where it gives none."""
    for key in _NAMES:
        names = group.texts.get(key)
        if isinstance(names, tuple):
            return names
    empty = any(key in group.numbers and not group.numbers[key].shape[1] for key in _NAMES)  # JSON's empty list
    return () if empty else None


def check_names(group: Group) -> None:
    """Whether each joint is named once.

    Raises:
        MessageError: a name stands twice, so that nobody can tell the two apart.
    """
    names = joint_names(group) or ()
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise MessageError(
            f"a message names the joint {twice!r} twice, so its numbers cannot be told apart; correct the names where "
            "they are published, and record anew"
        )


def places(group: Group, field: str) -> tuple[Place, ...]:
    """The numbers of a message that count, in its own order.

    Args:
        group: messages of one layout.
        field: a path, or the beginning of several; "" for all but book-keeping.
    """
    if is_joints(group) and (field in JOINT_FIELDS or not field):
        return _joints(group, field or JOINT_FIELDS[0])
    if field in group.numbers and joint_names(group):
        # A trajectory names its joints, too, once for all of its points.
        return _joints(group, field) or _numbers(group, field)
    return _numbers(group, field)


def _numbers(group: Group, field: str) -> tuple[Place, ...]:
    found: list[Place] = []
    for path in group.numbers:
        array = group.numbers[path]
        if not _wanted(path, field) or (array.dtype == np.uint8 and path in group.arrays and not field):
            continue  # bytes are pictures and identifiers, unless asked for
        count = array.shape[1]
        if len(found) + count > MAX_WIDTH:
            return (*found, *(Place(f"{path}[{i}]", path, i) for i in range(MAX_WIDTH + 1 - len(found))))
        found += [Place(f"{path}[{i}]" if path in group.arrays else path, path, i) for i in range(count)]
    return tuple(found)


def _joints(group: Group, field: str) -> tuple[Place, ...]:
    names = joint_names(group) or ()
    values = group.numbers.get(field)
    if values is not None and not names:
        count = min(values.shape[1], MAX_WIDTH + 1)
        return tuple(Place(f"joint_{i}", field, i, nameless=True) for i in range(count))
    # Arrays may be left empty; another length than the names' cannot be assigned, so those values stay unknown.
    if values is None or values.shape[1] != len(names):
        return ()
    return tuple(Place(name, field, i) for i, name in enumerate(names))


def _wanted(path: str, field: str) -> bool:
    if field:
        return path == field or path.startswith((f"{field}.", f"{field}["))
    return not _SKIPPED.fullmatch(path)


def shown(labels: Sequence[str], field: str) -> tuple[str, ...]:
    """Labels as dimension names: without the beginning that all paths share."""
    if not labels or not all("." in label for label in labels):
        return tuple(label.removeprefix(f"{field}.") for label in labels) if field else tuple(labels)
    first = labels[0].split(".")[:-1]
    shared = 0
    while shared < len(first) and all(label.split(".")[: shared + 1] == first[: shared + 1] for label in labels):
        shared += 1
    cut = len(".".join(first[:shared])) + 1 if shared else 0
    return tuple(label[cut:] for label in labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberPlan:
    """What a channel takes of a topic's messages."""

    field: str
    labels: tuple[str, ...]  # one a dimension
    dtype: str = "float64"  # of the channel's values
    whole: tuple[bool, ...] = ()  # dimensions of which only whole numbers and flags were seen, where `dtype` is a float
    closed: bool = False  # the user named the dimensions: others are left out on purpose


class Filling:
    """Fills a channel's values (n, d).

    Where a message lacks a dimension, floating values are NaN. Whole numbers and flags have no NaN, so such a message
    is no sample of theirs (see `samples`).
    """

    def __init__(self, plan: NumberPlan, rows: int) -> None:
        self.plan = plan
        dtype, width = np.dtype(plan.dtype), len(plan.labels)
        self._floating = dtype.kind == "f"
        self.values: Table = np.full((rows, width), np.nan if self._floating else 0, dtype)
        self.filled = np.zeros(rows, bool)  # messages that gave the channel a value
        self._known = np.zeros((0 if self._floating else rows, width), bool)
        self._whole = np.array(plan.whole or (False,) * width, bool)
        self._column = {label: i for i, label in enumerate(plan.labels)}
        self._moved: tuple[object, list[tuple[str, list[int], list[int]]]] | None = None

    def add(self, rows: np.ndarray, group: Group) -> None:
        """Take messages of one layout as the channel's rows `rows`.

        Raises:
            MessageError: they name a joint twice.
            RecordingError: they hold a dimension that the channel does not have.
        """
        for path, columns, indexes in self._moves(group):
            values = group.numbers[path]
            if self._floating:
                self._whole[columns] &= values.dtype.kind in "iub"
            elif np.can_cast(values.dtype, self.values.dtype, "safe"):
                self._known[rows[:, None], columns] = True
            else:
                continue  # what was seen nowhere before, such as a fraction among flags
            self.filled[rows] = True
            if columns == list(range(columns[0], columns[0] + len(columns))) and indexes == list(
                range(values.shape[1])
            ):
                self.values[rows, columns[0] : columns[0] + len(columns)] = values
            else:
                self.values[rows[:, None], columns] = values[:, indexes]

    @property
    def samples(self) -> IntArray | None:
        """The rows that are samples of the channel; None for all."""
        if self._floating or self._known.all():
            return None
        return np.flatnonzero(self._known.all(axis=1))

    @property
    def discrete(self) -> tuple[int, ...]:
        """Dimensions of floating values that held nothing but whole numbers and flags."""
        return tuple(np.flatnonzero(self._whole).tolist()) if self._floating else ()

    def _moves(self, group: Group) -> list[tuple[str, list[int], list[int]]]:
        """(path, columns of the channel, elements of the array) for every array; equal layouts share them."""
        if self._moved is None or self._moved[0] != group.layout:
            check_names(group)
            by_path: dict[str, tuple[list[int], list[int]]] = {}
            for place in places(group, self.plan.field):
                column = self._column.get(place.label)
                if column is not None:
                    columns, indexes = by_path.setdefault(place.path, ([], []))
                    columns.append(column)
                    indexes.append(place.index)
                elif not self.plan.closed and not place.nameless:
                    raise RecordingError(
                        f"{place.label} appears in a message, but in none of those that the channel was made from; "
                        "give the dimensions as `names` in the topic's rule"
                    )
            self._moved = (group.layout, [(path, c, i) for path, (c, i) in by_path.items()])
        return self._moved[1]


def union(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """All labels once, in the order in which they are first met."""
    return tuple(dict.fromkeys(label for labels in lists for label in labels))
