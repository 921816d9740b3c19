"""One Lance table: appended in batches, read by key, rewritten whole when rows go.

A table is opened when it is used, and only the columns asked for are read. Whoever goes through many tables
closes each again, because what Lance caches of thirty open tables is not small. Rows are found by their
`input`; of several rows with one input the newest, that is the last, holds. Rows are never deleted in place
(taking by position gets slow after that): what is not needed any more is left out of a new version.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.errors import StoreError
from gristmill.store.trouble import told

if TYPE_CHECKING:
    from lance import LanceDataset

# Each commit adds a fragment and each fragment costs every later read some 0.2 ms.
FRAGMENTS_MAX = 24
_ABOUT = b"gristmill"
# Lance's format 2.0: later ones compress texts and lists, which makes writing small batches 2.5 times dearer.
_FORMAT = "2.0"


class Table:
    """A Lance table that may not exist yet.

    Every method raises `StoreError` when Lance or the disk fails.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened: LanceDataset | None = None

    @property
    def dataset(self) -> LanceDataset | None:
        """The open table, or None when nothing was committed yet."""
        # A table without a committed version is what a writer left that died at its first commit.
        if self._opened is None and _committed(self.path):
            import lance

            with told(self.path, "opening"):
                self._opened = lance.dataset(str(self.path))
        return self._opened

    def close(self) -> None:
        """Let go of the open table and what Lance caches for it; the next use opens it again in 0.2 ms."""
        self._opened = None

    @property
    def schema(self) -> pa.Schema | None:
        """Arrow schema, None when the table does not exist."""
        return None if self.dataset is None else self.dataset.schema

    @cached_property
    def about(self) -> Mapping[str, Any]:
        """What was said of the table when it was made."""
        metadata = (self.schema.metadata if self.schema is not None else None) or {}
        return json.loads(metadata.get(_ABOUT, b"{}"))

    def __len__(self) -> int:
        return 0 if self.dataset is None else self.dataset.count_rows()

    @property
    def fragments(self) -> int:
        """Pieces that a scan has to visit."""
        return 0 if self.dataset is None else len(self.dataset.get_fragments())

    @property
    def bytes(self) -> int:
        """Bytes on disk, old versions included."""
        return sum(f.stat().st_size for f in self.path.rglob("*") if f.is_file())

    def append(self, rows: pa.Table, about: Mapping[str, Any] | None = None) -> None:
        """Add rows in one commit: either all of them are there afterwards, or none.

        Args:
            rows: with the table's columns.
            about: kept with the table when this is its first commit.
        """
        import lance

        dataset = self.dataset
        if dataset is not None:
            rows = _fitted(rows, dataset.schema, self.path)
        with told(self.path, "writing"):
            if dataset is not None:
                dataset.insert(rows)
                self.close()
                return
            shutil.rmtree(self.path, ignore_errors=True)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            rows = rows.replace_schema_metadata({_ABOUT: json.dumps(dict(about or {})).encode()})
            lance.write_dataset(rows, str(self.path), mode="create", data_storage_version=_FORMAT)
            self.__dict__.pop("about", None)

    def read(self, columns: Sequence[str] | None = None, filter: str | None = None) -> pa.Table | None:
        """All rows in the order in which they were written, or None when the table does not exist."""
        return self._reading(lambda dataset: dataset.to_table(columns=_list(columns), filter=filter))

    def keys(self, *, settled: bool = False) -> pa.Array:
        """Inputs of all rows, in order; with `settled`, only of rows whose check did not fail."""
        table = self.read(["input", "failed"] if settled else ["input"])
        if table is None:
            return pa.array([], pa.binary(16))
        if settled:
            failed = table["failed"].fill_null(False).to_numpy()
            table = table.filter(pa.array(~failed)) if failed.any() else table
        return _one(table["input"])

    def aligned(self, wanted: pa.Array, columns: Sequence[str] | None = None) -> pa.Table | None:
        """The newest row for each wanted input, in that order; all columns null where there is none.

        Args:
            wanted: (n,) 16-byte inputs; null finds nothing.
            columns: which to read; by default all.

        Returns:
            (n,) rows with a column `found`, or None when no row was found at all.
        """
        at = newest(wanted, self.keys())
        found = at.is_valid()
        if at.null_count == len(at):
            return None
        rows = self._rows(at, list(columns) if columns is not None else None)
        return rows.append_column("found", found)

    def _rows(self, at: pa.Array, columns: list[str] | None) -> pa.Table:
        total = len(self)
        if at.null_count == 0 and len(at) == total and (at.to_numpy() == np.arange(total)).all():
            return self._reading(lambda dataset: dataset.to_table(columns=columns))  # type: ignore[return-value]
        places = np.unique(at.drop_null().to_numpy())
        if 4 * len(places) >= total:
            stored = self._reading(lambda dataset: dataset.to_table(columns=columns))
        else:
            # A small part of a large table: read it alone, so that memory follows what is asked for.
            stored = self._reading(lambda dataset: dataset.take(places.tolist(), columns=columns))
            at = _index_in(at, pa.array(places, at.type))
        assert stored is not None
        names, parts = stored.column_names, dict(zip(stored.column_names, stored.columns, strict=True))
        del stored
        # Column by column, so that memory holds them once and a little.
        return pa.table({name: _one(parts.pop(name)).take(at) for name in names})

    def rewrite(self, keep: np.ndarray) -> None:
        """Leave out rows for good, in one commit, and free their space.

        Args:
            keep: (n,) flags in the order of the rows.
        """
        import lance

        dataset = self.dataset
        if dataset is None:
            return
        with told(self.path, "rewriting"):
            batches = pa.RecordBatchReader.from_batches(dataset.schema, _kept(dataset, keep))
            self._opened = lance.write_dataset(batches, str(self.path), mode="overwrite", data_storage_version=_FORMAT)
        self.tidy()

    def compact(self) -> None:
        """Merge the pieces that many small commits left, and free the old ones."""
        dataset = self.dataset
        if dataset is not None:
            with told(self.path, "compacting"):
                dataset.optimize.compact_files()
            self.tidy()

    def tidy(self) -> None:
        """Remove what no current row needs: old versions, and files of writers that died."""
        if self.dataset is None:
            shutil.rmtree(self.path, ignore_errors=True)
            return
        with told(self.path, "tidying"):
            self.dataset.cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)

    def drop(self) -> None:
        """Remove the table. A table without versions does not exist, so they go first."""
        self._opened = None
        self.__dict__.pop("about", None)
        with told(self.path, "removing"):
            for part in ("_versions", "."):
                if (self.path / part).exists():
                    shutil.rmtree(self.path / part)

    def _reading(self, read: Any) -> pa.Table | None:
        """Run `read(dataset)`; a compaction meanwhile may have removed this version's files: then the newest."""
        dataset = self.dataset
        if dataset is None:
            return None
        try:
            return read(dataset)
        except (OSError, ValueError, RuntimeError, pa.ArrowException):
            self._opened = None
        with told(self.path, "reading"):
            return read(self.dataset)


