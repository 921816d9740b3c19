"""Exports real and generated corpora for LeRobot to read: one episode dropped, one trimmed, the others whole.

Usage: python tests/interop/export_corpora.py DATA OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from gristmill.audit import Audit, Verdict
from gristmill.episode import Corpus, Digests
from gristmill.export.lerobot import Lerobot
from gristmill.finding import Finding, Kind, Span
from gristmill.select.align import Align
from gristmill.select.dropped_frames import DroppedFrames
from gristmill.select.freeze import freeze
from gristmill.select.gate import Gate
from gristmill.select.plan import plan
from gristmill.select.trim import Trim
from gristmill.sources import open_path
from gristmill.synth import generate

CORPORA = ("g1_inspire", "gr1_sim_picknplace", "pusht_lowdim")


def main(data: Path, out: Path) -> None:
    """Write `out/<corpus>` for each, and `out/generated` for a corpus made here in `out/raw`."""
    raw = generate(out / "raw" / "generated", episodes=12, seed=1, jobs=1)
    for source in (*(data / name for name in CORPORA), raw):
        result = export(open_path(source), out / source.name)
        print(f"{source.name}: {result}")


def export(corpus: Corpus, out: Path):
    """Drop episode 1 and trim the first 1.03 s of episode 2, which is rarely a keyframe."""
    findings = [
        Finding(check="spike", kind=Kind.DEFECT, row=1, message="planted", fix="none"),
        Finding(
            check="idle",
            code="idle_head",
            kind=Kind.RISK,
            row=2,
            message="planted",
            fix="none",
            spans_s=(Span(0.0, 1.03),),
        ),
    ]
    n = len(corpus.table)
    audit = Audit(
        facts=corpus.facts,
        embodiment=corpus.embodiment,
        rows=np.arange(n),
        index=corpus.table.index,
        ids=[f"{corpus.facts.key}/{i}" for i in corpus.table.index.tolist()],
        length=corpus.table.length,
        tasks=corpus.table.tasks,
        verdict=[Verdict.KEEP] * n,
        usable_for=[("low_dim",)] * n,
        reasons={},
        findings=findings,
        corpus_findings=[],
        not_checked=[],
    )
    plans = plan([audit], [[Digests("", "", "", {})] * n], gate=Gate(), trim=Trim())
    rules = {"dropped_frames": DroppedFrames(), "align": Align()}
    snapshot = freeze(plans, lambda _: corpus, recipe={}, lineage={}, **rules)
    return Lerobot(overwrite=True).export(snapshot, out, open_corpus=lambda _: corpus)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
