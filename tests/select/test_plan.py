"""The enforced order of decisions: copies, then the gate, then trimming."""

from __future__ import annotations

import numpy as np

from gristmill.audit import Audit, Verdict
from gristmill.embodiment import Embodiment
from gristmill.episode import CorpusFacts, Digests
from gristmill.finding import Finding, Kind, Span
from gristmill.select.gate import Gate
from gristmill.select.plan import plan
from gristmill.select.trim import Trim


def _audit(n: int, findings=(), key: str = "a", **more) -> Audit:
    facts = CorpusFacts(
        key=key, root=f"/data/{key}", format="made", robot_type="r", rate_hz=10.0, features={}, cameras={}, dims=()
    )
    return Audit(
        facts=facts,
        embodiment=Embodiment(key="r", title="r"),
        rows=np.arange(n),
        index=np.arange(n),
        ids=[f"{key}/{i}" for i in range(n)],
        length=np.full(n, 100),
        tasks=[("t",)] * n,
        verdict=[Verdict.KEEP] * n,
        usable_for=[("low_dim",)] * n,
        reasons={},
        findings=list(findings),
        corpus_findings=[],
        not_checked=[],
        **more,
    )


def _finding(row: int, check: str, kind: Kind = Kind.DEFECT, **more) -> Finding:
    return Finding(check=check, kind=kind, row=row, message="m", fix="f", **more)


def _digests(*values: str) -> list[Digests]:
    return [Digests(v, "t", "", {}) for v in values]


def _plan(audits, digests, gate=None, trim=None):
    return plan(audits, digests, gate=gate or Gate(), trim=trim or Trim())


def test_every_episode_says_which_rule_decided() -> None:
    findings = [
        _finding(1, "spike"),
        _finding(2, "idle", Kind.RISK, code="idle_head", spans_s=(Span(0, 3),)),
        _finding(3, "length"),
        _finding(4, "lag", Kind.RISK),
    ]
    (made,) = _plan([_audit(6, findings, unreadable={5: "gone"})], [_digests(*"abcdef")])
    got = [(d.verdict, d.rules, d.stretches) for d in made.decisions]
    assert got == [
        (Verdict.KEEP, (), ((0, 100),)),
        (Verdict.QUARANTINE, ("gate.defects.spike",), ()),
        (Verdict.TRIM, ("gate.idle", "trim.head"), ((29, 100),)),
        (Verdict.DROP, ("gate.length",), ()),
        (Verdict.KEEP, (), ((0, 100),)),
        (Verdict.DROP, ("unreadable",), ()),
    ]
    assert made.kept == [0, 2, 4]
    assert (made.root, made.rate_hz) == ("/data/a", 10.0)


def test_copies_go_first_and_across_corpora() -> None:
    # The second corpus repeats an episode of the first; that one is set aside later, but it counted first.
    first = _audit(2, [_finding(0, "spike")])
    second = _audit(2, key="b")
    one, two = _plan([first, second], [_digests("x", "y"), _digests("z", "x")])
    assert [d.verdict for d in one.decisions] == [Verdict.QUARANTINE, Verdict.KEEP]
    assert [d.verdict for d in two.decisions] == [Verdict.KEEP, Verdict.DROP]
    assert two.decisions[1].rules == ("exact_duplicates: same as a/0",)


def test_copies_stay_when_asked_or_waived() -> None:
    audit = _audit(2, waived={("a/1", "duplicates"): "wanted twice"})
    assert _plan([audit], [_digests("x", "x")])[0].kept == [0, 1]
    keep = Gate(rules={"duplicates": "keep"})
    assert _plan([_audit(2)], [_digests("x", "x")], gate=keep)[0].kept == [0, 1]
    assert _plan([_audit(2)], [_digests("x", "x")])[0].kept == [0]


def test_only_gaps_are_left_to_the_data() -> None:
    gap = _finding(0, "timestamps", code="time_gap", spans_s=(Span(1, 2),))
    (made,) = _plan([_audit(1, [gap])], [_digests("x")])
    assert (made.decisions[0].verdict, made.decisions[0].only_gaps) == (Verdict.QUARANTINE, True)
    assert made.kept == [0]
    assert made.decisions[0].usable_for == ("low_dim",)
    (made,) = _plan([_audit(1, [gap, _finding(0, "spike")])], [_digests("x")])
    assert not made.decisions[0].only_gaps
    assert made.kept == []


def test_a_pause_may_give_several_stretches_or_none() -> None:
    pause = _finding(0, "idle", Kind.RISK, code="idle_middle", spans_s=(Span(3, 6),))
    (made,) = _plan([_audit(1, [pause])], [_digests("x")])
    assert (made.decisions[0].verdict, made.decisions[0].rules) == (Verdict.KEEP, ())
    (made,) = _plan([_audit(1, [pause])], [_digests("x")], trim=Trim(cut_pauses_over_s=1.0))
    assert made.decisions[0].stretches == ((0, 35), (55, 100))
    whole = _finding(0, "idle", Kind.RISK, code="idle_head", spans_s=(Span(0, 10),))
    (made,) = _plan([_audit(1, [whole])], [_digests("x")])
    assert made.decisions[0].verdict is Verdict.KEEP
    assert made.decisions[0].rules == ("trim.too_little_left",)
    (made,) = _plan([_audit(1, [whole])], [_digests("x")], trim=Trim(drop_idle_episodes=True))
    assert (made.decisions[0].verdict, made.kept) == (Verdict.DROP, [])
