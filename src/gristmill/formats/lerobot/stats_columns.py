"""Statistics of single episodes in v3.0: columns `stats/{feature}/{statistic}` of the episodes table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import RecordingError
from gristmill.formats.files import CorpusFiles
from gristmill.formats.lerobot.arrays import counts, is_list, is_number, items, numbers, wide
from gristmill.formats.lerobot.stats import Stats
from gristmill.formats.lerobot.tables import Table
from gristmill.types import IntArray

_PREFIX = "stats/"
_BLOCK_ROWS = 512  # read and kept at once
_DIGEST_ROWS = 2048
_SMALL_GROUP, _MANY_GROUPS = 64, 100  # rows, and groups in a file
_MAX_GROUP_BYTES = 64 << 20
_STEP, _FACTORS = np.uint64(0x9E3779B97F4A7C15), (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class StatsColumns:
    """Implements `EpisodeStats` on the episodes table, a few hundred rows in memory.

    Args:
        files: the corpus.
        names: files of the episodes table, in order.
        index: native indices in the corpus's order.
    """

    def __init__(self, files: CorpusFiles, names: Sequence[str], index: IntArray) -> None:
        self._files = files
        self._names = names
        self._index = index
        self._file = -1  # of the stream
        self._stream: Iterator[tuple[int, dict[str, pa.Array]]] = iter(())
        self._first = self._stop = 0  # rows of the file in the block
        self._block: dict[str, dict[str, np.ndarray | pa.Array]] = {}  # feature -> statistic -> column

    def of(self, row: int) -> Stats:
        """Feature -> statistic -> values; empty where none can be read."""
        return _Row(self._block, int(self._places[1][row]) - self._first) if self._load(row) else {}

    def problem(self, row: int) -> str:
        """Nothing: what makes these columns unreadable loses the episodes themselves."""
        return ""

    def digests(self) -> Sequence[str]:
        """For each row, a digest of its values, whatever file or row group they lie in."""
        rows = [np.flatnonzero(self._places[0] == file) for file in range(len(self._names))]
        total = np.zeros(len(self._index), np.uint64)
        for file, mine in enumerate(rows):
            places = self._places[1][mine]
            if (packed := self._group_digests(file)) is not None:
                starts, groups = packed
                group = np.searchsorted(starts, places, "right") - 1
                total[mine] = _mix(groups[group], places - starts[group], _STEP)
                continue
            for first, columns in self._batches(file, 0, _DIGEST_ROWS):
                size = len(next(iter(columns.values()), ()))
                inside = (places >= first) & (places < first + size)
                for name, column in columns.items():
                    total[mine[inside]] ^= _hashes(column, _seed(name))[places[inside] - first]
        return [f"{value:016x}" for value in total.tolist()]

    def _group_digests(self, file: int) -> tuple[IntArray, np.ndarray] | None:
        """First rows of a file's row groups and a hash of each one's bytes, if the groups are small.

        Recorders write a group every ten episodes; to decode so many costs more than everything else about opening.
        A group that nobody rewrote has the same bytes, wherever it is copied to.
        """
        name = self._names[file]
        path = self._files.path(name)
        try:
            table = Table(path, name)
        except RecordingError:
            return None
        with closing(table):
            starts, meta = table.group_starts, table.file.metadata
            groups = len(starts) - 1
            if groups < _MANY_GROUPS or table.rows > _SMALL_GROUP * groups:
                return None
            hashes = []
            with path.open("rb") as raw:
                for number in range(groups):
                    group = meta.row_group(number)
                    first, last = group.column(0), group.column(group.num_columns - 1)
                    begin, end = _begin(first), _begin(last) + last.total_compressed_size
                    if not 0 <= begin <= end <= begin + _MAX_GROUP_BYTES:
                        return None
                    raw.seek(begin)
                    digest = hashlib.blake2b(raw.read(end - begin), digest_size=8).digest()
                    hashes.append(int.from_bytes(digest, "little"))
        return starts, np.array(hashes, np.uint64)

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray]:
        """For each row of the corpus: which file of the table, and which row of that file; -1 if none."""
        rows = {int(number): row for row, number in enumerate(self._index)}
        file_of, row_of = np.full((2, len(rows)), -1, np.int64)
        for file in range(len(self._names)):
            for first, columns in self._batches(file, 0, _DIGEST_ROWS, ("episode_index",)):
                column = columns["episode_index"]
                for at, number in enumerate(numbers(column).tolist() if is_number(column.type) else ()):
                    row = rows.get(number, -1)
                    if row >= 0 and file_of[row] < 0:
                        file_of[row], row_of[row] = file, first + at
        return file_of, row_of

    def _load(self, row: int) -> bool:
        """Whether the block in memory holds the row, after reading on if need be."""
        file, at = int(self._places[0][row]), int(self._places[1][row])
        if file < 0:
            return False
        if file != self._file or at < self._first:
            self._file, self._first, self._stop = file, 0, 0
            self._stream = self._batches(file, at, _BLOCK_ROWS)
        while at >= self._stop:
            read = next(self._stream, None)
            if read is None:
                self._file = -1
                return False
            self._first, columns = read
            self._block = {}
            for name, column in columns.items():
                feature, _, statistic = name[len(_PREFIX) :].rpartition("/")
                self._block.setdefault(feature, {})[statistic] = _array(column)
            self._stop = self._first + len(next(iter(columns.values()), ()))
        return True

    def _batches(
        self, file: int, at: int, rows: int, only: Sequence[str] = ()
    ) -> Iterator[tuple[int, dict[str, pa.Array]]]:
        """Columns of a file from the row group of row `at` on, each batch with its first row; a broken page ends it."""
        name = self._names[file]
        try:
            table = Table(self._files.path(name), name)
        except RecordingError:
            return  # reading the episodes has told of it
        wanted = [f.name for f in table.schema if (f.name in only if only else f.name.startswith(_PREFIX))]
        wanted = list(dict.fromkeys(wanted))
        group = table.group_of(at)
        first = int(table.group_starts[group])
        try:
            for batch in table.batches(wanted, group, rows) if wanted else ():
                yield first, {w: batch.column(batch.schema.get_all_field_indices(w)[0]) for w in wanted}
                first += batch.num_rows
        except RecordingError:
            return
        finally:
            table.close()


class _Row(Mapping[str, Mapping[str, np.ndarray]]):
    """One episode's statistics, taken out of the block feature by feature."""

    def __init__(self, block: Mapping[str, Mapping[str, np.ndarray | pa.Array]], at: int) -> None:
        self._block = block
        self._at = at

    def __getitem__(self, feature: str) -> Mapping[str, np.ndarray]:
        return _Cells(self._block[feature], self._at)

    def __contains__(self, feature: object) -> bool:
        return feature in self._block

    def __iter__(self) -> Iterator[str]:
        return iter(self._block)

    def __len__(self) -> int:
        return len(self._block)


