"""Parquet files of episodes: opened once, read in order, a few thousand rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import RecordingError
from gristmill.formats.lerobot import salvage
from gristmill.formats.lerobot.columns import ColumnPlan, dense, patched

# Pages are read through a small buffer instead of whole column chunks, which may be as large as the file.
_BUFFER_BYTES = 1 << 16
_BATCH_ROWS = 8192
_BATCH_BYTES = 16 << 20
_CELL_ROWS = 32


# A slice of a column: an array, or what cannot become one without a decision about null or ragged rows.
Rows: TypeAlias = "np.ndarray | pa.Array | list[Rows]"


class Run(NamedTuple):
    """Consecutive rows with one value of `episode_index`; `stop` is exclusive."""

    start: int
    stop: int


class Runs:
    """Collects runs from a column of `episode_index` that comes in pieces."""

    def __init__(self) -> None:
        self.rows = 0
        self._found: dict[int, list[Run]] = {}
        self._last: int | None = None
        self._begin = 0

    def add(self, values: np.ndarray) -> None:
        """Take in the next rows."""
        if not len(values):
            return
        edges = np.flatnonzero(values[1:] != values[:-1]) + 1
        for edge, value in zip([0, *edges.tolist()], [values[0].item(), *values[edges].tolist()], strict=True):
            if value != self._last:
                self._end(self.rows + edge)
                self._last = value
        self.rows += len(values)

    def close(self) -> dict[int, list[Run]]:
        """All runs by episode, in row order."""
        self._end(self.rows)
        return self._found

    def _end(self, row: int) -> None:
        if self._last is not None and row > self._begin:
            self._found.setdefault(self._last, []).append(Run(self._begin, row))
        self._begin = row


class Table:
    """One parquet file.

    Args:
        path: the file.
        name: how errors name it, relative to the corpus.
        pattern: what its columns should be, asked for when its footer is gone.

    Raises:
        RecordingError: it cannot be opened, and nothing of it can be recovered.
    """

    def __init__(self, path: Path, name: str, pattern: Callable[[], salvage.Pattern | None] | None = None) -> None:
        self.name = name
        self.salvaged = False
        try:
            self._source: pa.NativeFile = pa.OSFile(str(path), "rb")
            self.file = _open(self._source)
        except (pa.ArrowException, OSError) as error:
            reason = one_line(error)
            source = salvage.recover(path, pattern()) if pattern is not None else None
            if source is None:
                raise RecordingError(f"{name} cannot be read ({reason}); restore it from its origin") from None
            self.salvaged = True
            self._source, self.file = source, _open(source)
        meta = self.file.metadata
        self.schema = self.file.schema_arrow
        self.rows = meta.num_rows
        counts = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        self.group_starts = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))

    def batches(
        self, columns: Sequence[str], first_group: int = 0, rows: int = _BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """The rows from a row group on, with at least these columns.

        Raises:
            RecordingError: a page cannot be read.
        """
        groups = range(first_group, len(self.group_starts) - 1)
        if not groups:
            return
        try:
            yield from self.file.iter_batches(rows, row_groups=groups, columns=list(columns), use_threads=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise RecordingError(f"{self.name} cannot be read ({one_line(error)}); restore it") from None

    def cells(self, key: str, start: int, stop: int) -> Iterator[Any]:
        """One column's rows start..stop as Python values, few at a time, for cells that are large.

        Raises:
            RecordingError: a page cannot be read.
        """
        group = max(0, int(np.searchsorted(self.group_starts, start, "right")) - 1)
        first = int(self.group_starts[group])
        for batch in self.batches([key], group, _CELL_ROWS):
            column = batch.column(batch.schema.get_all_field_indices(key)[0])
            yield from column[max(0, start - first) : max(0, stop - first)].to_pylist()
            first += len(column)
            if first >= stop:
                return

    def rows_of(self, keys: Sequence[str], start: int, stop: int) -> pa.Table:
        """Rows start..stop of some columns, as stored.

        Raises:
            RecordingError: a page cannot be read.
        """
        group = max(0, int(np.searchsorted(self.group_starts, start, "right")) - 1)
        first = int(self.group_starts[group])
        parts: list[pa.RecordBatch] = []
        for batch in self.batches(keys, group, _CELL_ROWS):
            if first + batch.num_rows > start:
                batch = batch.select([batch.schema.get_all_field_indices(k)[0] for k in keys])
                begin = max(0, start - first)
                parts.append(batch.slice(begin, stop - first - begin))
            first += batch.num_rows
            if first >= stop:
                break
        return pa.Table.from_batches(parts)

    def runs(self) -> dict[int, list[Run]]:
        """Where each value of `episode_index` stands, in row order; rows after a broken page are left out.

        Raises:
            RecordingError: there is no such column, or it holds no integers.
        """
        at = self.schema.get_field_index("episode_index")
        if at < 0 or not pa.types.is_integer(self.schema.field(at).type):
            raise RecordingError(f"{self.name} has no integer column episode_index; write the file anew")
        runs = Runs()
        try:
            for batch in self.batches(["episode_index"]):
                values = dense(batch.column("episode_index"), None)
                if values is None:
                    raise RecordingError(f"{self.name}: episode_index has empty cells; write the file anew")
                runs.add(values)
        except RecordingError:
            if not runs.rows:
                raise
        return runs.close()

    def close(self) -> None:
        """Let go of the file."""
        self.file.close()
        self._source.close()


class RowReader:
    """Reads slices of a table's columns, cheap when they come in row order."""

    def __init__(self, table: Table, plans: Sequence[ColumnPlan]) -> None:
        self._table = table
        self._plans = plans
        names = [table.schema.field(p.position).name for p in plans]
        self._names = names
        width = sum(p.width or 1 for p in plans)
        self._batch_rows = int(np.clip(_BATCH_BYTES // max(1, 8 * width), 64, _BATCH_ROWS))
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._window: dict[str, Rows] = {}
        self._first = self._stop = -1  # rows in the window
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
        starts = self._table.group_starts
        group = int(np.searchsorted(starts, row, "right")) - 1
        group = min(max(group, 0), max(len(starts) - 2, 0))
        if row >= self._broken.get(group, row + 1):
            self._first = self._stop = -1
            raise RecordingError(f"{self._table.name} cannot be read from row {self._broken[group]} on; restore it")
        self._batches = self._table.batches(self._names, group, self._batch_rows)
        self._first = self._stop = int(starts[group])
        self._window = {}

    def _advance(self, row: int) -> None:
        try:
            batch = next(self._batches)
        except StopIteration:
            self._first = self._stop = -1
            raise RecordingError(f"{self._table.name} ends before row {row}; restore it") from None
        except RecordingError:
            group = int(np.searchsorted(self._table.group_starts, self._stop, "right")) - 1
            self._broken[group] = self._stop
            self._first = self._stop = -1
            raise
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


def one_line(error: BaseException) -> str:
    """An error's first line, without the noise around it."""
    text = str(error).strip().splitlines() or [type(error).__name__]
    return text[0][:160].rstrip(".")


def _open(source: pa.NativeFile) -> pq.ParquetFile:
    return pq.ParquetFile(source, buffer_size=_BUFFER_BYTES, pre_buffer=False)


def _join(parts: list[Rows]) -> Rows:
    return np.concatenate(parts) if all(isinstance(p, np.ndarray) for p in parts) else parts  # type: ignore[arg-type]
