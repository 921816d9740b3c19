"""Rules of the gate: defaults by kind, overrides by check and code, cameras and low-dimensional data apart."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.audit import Verdict
from gristmill.finding import Finding, Kind, Span
from gristmill.select.gate import Gate, trimming, verdicts
from gristmill.select.trim import Trim


def _finding(check: str, kind: Kind = Kind.DEFECT, row: int | None = 0, **more) -> Finding:
    return Finding(check=check, kind=kind, row=row, message="m", fix="f", **more)


def _one(finding: Finding, gate: Gate | None = None, *, cameras: tuple[str, ...] = ("observation.images.top",)):
    found = verdicts(gate or Gate(), 1, [finding], cameras=cameras)
    return found.verdict[0], found.usable_for[0], found.reasons.get(0, ())


def test_a_clean_corpus_is_kept() -> None:
    found = verdicts(Gate(), 2, [_finding("stats", row=None)], cameras=("observation.images.top",))
    assert found.verdict == (Verdict.KEEP, Verdict.KEEP)
    assert found.usable_for == (("low_dim", "vision"),) * 2
    assert found.reasons == {}
    assert verdicts(Gate(), 1, [], cameras=()).usable_for == (("low_dim",),)


@pytest.mark.parametrize(
    ("finding", "verdict", "rule"),
    [
        (_finding("spike"), Verdict.QUARANTINE, ("gate.defects.spike",)),
        (_finding("lag", Kind.RISK), Verdict.KEEP, ()),
        (_finding("dead_channel", Kind.TRAIT), Verdict.KEEP, ()),
        (_finding("duplicates"), Verdict.DROP, ("gate.duplicates",)),
        (_finding("length"), Verdict.DROP, ("gate.length",)),
        (_finding("files", code="unreadable"), Verdict.DROP, ("gate.files.unreadable",)),
        (_finding("files", code="count_lie"), Verdict.QUARANTINE, ("gate.defects.files",)),
        (_finding("idle", Kind.RISK, spans_s=(Span(0, 3),)), Verdict.TRIM, ("gate.idle",)),
        (_finding("idle", Kind.TRAIT, spans_s=(Span(0, 3),)), Verdict.KEEP, ()),
    ],
)
def test_defaults(finding, verdict, rule) -> None:
    got, usable, reasons = _one(finding)
    assert (got, reasons) == (verdict, rule)
    assert bool(usable) == (verdict in (Verdict.KEEP, Verdict.TRIM))


def test_a_recipe_overrides_by_check_and_by_code() -> None:
    gate = Gate(rules={"spike": "keep", "files": "keep", "files.count_lie": "drop", "lag": "drop"}, defects="drop")
    assert _one(_finding("spike"), gate)[0] is Verdict.KEEP
    assert _one(_finding("files", code="x"), gate)[0] is Verdict.KEEP
    assert _one(_finding("files", code="count_lie"), gate)[0] is Verdict.DROP
    assert _one(_finding("lag", Kind.RISK), gate)[0] is Verdict.DROP
    assert _one(_finding("rate"), gate)[0] is Verdict.DROP
    assert _one(_finding("x", Kind.TRAIT), Gate(rules={"x": "quarantine"}))[0] is Verdict.QUARANTINE


def test_a_check_that_a_recipe_names_beats_a_built_in_code() -> None:
    assert _one(_finding("files", code="unreadable"), Gate(rules={"files": "keep"}))[0] is Verdict.KEEP


def test_the_worst_rule_wins() -> None:
    findings = [_finding("length"), _finding("spike"), _finding("idle", Kind.RISK, spans_s=(Span(0, 3),))]
    found = verdicts(Gate(), 1, findings, cameras=())
    assert found.verdict == (Verdict.DROP,)
    assert found.reasons[0] == ("gate.length", "gate.defects.spike")


def test_camera_trouble_costs_the_cameras_only() -> None:
    finding = _finding("black_frames", camera="observation.images.top")
    assert _one(finding) == (Verdict.KEEP, ("low_dim",), ("gate.defects.black_frames",))
    assert _one(finding, Gate(cameras_required=True)) == (Verdict.QUARANTINE, (), ("gate.defects.black_frames",))


@pytest.mark.parametrize(
    ("channel", "code", "verdict"),
    [
        ("observation.state", "type", Verdict.QUARANTINE),
        ("action", "column_absent", Verdict.QUARANTINE),
        ("next.success", "column_absent", Verdict.KEEP),
        ("action", "list_of_one", Verdict.KEEP),
    ],
)
def test_a_state_or_action_that_no_episode_holds_sets_all_aside(channel: str, code: str, verdict: Verdict) -> None:
    whole = [_finding("schema", row=None, channel=channel, code=code)]
    assert verdicts(Gate(), 2, [], cameras=(), whole=whole).verdict == (verdict, verdict)
    kept = verdicts(Gate(rules={f"schema.{code}": "keep"}), 2, [], cameras=(), whole=whole)
    assert kept.verdict == (Verdict.KEEP, Verdict.KEEP)


def test_a_camera_in_trouble_everywhere_is_left_out_and_the_others_stay() -> None:
    front = [_finding("black_frames", row=row, camera="front") for row in range(3)]
    found = verdicts(
        Gate(), 3, [*front, _finding("blur", Kind.DEFECT, row=1, camera="wrist")], cameras=("front", "wrist")
    )
    assert found.left_out == ("front",)
    assert found.usable_for == (("low_dim", "vision"), ("low_dim",), ("low_dim", "vision"))
    # In two of three it is no matter of the camera, and the only one there is cannot be left out.
    assert verdicts(Gate(), 3, front[:2], cameras=("front", "wrist")).left_out == ()
    alone = verdicts(Gate(), 3, front, cameras=("front",))
    assert (alone.left_out, alone.usable_for) == ((), (("low_dim",),) * 3)


def test_trim_without_a_span_sets_aside() -> None:
    assert _one(_finding("spike"), Gate(rules={"spike": "trim"}))[0] is Verdict.QUARANTINE


def test_what_a_recipe_drops_by_name_goes_with_its_camera() -> None:
    finding = _finding("view_sync", camera="observation.images.top")
    assert _one(finding, Gate(rules={"view_sync": "drop"})) == (Verdict.DROP, (), ("gate.view_sync",))
    assert _one(finding, Gate(rules={"view_sync": "quarantine"}))[:2] == (Verdict.KEEP, ("low_dim",))
    assert _one(finding, Gate(defects="drop"))[:2] == (Verdict.KEEP, ("low_dim",))


def test_trim_is_not_harsher_with_a_camera_than_setting_aside() -> None:
    without_span = _finding("files", camera="observation.images.top", code="video_missing")
    assert _one(without_span, Gate(defects="trim"))[:2] == (Verdict.KEEP, ("low_dim",))
    black = _finding("black_frames", camera="observation.images.top", spans_s=(Span(1.0, 2.0),))
    assert _one(black, Gate(defects="trim"))[:2] == (Verdict.TRIM, ("low_dim", "vision"))


def test_with_trim_known_short_pauses_are_kept() -> None:
    pauses = [
        _finding("idle", Kind.RISK, row=0, code="idle_middle", spans_s=(Span(3, 5),)),
        _finding("idle", Kind.RISK, row=1, code="idle_head", spans_s=(Span(0, 3),)),
    ]
    found = verdicts(Gate(), 2, pauses, cameras=(), trim=Trim(), length=np.array([100, 100]), rate_hz=10.0)
    assert found.verdict == (Verdict.KEEP, Verdict.TRIM)
    assert found.reasons == {1: ("gate.idle",)}
    assert trimming(Gate(), [*pauses, _finding("spike")]) == pauses