class _Cells(Mapping[str, np.ndarray]):
    """The statistics of one feature in one row, each taken out when it is asked for: of a dozen, few are."""

    def __init__(self, columns: Mapping[str, np.ndarray | pa.Array], at: int) -> None:
        self._columns = columns
        self._at = at

    def __getitem__(self, statistic: str) -> np.ndarray:
        cell = _cell(self._columns[statistic], self._at)
        if cell is None:
            raise KeyError(statistic)
        return cell

    def get(self, statistic: str, default: Any = None) -> Any:
        """The values, or `default`; without the exception that the inherited method would go through."""
        column = self._columns.get(statistic)
        cell = None if column is None else _cell(column, self._at)
        return default if cell is None else cell

    def __iter__(self) -> Iterator[str]:
        return (name for name, column in self._columns.items() if _cell(column, self._at) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _cell(column: np.ndarray | pa.Array, at: int) -> np.ndarray | None:
    if isinstance(column, np.ndarray):
        return np.asarray(column[at])
    value = column[at].as_py()
    try:
        return None if value is None else np.asarray(value, np.float64)
    except (TypeError, ValueError):
        return None


def _begin(column: pq.ColumnChunkMetaData) -> int:
    """Where a column chunk's first page lies."""
    return column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset


def _array(column: pa.Array) -> np.ndarray | pa.Array:
    """The column as an array (rows, *shape), or as it is when its rows differ in shape."""
    shape = [len(column)]
    inner = column
    while is_list(inner.type):
        lengths = counts(inner)
        if not len(lengths) or (lengths != lengths[0]).any():
            return column
        shape.append(int(lengths[0]))
        inner = items(inner)
    if not is_number(inner.type) or inner.null_count:
        return column
    return numbers(inner).reshape(shape)


def _hashes(column: pa.Array, seed: np.uint64) -> np.ndarray:
    """A 64-bit hash of each row's numbers and their positions (splitmix64, summed over the row)."""
    rows = len(column)
    count = np.ones(rows, np.int64)
    inner = column
    while is_list(inner.type):
        steps = np.concatenate(([0], np.cumsum(counts(inner))))
        stops = np.cumsum(count)
        count = steps[stops] - steps[stops - count]
        inner = items(inner)
    if not is_number(inner.type) or not rows:
        return np.zeros(rows, np.uint64)
    bits = wide(numbers(inner)).view(np.uint64)
    if (count == count[0]).all():
        bits = bits.reshape(rows, -1)
        return _mix(bits, np.arange(bits.shape[1]), seed).sum(axis=1, dtype=np.uint64)
    owner = np.repeat(np.arange(rows), count)
    total = np.zeros(rows, np.uint64)
    np.add.at(total, owner, _mix(bits, np.arange(len(bits)) - (np.cumsum(count) - count)[owner], seed))
    return total


def _mix(bits: np.ndarray, position: IntArray, seed: np.uint64) -> np.ndarray:
    mixed = bits + (position.astype(np.uint64) + np.uint64(1)) * _STEP + seed
    for shift, factor in zip((30, 27), _FACTORS, strict=True):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= factor
    return mixed ^ (mixed >> np.uint64(31))


def _seed(name: str) -> np.uint64:
    value = 0xCBF29CE484222325  # FNV-1a
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return np.uint64(value)
