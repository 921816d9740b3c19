"""Slices of a table's columns, read in row order, and what to make of rows that are not regular."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from gristmill.errors import RecordingError
from gristmill.formats.lerobot.columns import ColumnPlan, dense, patched
from gristmill.formats.lerobot.tables import BATCH_ROWS, Table

_BATCH_BYTES = 16 << 20
_CAREFUL_ROWS = 64

# A slice of a column: an array, or what cannot become one without a decision about null or ragged rows.
Rows: TypeAlias = "np.ndarray | pa.Array | list[Rows]"


class RowReader:
    """Reads slices of a table's columns, cheap when they come in row order."""

    def __init__(self, table: Table, plans: Sequence[ColumnPlan]) -> None:
        self._table = table
        self._plans = plans
        names = [table.schema.field(p.position).name for p in plans]
        self._names = names
        width = sum(p.width or 1 for p in plans)
        self._batch_rows = int(np.clip(_BATCH_BYTES // max(1, 8 * width), 64, BATCH_ROWS))
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._window: dict[str, Rows] = {}
        self._first = self._stop = -1  # rows in the window
        # A page that cannot be read takes the whole batch with it, so from then on batches are small.
        self._careful = False
        self._broken: dict[int, int] = {}  # row group -> first row in it that cannot be read

    @property
    def whole(self) -> bool:
        """Whether the table is so short that one read holds it."""
        return 0 < self._table.rows <= self._batch_rows

    def read(self, start: int, stop: int) -> dict[str, Rows]:
        """Rows start..stop (at least one) of every planned column; see `settle` for those that are not plain arrays.

        Raises:
            RecordingError: a page cannot be read.
        """
        if start < self._first or start >= self._stop + self._batch_rows or self._first < 0:
            self._seek(start)
        parts: list[dict[str, Rows]] = []
        at = start
        while at < stop:
            if at >= self._stop:
                self._advance(at)
                continue
            end = min(stop, self._stop)
            parts.append({k: v[at - self._first : end - self._first] for k, v in self._window.items()})
            at = end
        return parts[0] if len(parts) == 1 else {key: _join([p[key] for p in parts]) for key in parts[0]}

    def _seek(self, row: int) -> None:
        group = self._table.group_of(row)
        self._window = {}
        if row >= self._broken.get(group, row + 1):
            self._first = self._stop = -1
            raise RecordingError(f"{self._table.name} cannot be read from row {self._broken[group]} on; restore it")
        self._batches = self._stream(group)
        self._first = self._stop = int(self._table.group_starts[group])

    def _stream(self, group: int) -> Iterator[pa.RecordBatch]:
        if not self._careful:
            yield from self._table.batches(self._names, group, self._batch_rows)
            return
        for one in range(group, len(self._table.group_starts) - 1):
            yield from self._table.batches(self._names, one, _CAREFUL_ROWS, one + 1)

    def _advance(self, row: int) -> None:
        try:
            batch = next(self._batches, None)
        except RecordingError:
            if not self._careful:
                self._careful = True
                self._seek(row)
                return
            self._broken[self._table.group_of(self._stop)] = self._stop
            self._first = self._stop = -1
            raise
        if batch is None:
            self._first = self._stop = -1
            raise RecordingError(f"{self._table.name} ends before row {row}; restore it")
        self._first = self._stop
        self._stop += batch.num_rows
        self._window = {}
        for plan, name in zip(self._plans, self._names, strict=True):
            column = batch.column(batch.schema.get_all_field_indices(name)[0])
            values = dense(column, plan.width)
            self._window[plan.key] = column if values is None else values


def settle(rows: Rows, width: int | None, where: str) -> np.ndarray:
    """An episode's slice of a column as an array, whatever the reader had to hand over.

    Raises:
        RecordingError: rows differ in length.
    """
    if isinstance(rows, np.ndarray):
        return rows
    if isinstance(rows, list):
        return np.concatenate([settle(part, width, where) for part in rows])
    found = dense(rows, width)
    return patched(rows, width, where) if found is None else found


def is_regular(rows: Rows, width: int | None) -> bool:
    """Whether `settle` needs to decide nothing: no row is null, ragged or of another width."""
    if isinstance(rows, list):
        return all(is_regular(part, width) for part in rows)
    return isinstance(rows, np.ndarray) or dense(rows, width) is not None


def _join(parts: list[Rows]) -> Rows:
    return np.concatenate(parts) if all(isinstance(p, np.ndarray) for p in parts) else parts  # type: ignore[arg-type]
