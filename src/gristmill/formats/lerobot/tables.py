"""Parquet files of episodes: opened once, read in order, a few thousand rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import RecordingError
from gristmill.formats.lerobot import salvage
from gristmill.formats.lerobot.columns import dense

# Pages are read through a small buffer instead of whole column chunks, which may be as large as the file.
_BUFFER_BYTES = 1 << 16
BATCH_ROWS = 8192
_CELL_ROWS = 32
# What pyarrow raises at bytes that are none of its own: names that are no UTF-8 are a ValueError.
_BROKEN = (pa.ArrowException, OSError, ValueError)


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

    def skip(self, row: int) -> None:
        """Leave out what is left before a row."""
        self._end(self.rows)
        self.rows = self._begin = row
        self._last = None

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
            self.file, self.schema = _open(self._source)
        except _BROKEN as error:
            self._recover(path, pattern, one_line(error))
        meta = self.file.metadata
        self.rows = meta.num_rows
        counts = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        self.group_starts = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))

    def _recover(self, path: Path, pattern: Callable[[], salvage.Pattern | None] | None, reason: str) -> None:
        """Open what is complete of a file that does not open, or say that nothing is."""
        source = salvage.recover(path, pattern()) if pattern is not None else None
        try:
            if source is not None:
                self.salvaged, self._source = True, source
                self.file, self.schema = _open(source)
                return
        except _BROKEN as error:
            reason = one_line(error)
        raise RecordingError(f"{self.name} cannot be read ({reason}); restore it from its origin")

    def group_of(self, row: int) -> int:
        """The row group that holds a row."""
        last = max(0, len(self.group_starts) - 2)
        return min(max(0, int(np.searchsorted(self.group_starts, row, "right")) - 1), last)

    def batches(
        self, columns: Sequence[str], first_group: int = 0, rows: int = BATCH_ROWS, stop_group: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows from a row group on, with at least these columns.

        Raises:
            RecordingError: a page cannot be read; rows of the batch before it are lost with it.
        """
        groups = range(first_group, len(self.group_starts) - 1 if stop_group is None else stop_group)
        if not groups:
            return
        try:
            yield from self.file.iter_batches(rows, row_groups=groups, columns=list(columns), use_threads=False)
        except _BROKEN as error:
            raise RecordingError(f"{self.name} cannot be read ({one_line(error)}); restore it") from None

    def cells(self, key: str, start: int, stop: int) -> Iterator[Any]:
        """One column's rows start..stop as Python values, few at a time, for cells that are large.

        Raises:
            RecordingError: there is no such column, or a page cannot be read.
        """
        if not self.schema.get_all_field_indices(key):
            raise RecordingError(f"{self.name} has no column {key}")
        group = self.group_of(start)
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
            RecordingError: there is no such column, or a page cannot be read.
        """
        absent = [key for key in keys if not self.schema.get_all_field_indices(key)]
        if absent:
            raise RecordingError(f"{self.name} has no column {absent[0]}")
        group = self.group_of(start)
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
        """Where each value of `episode_index` stands, in row order; row groups that are broken are left out.

        Raises:
            RecordingError: there is no such column, or it holds no integers.
        """
        at = self.schema.get_field_index("episode_index")
        if at < 0 or not pa.types.is_integer(self.schema.field(at).type):
            raise RecordingError(f"{self.name} has no integer column episode_index; write the file anew")
        try:
            return self._runs(range(0, 1), len(self.group_starts) - 1)
        except RecordingError:
            return self._runs(range(len(self.group_starts) - 1), 1)

    def _runs(self, groups: range, at_once: int) -> dict[int, list[Run]]:
        """Runs of so many row groups at once; what is broken is left out unless all of it is."""
        runs = Runs()
        trouble: RecordingError | None = None
        for group in groups:
            try:
                for batch in self.batches(["episode_index"], group, stop_group=group + at_once):
                    values = dense(batch.column("episode_index"), None)
                    if values is None:
                        raise RecordingError(f"{self.name}: episode_index has empty cells; write the file anew")
                    runs.add(values)
            except RecordingError as error:
                trouble = error
                runs.skip(int(self.group_starts[group + at_once]))
        found = runs.close()
        if trouble is not None and (at_once > 1 or not found):
            raise trouble
        return found

    def close(self) -> None:
        """Let go of the file."""
        self.file.close()
        self._source.close()


def one_line(error: BaseException) -> str:
    """An error's first line, without the noise around it."""
    text = str(error).strip().splitlines() or [type(error).__name__]
    return text[0][:160].rstrip(".")


def _open(source: pa.NativeFile) -> tuple[pq.ParquetFile, pa.Schema]:
    file = pq.ParquetFile(source, buffer_size=_BUFFER_BYTES, pre_buffer=False)
    schema = file.schema_arrow
    if not all(schema.names):  # names that are no text raise here, not later
        raise ValueError("a column has no name")
    return file, schema
