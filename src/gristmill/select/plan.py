"""What happens to every episode, decided from its audit alone, in the enforced order: copies, gate, trim.

No recording is opened here; `freeze` carries the plan out and decides what only the data can tell.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from gristmill.audit import Audit, Verdict
from gristmill.episode import Digests
from gristmill.finding import Finding
from gristmill.select import exact_duplicates
from gristmill.select.dropped_frames import is_gap
from gristmill.select.gate import Gate, Verdicts, trimming, verdicts
from gristmill.select.trim import Stretch, Trim, Trimmed
from gristmill.types import IntArray

_KEPT = (Verdict.KEEP, Verdict.TRIM)


@dataclass(frozen=True, slots=True)
class Decision:
    """One episode: what becomes of it, which rules said so, and the stretches that stay."""

    verdict: Verdict
    usable_for: tuple[str, ...]
    rules: tuple[str, ...]
    stretches: tuple[Stretch, ...]
    # Set aside for missing time steps and nothing else: `freeze` looks whether they may be tolerated or filled.
    only_gaps: bool = False


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One corpus. Columns are aligned with the audit's rows."""

    corpus: str
    root: str
    rate_hz: float
    rows: IntArray  # of the corpus's table
    index: IntArray
    ids: Sequence[str]
    length: IntArray
    decisions: Sequence[Decision]
    digests: Sequence[Digests]  # as audited, "" where nothing was read
    left_out: tuple[str, ...] = ()  # cameras that go along with no episode

    @property
    def kept(self) -> list[int]:
        """Positions of the episodes that stay, whole or in part, or that only the data can judge."""
        return [i for i, d in enumerate(self.decisions) if d.stretches]


def plan(audits: Sequence[Audit], digests: Sequence[Sequence[Digests]], *, gate: Gate, trim: Trim) -> list[Plan]:
    """Plans for corpora that become one training set.

    Args:
        audits: one a corpus.
        digests: for each audit, the content digests of its rows.
        gate: which findings drop, set aside or trim.
        trim: how much stillness stays.
    """
    copies = iter(_copies(audits, digests, gate))
    plans = []
    for audit, known in zip(audits, digests, strict=True):
        decisions, left_out = _decisions(audit, [next(copies) for _ in audit.ids], gate, trim)
        plans.append(
            Plan(
                corpus=audit.facts.key,
                root=audit.facts.root,
                rate_hz=audit.facts.rate_hz,
                rows=audit.rows,
                index=audit.index,
                ids=audit.ids,
                length=audit.length,
                decisions=decisions,
                digests=known,
                left_out=left_out,
            )
        )
    return plans


def _copies(audits: Sequence[Audit], digests: Sequence[Sequence[Digests]], gate: Gate) -> list[str]:
    """For each episode of all corpora in turn, the id of the earlier recording that it repeats, or ""."""
    ids = [(audit, id_) for audit in audits for id_ in audit.ids]
    flat = [d for known in digests for d in known]
    if gate.rules.get("duplicates") == "keep":
        return [""] * len(flat)
    cameras = sorted({camera for d in flat for camera in d.cameras})
    by_camera = {c: [d.cameras.get(c, "") for d in flat] for c in cameras}
    firsts = exact_duplicates.first_copies([d.values for d in flat], by_camera)
    return [
        "" if first < 0 or (id_, "duplicates") in audit.waived else ids[first][1]
        for first, (audit, id_) in zip(firsts.tolist(), ids, strict=True)
    ]


def _decisions(audit: Audit, copies: Sequence[str], gate: Gate, trim: Trim) -> tuple[list[Decision], tuple[str, ...]]:
    """What becomes of each episode, and the cameras that go along with none."""
    n = len(audit.rows)
    judge = partial(
        verdicts,
        gate,
        n,
        cameras=audit.facts.cameras,
        whole=audit.corpus_findings,
        trim=trim,
        length=audit.length,
        rate_hz=audit.facts.rate_hz,
        times_s=audit.times_s,
    )
    gated, without_gaps = judge(audit.findings), judge([f for f in audit.findings if not is_gap(f)])
    to_cut: defaultdict[int, list[Finding]] = defaultdict(list)
    for finding in trimming(gate, audit.findings):
        if finding.row is not None:
            to_cut[finding.row].append(finding)
    decisions = []
    for row in range(n):
        if copies[row]:
            rule = f"{exact_duplicates.RULE}: same as {copies[row]}"
            decisions.append(Decision(Verdict.DROP, (), (rule,), ()))
        elif row in audit.unreadable:
            decisions.append(Decision(Verdict.DROP, (), ("unreadable",), ()))
        else:
            trimmed = trim.apply(to_cut[row], int(audit.length[row]), audit.facts.rate_hz, audit.times_s.get(row))
            decisions.append(_decide(row, gated, without_gaps, trimmed, int(audit.length[row])))
    return decisions, gated.left_out


def _decide(row: int, gated: Verdicts, without_gaps: Verdicts, trimmed: Trimmed, length: int) -> Decision:
    verdict, usable, rules = gated.verdict[row], gated.usable_for[row], gated.reasons.get(row, ())
    only_gaps = verdict not in _KEPT and without_gaps.verdict[row] in _KEPT
    if only_gaps:
        usable = without_gaps.usable_for[row]
    elif verdict not in _KEPT:
        return Decision(verdict, usable, rules, ())
    rules = tuple(dict.fromkeys((*rules, *trimmed.rules)))
    if not trimmed.spans:
        return Decision(Verdict.DROP, (), rules, ())
    if not only_gaps:
        verdict = Verdict.KEEP if trimmed.spans == ((0, length),) else Verdict.TRIM
    return Decision(verdict, usable, rules, trimmed.spans, only_gaps)
