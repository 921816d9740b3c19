"""A page in which every text that a recording or a person can choose is an attack."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from made_audits import MadeCorpus, finding, made_audit

from gristmill.audit import NotChecked
from gristmill.embodiment import Embodiment
from gristmill.episode import CameraInfo
from gristmill.finding import Kind, Span
from gristmill.report import Curation, RuleOutcome, write_report
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
    """Write the page; returns its HTML."""
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
                pictures = ArrayCamera(np.full((60, 16, 16), 90, np.uint8), key=camera)
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
