"""From plans to a snapshot: reads the episodes that stay, once, in order.

Contents are compared with what was audited, and statistics are taken of exactly the frames that stay.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.episode import Corpus
from gristmill.errors import UsageError
from gristmill.kept import Kept
from gristmill.schema_groups import SchemaGroups, features_of
from gristmill.select.align import Align
from gristmill.select.dropped_frames import DroppedFrames
from gristmill.select.plan import Plan
from gristmill.select.settle import Settled, cameras_of, settle
from gristmill.snapshot import EPISODES, SPANS, Snapshot
from gristmill.statistics import RunningStatistics


def freeze(
    plans: Sequence[Plan],
    open_corpus: Callable[[str], Corpus],
    *,
    recipe: Mapping[str, Any],
    lineage: Mapping[str, Any],
    dropped_frames: DroppedFrames,
    align: Align,
    progress: Callable[[int], None] | None = None,
) -> Snapshot:
    """Carry out plans and freeze the result.

    Args:
        plans: from `gristmill.select.plan.plan`, one a corpus.
        open_corpus: opens the corpus at a plan's `root`.
        recipe: canonical, plain values.
        lineage: versions, cards, waivers, annotators; plain values.
        dropped_frames: what missing time steps do.
        align: how far cuts may move.
        progress: called with the number of episodes done since the last call.

    Raises:
        SnapshotError: a recording changed since it was audited.
        UsageError: nothing stays.
    """
    rows: list[dict[str, Any]] = []
    spans: list[Kept] = []
    groups = SchemaGroups()
    with tempfile.TemporaryDirectory(prefix="gristmill-") as scratch:
        stats = _GroupStatistics(Path(scratch))
        for plan in plans:
            corpus = open_corpus(plan.root)
            cameras = cameras_of(corpus, plan)
            kept, outcomes = plan.kept, {}
            for at, episode in zip(kept, corpus.episodes([int(plan.rows[i]) for i in kept]), strict=True):
                settled = outcomes[at] = settle(
                    episode,
                    plan.decisions[at],
                    plan.digests[at],
                    cameras,
                    dropped_frames=dropped_frames,
                    align=align,
                )
                if settled.pieces:
                    features = features_of(corpus.facts, episode.channels, settled.cameras)
                    for span in _spans(plan, at, settled, groups.name(corpus.facts, features)):
                        spans.append(span)
                        frames = span.rows
                        stats.add(span.group, {k: c.values[frames] for k, c in sorted(episode.channels.items())})
                if progress:
                    progress(1)
            rows.extend(_row(plan, at, outcomes.get(at)) for at in range(len(plan.rows)))
        if not spans:
            raise UsageError("no episode is left to train on; `gristmill curate --dry-run` says which rules decided")
        found = stats.finish()
    return Snapshot(
        episodes=pa.Table.from_pylist(rows, schema=EPISODES),
        spans=pa.Table.from_pylist([_span_row(s) for s in spans], schema=SPANS),
        stats=found,
        recipe=recipe,
        lineage=lineage,
    )


class _GroupStatistics:
    """Running statistics of each schema group."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._running: dict[str, RunningStatistics] = {}

    def add(self, group: str, columns: Mapping[str, Any]) -> None:
        if not columns:
            return
        if group not in self._running:
            folder = self._scratch / str(len(self._running))
            folder.mkdir()
            self._running[group] = RunningStatistics(folder)
        self._running[group].add(columns)

    def finish(self) -> dict[str, Any]:
        return {group: running.finish() for group, running in self._running.items()}


def _spans(plan: Plan, at: int, settled: Settled, group: str) -> list[Kept]:
    return [
        Kept(
            corpus=plan.corpus,
            episode_index=int(plan.index[at]),
            episode_id=plan.ids[at],
            group=group,
            start=piece.stretch.start,
            stop=piece.stretch.stop,
            split="train",
            weight=1.0,
            fills=piece.fills,
            cameras=settled.cameras,
            reencode=piece.reencode,
            rules=settled.rules,
        )
        for piece in settled.pieces
    ]


def _span_row(span: Kept) -> dict[str, Any]:
    row = span._asdict()
    row["start_frame"], row["stop_frame"] = row.pop("start"), row.pop("stop")
    row["fills"] = [fill._asdict() for fill in span.fills]
    return row


def _row(plan: Plan, at: int, settled: Settled | None) -> dict[str, Any]:
    """An episode's row: as settled, or as planned when it was not even opened."""
    outcome = settled or plan.decisions[at]
    digests = settled.digests if settled and settled.digests.values else plan.digests[at]
    return {
        "corpus": plan.corpus,
        "root": plan.root,
        "rate_hz": plan.rate_hz,
        "episode_index": int(plan.index[at]),
        "episode_id": plan.ids[at],
        "length": int(plan.length[at]),
        "verdict": outcome.verdict.value,
        "usable_for": list(outcome.usable_for),
        "rules": list(outcome.rules),
        "values_digest": digests.values,
        "task_digest": digests.task,
        "camera_digests": [{"camera": k, "digest": v} for k, v in sorted(digests.cameras.items())],
    }
