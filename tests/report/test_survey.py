"""Totals, groups, and the choice of episodes for a closer look."""

from __future__ import annotations

import numpy as np
from made_audits import camera_finding, finding, made_audit

from gristmill.audit import Verdict
from gristmill.finding import Kind, Span
from gristmill.report.survey import BINS, closer_look, excess, stretch, survey


def test_groups_count_episodes_once_and_worst_kinds_come_first() -> None:
    findings = [
        finding(1, "idle", Kind.RISK, spans_s=(Span(0, 2.5),)),
        finding(3),
        finding(3, channel="action[joint_1]"),
        finding(4, "lag", Kind.TRAIT),
        finding(7),
    ]
    audit = made_audit(10, findings, corpus_findings=[finding(None, "stats")])
    groups = survey(audit).groups
    assert [(g.check, g.kind.value, g.episodes, g.findings, g.corpus_count) for g in groups] == [
        ("spike", "defect", 2, 3, 0),
        ("stats", "defect", 0, 1, 1),
        ("idle", "risk", 1, 1, 0),
        ("lag", "trait", 1, 1, 0),
    ]
    assert groups[0].bins.tolist() == [0, 0, 0, 1, 0, 0, 0, 1, 0, 0]
    assert groups[2].seconds == 2.5


def test_examples_are_the_farthest_beyond_their_threshold_one_an_episode() -> None:
    findings = [finding(i, measured=0.1 * (i + 1), threshold=0.1) for i in range(9)]
    findings.insert(9, finding(8, measured=5.0, threshold=0.1, channel="action[joint_1]"))
    examples = survey(made_audit(9, findings)).groups[0].examples
    assert [(f.row, f.measured) for f in examples[:2]] == [(8, 5.0), (7, 0.8)]
    assert len({f.row for f in examples}) == len(examples) == 5


def test_excess_counts_both_directions_and_bears_nothing_known() -> None:
    assert excess(finding(0, measured=1.0, threshold=0.1)) == excess(finding(0, measured=0.01, threshold=0.1))
    assert excess(finding(0, measured=None)) == 0
    assert excess(finding(0, measured=float("nan"))) == 0
    assert excess(finding(0, measured=3.0, threshold=0.0)) == 3


def test_bars_of_a_strip_stand_for_equally_many_episodes() -> None:
    n = BINS * 2 + 1
    audit = made_audit(n, [finding(i) for i in range(n)])
    bins = survey(audit).groups[0].bins
    assert stretch(n) == 3
    assert len(bins) == 107
    assert set(bins[:-1].tolist()) == {3}
    assert bins.sum() == n


def test_findings_of_a_row_are_found_in_any_order() -> None:
    findings = [finding(5, "lag", Kind.RISK), finding(2), finding(5)]
    audit = made_audit(8, findings)
    found = survey(audit)
    assert [f.check for f in found.findings(audit, 5)] == ["spike", "lag"]
    assert found.findings(audit, 0) == []


def test_the_closer_look_shows_some_of_every_check_then_the_worst() -> None:
    findings = [finding(i) for i in range(50)] + [camera_finding(60 + i, kind=Kind.RISK) for i in range(5)]
    verdicts = [Verdict.DROP] * 50 + [Verdict.KEEP] * 50
    audit = made_audit(100, findings, verdicts=verdicts)
    chosen = closer_look(audit, survey(audit), 10)
    assert len(chosen) == 10
    assert chosen[:7] == list(range(7))
    assert chosen[7:] == [60, 61, 62]


def test_all_are_shown_when_they_fit_worst_first() -> None:
    findings = [finding(1, "idle", Kind.RISK), finding(2), finding(3, "lag", Kind.TRAIT), finding(4), finding(4)]
    verdicts = [Verdict.KEEP, Verdict.TRIM, Verdict.KEEP, Verdict.KEEP, Verdict.KEEP, Verdict.DROP]
    audit = made_audit(6, sorted(findings, key=lambda f: f.row or 0), verdicts=verdicts)
    # 5: dropped; 1: trimmed; 4: two defects; 2: one; the trait of 3 needs no look.
    assert closer_look(audit, survey(audit), 200) == [5, 1, 4, 2]


def test_an_empty_audit_has_no_groups() -> None:
    found = survey(made_audit(0, []))
    assert found.groups == []
    assert found.flagged == 0
    assert len(found.duration_s) == 0


def test_hours_need_a_rate() -> None:
    found = survey(made_audit(3, [], facts={"rate_hz": 0.0}))
    assert np.isnan(found.duration_s).all()
