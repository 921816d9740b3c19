"""One pass over an audit: totals, groups of findings, and which episodes deserve a closer look.

What is kept is a few numbers an episode and a few findings a check, whatever the corpus's size.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np

from gristmill.audit import Audit, Verdict
from gristmill.finding import Finding, Kind
from gristmill.types import IntArray

KINDS = tuple(Kind)  # worst first
VERDICTS = tuple(Verdict)  # best first
BINS = 160  # at most; stretches of equally many episodes in which a group's strip counts
EXAMPLES = 5
CORPUS_EXAMPLES = 20
PER_CHECK = 3  # detailed episodes that every check gets before the worst take the rest


@dataclass(kw_only=True)
class Group:
    """All findings of one check and one kind."""

    check: str
    kind: Kind
    anchor: str = ""  # identifier within the page
    episodes: int = 0
    findings: int = 0
    seconds: float = 0.0  # total of the flagged spans; of one episode they may overlap
    corpus: list[Finding] = field(default_factory=list)
    corpus_count: int = 0
    fixes: Counter[str] = field(default_factory=Counter)
    thresholds: set[tuple[float, str]] = field(default_factory=set)
    bins: IntArray  # flagged episodes in equal stretches of the corpus
    worst: list[tuple[float, int, Finding]] = field(default_factory=list)  # a heap, mildest first

    @cached_property
    def examples(self) -> list[Finding]:
        """The worst findings, each of another episode."""
        return [finding for _, _, finding in sorted(self.worst, key=lambda item: (-item[0], -item[1]))]

    @property
    def fix(self) -> str:
        """What most of these findings ask for."""
        return self.fixes.most_common(1)[0][0] if self.fixes else ""


@dataclass(kw_only=True)
class Survey:
    """Totals and rankings of one audit of n episodes."""

    groups: list[Group]  # worst kind first, then most episodes
    duration_s: np.ndarray  # (n,)
    verdict: IntArray  # (n,) position in VERDICTS
    counts: IntArray  # (n, 3) findings of an episode by kind
    score: IntArray  # (n,) larger is worse; 0 for nothing worth a look
    vision: bool  # some good episode can be used for vision
    order: IntArray  # (findings,) positions in `audit.findings`, by row
    starts: IntArray  # (n + 1,) slices of `order`

    def total_s(self, verdict: Verdict) -> float:
        """Recording time of the episodes with this verdict."""
        return float(self.duration_s[self.verdict == VERDICTS.index(verdict)].sum())

    def count(self, verdict: Verdict) -> int:
        """Episodes with this verdict."""
        return int((self.verdict == VERDICTS.index(verdict)).sum())

    @property
    def flagged(self) -> int:
        """Episodes with a defect, a risk, or a verdict other than keep."""
        return int((self.score > 0).sum())

    def good(self, row: int) -> bool:
        """Whether the episode is kept or trimmed."""
        return bool(self.verdict[row] <= VERDICTS.index(Verdict.TRIM))

    def findings(self, audit: Audit, row: int) -> list[Finding]:
        """An episode's findings, worst kind first."""
        own = [audit.findings[int(i)] for i in self.order[self.starts[row] : self.starts[row + 1]]]
        return sorted(own, key=lambda f: KINDS.index(f.kind))


