"""Rows as they are measured, and the record batches made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from gristmill.check import Column, Measured
from gristmill.columns import KEY, batch_of, keys
from gristmill.inputs import lanes


class Rows:
    """What one check measured of the episodes of one part.

    Columns are made when a batch is asked for. Until then a row is one object in one list, so that Ctrl-C at
    any moment finds whole rows only.
    """

    found: list[tuple[int, Measured]]  # position in the part, what was measured; the caller appends

    def __init__(self, name: str, columns: Sequence[Column]) -> None:
        self._name = name
        self._columns = tuple(columns)
        self._declared = frozenset(column.name for column in columns)
        self.found = []
        self._failed: dict[int, str] = {}  # place among the rows -> what went wrong

    def __len__(self) -> int:
        return len(self.found)

    def fail(self, at: int, problem: str) -> None:
        """Note that the check went wrong on the episode at position `at`."""
        self._failed[len(self.found)] = problem
        self.found.append((at, Measured(unknown=problem)))

    def take(self, keys: pa.Array, ids: pa.Array) -> tuple[pa.RecordBatch, Sequence[str]]:
        """The rows so far as a batch, and what went wrong, one line a failed row. Begins anew.

        Args:
            keys: inputs of all episodes of the part.
            ids: their names.
        """
        rows, failed = self.found[:], self._failed
        self.found.clear()
        self._failed = {}
        at = [at for at, _ in rows]
        measured = [measured for _, measured in rows]
        if len(at) != len(keys):  # places ascend, so that as many as there are episodes are all of them
            keys, ids = keys.take(pa.array(at, pa.int64())), ids.take(pa.array(at, pa.int64()))
        try:
            batch = self._batch(keys, ids, measured, failed)
        except (TypeError, ValueError, OverflowError):  # Arrow's errors are among these
            self._mend(ids, measured, failed)
            batch = self._batch(keys, ids, measured, failed)
        return batch, list(failed.values())

    def _batch(
        self, keys: pa.Array, ids: pa.Array, measured: Sequence[Measured], failed: Mapping[int, str]
    ) -> pa.RecordBatch:
        named = {tuple(m.values) for m in measured}  # few: most episodes give the same columns
        stray = set().union(*named) - self._declared
        if stray:
            raise ValueError(f"it measured {', '.join(sorted(stray))}, which it does not declare in `columns`")
        return batch_of(self._columns, keys, ids, measured, failed)

    def _mend(self, ids: pa.Array, measured: list[Measured], failed: dict[int, str]) -> None:
        """Replace the rows that do not fit by failed ones that say why."""
        for i, row in enumerate(measured):
            try:
                self._batch(pa.array([bytes(16)], KEY), ids[i : i + 1], [row], {})
            except (TypeError, ValueError, OverflowError) as error:
                failed[i] = problem(self._name, ids[i].as_py(), error)
                measured[i] = Measured(unknown=failed[i])


class TraceRows:
    """Camera traces of some episodes, stored under the cameras' own digests."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, Mapping[str, np.ndarray]]] = []
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, digest: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Take the arrays of one camera of one episode; every camera has the same ones."""
        self._rows.append((digest, arrays))
        self.bytes += sum(array.nbytes for array in arrays.values())

    def take(self) -> pa.RecordBatch:
        """The rows so far: `input`, then a list column an array. Begins anew."""
        rows, self._rows, self.bytes = self._rows, [], 0
        columns: list[pa.Array] = [keys(lanes([digest for digest, _ in rows]))]
        fields = [pa.field("input", KEY)]
        for name in rows[0][1]:
            cells = [arrays[name] for _, arrays in rows]
            offsets = np.zeros(len(cells) + 1, np.int32)
            np.cumsum([len(cell) for cell in cells], out=offsets[1:])
            values = pa.array(np.concatenate(cells))
            columns.append(pa.ListArray.from_arrays(pa.array(offsets), values))
            fields.append(pa.field(name, pa.list_(values.type)))
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def arrays_of(batch: pa.RecordBatch, row: int) -> dict[str, np.ndarray]:
    """The arrays of one row that `TraceRows.take` made, bit for bit."""
    return {
        name: batch[name][row].values.to_numpy(zero_copy_only=False) for name in batch.schema.names if name != "input"
    }


def problem(check: str, episode_id: str, error: BaseException) -> str:
    """One line for a mistake of a check."""
    return f"check {check} went wrong on {episode_id}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
