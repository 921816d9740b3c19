"""What is known of one corpus before anything is read: digests, inputs, what is owed, what cannot be read.

The store says what was read under which file stamps; where a stamp did not change, content and so all
measurements are known. Everything here is array operations over the corpus's episodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from gristmill.columns import keys, lanes_of
from gristmill.digest import text_digest
from gristmill.embodiment import card_digest
from gristmill.engine.plan import BROKEN, KNOWN, UNKNOWN, Reading
from gristmill.episode import Corpus, Digests, EpisodeTable, episode_id
from gristmill.inputs import Lanes, Pair, Parts, hexadecimal, inputs, lanes, number, pair
from gristmill.store.corpora import INPUT
from gristmill.store.store import Store
from gristmill.store.tables import among
from gristmill.types import IntArray, Mask

_READING = pa.schema(
    [
        ("index", pa.int64()),
        ("part", pa.string()),
        ("stamp", pa.string()),
        ("digest", pa.binary(16)),
        ("unreadable", pa.string()),
    ]
)


class Ledger:
    """One corpus, as the store knows it. Rows are those of `corpus.table`.

    Args:
        store: where digests are kept.
        corpus: an opened corpus; its `facts.key` is its name in the store.
    """

    def __init__(self, store: Store, corpus: Corpus) -> None:
        self.key = corpus.facts.key
        self.table: EpisodeTable = corpus.table
        self.cameras = tuple(corpus.facts.cameras)
        self.count = len(self.table)
        self.parts = ("values", *(f"camera:{key}" for key in self.cameras))
        dims = [f"{dim.channel}[{dim.index}]" for dim in corpus.facts.dims]
        self.constants: dict[str, Pair] = {
            "card": pair(card_digest(corpus.embodiment)),
            "layout": pair(text_digest([repr(float(corpus.facts.rate_hz)), *dims])),
        }
        self.states = {part: np.full(self.count, UNKNOWN, np.int8) for part in self.parts}
        paces = [f"pace:{key}" for key in self.cameras]
        self.digests: dict[str, Lanes] = {
            part: np.zeros((self.count, 2), np.uint64) for part in (*self.parts, "issues", *paces)
        }
        self.digests["task"] = _task_lanes(self.table.tasks)
        self.digests["meta"] = _meta_lanes(self.table.meta_digest)
        self.reasons: dict[str, dict[int, str]] = {part: {} for part in self.parts}
        self._elsewhere: Mapping[str, str] | None = None
        self._ids = [episode_id(self.key, index) for index in self.table.index.tolist()]
        self._mixed: dict[Parts, tuple[Lanes, Mask]] = {}
        self._recall(store.digests(self.key))

    def inputs(self, parts: Parts) -> tuple[Lanes, Mask]:
        """(n, 2) inputs under which checks that read these parts are measured, and which of them are certain."""
        if parts not in self._mixed:
            digests = {name: (rows[:, 0], rows[:, 1]) for name, rows in self.digests.items()} | self.constants
            digests["length"] = number(self.table.length)
            self._mixed[parts] = inputs(parts, self.cameras, digests, self.count), self._certain(parts)
        return self._mixed[parts]

    def learn(self, readings: Sequence[Reading]) -> pa.RecordBatch:
        """Take in what was read, and give the rows to remember (`store.schema.DIGESTS` without the corpus)."""
        self._mixed.clear()
        self._elsewhere = None
        for row, part, digest, reason, _ in readings:
            if part in self.states:
                self.states[part][row] = KNOWN if digest else BROKEN
                if reason is not None:
                    self.reasons[part][row] = reason
                else:
                    self.reasons[part].pop(row, None)
            self.digests[part][row] = pair(digest)
        lasting = [r for r in readings if r.lasting]
        rows = np.array([r.row for r in lasting], np.int64)
        columns = [
            pa.array(self.table.index[rows].astype(np.int64)),
            pa.array([r.part for r in lasting], pa.string()),
            pa.array([self._stamps(r.part)[r.row] for r in lasting], pa.string()),
            pa.array([bytes.fromhex(r.digest) if r.digest else None for r in lasting], pa.binary(16)),
            pa.array([r.reason for r in lasting], pa.string()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=_READING)

    def state(self, parts: Sequence[Parts]) -> pa.Table:
        """What the store should know of the corpus while it is not open (see `store.corpora`).

        Args:
            parts: combinations for which inputs are wanted.
        """
        columns: dict[str, Any] = {
            "index": pa.array(self.table.index.astype(np.int64)),
            "episode_id": pa.array(self.ids()),
            "length": pa.array(self.table.length.astype(np.int64)),
        }
        columns |= {part: keys(self.digests[part]) for part in self.parts}
        for combination in sorted(set(parts)):
            columns[INPUT + combination.text] = keys(*self.inputs(combination))
        return pa.table(columns)

    def ids(self, rows: IntArray | None = None) -> list[str]:
        """Episode ids of some rows, or all."""
        return self._ids if rows is None else [self._ids[row] for row in rows.tolist()]

    def digests_of(self, row: int) -> Digests:
        """All content digests of one episode."""
        known = {name: hexadecimal(rows[row : row + 1])[0] for name, rows in self.digests.items()}
        cameras = {key: known[f"camera:{key}"] for key in self.cameras}
        return Digests(known["values"], known["task"], known["meta"], cameras)

    def elsewhere(self, store: Store) -> Mapping[str, str]:
        """Digest -> episode id, for values and camera packets that another corpus of the store has too."""
        if self._elsewhere is None:
            self._elsewhere = _found_elsewhere(store, self)
        return self._elsewhere

    # -- inner -------------------------------------------------------------------------------------

    def _certain(self, parts: Parts) -> Mask:
        certain = np.ones(self.count, bool)
        if "values" in parts.names:
            certain &= self.states["values"] == KNOWN
        if "meta" in parts.names:
            certain &= self.states["values"] != UNKNOWN  # the issues are known when reading was tried
        if "cameras" in parts.names:
            for part in self.parts[1:]:
                certain &= self.states[part] != UNKNOWN
        return certain

    def _stamps(self, part: str) -> Sequence[str]:
        # A camera whose images lie in the table has no file of its own.
        kind, _, key = part.partition(":")
        own = self.table.camera_stamps.get(key) if kind in ("camera", "pace") else None
        return self.table.values_stamp if own is None else own

    def _recall(self, stored: pa.Table) -> None:
        """Take over what was read before, where the files did not change since."""
        if not len(stored) or not self.count:
            return
        order = np.argsort(self.table.index, kind="stable")
        ranked = np.asarray(self.table.index)[order]
        index = stored["index"].to_numpy()
        rank = np.minimum(np.searchsorted(ranked, index), self.count - 1)
        row_of = np.where(ranked[rank] == index, order[rank], -1)
        names = stored["part"].combine_chunks().dictionary_encode()
        part_of = names.indices.to_numpy()
        for code, part in enumerate(names.dictionary.to_pylist()):
            if part not in self.digests:
                continue  # a camera that the corpus no longer has
            at = np.flatnonzero((part_of == code) & (row_of >= 0))
            newest = np.full(self.count, -1)
            newest[row_of[at]] = at  # of repeated rows the last assignment holds
            rows = np.flatnonzero(newest >= 0)
            self._recall_part(part, rows, stored.take(pa.array(newest[rows])))

    def _recall_part(self, part: str, rows: IntArray, stored: pa.Table) -> None:
        stamps = self._stamps(part)
        now = np.array([stamps[row] for row in rows.tolist()], object)
        same = now == stored["stamp"].to_numpy()
        read = stored["digest"].is_valid().to_numpy()
        self.digests[part][rows[same & read]] = lanes_of(stored["digest"])[same & read]
        if part in self.states:
            self.states[part][rows[same]] = np.where(read[same], KNOWN, BROKEN)
            said = stored["unreadable"]
            if said.null_count < len(said):
                for at in np.flatnonzero(same & said.is_valid().to_numpy()).tolist():
                    self.reasons[part][int(rows[at])] = said[at].as_py()


_ledgers: WeakKeyDictionary[Store, dict[str, tuple[Corpus, Ledger]]] = WeakKeyDictionary()


def ledger_of(store: Store, corpus: Corpus) -> Ledger:
    """The ledger of an open corpus, made once while store and corpus stay open."""
    kept = _ledgers.setdefault(store, {})
    known = kept.get(corpus.facts.key)
    if known is None or known[0] is not corpus:
        known = kept[corpus.facts.key] = corpus, Ledger(store, corpus)
    return known[1]


def _task_lanes(tasks: Sequence[tuple[str, ...]]) -> Lanes:
    distinct: dict[tuple[str, ...], int] = {}
    codes = np.array([distinct.setdefault(texts, len(distinct)) for texts in tasks], np.int64)
    return lanes([text_digest(texts) for texts in distinct])[codes]


def _meta_lanes(digests: Sequence[str]) -> Lanes:
    try:
        return lanes(digests)
    except ValueError:  # a source may use digests of another form
        return lanes([text_digest([digest]) for digest in digests])


def _found_elsewhere(store: Store, ledger: Ledger) -> Mapping[str, str]:
    own = pa.chunked_array([keys(_set(ledger.digests[part])) for part in ledger.parts])
    found: dict[str, str] = {}
    for key in sorted(store.corpora.entries()):
        state = None if key == ledger.key else store.corpora.state(key)
        if state is None:
            continue
        for name in state.schema.names:
            if name == "values" or name.startswith("camera:"):
                rows = np.flatnonzero(among(state[name].combine_chunks(), own))
                ids = state["episode_id"].take(pa.array(rows)).to_pylist()
                shared = hexadecimal(lanes_of(state[name].take(pa.array(rows))))
                found |= {d: i for d, i in zip(shared, ids, strict=True) if d not in found}
    return found


def _set(digests: Lanes) -> Lanes:
    """The digests that are there."""
    return digests[digests.any(axis=1)]
