"""How right the checks are: faults planted with known truth, over seeds, severities and corpora.

    python benchmarks/bench_detect.py [--quick]

Writes docs/detection.md; the last line printed is one JSON object. Thresholds are the defaults everywhere; no
figure here is used to choose one. Needs the real recordings (GRISTMILL_TEST_DATA, default ../shared/data).
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import gristmill
from gristmill import audit_json
from gristmill.errors import UsageError
from gristmill.synth import generate, inject
from gristmill.synth.faults.catalog import FAULTS
from gristmill.synth.scoring import Score, Tally, score

ROOT = Path(__file__).resolve().parents[1]
EPISODES = 200
SEVERITIES = (0.25, 0.5, 2.0)  # factors; 1 is measured with more draws
REAL = ("g1_inspire", "gr1_sim_picknplace", "pusht_lowdim")


@dataclass
class Sum:
    """Scores added up."""

    by_fault: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    by_check: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    faulty_flagged: int = 0
    clean_flagged: int = 0
    clean: int = 0
    collateral: Counter[tuple[str, str]] = field(default_factory=Counter)
    lengths: list[tuple[int, bool, bool]] = field(default_factory=list)  # frames, faulty and expected, flagged

    def add(self, found: Score, audit: Mapping[str, Any], planted: Sequence[Mapping[str, Any]]) -> None:
        """Take in one score."""
        for own, more in ((self.by_fault, found.by_fault), (self.by_check, found.by_check)):
            for name, tally in more.items():
                own[name].planted += tally.planted
                own[name].hits += tally.hits
                own[name].false_alarms += tally.false_alarms
        faulty = {p["episode"] for p in planted}
        self.faulty_flagged += found.faulty_flagged
        self.clean_flagged += len(found.clean_flagged)
        self.clean += found.episodes - len(faulty)
        self.collateral.update(found.collateral)
        expected = {p["episode"] for p in planted if p["check"] is not None}
        for e in audit["episodes"]:
            if e["episode_index"] in faulty - expected:
                continue
            flagged = any(f["kind"] != "trait" for f in e["findings"])
            self.lengths.append((e["length"], e["episode_index"] in expected, flagged))

    @property
    def recall(self) -> float:
        """Hits among planted faults."""
        return sum(t.hits for t in self.by_fault.values()) / max(1, sum(t.planted for t in self.by_fault.values()))

    @property
    def precision(self) -> float:
        """Episodes flagged rightly among all flagged."""
        return self.faulty_flagged / max(1, self.faulty_flagged + self.clean_flagged)


def main() -> None:
    """Plant, audit, score, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed, no sweep, no real recordings")
    quick = parser.parse_args().quick
    seeds = (0,) if quick else (0, 1, 2)
    figures: dict[str, Any] = {"episodes_per_corpus": EPISODES, "seeds": len(seeds)}
    default, clean_flags, clean_total = Sum(), 0, 0
    sweep: dict[float, Sum] = {}
    real: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="gristmill-detect-") as folder:
        work = Path(folder)
        for seed in seeds:
            corpus = generate(work / f"clean-{seed}", episodes=EPISODES, seed=seed)
            store = work / f"store-{seed}"
            flagged, total = clean(corpus, store)
            clean_flags, clean_total = clean_flags + flagged, clean_total + total
            # Several draws of places and episodes a corpus, so that each fault is planted often enough to count.
            for draw in range(1 if quick else 4):
                plant(corpus, store, work, default, seed=100 * seed + draw)
            print(f"seed {seed}: recall {default.recall:.3f}, precision {default.precision:.3f}", flush=True)
            if seed == 0 and not quick:
                for factor in SEVERITIES:
                    sweep[factor] = Sum()
                    for draw in range(2):
                        plant(corpus, store, work, sweep[factor], seed=900 + draw, severity=factor)
                    print(f"severity x{factor}: recall {sweep[factor].recall:.3f}", flush=True)
        if not quick:
            for name in REAL:
                real[name] = on_real(name, work)
                print(f"{name}: {real[name]['recall']:.3f}", flush=True)
    figures |= {
        "planted": sum(t.planted for t in default.by_fault.values()),
        "recall": default.recall,
        "precision": default.precision,
        "precision_of_worst_check": min(t.precision for t in default.by_check.values() if t.planted),
        "recall_of_worst_fault": min(t.recall for t in default.by_fault.values()),
        "clean_twins_flagged_share": clean_flags / clean_total,
        "recall_by_length": by_length(default)[0],
        "false_alarms_by_length": by_length(default)[1],
        "recall_by_severity": {str(k): v.recall for k, v in sweep.items()},
        "real": {k: {n: v[n] for n in ("recall", "planted", "clean_defects", "clean_risks")} for k, v in real.items()},
    }
    if not quick:
        (ROOT / "docs" / "detection.md").write_text(page(default, sweep, real, figures), encoding="utf-8")
    print(json.dumps(figures))


