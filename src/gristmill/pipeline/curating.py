"""From audits to a training set: plan, freeze, export, and a record of all three."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill import lineage, measuring
from gristmill.audit import Audit, Verdict
from gristmill.dim_methods import idle_patterns
from gristmill.episode import Corpus
from gristmill.pipeline.shared_views import shared_views
from gristmill.progress import Progress
from gristmill.recipe import Recipe
from gristmill.report.curation import Curation as Told
from gristmill.report.curation import RuleOutcome
from gristmill.select.freeze import freeze
from gristmill.select.one_clock import look_ahead
from gristmill.select.outcome import carried_out, foreseen
from gristmill.select.plan import Plan, plan
from gristmill.snapshot import Snapshot
from gristmill.store import Store

if TYPE_CHECKING:
    from gristmill.export._result import ExportResult


@dataclass(frozen=True, kw_only=True)
class Curation:
    """What was decided, and what came of it. After a dry run there are plans and nothing else."""

    audits: Sequence[Audit]
    plans: Sequence[Plan]
    snapshot: Snapshot | None = None
    folder: Path | None = None  # of the snapshot
    export: ExportResult | None = None
    notes: tuple[str, ...] = ()  # about the recipe, for whoever wrote it

    def told(self, at: int = 0) -> Told:
        """What happened to one of the corpora, for its report."""
        audit, decided = self.audits[at], self.plans[at]
        rate = audit.facts.rate_hz
        kept_frames = [sum(b - a for a, b in d.stretches) for d in decided.decisions]
        return Told(
            episodes_in=len(decided.index),
            episodes_out=sum(len(d.stretches) for d in decided.decisions),
            seconds_in=float(decided.length.sum()) / rate,
            seconds_out=sum(kept_frames) / rate,
            rules=_outcomes(decided, kept_frames, rate),
            data_hash=self.snapshot.data_hash if self.snapshot else "",
            lineage_hash=self.snapshot.lineage_hash if self.snapshot else "",
            dataset=str(self.export.out) if self.export else "",
        )


def curate(
    store: Store,
    recipe: Recipe,
    audited: Sequence[tuple[Audit, Corpus]],
    exporter: Any,
    out: Path | None,
    *,
    dry_run: bool,
    tag: str | None,
    progress: Progress | None,
) -> Curation:
    """Decide, and unless it is a dry run freeze, record and export."""
    audits = shared_views(store, recipe, audited)
    digests = [[measuring.digests_of(store, corpus, int(row)) for row in audit.rows] for audit, corpus in audited]
    plans = plan(audits, digests, gate=recipe.gate, trim=recipe.trim)
    notes = (*_idle_rules(recipe, audits), *_idle_patterns(recipe, audits), *_left_out(plans))
    corpora = {audit.facts.root: corpus for audit, corpus in audited}
    look_ahead(plans, corpora.__getitem__)
    if dry_run:
        plans = foreseen(plans, corpora.__getitem__, dropped_frames=recipe.dropped_frames, align=recipe.align)
        return Curation(audits=audits, plans=plans, notes=notes)
    snapshot = freeze(
        plans,
        corpora.__getitem__,
        recipe=recipe.canonical(),
        lineage=_lineage(recipe, audited),
        dropped_frames=recipe.dropped_frames,
        align=recipe.align,
        progress=_counting(progress, "freezing", sum(len(p.kept) for p in plans)),
    )
    folder = snapshot.write(store.path / "snapshots")
    result = None
    if out is not None:
        result = exporter.export(
            snapshot,
            out,
            open_corpus=corpora.__getitem__,
            progress=_counting(progress, "exporting", len(snapshot.spans)),
        )
    store.put_snapshot_record(
        {
            "id": snapshot.id,
            "data_hash": snapshot.data_hash,
            "lineage_hash": snapshot.lineage_hash,
            "corpora": [audit.facts.key for audit in audits],
            "episodes": snapshot.episodes.num_rows,
            "spans": snapshot.spans.num_rows,
            "frames": sum(s.stop - s.start for s in snapshot.kept()),
            "out": str(out.absolute()) if out is not None else None,
        }
    )
    if tag is not None:
        named = next((r["id"] for r in store.snapshots() if tag in r["tags"]), snapshot.id)
        if named != snapshot.id:
            notes = (*notes, f"tag {tag} moved here from snapshot {named}")
        store.tag(tag, snapshot.id)
    plans = carried_out(plans, snapshot)
    return Curation(audits=audits, plans=plans, snapshot=snapshot, folder=folder, export=result, notes=notes)


def rows_by_verdict(plans: Sequence[Plan]) -> dict[Verdict, int]:
    """How many episodes get each verdict."""
    counts = dict.fromkeys(Verdict, 0)
    for each in plans:
        for decision in each.decisions:
            counts[decision.verdict] += 1
    return counts


def _idle_rules(recipe: Recipe, audits: Sequence[Audit]) -> Iterator[str]:
    """Rules for one code of a check that met no such finding: misspelt, or not needed here."""
    codes: dict[str, set[str]] = {}
    for audit in audits:
        for finding in (*audit.findings, *audit.corpus_findings):
            codes.setdefault(finding.check, set()).add(finding.code)
    for rule in recipe.gate.rules:
        check, _, code = rule.partition(".")
        if code and code not in codes.get(check, ()):
            seen = ", ".join(sorted(filter(None, codes.get(check, ())))) or "none"
            yield f"gate.rules.{rule!r} met no finding; codes that `{check}` reported here: {seen}"


def _idle_patterns(recipe: Recipe, audits: Sequence[Audit]) -> Iterator[str]:
    """Patterns for resampling that fit nothing: misspelt, or not needed here."""
    if recipe.resample is not None:
        for pattern in idle_patterns(recipe.resample, [audit.facts for audit in audits]):
            yield f"resample.{pattern} fits no channel, camera or dimension of any corpus"


def _left_out(plans: Sequence[Plan]) -> Iterator[str]:
    for each in plans:
        for camera in each.left_out:
            yield f"camera {camera} of {each.corpus} is in trouble in every episode; the training set goes without it"


def _lineage(recipe: Recipe, audited: Sequence[tuple[Audit, Corpus]]) -> dict[str, Any]:
    return lineage.lineage(
        version=version("gristmill"),
        checks=recipe.checks,
        cards=[corpus.embodiment for _, corpus in audited],
        waivers={key: reason for audit, _ in audited for key, reason in audit.waived.items()},
    )


def _counting(progress: Progress | None, stage: str, total: int) -> Callable[[int], None] | None:
    """From "so many more" to "so many of all"."""
    if progress is None:
        return None
    done = 0

    def more(count: int) -> None:
        nonlocal done
        done += count
        progress(stage, done, total)

    return more


def _outcomes(decided: Plan, kept_frames: Sequence[int], rate_hz: float) -> tuple[RuleOutcome, ...]:
    """One line a rule that changed something, most episodes first."""
    found: dict[str, list[Any]] = {}
    for at, decision in enumerate(decided.decisions):
        for rule in decision.rules:
            name = rule.split(":")[0]
            entry = found.setdefault(name, [decision.verdict, 0, 0.0])
            entry[0] = max(entry[0], decision.verdict, key=tuple(Verdict).index)
            entry[1] += 1
            entry[2] += (int(decided.length[at]) - kept_frames[at]) / rate_hz
    return tuple(
        RuleOutcome(rule=name, action=str(verdict), episodes=count, removed_s=seconds)  # type: ignore[arg-type]
        for name, (verdict, count, seconds) in sorted(found.items(), key=lambda item: (-item[1][1], item[0]))
    )
