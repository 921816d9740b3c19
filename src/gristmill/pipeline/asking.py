"""Questions about what is known: what is owed, why an episode was treated so, and SQL over everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill import measuring, plugins
from gristmill.audit import Audit
from gristmill.episode import Corpus
from gristmill.errors import UnknownNameError, UsageError
from gristmill.finding import Finding
from gristmill.pipeline.judging import judge
from gristmill.recipe import Recipe
from gristmill.snapshot import Snapshot
from gristmill.store import Store

FINDINGS = pa.schema(
    [
        ("id", pa.string()),
        ("corpus", pa.string()),
        ("episode_index", pa.int64()),  # null for a finding about the corpus
        ("episode_id", pa.string()),
        ("check", pa.string()),
        ("code", pa.string()),
        ("kind", pa.string()),
        ("channel", pa.string()),
        ("camera", pa.string()),
        ("start_s", pa.float64()),  # of the first span
        ("end_s", pa.float64()),  # of the last one
        ("spans", pa.int64()),
        ("measured", pa.float64()),
        ("threshold", pa.float64()),
        ("unit", pa.string()),
        ("message", pa.string()),
        ("fix", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """What a corpus has and what it lacks."""

    corpus: str
    root: str
    episodes: int
    by_check: dict[str, int]  # check -> episodes for which it is owed

    @property
    def total(self) -> int:
        """Measurements owed."""
        return sum(self.by_check.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a snapshot did with an episode."""

    snapshot: str
    tags: tuple[str, ...]
    verdict: str
    rules: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]  # frames, stop exclusive


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Everything known of one episode."""

    episode_id: str
    index: int
    length: int
    duration_s: float
    tasks: tuple[str, ...]
    verdict: str
    usable_for: tuple[str, ...]
    reasons: tuple[str, ...]
    findings: tuple[Finding, ...]
    owed: tuple[str, ...]  # checks that have not looked at it yet
    waived: dict[str, str]  # check -> reason
    lapsed: dict[str, str]  # the same, of waivers that were given for values that are no more
    metrics: dict[str, float]
    digests: dict[str, str]
    places: tuple[Place, ...]


def owed(store: Store, corpus: Corpus, recipe: Recipe) -> Owed:
    """What is owed of one corpus by the recipe's checks; nothing is read."""
    return Owed(
        corpus=corpus.facts.key,
        root=corpus.facts.root,
        episodes=len(corpus.table),
        by_check=measuring.owed(store, corpus, recipe.checks, cameras=recipe.cameras),
    )


def query(store: Store, recipe: Recipe, corpora: Sequence[Corpus], sql: str) -> pa.Table:
    """Run one SELECT; `findings` is judged only when the statement names it."""
    tables = {}
    if "findings" in sql.lower():
        tables["findings"] = findings_table(store, recipe, corpora)
    return store.query(sql, tables)


def findings_table(store: Store, recipe: Recipe, corpora: Sequence[Corpus]) -> pa.Table:
    """All findings as a table (FINDINGS)."""
    rows: list[dict[str, Any]] = []
    for corpus in corpora:
        audit = judge(store, corpus, recipe, np.arange(len(corpus.table)), recipe.cameras)
        rows += [_row(audit, f) for f in (*audit.findings, *audit.corpus_findings)]
    return pa.Table.from_pylist(rows, schema=FINDINGS)


def locate(corpora: Sequence[Corpus], episode: str) -> tuple[Corpus, int]:
    """The corpus and the row of an episode.

    Args:
        corpora: those that are open.
        episode: `corpus/000012`, or a number when there is one corpus.

    Raises:
        UnknownNameError: no such episode.
        UsageError: a number, and several corpora.
    """
    key, _, native = episode.rpartition("/")
    if not key and len(corpora) > 1:
        keys = ", ".join(c.facts.key for c in corpora)
        raise UsageError(f"{episode}: several corpora are open ({keys}); write it as CORPUS/{episode}")
    chosen = [c for c in corpora if not key or c.facts.key == key]
    if not chosen:
        raise UnknownNameError("the project's list of corpora", key, [c.facts.key for c in corpora])
    table = chosen[0].table
    found = np.flatnonzero(table.index == int(native)) if native.isdecimal() else np.array([], int)
    if not len(found):
        low, high = (int(table.index.min()), int(table.index.max())) if len(table) else (0, -1)
        raise UsageError(f"{episode}: {chosen[0].facts.key} has no such episode; it has {low} to {high}")
    return chosen[0], int(found[0])


