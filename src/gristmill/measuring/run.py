"""One run: draw up what is owed, have it done, keep what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gristmill import memory
from gristmill.check import Check
from gristmill.engine import local
from gristmill.engine.measure import Measurer
from gristmill.engine.plan import TRACES, Counters, Part
from gristmill.episode import Corpus
from gristmill.errors import StoreError
from gristmill.inputs import Parts
from gristmill.measuring.ledger import Ledger, ledger_of
from gristmill.measuring.planning import Cameras, Owed, find, works
from gristmill.progress import Progress
from gristmill.store import Pending, Store
from gristmill.store.corpora import TRACES as CAMERA
from gristmill.types import IntArray


def run_measures(
    store: Store,
    corpus: Corpus,
    checks: Mapping[str, Check],
    *,
    cameras: Cameras = "all",
    jobs: int | None = None,
    rows: IntArray | None = None,
    progress: Progress | None = None,
    reopen: Callable[[], Corpus] | None = None,
) -> Counters:
    """Measure what is owed and keep it.

    Args:
        store: opened for writing.
        corpus: an opened corpus; `facts.key` is its name in the store.
        checks: name -> check.
        cameras: whose cameras may be opened: of all episodes, of a sample, or of none.
        jobs: worker processes; None is one a core, or none at all when there is little to do.
        rows: rows of the corpus's table to look at; None is all.
        progress: told about finished episodes.
        reopen: opens the corpus in a worker; by default through its `locator`. A corpus that has neither is
            measured in this process.

    Raises:
        StoreError: the store cannot be written; what was written before stays.
        KeyboardInterrupt: after Ctrl-C, when all that was finished has been written and no worker is left.
    """
    memory.release()  # opening a corpus reads large tables and keeps little of them
    ledger = ledger_of(store, corpus)
    found = find(store, corpus, checks, cameras=cameras, rows=rows)
    done = Counters()
    if len(found.rows):
        store.begin(ledger.key, corpus.facts.root, found.keys)
        _measure(store, corpus, ledger, found, jobs, progress, reopen or _reopening(corpus), done)
    store.finish(ledger.key, corpus.facts.root, ledger.state(_combinations(store, ledger, checks)), found.keys)
    store.compact()
    memory.release()
    return done


def _measure(
    store: Store,
    corpus: Corpus,
    ledger: Ledger,
    found: Owed,
    jobs: int | None,
    progress: Progress | None,
    reopen: Callable[[], Corpus] | None,
    done: Counters,
) -> None:
    costly = {stage.name for stage in found.stages if stage.check.reads.cameras} | {TRACES}
    about = {stage.name: {"parts": stage.parts.text} for stage in found.stages} | {TRACES: {"parts": CAMERA}}
    pending = Pending(store)
    count = local.workers(jobs, float(found.cost_s.sum()), found.decoding_s) if reopen is not None else 1
    parts = local.run(Measurer(found.plan(ledger, reopen), corpus), works(store, ledger, found, count), count)
    finished = 0
    try:
        for part in parts:
            finished += len(part)
            done.add(part.counters)
            _keep(part, ledger, found, pending, about, costly)
            pending.flush()
            if progress is not None:
                progress("measuring", finished, len(found.rows))
    except StoreError:
        raise
    except BaseException:
        pending.flush(everything=True)
        raise
    finally:
        parts.close()
    pending.flush(everything=True)


def _keep(
    part: Part,
    ledger: Ledger,
    found: Owed,
    pending: Pending,
    about: Mapping[str, Mapping[str, Any]],
    costly: set[str],
) -> None:
    """Queue a part's rows and take what was read into the ledger."""
    for stage, batch in part.batches.items():
        pending.add(stage, found.keys[stage], batch, about=about[stage], costly=stage in costly)
    if part.readings:
        pending.add_digests(ledger.key, ledger.learn(part.readings), costly=part.counters.decoded > 0)


def _combinations(store: Store, ledger: Ledger, checks: Mapping[str, Check]) -> list[Parts]:
    """Combinations of parts under which measurements of the corpus lie: of these checks, and of earlier ones."""
    combinations = {Parts.of(check.reads) for check in checks.values()}
    earlier = store.corpora.entries().get(ledger.key, {}).get("stages", {})
    for stage, key in earlier.items():
        if stage not in checks:
            parts = store.table(stage, key).about.get("parts", CAMERA)
            if parts != CAMERA:
                combinations.add(Parts.parse(parts))
    return sorted(combinations)


def _reopening(corpus: Corpus) -> Callable[[], Corpus] | None:
    """How a worker opens the corpus again; None for one that lives in memory only."""
    locator = getattr(corpus, "locator", None)
    if locator is None:
        return None
    from gristmill.sources import open_locator

    return partial(open_locator, locator)