def survey(audit: Audit) -> Survey:
    """Everything that the page says of the corpus as a whole."""
    n = len(audit.index)
    rate_hz = audit.facts.rate_hz if audit.facts.rate_hz > 0 else math.nan
    counts = np.zeros((n, len(KINDS)), dtype=np.int64)
    groups: dict[tuple[str, Kind], Group] = {}
    last: dict[int, int] = {}  # group -> row that it counted last
    rows = np.fromiter((f.row if f.row is not None else -1 for f in audit.findings), np.int64, len(audit.findings))
    order = np.argsort(rows, kind="stable")
    width = stretch(n)
    bins = -(-n // width)

    def group_of(finding: Finding) -> Group:
        key = (finding.check, finding.kind)
        if key not in groups:
            groups[key] = Group(check=finding.check, kind=finding.kind, bins=np.zeros(bins, dtype=np.int64))
        return groups[key]

    for i in order:
        finding, row = audit.findings[int(i)], int(rows[i])
        group = group_of(finding)
        _add(group, finding)
        if row < 0:
            continue
        counts[row, KINDS.index(finding.kind)] += 1
        _example(group, finding, row)
        if last.get(id(group)) != row:  # rows come in order, so an episode is counted once
            last[id(group)] = row
            group.episodes += 1
            group.bins[row // width] += 1
    for finding in audit.corpus_findings:
        group = group_of(finding)
        _add(group, finding)
        group.corpus_count += 1
        if len(group.corpus) < CORPUS_EXAMPLES:
            group.corpus.append(finding)
    verdict = np.fromiter((VERDICTS.index(v) for v in audit.verdict), np.int64, n)
    good = verdict <= VERDICTS.index(Verdict.TRIM)
    few = np.minimum(counts, 999)
    ranked = sorted(groups.values(), key=lambda g: (KINDS.index(g.kind), -g.episodes, -g.corpus_count, g.check))
    for i, group in enumerate(ranked):
        group.anchor = f"g{i}"
    return Survey(
        groups=ranked,
        duration_s=np.asarray(audit.length, dtype=np.float64) / rate_hz,
        verdict=verdict,
        counts=counts,
        score=verdict * 1_000_000 + few[:, 0] * 1_000 + few[:, 1],
        vision=any("vision" in audit.usable_for[row] for row in np.flatnonzero(good).tolist()),
        order=order,
        starts=np.searchsorted(rows[order], np.arange(n + 1)),
    )


def stretch(n: int) -> int:
    """Episodes in one bar of a strip."""
    return max(1, -(-n // BINS))


def closer_look(audit: Audit, found: Survey, most: int) -> list[int]:
    """Rows to show in detail, worst first: some of every check, then the worst of the rest."""
    ranked = [int(r) for r in np.lexsort((np.arange(len(found.score)), -found.score)) if found.score[r] > 0]
    if len(ranked) <= most:
        return ranked
    chosen: set[int] = set()
    taken: Counter[str] = Counter()
    wanted = {g.check for g in found.groups if g.kind is not Kind.TRAIT and g.episodes}
    for row in ranked:
        if not wanted or len(chosen) >= most:
            break
        for finding in found.findings(audit, row):
            if finding.check in wanted:
                chosen.add(row)
                taken[finding.check] += 1
                if taken[finding.check] >= PER_CHECK:
                    wanted.discard(finding.check)
    rest = (row for row in ranked if row not in chosen)
    chosen.update(islice(rest, most - len(chosen)))
    return [row for row in ranked if row in chosen]


def excess(finding: Finding) -> float:
    """How far beyond its threshold a finding lies, as a ratio's logarithm; 0 when that cannot be said."""
    measured, threshold = finding.measured, finding.threshold
    if measured is None or threshold is None or not (math.isfinite(measured) and math.isfinite(threshold)):
        return 0.0
    if measured == 0 or threshold == 0:
        return abs(measured - threshold)
    return abs(math.log(abs(measured / threshold)))


def _add(group: Group, finding: Finding) -> None:
    group.findings += 1
    group.seconds += sum(max(0.0, b - a) for a, b in finding.spans_s)
    if finding.fix in group.fixes or len(group.fixes) < 50:
        group.fixes[finding.fix] += 1
    if finding.threshold is not None and math.isfinite(finding.threshold) and len(group.thresholds) < 50:
        group.thresholds.add((finding.threshold, finding.unit))


def _example(group: Group, finding: Finding, row: int) -> None:
    entry = (excess(finding), -row, finding)
    for i, (strength, other, _) in enumerate(group.worst):
        if other == -row:
            if strength < entry[0]:
                group.worst[i] = entry
                heapq.heapify(group.worst)
            return
    if len(group.worst) < EXAMPLES:
        heapq.heappush(group.worst, entry)
    elif entry[:2] > group.worst[0][:2]:
        heapq.heapreplace(group.worst, entry)