def accept(store: Store, corpora: Sequence[Corpus], episode: str, check: str, reason: str) -> str:
    """Waive a check for an episode as its recording is now."""
    names = plugins.names("checks")
    if check not in names:
        raise UnknownNameError("checks", check, names)
    corpus, row = locate(corpora, episode)
    episode_id = measuring.episode_id(corpus.facts.key, int(corpus.table.index[row]))
    store.waive(episode_id, check, reason, measuring.digests_of(store, corpus, row).values)
    return episode_id


def revoke(store: Store, corpora: Sequence[Corpus], episode: str, check: str) -> str:
    """Take a waiver back."""
    corpus, row = locate(corpora, episode)
    episode_id = measuring.episode_id(corpus.facts.key, int(corpus.table.index[row]))
    if not store.unwaive(episode_id, check):
        raise UsageError(f"{episode_id}: {check} was not accepted; there is nothing to revoke")
    return episode_id


def story(store: Store, corpora: Sequence[Corpus], recipe: Recipe, episode: str) -> Story:
    """Everything known of one episode."""
    corpus, row = locate(corpora, episode)
    audit = judge(store, corpus, recipe, np.arange(len(corpus.table)), recipe.cameras)
    episode_id = audit.ids[row]
    digests = measuring.digests_of(store, corpus, row)
    owing = measuring.owed(store, corpus, recipe.checks, cameras=recipe.cameras, rows=np.array([row]))
    named = {"values": digests.values, "task": digests.task, "metadata": digests.meta, **digests.cameras}
    return Story(
        episode_id=episode_id,
        index=int(audit.index[row]),
        length=int(audit.length[row]),
        duration_s=float(audit.length[row]) / audit.facts.rate_hz,
        tasks=audit.tasks[row],
        verdict=str(audit.verdict[row]),
        usable_for=tuple(audit.usable_for[row]),
        reasons=tuple(audit.reasons.get(row, ())),
        findings=tuple(f for f in audit.findings if f.row == row),
        owed=tuple(check for check, count in owing.items() if count),
        waived={check: why for (e, check), why in audit.waived.items() if e == episode_id},
        lapsed={check: why for (e, check), why in audit.lapsed.items() if e == episode_id},
        metrics={name: float(values[row]) for name, values in sorted(audit.metrics.items())},
        digests={name: value for name, value in named.items() if value},
        places=tuple(_places(store, episode_id)),
    )


def _places(store: Store, episode_id: str) -> list[Place]:
    """What each recorded snapshot did with the episode, oldest first."""
    places = []
    for record in store.snapshots():
        folder = store.path / "snapshots" / record["id"]
        if not folder.is_dir():
            continue
        snapshot = Snapshot.read(folder)
        for entry in snapshot.episodes.to_pylist():
            if entry["episode_id"] == episode_id:
                spans = [(s.start, s.stop) for s in snapshot.kept() if s.episode_id == episode_id]
                places.append(
                    Place(
                        snapshot=record["id"],
                        tags=tuple(record["tags"]),
                        verdict=entry["verdict"],
                        rules=tuple(entry["rules"]),
                        spans=tuple(spans),
                    )
                )
    return places


def _row(audit: Audit, f: Finding) -> dict[str, Any]:
    key = audit.facts.key if f.row is None else audit.ids[f.row]
    return {
        "id": f.id(key),
        "corpus": audit.facts.key,
        "episode_index": None if f.row is None else int(audit.index[f.row]),
        "episode_id": None if f.row is None else audit.ids[f.row],
        "check": f.check,
        "code": f.code,
        "kind": str(f.kind),
        "channel": f.channel,
        "camera": f.camera,
        "start_s": f.spans_s[0].start_s if f.spans_s else None,
        "end_s": f.spans_s[-1].end_s if f.spans_s else None,
        "spans": len(f.spans_s),
        "measured": f.measured,
        "threshold": f.threshold,
        "unit": f.unit,
        "message": f.message,
        "fix": f.fix,
    }