def audited(corpus: Path, store: Path) -> dict[str, Any]:
    """The audit's JSON."""
    out = store.with_suffix(".json")
    audit_json.write(gristmill.open(corpus, store=store).audit(), out)
    return json.loads(out.read_bytes())


def clean(corpus: Path, store: Path) -> tuple[int, int]:
    """Episodes of a clean corpus that carry a defect or risk, and all."""
    found = audited(corpus, store)["episodes"]
    return sum(any(f["kind"] != "trait" for f in e["findings"]) for e in found), len(found)


def plant(
    corpus: Path, store: Path, work: Path, into: Sum, *, seed: int, severity: float | None = None, **more: Any
) -> dict[str, Any]:
    """Plant all faults (or those given) in a copy, audit it and add up its score."""
    out = work / "spoilt" / f"{corpus.name}-{seed}-{severity}-{'-'.join(more.get('faults', ['all']))}"
    told = inject(corpus, out, seed=seed, severity=severity, truth=work / "truth.json", **more)
    found = audited(out, store)
    into.add(score(found, told["planted"]), found, told["planted"])
    return told


def on_real(name: str, work: Path) -> dict[str, Any]:
    """Each fault in turn planted into a real corpus."""
    corpus = Path(os.environ.get("GRISTMILL_TEST_DATA", ROOT.parent / "shared" / "data")) / name
    store = work / f"store-{name}"
    untouched = audited(corpus, store)["episodes"]
    kinds = Counter(f["kind"] for e in untouched for f in e["findings"])
    total, skipped = Sum(), {}
    share = 0.5 if len(untouched) < 50 else 0.05
    for fault in FAULTS:
        try:
            told = plant(corpus, store, work, total, seed=7, faults=[fault], share=share)
        except UsageError as error:  # this corpus cannot host it
            skipped[fault] = str(error)
            continue
        skipped |= {s["fault"]: s["reason"] for s in told["skipped"]}
    return {
        "recall": total.recall,
        "planted": sum(t.planted for t in total.by_fault.values()),
        "clean_defects": kinds["defect"],
        "clean_risks": kinds["risk"],
        "sum": total,
        "skipped": skipped,
    }


def by_length(total: Sum) -> tuple[list[float], list[float]]:
    """Share of faulty, and of untouched, episodes that are flagged, in thirds of equal length."""
    lengths = np.array([x[0] for x in total.lengths])
    cuts = np.quantile(lengths, [1 / 3, 2 / 3])
    third = np.digitize(lengths, cuts)
    rows = np.array([(f, g) for _, f, g in total.lengths], bool)
    return tuple(  # type: ignore[return-value]
        [round(float(rows[(third == i) & (rows[:, 0] == faulty), 1].mean()), 4) for i in range(3)]
        for faulty in (True, False)
    )


