"""From stored rows to what `judge` sees, one check at a time, and what could not be read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gristmill.check import Check
from gristmill.columns import cells_of, events_of, texts_of
from gristmill.episode import Corpus, Digests
from gristmill.inputs import Lanes, Parts, hexadecimal
from gristmill.manifest import Manifest, module_name
from gristmill.measuring.ledger import Ledger, ledger_of
from gristmill.stage_keys import key_of
from gristmill.store import Store
from gristmill.types import IntArray


def manifest_for(
    store: Store, corpus: Corpus, check: Check, *, rows: IntArray | None = None, name: str | None = None
) -> Manifest:
    """One check's view of the corpus, from what the store holds; nothing is measured.

    Args:
        store: measurements.
        corpus: an opened corpus.
        check: which check.
        rows: rows of the corpus's table, ascending; None is all.
        name: the check's name, by default that of its file.
    """
    # What the last check's columns took is given back first: they are large, and one check's are held at a time.
    pa.default_memory_pool().release_unused()
    ledger = ledger_of(store, corpus)
    name = name or module_name(type(check))
    rows = np.arange(ledger.count) if rows is None else np.asarray(rows, np.int64)
    inputs, certain = ledger.inputs(Parts.of(check.reads))
    wanted = ["unknown", "events", *(column.name for column in check.columns)]
    key = key_of(name, check)
    stored = _columns(store.read(name, key, inputs[rows], wanted, valid=certain[rows]))
    store.table(name, key).close()
    widths = {"dim": len(corpus.facts.dims), "camera": len(ledger.cameras), "episode": 0}
    count = len(rows)
    found = stored.pop("found", None)
    unknown = stored.pop("unknown", None)
    every = ledger.table
    return Manifest(
        facts=corpus.facts,
        embodiment=corpus.embodiment,
        issues=corpus.issues,
        index=every.index[rows],
        ids=ledger.ids(rows),
        length=every.length[rows],
        tasks=[every.tasks[row] for row in rows.tolist()],
        # Each stored column is let go as soon as its cells are made, so that memory holds the columns once.
        cells={c.name: cells_of(c, stored.pop(c.name, None), count, widths[c.per]) for c in check.columns},
        measured=np.zeros(count, bool) if found is None else found.to_numpy(),
        unknown=[None] * count if unknown is None else texts_of(unknown),
        events=events_of(stored.pop("events", None)),
        values_digest=_Texts(ledger.digests["values"], rows),
        camera_digests={key: _Texts(ledger.digests[f"camera:{key}"], rows) for key in ledger.cameras},
        elsewhere=ledger.elsewhere(store),
    )


def unreadable(store: Store, corpus: Corpus, rows: IntArray | None = None) -> dict[int, str]:
    """Position in `rows` -> why the low-dimensional data of that episode cannot be read."""
    return _reasons(ledger_of(store, corpus), "values", rows)


def unreadable_cameras(store: Store, corpus: Corpus, rows: IntArray | None = None) -> dict[str, dict[int, str]]:
    """Camera key -> position in `rows` -> why that episode's video cannot be read."""
    ledger = ledger_of(store, corpus)
    return {key: _reasons(ledger, f"camera:{key}", rows) for key in ledger.cameras}


def digests_of(store: Store, corpus: Corpus, row: int) -> Digests:
    """Content digests of one episode, "" for what was not read yet."""
    return ledger_of(store, corpus).digests_of(row)


def _reasons(ledger: Ledger, part: str, rows: IntArray | None) -> dict[int, str]:
    reasons = ledger.reasons[part]
    if rows is None:
        return dict(reasons)
    return {at: reasons[row] for at, row in enumerate(np.asarray(rows).tolist()) if row in reasons} if reasons else {}


def _columns(table: pa.Table | None) -> dict[str, pa.ChunkedArray]:
    return {} if table is None else dict(zip(table.column_names, table.columns, strict=True))


class _Texts(Sequence[str]):
    """Digests as text, made when asked for: as strings they would take six times the memory."""

    def __init__(self, digests: Lanes, rows: IntArray) -> None:
        self._digests = digests
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at):  # type: ignore[no-untyped-def]
        if isinstance(at, slice):
            return hexadecimal(self._digests[self._rows[at]])
        row = self._rows[at]
        return hexadecimal(self._digests[row][None])[0]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(hexadecimal(self._digests[self._rows]))
