"""The episode list as data."""

from __future__ import annotations

import json

from made_audits import finding, made_audit

from gristmill.finding import Kind, Span
from gristmill.report.rows import BLOCK, FINDINGS, blocks
from gristmill.report.survey import survey


def read(audit, worded=(), detailed=()) -> list[dict]:
    return [json.loads(block) for block in blocks(audit, survey(audit), set(worded), set(detailed))]


def test_rows_carry_what_the_list_shows() -> None:
    (block,) = read(made_audit(), worded=[2], detailed=[5])
    texts, rows = block["s"], block["r"]
    index, frames, verdict, uses, task, reasons, detailed, findings, more = rows[2]
    assert (index, frames, verdict, uses, texts[task], detailed, more) == (2, 134, 3, 3, "pick the cube", 0, 0)
    assert [texts[i] for i in reasons] == ["gate.spike"]
    check, kind, channel, camera, spans, measured, threshold, unit, message = findings[0]
    assert (texts[check], kind, texts[channel], camera) == ("spike", 0, "observation.state[joint_0]", -1)
    assert (spans, measured, threshold, texts[unit]) == ([1.2, 1.5], 0.5, 0.1, "rad")
    assert texts[message] == "spike was found in observation.state[joint_0] at 1.2 s"
    assert rows[5][6] == 1
    assert rows[5][7][0][8] == -1, "only worded episodes keep sentences"


def test_texts_are_kept_once_a_block() -> None:
    made = read(made_audit(BLOCK + 1, []))
    assert [len(block["r"]) for block in made] == [BLOCK, 1]
    assert [block["s"] for block in made] == [["pick the cube"]] * 2


def test_a_bounded_list_of_findings_still_has_every_check() -> None:
    findings = [finding(0, channel=f"action[{i}]") for i in range(30)] + [finding(0, "idle", Kind.RISK)]
    (block,) = read(made_audit(1, findings))
    listed, more = block["r"][0][7], block["r"][0][8]
    assert len(listed) == FINDINGS
    assert more == 31 - FINDINGS
    assert block["s"][listed[-1][0]] == "idle"


def test_numbers_are_short_and_never_infinite() -> None:
    odd = finding(0, measured=float("inf"), threshold=1 / 3, spans_s=(Span(1 / 3, float("nan")),))
    (block,) = read(made_audit(1, [odd]))
    assert block["r"][0][7][0][4:7] == [[0.3333, None], None, 0.333]


def test_an_unreadable_episode_says_why() -> None:
    (block,) = read(made_audit(2, [], unreadable={1: "no footer"}))
    assert [block["s"][i] for i in block["r"][1][5]] == ["unreadable: no footer"]
