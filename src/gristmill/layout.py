"""Which row of an episode's motion is which: state and action, arms, hands and grippers, command and answer.

A layout depends on the channels' names and the card alone, so that all episodes of a corpus share one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gristmill.embodiment import Embodiment, Joint, is_placeholder, plain_name
from gristmill.types import FloatArray, IntArray, Mask

if TYPE_CHECKING:
    from gristmill.episode import Channel, Dim

Part = Literal["arm", "hand", "gripper"]

_GRIPPER = re.compile(r"gripper|claw|jaw")
_HAND = re.compile(r"hand|thumb|pinky|palm|finger")
_TWO_FINGERS = re.compile(r"finger(joint|pos|position|width|distance|tip)?\d*")
_STATE = re.compile(r"^observation\.state\.?|^observation\.|^state\.?")
_ACTION = re.compile(r"^action\.?")
_KEPT = 64  # layouts kept; a process rarely sees more than a handful of corpora

_cache: dict[tuple, Layout] = {}


@dataclass(frozen=True, eq=False, kw_only=True)
class Layout:
    """Names and roles of the D rows of a motion: the state's first, then the action's.

    Attributes:
        dims: one a row.
        labels: what findings call each row.
        states: number of state rows; the action's follow.
        features: state feature key -> its rows.
        joints: the card's joint behind each row, or None.
        parts: (D,) "arm", "hand" or "gripper". A hand with fingers of its own is no gripper.
        pairs: rows of state and of action that belong to one joint, in equal order.
        arm_pairs: those of arms only.
    """

    dims: tuple[Dim, ...]
    labels: tuple[str, ...]
    states: int
    features: dict[str, slice]
    joints: tuple[Joint | None, ...]
    parts: NDArray[np.str_]
    pairs: Pairs
    arm_pairs: Pairs
    card: Embodiment  # held, because its identity is part of the cache's key

    @cached_property
    def arm(self) -> Mask:
        """(D,) rows that belong to neither a gripper nor a hand."""
        return self.parts == "arm"

    @cached_property
    def grippers(self) -> IntArray:
        """Rows of grippers."""
        return np.flatnonzero(self.parts == "gripper")

    @cached_property
    def index(self) -> IntArray:
        """(D,) row numbers; `index[pairs.state]` lists the rows that a slice stands for."""
        return np.arange(len(self.dims))

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {label: row for row, label in reversed(list(enumerate(self.labels)))}

    def rows_of(self, labels: Iterable[str | None]) -> IntArray:
        """Row of each label; -1 for one that is not of this layout, as in an episode with a schema of its own."""
        return np.array([self._row_of.get(str(label), -1) for label in labels], np.intp)

    def unit(self, row: int) -> str:
        """The row's unit by the card, such as "rad"; "" where it is not known."""
        joint = self.joints[row]
        return "" if joint is None or joint.unit == "unknown" else joint.unit

    @cached_property
    def _peers(self) -> tuple[IntArray, IntArray, IntArray]:
        """Rows ordered by group of peers, where each group starts among them, and the group of each row."""
        group = np.unique([f"{d.role} {p}" for d, p in zip(self.dims, self.parts, strict=True)], return_inverse=True)[1]
        order = np.argsort(group, kind="stable")
        return order, np.flatnonzero(np.diff(group[order], prepend=-1)), group

    def widest(self, ranges: FloatArray) -> FloatArray:
        """(D,) largest of the ranges (D,) among each row's peers: arm joints, hand joints or grippers of its role."""
        order, starts, group = self._peers
        return np.maximum.reduceat(ranges[order], starts)[group] if len(ranges) else ranges

    @cached_property
    def _unknown(self) -> FloatArray:
        return np.full(len(self.dims), np.nan)

    def unknown(self) -> FloatArray:
        """(D,) fresh cells of a `per="dim"` column, all NaN."""
        return self._unknown.copy()

    @cached_property
    def state(self) -> slice:
        """Rows of the state."""
        return slice(0, self.states)

    @cached_property
    def action(self) -> slice:
        """Rows of the action."""
        return slice(self.states, len(self.dims))

    @cached_property
    def moving(self) -> slice:
        """Rows that say how the robot moved: the state, or the action where no state was recorded."""
        return self.state if self.states else self.action


