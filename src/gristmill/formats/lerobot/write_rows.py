"""The data files of a LeRobot v3.0 dataset: rows in path order, whole episodes in a row group, files of a size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.formats.lerobot.features import schema

FILES_A_CHUNK = 1000

# A row group holds whole episodes and about this much: few enough groups to read fast, small enough to hold.
_GROUP_ROWS = 4096
_GROUP_BYTES = 16 << 20


class Place(NamedTuple):
    """Where an episode lies: its file is `chunk-{chunk:03d}/file-{file:03d}`."""

    chunk: int
    file: int

    @classmethod
    def number(cls, n: int) -> Place:
        """The n-th file of its kind."""
        return cls(*divmod(n, FILES_A_CHUNK))

    def path(self, suffix: str) -> str:
        """Relative path of the file."""
        return f"chunk-{self.chunk:03d}/file-{self.file:03d}{suffix}"


class RowWriter:
    """Appends episodes to `data/chunk-*/file-*.parquet`.

    A new file begins when the next episode would make the current one larger than `max_bytes`, counted before
    compression, so the place of an episode is known as soon as it is added.
    """

    def __init__(self, folder: Path, features: Mapping[str, Mapping], max_bytes: int) -> None:
        self._folder = folder
        self._features = features
        self._max_bytes = max_bytes
        self._schema: pa.Schema | None = None
        self._writer: pq.ParquetWriter | None = None
        self._file = -1
        self._file_bytes = 0
        self._group: list[Sequence[pa.Array]] = []
        self._group_rows = 0
        self._group_bytes = 0

    def add(self, columns: Mapping[str, pa.Array]) -> Place:
        """Add one episode, its columns in the order of the features."""
        layout = self._schema = self._schema or schema(self._features, columns)
        arrays = [columns[name] for name in layout.names]
        size = sum(a.nbytes for a in arrays)
        if self._writer is None or (self._file_bytes and self._file_bytes + size > self._max_bytes):
            self._next_file(layout)
        self._group.append(arrays)
        self._group_rows += len(arrays[0])
        self._group_bytes += size
        self._file_bytes += size
        if self._group_rows >= _GROUP_ROWS or self._group_bytes >= _GROUP_BYTES:
            self._flush()
        return Place.number(self._file)

    def close(self) -> None:
        """Write what is left and the footer."""
        self._flush()
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _flush(self) -> None:
        if not self._group or self._writer is None or self._schema is None:
            return
        merged = [pa.concat_arrays(parts) for parts in zip(*self._group, strict=True)]
        table = pa.Table.from_arrays(merged, schema=self._schema)
        self._group, self._group_rows, self._group_bytes = [], 0, 0
        self._writer.write_table(table, row_group_size=len(table))

    def _next_file(self, layout: pa.Schema) -> None:
        self.close()
        self._file += 1
        self._file_bytes = 0
        path = self._folder / Place.number(self._file).path(".parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        # Dictionaries pay for what repeats within an episode; floats hardly repeat and only cost time.
        repeating: Any = [f.name for f in layout if pa.types.is_integer(f.type) or pa.types.is_string(f.type)]
        self._writer = pq.ParquetWriter(path, layout, compression="snappy", use_dictionary=repeating)
