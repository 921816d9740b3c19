"""One episode under change: its rows, its pictures' order and touch-ups, its task, and what metadata says of it."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from gristmill.synth.edit.columns import is_numeric, numbers, with_numbers
from gristmill.types import IntArray

# Changes one picture (h, w, 3) uint8, given its number in the new episode.
Touch = Callable[[int, np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Footage:
    """Where the frames of one camera of one episode lie: frames first..stop of a file, by presentation."""

    path: str  # relative to the corpus
    first: int
    stop: int
    alone: bool  # no other episode's frames lie in that file


@dataclass(slots=True)
class Reel:
    """What becomes of one camera's frames: which of the old ones follow each other, and what is done to them.

    `order` (k,) numbers old frames and never falls, so that files are decoded in one pass.
    """

    source: Footage
    order: IntArray
    touch: Touch | None = None
    gone: bool = False  # the file is removed, the metadata still names it
    cut_to: int | None = None  # only so many frames remain in the file, the metadata still promises all

    @property
    def changed(self) -> bool:
        """Whether a file has to be written or removed."""
        whole = np.array_equal(self.order, np.arange(self.source.stop - self.source.first))
        return self.gone or self.cut_to is not None or self.touch is not None or not whole


@dataclass(slots=True)
class Draft:
    """One episode under change. What is not touched is written back as it was."""

    index: int
    rate_hz: float
    rows: pa.Table  # as recorded, the bookkeeping columns included
    tasks: tuple[str, ...]
    reels: dict[str, Reel]  # cameras whose file exists
    length: int  # frames that the metadata promises; follows the rows unless it is made to lie
    original: pa.Table = field(repr=False)
    neighbours: Container[int] = ()  # all episodes of the corpus
    declared: Container[str] = ()  # features of which this episode's statistics are declared
    copy_of: int | None = None  # a new episode, appended
    task: str | None = None  # replaces the task of all rows
    points_at: int | None = None  # the metadata names another episode's rows
    stats_shift: Mapping[str, np.ndarray] = field(default_factory=dict)  # feature -> added to declared min, max, mean

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def times_s(self) -> np.ndarray:
        """(t,) the recorded timestamps, or frame numbers over the rate where none are recorded."""
        if "timestamp" in self.rows.column_names:
            return numbers(self.rows, "timestamp")[:, 0].astype(np.float64)
        return np.arange(len(self.rows)) / self.rate_hz

    def set(self, key: str, values: np.ndarray) -> None:
        """Replace a column's values (t, d)."""
        self.rows = with_numbers(self.rows, key, values)

    def retime(self, positions: np.ndarray, *, keep_times: bool = False, blend: Sequence[str] = ()) -> None:
        """Give the episode new rows, each taken from a place between old ones; frames follow.

        Args:
            positions: (k,) places among the old rows, ascending; the nearest row is taken.
            keep_times: recorded timestamps travel with their rows; otherwise they are made anew from the rate.
            blend: columns whose values are interpolated instead.
        """
        nearest = np.round(positions).astype(np.int64)
        old, rows = self.rows, self.rows.take(pa.array(nearest))
        for key in blend:
            values = numbers(old, key)
            low = np.floor(positions).astype(np.int64)
            high = np.minimum(low + 1, len(values) - 1)
            share = (positions - low)[:, None]
            rows = with_numbers(rows, key, values[low] * (1 - share) + values[high] * share)
        self.rows = rows
        self._renumber(old, keep_times)
        for reel in self.reels.values():
            reel.order = reel.order[np.minimum(nearest, len(reel.order) - 1)]
        self.length = len(rows)

    def _renumber(self, old: pa.Table, keep_times: bool) -> None:
        """Bookkeeping as a recorder would have written it for the new rows."""
        count = len(self.rows)
        for key in ("frame_index", "index"):
            if key in old.column_names:
                self.set(key, numbers(old, key)[0, 0] + np.arange(count))
        if "timestamp" in old.column_names and not keep_times:
            self.set("timestamp", numbers(old, "timestamp")[0, 0] + np.arange(count) / self.rate_hz)
        if "next.done" in old.column_names and is_numeric(old.schema.field("next.done").type):
            done = numbers(old, "next.done")[:, 0].astype(bool)
            ending = len(done) - int(np.argmin(np.append(done[::-1], False)))
            # Where only the last row, or the last few, say so, that stays so.
            if not done[:ending].any():
                last = count - (len(done) - ending)
                self.set("next.done", np.arange(count) >= last)

    def changed_columns(self) -> list[str]:
        """Columns whose values differ from what was recorded."""
        if len(self.rows) != len(self.original):
            return list(self.rows.column_names)
        return [k for k in self.rows.column_names if not self.rows[k].equals(self.original[k])]
