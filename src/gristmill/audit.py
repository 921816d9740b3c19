"""The outcome of an audit: findings, a verdict an episode, and what could not be checked.

Columns for what every episode has, objects only for what is wrong, so that a large clean corpus stays small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from gristmill.embodiment import Embodiment
from gristmill.episode import CorpusFacts
from gristmill.finding import Finding
from gristmill.types import FloatArray, IntArray, TimesS


class Verdict(StrEnum):
    """What the gate says of an episode, from best to worst."""

    KEEP = "keep"
    TRIM = "trim"
    QUARANTINE = "quarantine"
    DROP = "drop"


class NotChecked(NamedTuple):
    """A question that was not asked of some part of the corpus. It is never a pass."""

    check: str
    scope: str  # "corpus", "episode 3", "12 episodes", "camera observation.images.top"
    reason: str


@dataclass(frozen=True, kw_only=True)
class Audit:
    """One corpus, judged. Rows are the corpus's episodes in their order; n of them were audited."""

    facts: CorpusFacts
    embodiment: Embodiment
    rows: IntArray  # (n,) rows of the corpus's table that were audited
    index: IntArray  # (n,) native episode indices
    ids: Sequence[str]
    length: IntArray  # (n,) frames
    tasks: Sequence[tuple[str, ...]]
    verdict: Sequence[Verdict]
    usable_for: Sequence[tuple[str, ...]]  # ("low_dim", "vision"), ("low_dim",) or ()
    reasons: Mapping[int, tuple[str, ...]]  # row -> rules that made it other than keep
    findings: Sequence[Finding]  # of episodes; sorted by row, then worst first; `row` indexes these columns
    corpus_findings: Sequence[Finding]
    not_checked: Sequence[NotChecked]
    metrics: Mapping[str, FloatArray] = field(default_factory=dict)  # "check.column" -> (n,)
    waived: Mapping[tuple[str, str], str] = field(default_factory=dict)  # (episode id, check) -> reason
    lapsed: Mapping[tuple[str, str], str] = field(default_factory=dict)  # waivers of values that are no more
    # row -> recorded times (t,), of the episodes that may be cut and whose frame k does not stand at k / rate
    times_s: Mapping[int, TimesS] = field(default_factory=dict)
    unreadable: Mapping[int, str] = field(default_factory=dict)  # row -> why nothing could be read

    @property
    def good(self) -> list[int]:
        """Native indices of episodes to train on as they are, or trimmed."""
        fine = np.array([v in (Verdict.KEEP, Verdict.TRIM) for v in self.verdict], dtype=bool)
        return [int(i) for i in self.index[fine]]
