"""What faults need to know of a corpus's states and actions: names, ranges, resolution, grippers, motion."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gristmill.embodiment import Joint, resolve
from gristmill.episode import Dim
from gristmill.synth.edit.columns import numbers
from gristmill.synth.edit.corpus import EditableCorpus
from gristmill.synth.edit.draft import Draft

_LATTICE_SHARE = 0.99  # of the values lie on multiples of the step, where a sensor counts


class Signals:
    """Quantities over all episodes; every array has one entry a dimension, states first, then actions."""

    def __init__(self, corpus: EditableCorpus) -> None:
        features = [f for f in corpus.info.of_kind("number") if f.role in ("state", "action")]
        self.keys = [f.key for role in ("state", "action") for f in features if f.role == role]
        by_key: dict[str, list[np.ndarray]] = {key: [] for key in self.keys}
        for _, table in corpus.columns(self.keys):
            for key in table.column_names:
                by_key[key].append(numbers(table, key))
        self.keys = [k for k in self.keys if by_key[k]]
        values = {k: np.concatenate(by_key[k]) for k in self.keys}
        width = {k: v.shape[1] for k, v in values.items()}
        declared = {f.key: f for f in features}
        self.dims: tuple[Dim, ...] = tuple(d for k in self.keys for d in declared[k].dims(width[k]))
        stacked = [values[k].astype(np.float64) for k in self.keys]
        self.floating = {k: values[k].dtype.kind == "f" for k in self.keys}
        self._all = np.concatenate(stacked, axis=1) if stacked else np.zeros((0, 0))
        self._edges = np.cumsum([len(part) for part in by_key[self.keys[0]]])[:-1] if self.keys else np.zeros(0, int)
        self.low = np.nanmin(self._all, axis=0) if len(self._all) else np.zeros(0)
        self.high = np.nanmax(self._all, axis=0) if len(self._all) else np.zeros(0)
        self.card = resolve(corpus.info.robot_type, self.dims)

    @property
    def span(self) -> np.ndarray:
        """(d,) range over the corpus."""
        return self.high - self.low

    @cached_property
    def step(self) -> np.ndarray:
        """(d,) the smallest step that a value takes, as good as the sensor's resolution."""
        steps = np.abs(np.diff(self._all, axis=0))
        steps[self._edges - 1] = 0  # from one episode to the next
        found = np.zeros(len(self.dims))
        for i, column in enumerate(steps.T):
            moved = column[column > 0]
            found[i] = np.quantile(moved, 0.05) if len(moved) else 0.0
        return found

    @cached_property
    def counted(self) -> np.ndarray:
        """(d,) whether values are multiples of the step from some origin, as an encoder's are."""
        step = np.where(self.step > 0, self.step, 1.0)
        count = (self._all - self._all[:1]) / step if len(self._all) else self._all
        on = (np.abs(count - np.round(count)) < 0.05).mean(axis=0) >= _LATTICE_SHARE if len(count) else self.step > 0
        return on & (self.step > 0)

    @cached_property
    def joints(self) -> tuple[Joint | None, ...]:
        """(d,) what the card knows of each dimension."""
        return self.card.match_dims(self.dims)

    def of_role(self, role: str) -> list[int]:
        """Positions of the states or of the actions."""
        return [i for i, d in enumerate(self.dims) if d.role == role]

    def is_gripper(self, i: int) -> bool:
        """Whether a dimension is a gripper's opening."""
        joint = self.joints[i]
        named = {g.joint for g in self.card.grippers}
        return joint is not None and (joint.kind == "gripper" or joint.name in named)

    def values(self, draft: Draft) -> np.ndarray:
        """(t, d) of one episode, a copy."""
        return np.concatenate([numbers(draft.rows, k).astype(np.float64) for k in self.keys], axis=1)

    def put(self, draft: Draft, values: np.ndarray) -> None:
        """Write values (t, d) back; a column of integers gets rounded ones."""
        at = 0
        for key in self.keys:
            width = sum(d.channel == key for d in self.dims)
            part = values[:, at : at + width]
            if not np.array_equal(part, numbers(draft.rows, key), equal_nan=self.floating[key]):
                draft.set(key, part if self.floating[key] else np.round(part))
            at += width

    def snapped(self, values: np.ndarray) -> np.ndarray:
        """Values (t, d) moved onto the sensors' steps, where there are such."""
        step = np.where(self.counted, self.step, 1.0)
        origin = self._all[0]
        return np.where(self.counted, origin + np.round((values - origin) / step) * step, values)

    def flicker(self, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        """What a sensor reads around a value that stands still: mostly nothing, now and then a step."""
        return rng.choice([-1.0, 0.0, 1.0], shape, p=[0.07, 0.86, 0.07]) * self.step

    def motion(self, draft: Draft, role: str) -> np.ndarray:
        """(t,) how far the states or actions go to the next frame, as shares of their ranges, summed."""
        rows = [i for i in self.of_role(role) if self.span[i] > 0]
        steps = np.abs(np.diff(self.values(draft)[:, rows], axis=0, append=np.nan)) / self.span[rows]
        return np.nansum(steps, axis=1)
