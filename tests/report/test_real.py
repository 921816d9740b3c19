"""Real recordings on the page: their signals, units and frames."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from made_audits import finding, made_audit

from gristmill.audit import Audit
from gristmill.finding import Finding, Span
from gristmill.report import write_report
from gristmill.sources import open_path

CAMERA = "observation.images.cam_high"


def audit_of(corpus, findings: list[Finding]) -> Audit:
    n = len(corpus.table)
    made = made_audit(n, findings, tasks=corpus.table.tasks, length=corpus.table.length, index=corpus.table.index)
    fields = vars(made) | {"facts": corpus.facts, "embodiment": corpus.embodiment, "metrics": {}}
    return Audit(**fields)


def test_a_humanoid_with_a_camera(real_data: Path, tmp_path: Path) -> None:
    corpus = open_path(real_data / "g1_inspire")
    named = "observation.state[kLeftElbow]"
    findings = [
        finding(2, channel=named, spans_s=(Span(2.0, 2.5),)),
        finding(2, "frozen_frames", channel=None, camera=CAMERA, spans_s=(Span(1.0, 2.0),)),
    ]
    path = tmp_path / "report.html"
    write_report(audit_of(corpus, findings), path, corpus=corpus)
    html = path.read_text(encoding="utf-8")
    assert html.count("data:image/jpeg;base64,") == 7
    assert "No frames" not in html
    (episode,) = corpus.episodes([2])
    elbow = episode.channels["observation.state"].values[
        :, list(episode.channels["observation.state"].names).index("kLeftElbow")
    ]
    told = re.search(r"kLeftElbow of observation.state from 0 to [\d.]+ s, between (\S+) and (\S+) rad;", html)
    assert told, "the range is told with the unit of the robot's card"
    low, high = (float(text.replace("\u2212", "-")) for text in told.groups())
    action = episode.channels["action"].values[:, list(episode.channels["action"].names).index("kLeftElbow")]
    both = np.concatenate((elbow, action))
    assert abs(low - both.min()) < 0.01
    assert abs(high - both.max()) < 0.01


def test_a_corpus_whose_video_is_absent(real_data: Path, tmp_path: Path) -> None:
    corpus = open_path(real_data / "pusht_lowdim")
    camera = "observation.image"
    findings = [
        finding(7, channel="action[motor_0]"),
        finding(7, "frozen_frames", channel=None, camera=camera),
        finding(205, channel="action"),
    ]
    path = tmp_path / "report.html"
    write_report(audit_of(corpus, findings), path, corpus=corpus)
    html = path.read_text(encoding="utf-8")
    assert html.count('<figure class="timelines"') == 2
    assert "motor_1" in html.partition('id="e205"')[2].partition("</details>")[0]
    assert "data:image" not in html
