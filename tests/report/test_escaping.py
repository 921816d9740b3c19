"""Text from recordings is shown, never obeyed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from made_audits import MadeCorpus, finding, made_audit

from gristmill.audit import NotChecked
from gristmill.embodiment import Embodiment
from gristmill.episode import CameraInfo
from gristmill.finding import Kind, Span
from gristmill.report import Curation, RuleOutcome, write_report
from gristmill.report.escape import script_json
from gristmill.testing import ArrayCamera, make_episode, reaching

ATTACKS = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' autofocus onfocus='alert(1)",
    "<!--<script>",
    "]]><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "\x1b[31mred\x07\x00",
    "abc\u202egpj.exe\u2066\u2069\u200f",
    "zero\u200bwidth\ufeff\u00ad\U000e0041",
    "lone \udc80 surrogate",
    "line\u2028break\u2029",
)
EVIL = " ".join(ATTACKS)


def hostile_page(path: Path) -> str:
    """A page in which every text that a recording or a person can choose is an attack."""
    camera = EVIL
    names = [EVIL, *(f"joint_{i}" for i in range(1, 6))]
    named = f"observation.state[{EVIL}]"
    card = Embodiment(key=EVIL, title=EVIL, inferred=True)
    spans = (Span(0.5, 1.0),)
    findings = [
        finding(0, message=EVIL, fix=EVIL, channel=named, unit=EVIL),
        finding(0, "frozen_frames", camera=camera, channel=None, spans_s=spans, message=EVIL),
        finding(1, EVIL, Kind.RISK, channel=EVIL, code=EVIL),
    ]
    audit = made_audit(
        3,
        findings,
        tasks=[(EVIL,), (EVIL, "b"), ("c",)],
        ids=[f"{EVIL}/{i}" for i in range(3)],
        reasons={0: (EVIL,), 1: (EVIL,)},
        corpus_findings=[finding(None, "stats", message=EVIL, fix=EVIL, channel=EVIL)],
        not_checked=[NotChecked(EVIL, EVIL, EVIL)],
        metrics={f"{EVIL}.{EVIL}": [1.0, 2.0, 3.0], "constant.x": [1.0, 1.0, 1.0]},
        waived={(f"{EVIL}/0", "spike"): EVIL},
        unreadable={1: EVIL},
        embodiment=card,
        facts={
            "key": EVIL,
            "root": EVIL,
            "format": EVIL,
            "robot_type": EVIL,
            "cameras": {camera: CameraInfo(key=camera, height=8, width=8, rate_hz=30.0)},
            "unread": {EVIL: EVIL},
        },
    )

    class Hostile(MadeCorpus):
        def episodes(self, rows):
            for row in rows:
                plain = reaching(row)
                pictures = ArrayCamera(plain_grey(), key=camera)
                yield make_episode(
                    state=plain.channels["observation.state"].values,
                    action=plain.channels["action"].values,
                    names=names,
                    cameras={camera: pictures},
                    embodiment=card,
                    index=row,
                )

    write_report(
        audit,
        path,
        corpus=Hostile(audit.facts),
        curation=Curation(
            episodes_in=3,
            episodes_out=1,
            seconds_in=3,
            seconds_out=1,
            rules=[RuleOutcome(rule=EVIL, action="drop", episodes=1, about=EVIL)],
            data_hash=EVIL,
            lineage_hash=EVIL,
            dataset=EVIL,
        ),
        settings={EVIL: {EVIL: EVIL}},
    )
    return path.read_bytes().decode("utf-8")


def plain_grey():
    import numpy as np

    return np.full((60, 16, 16), 90, np.uint8)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return hostile_page(tmp_path_factory.mktemp("hostile") / "report.html")


def test_no_markup_of_theirs_survives(page: str) -> None:
    assert "alert(1)" in page, "the texts are there"
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "<svg onload" not in page
    # Every script and style element is ours: the policy's, or a data block.
    assert len(re.findall(r"<script", page)) == len(re.findall(r"</script", page)) == 3
    assert len(re.findall(r"<style", page)) == len(re.findall(r"</style", page)) == 1
    assert "<!--" not in page


def test_no_attribute_of_theirs_survives(page: str) -> None:
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.S)
    for tag in re.findall(r"<[a-z][^<>]*>", markup):
        outside = re.sub(r'"[^"]*"', "", tag)
        assert "alert" not in outside, tag
        assert not re.search(r"\son\w+\s*=", outside), tag
    for name in ("href", "src"):
        for value in re.findall(rf'\s{name}="([^"]*)"', markup):
            assert "alert" not in value, value


def test_templates_in_texts_are_not_rendered(page: str) -> None:
    assert "{{ 7 * 7 }}" in page
    assert "{% raw %}" in page


def test_hidden_characters_are_shown(page: str) -> None:
    ours = "\n\u202f"
    hidden = {c for c in page if not c.isprintable() and c not in ours}
    assert hidden == set()
    for code in ("\\x1b", "\\x00", "\\u202e", "\\u2066", "\\u200b", "\\ufeff", "\\U000e0041", "\\udc80", "\\u2028"):
        assert code in page, code


def test_data_blocks_are_json_that_no_text_can_leave(page: str) -> None:
    (block,) = re.findall(r'<script type="application/json" class="rows">(.*?)</script>', page, re.S)
    assert "<" not in block
    assert ">" not in block
    assert "&" not in block
    texts = json.loads(block)["s"]
    assert any("</script><script>alert(1)</script>" in text for text in texts), "shown as it was"


def test_script_json_keeps_the_value() -> None:
    value = {"a": ["</script>", "&amp;", None, 1.5], "b": "ü"}
    assert json.loads(script_json(value)) == value
    assert json.loads(script_json([float("nan"), float("inf")])) == [None, None]