def newest(wanted: pa.Array, stored: pa.Array) -> pa.Array:
    """(n,) position of the last stored row with each wanted key, null where there is none."""
    # `index_in` gives the first position, so it is asked of the reversed order.
    last = len(stored) - 1
    backwards = _index_in(wanted, stored.take(pa.array(np.arange(last, -1, -1))))
    return pc.call_function("subtract", [pa.scalar(last, pa.int32()), backwards])


def among(keys: pa.Array, known: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """(n,) flags: the key is one of the known ones; a null key never is."""
    return _index_in(keys, known).is_valid().to_numpy(zero_copy_only=False)


def _index_in(keys: pa.Array, known: pa.Array | pa.ChunkedArray) -> pa.Array:
    return pc.call_function("index_in", [keys], pc.SetLookupOptions(value_set=known, skip_nulls=True))


def _fitted(rows: pa.Table, schema: pa.Schema, path: Path) -> pa.Table:
    """The rows in the stored order of columns, which a migration may have changed."""
    if set(rows.schema.names) == set(schema.names):
        rows = rows.select(schema.names)
    if not rows.schema.equals(schema):
        raise StoreError(f"{path}: the columns to write differ from the stored ones; raise `version` of the check")
    return rows


def _kept(dataset: LanceDataset, keep: np.ndarray) -> Iterator[pa.RecordBatch]:
    at = 0
    for batch in dataset.to_batches():
        yield batch.filter(pa.array(keep[at : at + len(batch)]))
        at += len(batch)


def _committed(path: Path) -> bool:
    versions = path / "_versions"
    return versions.is_dir() and any(name.suffix == ".manifest" for name in versions.iterdir())


def _list(columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else list(columns)


def _one(column: pa.ChunkedArray) -> pa.Array:
    chunk = column.combine_chunks()
    return chunk.chunk(0) if isinstance(chunk, pa.ChunkedArray) else chunk
