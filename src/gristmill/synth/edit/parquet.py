"""Parquet files written as another one was: its schema with its notes, its compression, its row groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import CorpusError


def write_like(source: Path, table: pa.Table, out: Path, groups: Sequence[int] | None = None) -> None:
    """Write a table as `source` was written.

    Args:
        source: the file whose schema and compression are taken over.
        table: the rows.
        out: the file to write.
        groups: rows in each row group; by default as in the source, the last one taking what is left.
    """
    with pq.ParquetFile(source) as like:
        schema = like.schema_arrow
        meta = like.metadata
        compression = meta.row_group(0).column(0).compression if meta.num_row_groups else "SNAPPY"
        if groups is None:
            groups = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
    table = table.select(schema.names).cast(schema)
    out.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(out, schema, compression=compression.lower().replace("uncompressed", "none")) as writer:
        at = 0
        for number, size in enumerate(groups):
            stop = len(table) if number == len(groups) - 1 else min(at + size, len(table))
            if stop > at:
                writer.write_table(table.slice(at, stop - at), row_group_size=max(stop - at, 1))
            at = stop


def read(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """A whole file, or those of the columns that it has.

    Raises:
        CorpusError: the file is absent or broken.
    """
    try:
        if columns is not None:
            present = set(pq.read_schema(path).names)
            columns = [c for c in columns if c in present]
        return pq.read_table(path, columns=columns)
    except (OSError, pa.ArrowInvalid) as error:
        reason = str(error).splitlines()[0]
        raise CorpusError(f"{path} cannot be read ({reason}); faults are planted into sound corpora only") from None
