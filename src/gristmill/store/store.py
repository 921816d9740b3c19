"""The store: what was measured of which content, kept between runs. One writer, any number of readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa

from gristmill.columns import keys
from gristmill.errors import StoreError, UsageError
from gristmill.inputs import Lanes
from gristmill.store import gc, query, schema
from gristmill.store.corpora import Corpora
from gristmill.store.files import remove_leftovers
from gristmill.store.lock import WriterLock
from gristmill.store.snapshots import Snapshots
from gristmill.store.tables import FRAGMENTS_MAX, Table, among
from gristmill.store.trouble import told
from gristmill.store.waivers import Waiver, Waivers

_OWN = {".gitignore", "lock", "writer.json"}


class Store:
    """Stage tables, digests of what was read, and small records beside them. Open it with `Store.open`.

    Measurements are found by (stage, stage key, input), never by episode, so a renumbered, copied or
    repacked recording finds its own. Methods raise `StoreError` when the disk or a table fails, and when
    a store that was opened for reading is asked to change.
    """

    def __init__(self, path: Path, lock: WriterLock | None) -> None:
        self.path = path
        self.corpora = Corpora(path)
        self._lock = lock
        self._clean = True
        self._waivers = Waivers(path)
        self._snapshots = Snapshots(path, self.corpora)
        self.digest_table = Table(path / "digests.lance")
        self._tables: dict[tuple[str, str], Table] = {}
        self._touched: set[tuple[str, str]] = set()

    @classmethod
    def open(cls, path: Path, *, create: bool = True, write: bool = True, wait_s: float = 0.0) -> Store:
        """Open a store, bring an older layout up to date, and tidy up after a writer that died.

        Args:
            path: its folder.
            create: make it when there is none.
            write: take the writer's lock. Without it nothing on disk is touched, so that a store on
                read-only media can be read, also while another process writes.
            wait_s: how long to wait for another writer.

        Raises:
            UsageError: there is no store, and none is to be made.
            StoreError: another process writes, the layout is too new, the folder holds something else or
                cannot be used.
        """
        path = Path(path).absolute()
        version = _version(path)
        if version is None and not (create and write):
            raise UsageError(f"{path}: there is no store; audit a corpus first, or name another folder with --store")
        if not write:
            if version != schema.VERSION:
                raise StoreError(f"{path}: the store has an older schema ({version}); open it once for writing")
            return cls(path, None)
        with told(path, "creating"):
            path.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(path, wait_s)
        store = cls(path, lock)
        try:
            # Another process may have made or changed it while this one waited.
            version = _version(path)
            with told(path, "opening"):
                if version is None:
                    schema.create(path)
                else:
                    schema.migrate(path, version)
                if lock.after_crash:
                    store._tidy()
        except BaseException:
            lock.release(clean=False)
            raise
        return store

    def close(self) -> None:
        """Let another writer in."""
        if self._lock is not None:
            self._lock.release(clean=self._clean)
            self._lock = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def writable(self) -> bool:
        """Whether this process holds the writer's lock."""
        return self._lock is not None

    # -- corpora and what was read of them ---------------------------------------------------------

    def corpus_key(self, root: Path | str) -> str:
        """The short, stable, unique name of a corpus; it is registered when it is new."""
        known = self.corpora.find(root)
        if known is not None:
            return known
        with self._changing(self.path):
            return self.corpora.register(root)

    def forget_corpus(self, corpus_key: str) -> None:
        """Take a corpus out of the registry, so that garbage collection may take what only it needed.

        Raises:
            UnknownNameError: no such corpus.
        """
        with self._changing(self.path):
            self.corpora.forget(corpus_key)

    def begin(self, corpus_key: str, root: str, stages: Mapping[str, str]) -> None:
        """Note that a run begins; until `finish`, garbage collection keeps everything under these stage keys."""
        with self._changing(self.path):
            self.corpora.note(corpus_key, root, stages, running=True)

    def finish(self, corpus_key: str, root: str, state: pa.Table, stages: Mapping[str, str]) -> None:
        """Note that a run ended, and what the corpus's measurements lie under (see `corpora`)."""
        with self._changing(self.path):
            self.corpora.put_state(corpus_key, state)
            self.corpora.note(corpus_key, root, stages, running=False)

    def digests(self, corpus_key: str) -> pa.Table:
        """Rows of `schema.DIGESTS` of one corpus in the order of writing; the last of (index, part) holds."""
        table = self.digest_table.read(filter=f"corpus = '{corpus_key.replace(chr(39), chr(39) * 2)}'")
        return schema.DIGESTS.empty_table() if table is None else table

    def put_digests(self, corpus_key: str, batches: Sequence[pa.RecordBatch]) -> None:
        """Add rows (`schema.DIGESTS` without the corpus) in one commit."""
        rows = pa.Table.from_batches(batches)
        corpus = pa.repeat(pa.scalar(corpus_key), len(rows))
        with self._changing(self.digest_table.path):
            self.digest_table.append(rows.add_column(0, "corpus", corpus).cast(schema.DIGESTS))

    # -- measurements ------------------------------------------------------------------------------

    def have(self, stage: str, key: str, inputs: Lanes) -> np.ndarray:
        """(n,) flags: measured before, and the check did not fail. `inputs` is (n, 2) lanes."""
        known = self.table(stage, key).keys(settled=True)
        if not len(known):
            return np.zeros(len(inputs), bool)
        return among(keys(inputs), known)

    def append(
        self, stage: str, key: str, batches: Sequence[pa.RecordBatch], *, about: Mapping[str, Any] | None = None
    ) -> None:
        """Add rows with their events in one commit.

        Args:
            stage: a check's name, or "traces".
            key: its stage key.
            batches: rows whose first column is `input`.
            about: kept with the table when it is new; `parts` says what an input mixes (see `inputs.Parts`).
        """
        table = self.table(stage, key)
        with self._changing(table.path):
            table.append(pa.Table.from_batches(batches), {"stage": stage, "key": key, **(about or {})})
        self._touched.add((stage, key))

    def read(
        self,
        stage: str,
        key: str,
        inputs: Lanes,
        columns: Sequence[str] | None = None,
        *,
        valid: np.ndarray | None = None,
    ) -> pa.Table | None:
        """The newest row for each input.

        Args:
            stage: a check's name, or "traces".
            key: its stage key.
            inputs: (n, 2) lanes.
            columns: which to read; by default all.
            valid: (n,) flags of inputs that mean something; the others find nothing.

        Returns:
            (n,) rows with a column `found`, null in all others where nothing was found; None when nothing was at all.
        """
        return self.table(stage, key).aligned(keys(inputs, valid), columns)

    def table(self, stage: str, key: str) -> Table:
        """The table of one stage key; it may not exist yet."""
        table = self._tables.get((stage, key))
        if table is None:
            folder = self.path / "stages" / quote(stage, safe="")
            table = self._tables[stage, key] = Table(folder / f"{quote(key.replace(':', '-'), safe='')}.lance")
        return table

    def stages(self) -> Iterator[Table]:
        """All stage tables on disk; `about` tells stage, key and parts."""
        for path in schema.stage_tables(self.path):
            found = Table(path)
            yield self._tables.get((unquote(path.parent.name), found.about.get("key", "")), found)

    # -- housekeeping ------------------------------------------------------------------------------

    def compact(self, *, everything: bool = False) -> int:
        """Merge what many small commits left in the tables written to, or in all tables; how many were merged."""
        tables = list(self.stages()) if everything else [self.table(*name) for name in sorted(self._touched)]
        due = [t for t in (*tables, self.digest_table) if t.fragments > (1 if everything else FRAGMENTS_MAX)]
        for table in due:
            with self._changing(table.path):
                table.compact()
        return len(due)

    def gc(self, *, dry_run: bool = False) -> list[gc.Removal]:
        """Remove measurements that neither a registered corpus nor a snapshot needs.

        Args:
            dry_run: only say what would go.
        """
        removals = gc.plan(self)
        if not dry_run:
            with self._changing(self.path):
                gc.carry_out(self, removals)
        return removals

    def query(self, sql: str, tables: Mapping[str, pa.Table] | None = None) -> pa.Table:
        """Run one SELECT over the measurements (see `gristmill.store.query`).

        Args:
            sql: DuckDB's SQL over `episodes`, `events`, one view a check, and `tables`.
            tables: further tables, such as `findings`; they go before views of their name.

        Raises:
            UsageError: the statement is wrong or does more than read.
        """
        return query.run(self, sql, tables or {})

    # -- what people said, and what was made --------------------------------------------------------

    def waive(self, episode_id: str, check: str, reason: str, values_digest: str = "") -> Waiver:
        """Accept what a check finds in an episode, as its recording is now."""
        with self._changing(self.path):
            return self._waivers.put(episode_id, check, reason, values_digest)

    def unwaive(self, episode_id: str, check: str) -> bool:
        """Take a waiver back; False when there was none."""
        with self._changing(self.path):
            return self._waivers.remove(episode_id, check)

    def waivers(self, corpus_key: str, digests: Mapping[str, str] | None = None) -> dict[tuple[str, str], str]:
        """(episode id, check) -> reason, of one corpus.

        Args:
            corpus_key: whose.
            digests: episode id -> digest of its values now; a waiver given for other values is left out.
        """
        valid = {}
        for name, waiver in self._waivers.of(corpus_key).items():
            now = (digests or {}).get(waiver.episode_id, "")
            if not (now and waiver.values_digest and now != waiver.values_digest):
                valid[name] = waiver.reason
        return valid

    def put_snapshot_record(self, record: Mapping[str, Any]) -> None:
        """Remember a snapshot and keep the measurements that it was decided from (see `Snapshots.put`)."""
        with self._changing(self.path):
            self._snapshots.put(record)

    def snapshots(self) -> list[dict[str, Any]]:
        """Records of all snapshots, oldest first, each with its tags."""
        return self._snapshots.all()

    def snapshot(self, name: str) -> dict[str, Any]:
        """The record of a tag, an id or an id's unambiguous beginning."""
        return self._snapshots.find(name)

    def forget_snapshot(self, snapshot: str) -> None:
        """Remove an untagged snapshot's record."""
        with self._changing(self.path):
            self._snapshots.forget(snapshot)

    def tag(self, name: str, snapshot: str) -> None:
        """Name a snapshot."""
        with self._changing(self.path):
            self._snapshots.tag(name, snapshot)

    def untag(self, name: str) -> None:
        """Take a name away from a snapshot."""
        with self._changing(self.path):
            self._snapshots.untag(name)

    # -- inner -------------------------------------------------------------------------------------

    @contextmanager
    def _changing(self, path: Path) -> Iterator[None]:
        if self._lock is None:
            raise StoreError(f"{self.path}: the store was opened for reading only")
        # Unclean until it succeeds: then the next writer looks for what was left half-written.
        self._clean, before = False, self._clean
        with told(path, "writing"):
            yield
        self._clean = before

    def _tidy(self) -> None:
        remove_leftovers(self.path)
        for table in (*self.stages(), self.digest_table):
            table.tidy()


def _version(path: Path) -> int | None:
    with told(path, "opening"):
        version = schema.version_of(path)
        if version is None and path.exists():
            foreign = next((p.name for p in path.iterdir() if p.name not in _OWN), None)
            if foreign is not None and not foreign.startswith(".partial-"):
                raise StoreError(f"{path}: the folder holds {foreign!r} but no store; name another with --store")
    return version
