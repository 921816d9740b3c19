"""The metadata files of a LeRobot v3.0 dataset: tasks, episodes, statistics, info."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.formats.lerobot.write_rows import Place
from gristmill.statistics import Described

_EPISODES_A_GROUP = 500


def write_tasks(path: Path, tasks: Sequence[str]) -> None:
    """`meta/tasks.parquet`: row i holds task_index i; the text is the index of a pandas frame.

    The note that makes it one is written by hand, so that pandas is not needed.
    """
    note = {
        "index_columns": ["task"],
        "column_indexes": [
            {
                "name": None,
                "field_name": None,
                "pandas_type": "unicode",
                "numpy_type": "object",
                "metadata": {"encoding": "UTF-8"},
            }
        ],
        "columns": [
            {
                "name": "task_index",
                "field_name": "task_index",
                "pandas_type": "int64",
                "numpy_type": "int64",
                "metadata": None,
            },
            {"name": "task", "field_name": "task", "pandas_type": "unicode", "numpy_type": "object", "metadata": None},
        ],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.2.3",
    }
    table = pa.table(
        {"task_index": pa.array(range(len(tasks)), pa.int64()), "task": pa.array(list(tasks), pa.string())},
    )
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(note)}), path)


def utf8(text: str) -> str:
    """The text with U+FFFD for halves of surrogate pairs, which UTF-8 cannot hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class EpisodeWriter:
    """`meta/episodes`: one row an episode, collected in scratch files until it is known which columns are whole.

    LeRobot's tools fail on a statistic that some episodes have and others lack, so only whole columns are kept.
    """

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch / "episodes"
        self._scratch.mkdir()
        self._rows: list[dict[str, Any]] = []
        self._stats: dict[str, dict[int, np.ndarray]] = {}  # column -> position among the rows -> values
        self._types: dict[str, pa.DataType] = {}
        self._known: Counter[str] = Counter()  # episodes for which a statistic is known
        self._parts: list[Path] = []
        self.count = 0

    def add(self, row: Mapping[str, Any], stats: Described) -> None:
        """Add one episode: plain values by column, statistics by feature."""
        row = {key: utf8(value) if isinstance(value, str) else value for key, value in row.items()}
        for key, value in row.items():
            if key not in self._types and value is not None:
                self._types[key] = pa.int64() if isinstance(value, int) else pa.infer_type([value])
        for feature, found in stats.items():
            for name, values in found.items():
                self._stats.setdefault(f"stats/{feature}/{name}", {})[len(self._rows)] = values
        self._rows.append(dict(row))
        self.count += 1
        if len(self._rows) >= _EPISODES_A_GROUP:
            self._flush()

    def finish(self, folder: Path, max_bytes: int) -> None:
        """Write `chunk-*/file-*.parquet` under `folder`, a new file after `max_bytes` before compression."""
        self._flush()
        # Without its mean, a feature's other statistics are of no use.
        known = {k for k, n in self._known.items() if n == self.count}
        whole = [k for k in self._known if k in known and f"{k.rpartition('/')[0]}/mean" in known]
        columns = pa.schema([(k, self._types[k]) for k in (*(k for k in self._types if k not in self._known), *whole)])
        columns = columns.append(pa.field("meta/episodes/chunk_index", pa.int64()))
        columns = columns.append(pa.field("meta/episodes/file_index", pa.int64()))
        writer: pq.ParquetWriter | None = None
        file, size = -1, 0
        for part in self._parts:
            table = pq.read_table(part)
            if writer is None or size + table.nbytes > max_bytes:
                if writer is not None:
                    writer.close()
                file, size = file + 1, 0
                path = folder / Place.number(file).path(".parquet")
                path.parent.mkdir(parents=True, exist_ok=True)
                writer = pq.ParquetWriter(path, columns, compression="snappy")
            size += table.nbytes
            place, rows = Place.number(file), len(table)
            arrays = [
                table[name].cast(kind) if name in table.column_names else pa.nulls(rows, kind)
                for name, kind in zip(columns.names[:-2], columns.types[:-2], strict=True)
            ]
            arrays += [pa.array([n] * rows, pa.int64()) for n in place]
            writer.write_table(pa.table(arrays, schema=columns))
            part.unlink()
        if writer is not None:
            writer.close()

    def _flush(self) -> None:
        if not self._rows:
            return
        count = len(self._rows)
        columns = {
            k: pa.array([r.get(k) for r in self._rows], t) for k, t in self._types.items() if k not in self._known
        }
        for key, found in self._stats.items():
            columns[key] = _lists(np.array(list(found)), np.stack(list(found.values())), count)
            self._known[key] += count - columns[key].null_count
            self._types.setdefault(key, columns[key].type)
        path = self._scratch / f"{len(self._parts):06d}.parquet"
        pq.write_table(pa.table(columns), path, compression="none")
        self._parts.append(path)
        self._rows, self._stats = [], {}


def _lists(places: np.ndarray, values: np.ndarray, rows: int) -> pa.Array:
    """Values (n, *shape) at n of the rows as a column of nested lists; null where there are none, or not all finite."""
    column = pa.array(values.reshape(-1), pa.int64() if values.dtype.kind in "iu" else pa.float64())
    for width in reversed(values.shape[1:]):
        column = pa.ListArray.from_arrays(pa.array(np.arange(0, len(column) + 1, width, dtype=np.int32)), column)
    finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if len(values) == rows and finite.all():
        return column
    source = np.full(rows, -1)
    source[places[finite]] = np.flatnonzero(finite)
    return column.take(pa.array(source, mask=source < 0))


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """JSON as LeRobot writes it: indented, UTF-8."""
    text = json.dumps(content, indent=4, ensure_ascii=False, allow_nan=False) + "\n"
    # A name that was no UTF-8 where it came from has no bytes to be written as.
    path.write_bytes(text.encode("utf-8", "replace"))


def write_stats(path: Path, stats: Described) -> None:
    """`meta/stats.json`: feature -> statistic -> nested list. A feature with a value that is not finite is left out."""
    sound = {k: found for k, found in stats.items() if all(np.isfinite(v).all() for v in found.values())}
    write_json(path, {k: {name: v.tolist() for name, v in found.items()} for k, found in sound.items()})
