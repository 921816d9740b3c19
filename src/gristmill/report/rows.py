"""The episode list as data: compact JSON in blocks of rows, which the page's script turns into a table.

A block is `{"s": [texts], "r": [rows]}`; texts occur once a block and rows name them by position, so neither
writing nor reading needs a table that grows with the corpus. A row is
`[index, frames, verdict, uses, task, [reasons], detailed, [findings], more]` and a finding
`[check, kind, channel, camera, [start, end, ...], measured, threshold, unit, message]`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any

from markupsafe import Markup

from gristmill.audit import Audit
from gristmill.finding import Finding
from gristmill.report.escape import script_json
from gristmill.report.survey import KINDS, Survey
from gristmill.visible import visible

BLOCK = 1000
TASK_CHARS = 200
MESSAGE_CHARS = 400
FINDINGS = 12  # of one episode; the page says how many more there are
SPANS = 4
WORDED = 2000  # episodes, worst first, whose findings keep their sentence; the others keep the numbers


class _Texts:
    """Texts of one block, each once."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._at: dict[str, int] = {}

    def __call__(self, text: str | None, most: int = TASK_CHARS) -> int:
        """Position of the text, shortened and made visible; -1 for none."""
        if not text:
            return -1
        clean = visible(text[: most + 1], most)
        if clean not in self._at:
            self._at[clean] = len(self.all)
            self.all.append(clean)
        return self._at[clean]


def blocks(audit: Audit, found: Survey, worded: Collection[int], detailed: Collection[int]) -> Iterator[Markup]:
    """JSON of `BLOCK` episodes at a time, in corpus order."""
    n = len(audit.index)
    for start in range(0, n, BLOCK):
        texts = _Texts()
        rows = [
            _row(audit, found, row, texts, row in worded, row in detailed)
            for row in range(start, min(start + BLOCK, n))
        ]
        yield script_json({"s": texts.all, "r": rows})


def _row(audit: Audit, found: Survey, row: int, texts: _Texts, worded: bool, detailed: bool) -> list[Any]:
    uses = audit.usable_for[row]
    findings = found.findings(audit, row)
    listed = _fewest(findings)
    reasons = [texts(r) for r in audit.reasons.get(row, ())[:FINDINGS]]
    if row in audit.unreadable:
        reasons.insert(0, texts(f"unreadable: {audit.unreadable[row]}", MESSAGE_CHARS))
    return [
        int(audit.index[row]),
        int(audit.length[row]),
        int(found.verdict[row]),
        ("low_dim" in uses) + 2 * ("vision" in uses),
        texts(" · ".join(audit.tasks[row])),
        reasons,
        int(detailed),
        [_finding(f, texts, worded) for f in listed],
        len(findings) - len(listed),
    ]


def _fewest(findings: list[Finding]) -> list[Finding]:
    """At most `FINDINGS`, one of every check before a second of any, so that filtering by check misses nothing."""
    if len(findings) <= FINDINGS:
        return findings
    first = {f.check: i for i, f in reversed(list(enumerate(findings)))}
    rest = (i for i in range(len(findings)) if i not in set(first.values()))
    return [findings[i] for i in sorted([*first.values(), *islice(rest, max(0, FINDINGS - len(first)))])]


def _finding(finding: Finding, texts: _Texts, worded: bool) -> list[Any]:
    return [
        texts(finding.check),
        KINDS.index(finding.kind),
        texts(finding.channel),
        texts(finding.camera),
        [_rounded(x, 4) for span in finding.spans_s[:SPANS] for x in span],
        _rounded(finding.measured),
        _rounded(finding.threshold),
        texts(finding.unit),
        texts(finding.message, MESSAGE_CHARS) if worded else -1,
    ]


def _rounded(value: float | None, digits: int = 3) -> float | None:
    """A short number: what a person reads has a few digits, and a page has many numbers."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
