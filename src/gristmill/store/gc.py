"""Garbage collection: measurements that no registered corpus and no snapshot needs.

Needed is what lies under a stage key that a corpus used last (or a snapshot was decided with), for the
inputs in that corpus's state. A corpus whose run did not finish has no state to go by, so everything under
its keys stays. Nothing here touches recordings or snapshots, and all that goes could be measured again.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gristmill.store.corpora import INPUT, TRACES
from gristmill.store.tables import Table, among

if TYPE_CHECKING:
    from gristmill.store.store import Store


@dataclass(frozen=True, kw_only=True)
class Removal:
    """Rows that go from one table."""

    what: str  # "stage spike, key spike:1:0:9f86d081"
    reason: str
    rows: int
    bytes: int  # what they take on disk; an estimate when only some rows of a table go
    table: Table = field(repr=False)
    keep: np.ndarray | None = field(repr=False)  # (n,) flags; None when the whole table goes


def plan(store: Store) -> list[Removal]:
    """What would go, largest first."""
    holders = _holders(store)
    removals = [
        _stage(table, holders.get((table.about.get("stage", ""), table.about.get("key", ""))))
        for table in store.stages()
    ]
    removals.append(_digests(store))
    return sorted((r for r in removals if r is not None and r.rows), key=lambda r: (-r.bytes, r.what))


def carry_out(store: Store, removals: list[Removal]) -> None:
    """Remove it, table by table; killed in between, what is left goes the next time."""
    for removal in removals:
        if removal.keep is None:
            removal.table.drop()
        else:
            removal.table.rewrite(removal.keep)


def _holders(store: Store) -> dict[tuple[str, str], list[pa.Table | None]]:
    """(stage, key) -> states that need it; None stands for a holder that needs every row."""
    holders: dict[tuple[str, str], list[pa.Table | None]] = defaultdict(list)
    for corpus, entry in store.corpora.entries().items():
        state = None if entry.get("running") else store.corpora.state(corpus)
        for name in entry["stages"].items():
            holders[name].append(state)
    for record in store.snapshots():
        for corpus, stages in record["stages"].items():
            state = store.corpora.pinned(record["id"], corpus)
            for name in stages.items():
                holders[name].append(state)
    return holders


def _stage(table: Table, holders: list[pa.Table | None] | None) -> Removal | None:
    what = f"stage {table.about.get('stage', table.path.parent.name)}, key {table.about.get('key', table.path.stem)}"
    total = len(table)
    if holders is None:
        reason = "no corpus and no snapshot uses this key"
        return Removal(what=what, reason=reason, rows=max(total, 1), bytes=table.bytes, table=table, keep=None)
    needed: list[pa.Array] = []
    for state in holders:
        columns = None if state is None else _inputs(state, table.about.get("parts", ""))
        if columns is None:
            return None
        needed += columns
    keys = table.keys()
    keep = among(keys, pa.chunked_array(needed, pa.binary(16))) & _last(keys)
    gone = total - int(keep.sum())
    reason = "measured anew since, or of recordings that no corpus and no snapshot has"
    return Removal(
        what=what, reason=reason, rows=gone, bytes=table.bytes * gone // max(total, 1), table=table, keep=keep
    )


def _inputs(state: pa.Table, parts: str) -> list[pa.Array] | None:
    """Inputs that a state needs in a table whose inputs mix `parts`; None when the state does not tell."""
    if parts == TRACES:
        return [c for name in state.schema.names if name.startswith("camera:") for c in state[name].chunks]
    return state[INPUT + parts].chunks if INPUT + parts in state.schema.names else None


def _last(keys: pa.Array) -> np.ndarray:
    """(n,) flags of the newest row of each key."""
    codes = keys.dictionary_encode().indices.to_numpy()
    last = np.zeros(len(codes), bool)
    backwards = codes[::-1]
    last[len(codes) - 1 - np.unique(backwards, return_index=True)[1]] = True
    return last


def _digests(store: Store) -> Removal | None:
    table = store.digest_table
    rows = table.read(["corpus", "index", "part"])
    if rows is None:
        return None
    known = among(rows["corpus"].combine_chunks(), pa.array(list(store.corpora.entries()), pa.string()))
    parts = [rows[name].combine_chunks().dictionary_encode().indices.to_numpy() for name in ("corpus", "part")]
    names = np.stack([*parts, rows["index"].to_numpy()], axis=1)[::-1]
    last = np.zeros(len(names), bool)
    last[len(names) - 1 - np.unique(names, axis=0, return_index=True)[1]] = True
    keep = last & known
    gone = len(keep) - int(keep.sum())
    return Removal(
        what="digests of recordings",
        reason="read anew since, or of a corpus that was forgotten",
        rows=gone,
        bytes=table.bytes * gone // max(len(keep), 1),
        table=table,
        keep=keep,
    )