def page(default: Sum, sweep: Mapping[float, Sum], real: Mapping[str, Mapping[str, Any]], figures: Mapping) -> str:
    """docs/detection.md."""
    lines = [
        "# How right the checks are",
        "",
        "Faults with known truth are planted into the bytes of clean corpora; the audit is compared with the truth.",
        "A hit needs the right check in the right episode, the right channel or camera, and a span that overlaps the",
        "true one by an intersection over union of at least one half. A false alarm of a check is a defect or risk in",
        "an episode whose fault it does not explain. Thresholds are the defaults, the same everywhere.",
        "",
        "This page is written by `make bench-detect`.",
        "",
        f"## Generated corpora: {figures['seeds']} seeds, {EPISODES} episodes each, default severities",
        "",
        f"{figures['planted']} faults: recall {default.recall:.3f}, precision by episode {default.precision:.3f}; "
        f"{figures['clean_twins_flagged_share']:.2%} of the episodes of the untouched corpora are flagged.",
        "",
        "| fault | check | planted | found | recall | smallest severity found |",
        "|---|---|---|---|---|---|",
    ]
    for name, tally in sorted(default.by_fault.items()):
        fault = FAULTS[name]
        lines.append(
            f"| {name} | `{fault.check}` | {tally.planted} | {tally.hits} | {tally.recall:.2f} | "
            f"{smallest(name, default, sweep)} |"
        )
    lines += [
        "",
        "Severity: the smallest of a quarter, half, one and two times the default at which at least half of the",
        "planted faults are found.",
        "",
        "| check | hits | false alarms | precision |",
        "|---|---|---|---|",
    ]
    for name, tally in sorted(default.by_check.items()):
        lines.append(f"| `{name}` | {tally.hits} | {tally.false_alarms} | {number(tally.precision)} |")
    if default.collateral:
        lines += ["", "Where a check fired in an episode with another fault:", ""]
        lines += [f"- `{c}` beside {f}: {n}" for (f, c), n in default.collateral.most_common(12)]
    recall, alarms = figures["recall_by_length"], figures["false_alarms_by_length"]
    lines += [
        "",
        "## With episode length held fixed",
        "",
        "A score can look good by measuring length alone. Within thirds of equal length:",
        "",
        "| | short | middle | long |",
        "|---|---|---|---|",
        f"| faulty episodes flagged | {recall[0]:.3f} | {recall[1]:.3f} | {recall[2]:.3f} |",
        f"| untouched episodes flagged | {alarms[0]:.4f} | {alarms[1]:.4f} | {alarms[2]:.4f} |",
        "",
        "## Real recordings",
        "",
        "Each fault planted alone into copies of real corpora. Episode-level findings in the untouched recordings are",
        "listed too; they are not counted against the audit, for nobody knows their truth.",
        "",
        "| corpus | planted | recall | defects untouched | risks untouched | missed |",
        "|---|---|---|---|---|---|",
    ]
    for name, entry in real.items():
        missed = [
            f"{f} {t.planted - t.hits}/{t.planted}"
            for f, t in sorted(entry["sum"].by_fault.items())
            if t.hits < t.planted
        ]
        lines.append(
            f"| {name} | {entry['planted']} | {entry['recall']:.2f} | {entry['clean_defects']} | "
            f"{entry['clean_risks']} | {', '.join(missed) or '-'} |"
        )
    lines += ["", "Not planted, because the corpus cannot host it:", ""]
    lines += [f"- {name}: {', '.join(sorted(entry['skipped'])) or 'none'}" for name, entry in real.items()]
    return "\n".join(lines) + "\n"


def smallest(name: str, default: Sum, sweep: Mapping[float, Sum]) -> str:
    """The smallest severity at which half of the planted faults are found, in the fault's unit."""
    fault = FAULTS[name]
    if not fault.scales:
        return "-"
    for factor, total in sorted({**sweep, 1.0: default}.items()):
        tally = total.by_fault.get(name)
        if tally and tally.planted and tally.recall >= 0.5:
            return f"{factor * fault.severity:.3g} {fault.unit}"
    return "none"


def number(value: float) -> str:
    """Two decimals, or a dash for what is not known."""
    return "-" if value != value else f"{value:.2f}"


if __name__ == "__main__":
    main()
