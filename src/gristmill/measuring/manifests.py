"""From stored rows to what `judge` sees, one check at a time, and what could not be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa

from gristmill.check import Check, Column
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
    ledger = ledger_of(store, corpus)
    name = name or module_name(type(check))
    rows = np.arange(ledger.count) if rows is None else np.asarray(rows, np.int64)
    inputs, certain = ledger.inputs(Parts.of(check.reads))
    key = key_of(name, check)

    def read(names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        return _columns(store.read(name, key, inputs[rows], names, valid=certain[rows]))

    narrow = [c.name for c in check.columns if c.per == "episode"]
    stored = read(["unknown", "events", *narrow])
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
        cells=_Cells(
            {
                c.name: cells_of(c, stored.pop(c.name, None), count, widths[c.per])
                for c in check.columns
                if c.name in narrow
            },
            {c.name: partial(_wide, read, c, count, widths[c.per]) for c in check.columns if c.name not in narrow},
        ),
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


def _wide(
    read: Callable[[Sequence[str]], dict[str, pa.ChunkedArray]], column: Column, count: int, width: int
) -> np.ndarray:
    return cells_of(column, read([column.name]).get(column.name), count, width)


class _Cells(Mapping[str, np.ndarray]):
    """Cells of a check's columns; lists over dimensions or cameras are read when asked for.

    They are kept no longer than somebody holds them: one such column weighs more than all others together.
    """

    def __init__(self, narrow: Mapping[str, np.ndarray], wide: Mapping[str, Callable[[], np.ndarray]]) -> None:
        self._narrow = narrow
        self._wide = wide
        self._held: WeakValueDictionary[str, np.ndarray] = WeakValueDictionary()

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self._narrow:
            return self._narrow[name]
        cells = self._held.get(name)
        if cells is None:
            cells = self._held[name] = self._wide[name]()
        return cells

    def __iter__(self) -> Iterator[str]:
        yield from self._narrow
        yield from self._wide

    def __len__(self) -> int:
        return len(self._narrow) + len(self._wide)


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
