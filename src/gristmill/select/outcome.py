"""What became of plans: with a snapshot's own word, or, before there is one, with what the data would say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from gristmill.audit import Verdict
from gristmill.episode import Corpus
from gristmill.select.align import Align
from gristmill.select.dropped_frames import DroppedFrames
from gristmill.select.plan import Decision, Plan
from gristmill.select.settle import cameras_of, settle
from gristmill.select.trim import Stretch
from gristmill.snapshot import Snapshot


def carried_out(plans: Sequence[Plan], snapshot: Snapshot) -> list[Plan]:
    """The plans as the snapshot that they led to has them.

    Args:
        plans: those that were frozen.
        snapshot: what came of them; its episodes are in the plans' order.
    """
    stretches: defaultdict[tuple[str, int], list[Stretch]] = defaultdict(list)
    for span in snapshot.kept():
        stretches[span.corpus, span.episode_index].append(Stretch(span.start, span.stop))
    rows = iter(snapshot.episodes.select(["verdict", "usable_for", "rules"]).to_pylist())
    found = []
    for plan in plans:
        decisions = [
            Decision(
                Verdict(row["verdict"]),
                tuple(row["usable_for"]),
                tuple(row["rules"]),
                tuple(stretches[plan.corpus, int(index)]),
            )
            for index, row in zip(plan.index, rows, strict=False)
        ]
        found.append(replace(plan, decisions=decisions))
    return found


def foreseen(
    plans: Sequence[Plan],
    open_corpus: Callable[[str], Corpus],
    *,
    dropped_frames: DroppedFrames,
    align: Align,
) -> list[Plan]:
    """The plans as freezing would carry them out; only episodes that are cut, or have gaps, are read for it.

    Args:
        plans: from `gristmill.select.plan.plan`.
        open_corpus: opens the corpus at a plan's `root`.
        dropped_frames: what missing time steps do.
        align: how far cuts may move.

    Raises:
        SnapshotError: a recording changed since it was audited.
    """
    found = []
    for plan in plans:
        unsure = [i for i in plan.kept if plan.decisions[i].only_gaps or not _whole(plan, i)]
        decisions = list(plan.decisions)
        if unsure:
            corpus = open_corpus(plan.root)
            cameras = cameras_of(corpus, plan)
            episodes = corpus.episodes([int(plan.rows[i]) for i in unsure])
            for i, episode in zip(unsure, episodes, strict=True):
                settled = settle(
                    episode, decisions[i], plan.digests[i], cameras, dropped_frames=dropped_frames, align=align
                )
                kept = tuple(piece.stretch for piece in settled.pieces)
                decisions[i] = Decision(settled.verdict, settled.usable_for, settled.rules, kept)
        found.append(replace(plan, decisions=decisions))
    return found


def _whole(plan: Plan, at: int) -> bool:
    return tuple(plan.decisions[at].stretches) == ((0, int(plan.length[at])),)
