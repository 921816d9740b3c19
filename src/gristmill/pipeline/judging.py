"""From measurements to an audit: every check judges its columns, waivers apply, the gate gives verdicts.

Judging is rerun every time, one check at a time, so that memory holds one check's columns and the findings.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gristmill import measuring, memory
from gristmill.audit import Audit, NotChecked
from gristmill.check import unfit
from gristmill.episode import Corpus
from gristmill.errors import RecordingError
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest
from gristmill.recipe import Recipe
from gristmill.select import gate
from gristmill.store import Store
from gristmill.types import TimesS

_ORDER = {Kind.DEFECT: 0, Kind.RISK: 1, Kind.TRAIT: 2}
# How far an episode's times stray from k / rate, in frames; below a tenth of one, they tell the same frames.
_STRAY, _NEGLIGIBLE = "timestamps.stray", 0.1
_NAMED = 3  # episodes named one by one in "not checked"; more are counted


_Waivers = dict[tuple[str, str], str]  # (episode id, check) -> reason


def judge(store: Store, corpus: Corpus, recipe: Recipe, rows: np.ndarray, cameras: str) -> Audit:
    """The audit of these rows of the corpus's table, from what the store holds.

    Args:
        store: measurements.
        corpus: an opened corpus.
        recipe: thresholds and gate rules.
        rows: (n,) rows of `corpus.table`.
        cameras: "all", "sample" or "none": what was asked for, so that gaps can be explained.
    """
    table = corpus.table
    index = table.index[rows]
    ids = measuring.ledger_of(store, corpus).ids(rows)
    findings: list[Finding] = []
    not_checked: list[NotChecked] = []
    metrics: dict[str, np.ndarray] = {}
    unreadable = measuring.unreadable(store, corpus, rows)
    for name, check in recipe.checks.items():
        manifest = measuring.manifest_for(store, corpus, check, rows=rows, name=name)
        findings.extend(check.judge(manifest))
        not_checked.extend(_gaps(name, check, manifest, unreadable, cameras))
        metrics |= _metrics(name, check, manifest)
        del manifest
        memory.release()
    not_checked.extend(NotChecked("no check", f"channel {k}", why) for k, why in sorted(corpus.facts.unread.items()))
    findings.extend(_unreadable(unreadable, findings, index))
    waived, lapsed = _waivers(store, corpus, rows, ids)
    kept = [f for f in findings if f.row is None or (ids[f.row], f.check) not in waived]
    own = sorted((f for f in kept if f.row is not None), key=lambda f: (f.row, _ORDER[f.kind], f.check))
    whole = sorted((f for f in kept if f.row is None), key=lambda f: (_ORDER[f.kind], f.check))
    times_s = _recorded_times(corpus, recipe, rows, own, metrics)
    verdicts = gate.verdicts(
        recipe.gate,
        len(rows),
        own,
        cameras=corpus.facts.cameras,
        whole=whole,
        trim=recipe.trim,
        length=table.length[rows],
        rate_hz=corpus.facts.rate_hz,
        times_s=times_s,
    )
    return Audit(
        facts=corpus.facts,
        embodiment=corpus.embodiment,
        rows=rows,
        index=index,
        ids=ids,
        length=table.length[rows],
        tasks=[table.tasks[r] for r in rows.tolist()],
        verdict=verdicts.verdict,
        usable_for=verdicts.usable_for,
        reasons=verdicts.reasons,
        findings=own,
        corpus_findings=whole,
        not_checked=not_checked,
        metrics=metrics,
        waived=waived,
        lapsed=lapsed,
        times_s=times_s,
        unreadable=unreadable,
    )


def _recorded_times(
    corpus: Corpus, recipe: Recipe, rows: np.ndarray, findings: Sequence[Finding], metrics: Mapping[str, np.ndarray]
) -> dict[int, TimesS]:
    """Times of the episodes that a rule may cut, where the declared rate does not tell which frame stands where."""
    stray = metrics.get(_STRAY)
    cut = sorted({f.row for f in gate.trimming(recipe.gate, findings) if f.row is not None})
    wanted = [row for row in cut if stray is None or not abs(stray[row]) < _NEGLIGIBLE]
    found = {}
    for row, episode in zip(wanted, corpus.episodes(rows[wanted].tolist()), strict=True):
        try:
            found[row] = episode.times_s
        except RecordingError:
            continue  # what cannot be read is not exported, and has a finding of its own
    return found


def _metrics(name: str, check: Any, manifest: Manifest) -> dict[str, np.ndarray]:
    """Columns worth showing, one a number: `check.column`, and `check.column[KEY]` for each camera or channel."""
    found: dict[str, np.ndarray] = {}
    for column in check.columns:
        if column.metric and column.per == "episode":
            found[f"{name}.{column.name}"] = manifest.cells[column.name]
        elif column.metric and column.per == "camera":
            for at, camera in enumerate(manifest.cameras):
                found[f"{name}.{column.name}[{camera}]"] = manifest.cells[column.name][:, at]
        elif column.metric:
            cells = manifest.cells[column.name]
            for channel in dict.fromkeys(d.channel for d in manifest.dims):
                at = [i for i, d in enumerate(manifest.dims) if d.channel == channel]
                found[f"{name}.{column.name}[{channel}]"] = _mean(cells[:, at])
    empty = {key for key, values in found.items() if np.isnan(values).all()}
    if manifest.measured.all() and not any(manifest.unknown):
        # A check that was asked of every episode and had nothing to say of a column has no metric there.
        return {key: values for key, values in found.items() if key not in empty}
    # What is known of no episode takes no memory.
    nothing = np.broadcast_to(np.float64(np.nan), len(manifest))
    return {key: nothing if key in empty else values for key, values in found.items()}


def _mean(cells: np.ndarray) -> np.ndarray:
    """(n,) mean of the known cells of each row; NaN where none is known."""
    known = ~np.isnan(cells)
    count = known.sum(axis=1)
    return np.divide(np.where(known, cells, 0.0).sum(axis=1), count, out=np.full(len(cells), np.nan), where=count > 0)


def _waivers(store: Store, corpus: Corpus, rows: np.ndarray, ids: Sequence[str]) -> tuple[_Waivers, _Waivers]:
    """Waivers of recordings that are as they were when somebody accepted them, and those that lapsed."""
    waived = store.waivers(corpus.facts.key)
    if not waived:
        return {}, {}
    row_of = dict(zip(ids, rows.tolist(), strict=True))
    named = {episode for episode, _ in waived} & row_of.keys()
    now = {episode: measuring.digests_of(store, corpus, row_of[episode]).values for episode in named}
    valid = {key: why for key, why in store.waivers(corpus.facts.key, now).items() if key[0] in named}
    return valid, {key: why for key, why in waived.items() if key[0] in named and key not in valid}


def _gaps(name: str, check: Any, manifest: Manifest, unreadable: Mapping[int, str], cameras: str) -> list[NotChecked]:
    """What this check could not ask, grouped by reason."""
    by_reason: dict[str, list[int]] = defaultdict(list)
    for row, reason in enumerate(manifest.unknown):
        if reason:
            by_reason[reason].append(row)
    missing = [r for r in np.flatnonzero(~manifest.measured).tolist() if r not in unreadable]
    missing = [r for r in missing if not (manifest.unknown and manifest.unknown[r])]
    if missing:
        by_reason[_why_missing(check, manifest, cameras)].extend(missing)
    return [NotChecked(name, _scope(manifest, sorted(rows)), reason) for reason, rows in sorted(by_reason.items())]


def _why_missing(check: Any, manifest: Manifest, cameras: str) -> str:
    reason = unfit(check, manifest.facts, manifest.embodiment)
    if reason:
        return reason
    if check.reads.cameras and cameras != "all":
        return f"not decoded: --cameras {cameras}"
    return "not measured yet"


def _scope(manifest: Manifest, rows: Sequence[int]) -> str:
    if len(rows) == len(manifest):
        return "corpus"
    if len(rows) <= _NAMED:
        names = ", ".join(str(int(manifest.index[r])) for r in rows)
        return f"episode {names}" if len(rows) == 1 else f"episodes {names}"
    return f"{len(rows)} episodes"


def _unreadable(unreadable: Mapping[int, str], findings: Sequence[Finding], index: np.ndarray) -> list[Finding]:
    """A finding for each episode that could not be read and that no check has explained."""
    explained = Counter(f.row for f in findings if f.kind is Kind.DEFECT and f.check in ("files", "pointers", "schema"))
    return [
        Finding(
            check="files",
            kind=Kind.DEFECT,
            row=row,
            code="unreadable",
            message=f"episode {int(index[row])} cannot be read: {reason}; a loader will fail on it",
            fix="Restore the file from its source, or leave the episode out.",
        )
        for row, reason in sorted(unreadable.items())
        if not explained[row]
    ]