class Pairs(NamedTuple):
    """Row `action[i]` commands row `state[i]`; slices where the rows lie side by side, which copies nothing."""

    state: IntArray | slice
    action: IntArray | slice
    count: int


def layout_of(channels: Sequence[Channel], card: Embodiment) -> Layout:
    """The layout of these state and action channels, states first, in the order of the features."""
    key = (id(card), *((c.key, c.role, c.names, c.values.shape[1]) for c in channels))
    layout = _cache.get(key)
    if layout is None:
        from gristmill.episode import dims_of

        if len(_cache) >= _KEPT:
            _cache.clear()
        layout = _cache[key] = layout_of_dims(dims_of({c.key: c for c in channels}), card)
    return layout


def layout_of_dims(dims: Sequence[Dim], card: Embodiment) -> Layout:
    """The layout of state dimensions followed by action dimensions, such as `Manifest.dims`."""
    dims = tuple(dims)
    states = sum(d.role == "state" for d in dims)
    joints = card.match_dims(dims)
    parts = np.array([part_of(d.name, j) for d, j in zip(dims, joints, strict=True)], dtype="U7")
    channels = [d.channel for d in dims[:states]]
    pairs = _pairs(dims[:states], dims[states:])
    arms = [(s, a) for s, a in pairs if parts[s] == "arm" and parts[a + states] == "arm"]
    return Layout(
        dims=dims,
        labels=tuple(d.label for d in dims),
        states=states,
        features={k: slice(channels.index(k), channels.index(k) + channels.count(k)) for k in dict.fromkeys(channels)},
        joints=joints,
        parts=parts,
        pairs=_rows(pairs, states),
        arm_pairs=_rows(arms, states),
        card=card,
    )


def part_of(name: str, joint: Joint | None) -> Part:
    """Whether a dimension belongs to an arm, a hand or a gripper: by the card, else by its name."""
    if joint is not None and joint.kind in ("gripper", "hand"):
        return "gripper" if joint.kind == "gripper" else "hand"
    text = plain_name(name)
    if _GRIPPER.search(text) or (_TWO_FINGERS.search(text) and not re.search(r"hand|thumb|index|middle|ring", text)):
        return "gripper"
    return "hand" if _HAND.search(text) else "arm"


def _rows(pairs: Sequence[tuple[int, int]], states: int) -> Pairs:
    return Pairs(_side_by_side([s for s, _ in pairs]), _side_by_side([a + states for _, a in pairs]), len(pairs))


def _side_by_side(rows: Sequence[int]) -> IntArray | slice:
    if rows and list(rows) == list(range(rows[0], rows[0] + len(rows))):
        return slice(rows[0], rows[0] + len(rows))
    return np.array(rows, np.intp)


def _pairs(states: Sequence[Dim], actions: Sequence[Dim]) -> list[tuple[int, int]]:
    """State and action dimensions of one joint: by feature and name, by name, or in order when unnamed."""
    for key in (_full_name, _own_name):
        left, right = [key(d) for d in states], [key(d) for d in actions]
        once = {n for n, k in Counter(left).items() if k == 1} & {n for n, k in Counter(right).items() if k == 1}
        pairs = [(i, right.index(n)) for i, n in enumerate(left) if n and n in once]
        if pairs:
            return pairs
    nameless = all(is_placeholder(d.name) for d in (*states, *actions))
    return [(i, i) for i in range(len(states))] if nameless and len(states) == len(actions) else []


def _full_name(dim: Dim) -> str:
    """Feature without its role, and name: `observation.state.arm[pan]` and `action.arm[pan]` agree."""
    if not dim.name:
        return ""
    feature = (_STATE if dim.role == "state" else _ACTION).sub("", dim.channel)
    return f"{plain_name(feature)}/{plain_name(dim.name)}"


def _own_name(dim: Dim) -> str:
    return plain_name(dim.name)
