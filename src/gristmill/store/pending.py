"""Rows on their way to disk: few commits, and little to lose.

A commit of one stage costs some 2 ms whatever its size, so rows are gathered. What was cheap to measure waits
for many rows; what took decoding is written every few seconds, because losing it is expensive.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from gristmill.store.store import Store

ROWS = 5_000  # a cheap stage is written when so many rows wait ...
EVERY_S = 2.0  # ... and so much time went by
COSTLY_EVERY_S = 3.0  # a stage that needed decoding is written this often, however few its rows
LATEST_S = 30.0  # nothing waits longer
BYTES = 16 << 20  # and all together take no more memory than this


@dataclass
class _Stage:
    write: Callable[[Sequence[pa.RecordBatch]], None]
    costly: bool
    since: float
    batches: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0

    def due(self, now: float) -> bool:
        waited = now - self.since
        if waited >= LATEST_S:
            return True
        if self.costly:
            return waited >= COSTLY_EVERY_S
        return self.rows >= ROWS and waited >= EVERY_S


class Pending:
    """Batches of several stages, each written to its table when it is due.

    Args:
        store: where they go.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stages: dict[tuple[str, str], _Stage] = {}

    def add(self, stage: str, key: str, batch: pa.RecordBatch, *, about: Mapping[str, Any], costly: bool) -> None:
        """Take rows for `Store.append` in."""
        self._add((stage, key), batch, partial(self._store.append, stage, key, about=about), costly)

    def add_digests(self, corpus_key: str, batch: pa.RecordBatch, *, costly: bool) -> None:
        """Take rows for `Store.put_digests` in."""
        self._add(("", corpus_key), batch, partial(self._store.put_digests, corpus_key), costly)

    def _add(
        self,
        name: tuple[str, str],
        batch: pa.RecordBatch,
        write: Callable[[Sequence[pa.RecordBatch]], None],
        costly: bool,
    ) -> None:
        if not len(batch):
            return
        waiting = self._stages.get(name)
        if waiting is None:
            waiting = self._stages[name] = _Stage(write, costly, time.monotonic())
        waiting.batches.append(batch)
        waiting.rows += len(batch)
        waiting.bytes += batch.nbytes

    def flush(self, *, everything: bool = False) -> None:
        """Write the stages that are due, or all.

        Raises:
            StoreError: writing failed; what was not written is lost, what was stays.
        """
        now = time.monotonic()
        everything = everything or sum(waiting.bytes for waiting in self._stages.values()) >= BYTES
        for name, waiting in list(self._stages.items()):
            if everything or waiting.due(now):
                del self._stages[name]
                waiting.write(waiting.batches)
