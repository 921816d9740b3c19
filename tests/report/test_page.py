"""The page as a whole: what it says, in which order, and that it appears whole or not at all."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from made_audits import TOP, BrokenCorpus, MadeCorpus, camera_finding, finding, made_audit

from gristmill.audit import Verdict
from gristmill.errors import GristmillError
from gristmill.finding import Kind, Span
from gristmill.report import Curation, RuleOutcome, write_report
from gristmill.testing import hostile_episodes, reaching

VOID = {"meta", "link", "img", "input", "br"}
INLINE = {"b", "bdi", "code", "a", "span", "svg", "use", "path"}


class Page(HTMLParser):
    """The text a reader sees, the ids, the links within; it fails on tags that do not nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.ids, self.links, self.tags = [], [], [], []
        self.attributes: list[tuple[str, str | None]] = []
        self._open: list[str] = []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self._open.append(tag)
        if tag not in INLINE:
            self.text.append(" ")
        self._attributes(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        self._attributes(tag, attrs)

    def _attributes(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name == "href" and tag == "a":
                self.links.append(value)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag, f"</{tag}> closes something else"
        if tag not in INLINE:
            self.text.append(" ")

    def handle_data(self, data):
        if self._open and self._open[-1] not in ("script", "style"):
            self.text.append(data)

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.text)).replace("\u202f", " ")


def written(tmp_path: Path, audit, **more) -> Page:
    path = tmp_path / "report.html"
    write_report(audit, path, **more)
    return Page(path.read_text(encoding="utf-8"))


def test_the_page_tells_the_audit_in_the_order_of_need(tmp_path: Path) -> None:
    audit = made_audit()
    page = written(tmp_path, audit, corpus=MadeCorpus(audit.facts))
    said = [
        "Train on 10 of 12 episodes; drop 2.",
        "Low-dimensional policies: 10 episodes",
        "1 question could not be asked",
        "What was found",
        "Frozen frames",
        "do something about frozen_frames",
        "Distributions",
        "Closer look",
        "All 2 flagged episodes, worst first",
        "Episode 5",
        "Episode 2",
        "Not checked",
        "no check reads depth",
        "episodes=[0, 1, 3, 4, 6, 7, 8, 9, 10, 11]",
        "A robot made for a test",
        "inferred",
    ]
    at = page.words.index("Theme")  # the bar at the top names the sections too
    for text in said:
        at = page.words.find(text, at)
        assert at >= 0, f"{text!r} is missing, or not where it belongs"


def test_ids_are_unique_and_links_lead_somewhere(tmp_path: Path) -> None:
    audit = made_audit()
    page = written(tmp_path, audit, corpus=MadeCorpus(audit.facts))
    assert len(set(page.ids)) == len(page.ids)
    assert {link[1:] for link in page.links if link} <= set(page.ids)


def test_the_page_needs_nothing_and_nobody(tmp_path: Path) -> None:
    audit = made_audit()
    path = tmp_path / "report.html"
    write_report(audit, path, corpus=MadeCorpus(audit.facts))
    html = path.read_text(encoding="utf-8")
    page = Page(html)
    for name, value in page.attributes:
        if name in ("src", "href", "action", "xlink:href"):
            assert re.match(r"(#|data:)", value or ""), f"{name}={value}"
        assert name != "style"
        assert not name.startswith("on")
    assert "url(" not in html
    assert "http://" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in html
    assert "@import" not in html


def test_the_policy_names_exactly_what_is_in_the_page(tmp_path: Path) -> None:
    import base64
    import hashlib

    path = tmp_path / "report.html"
    write_report(made_audit(), path)
    html = path.read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy
    allowed = set(re.findall(r"sha256-[A-Za-z0-9+/=]+", policy[1].replace("&#43;", "+")))
    inline = re.findall(r"<style>(.*?)</style>", html, re.S) + re.findall(r"<script>(.*?)</script>", html, re.S)
    hashes = {"sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inline}
    assert hashes == allowed
    assert "unsafe" not in policy[1]
    assert policy[1].startswith("default-src &#39;none&#39;") or policy[1].startswith("default-src 'none'")


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ([], "No episode was audited."),
        (["keep"], "The one episode is fit to train on."),
        (["keep"] * 3, "All 3 episodes are fit to train on."),
        (["drop"] * 3, "None of the 3 episodes is fit to train on as it stands."),
        (["keep", "trim", "trim"], "Train on all 3 episodes, 2 of them trimmed."),
        (["trim", "trim"], "Train on all 2 episodes, after a trim."),
        (["keep", "quarantine"], "Train on 1 of 2 episodes; set 1 aside."),
        (
            ["keep", "trim", "quarantine", "drop"],
            "Train on 2 of 4 episodes, 1 of them trimmed; set 1 aside and drop 1.",
        ),
    ],
)
def test_the_verdict_is_one_sentence(tmp_path: Path, verdicts: list[str], sentence: str) -> None:
    audit = made_audit(len(verdicts), [], verdicts=[Verdict(v) for v in verdicts], metrics={})
    assert f" {sentence} " in written(tmp_path, audit).words


def test_missing_vision_is_told_beside_what_still_works(tmp_path: Path) -> None:
    audit = made_audit(4, [], usable_for=[("low_dim",)] * 4)
    words = written(tmp_path, audit).words
    assert "Low-dimensional policies: 4 episodes" in words
    assert "Vision policies: no episode can be used" in words


def test_signals_frames_and_spans_are_drawn(tmp_path: Path) -> None:
    audit = made_audit()
    path = tmp_path / "report.html"
    write_report(audit, path, corpus=MadeCorpus(audit.facts))
    five = path.read_text(encoding="utf-8").partition('id="e5"')[2].partition("</details>")[0]
    assert five.count("data:image/jpeg;base64,") == 7
    assert five.count('class="signal line"') == 2, "the motion, and the joint that the lag names"
    assert five.count('class="action line"') == 1
    # The frozen camera's span, 2 to 3 s of 150 frames at 30 Hz: two to three fifths of 1200.
    assert '<rect class="span defect" x="480.0" width="240.0"' in five


def test_recordings_are_read_in_their_order_and_shown_worst_first(tmp_path: Path) -> None:
    findings = [finding(1, "idle", Kind.RISK), finding(4), finding(8), finding(8, "lag", Kind.RISK)]
    verdicts = [Verdict.KEEP] * 10
    audit = made_audit(10, findings, verdicts=verdicts, rows=np.arange(100, 110))
    corpus = MadeCorpus(audit.facts)
    page = written(tmp_path, audit, corpus=corpus)
    assert corpus.asked == [101, 104, 108]
    assert [i for i in page.ids if re.fullmatch(r"e\d+", i or "")] == ["e8", "e4", "e1"]


def test_details_are_bounded_and_the_page_says_so(tmp_path: Path) -> None:
    audit = made_audit(30, [finding(i) for i in range(30)])
    corpus = MadeCorpus(audit.facts)
    page = written(tmp_path, audit, corpus=corpus, max_detailed=4)
    assert len(corpus.asked) == 4
    assert "4 of 30 flagged episodes: the worst ones, and some of each check." in page.words


def test_unreadable_recordings_leave_their_reason(tmp_path: Path) -> None:
    audit = made_audit()
    words = written(tmp_path, audit, corpus=BrokenCorpus(audit.facts)).words
    assert "No signals: data/file-000.parquet: no footer; copy the file again" in words
    assert "No frames: videos/top.mp4: not a video; record it again" in words


def test_without_a_corpus_the_page_says_what_is_missing(tmp_path: Path) -> None:
    page = written(tmp_path, made_audit())
    assert "Signals and frames were not at hand" in page.words
    assert "img" not in page.tags


def test_an_episode_that_lacks_only_vision_says_so(tmp_path: Path) -> None:
    uses = [("low_dim", "vision")] * 12
    uses[5] = ("low_dim",)
    verdicts = [Verdict.KEEP] * 12
    words = written(tmp_path, made_audit(verdicts=verdicts, usable_for=uses)).words
    assert "Episode 5 keep not for vision 5.17 s" in words
    assert words.count("not for vision") == 1
    everywhere = made_audit(verdicts=verdicts, usable_for=[("low_dim",)] * 12)
    assert "not for vision" not in written(tmp_path, everywhere).words, "said once, at the top"


def test_a_curation_is_told_rule_by_rule(tmp_path: Path) -> None:
    curation = Curation(
        episodes_in=12,
        episodes_out=10,
        seconds_in=600,
        seconds_out=300,
        rules=[RuleOutcome(rule="gate.spike", action="drop", episodes=2, removed_s=30.0, about="Spikes go.")],
        data_hash="9f2a",
    )
    words = written(tmp_path, made_audit(), curation=curation).words
    assert "12 recordings, 10 min, became 10 training episodes, 5 min (50 % of the time)" in words
    assert "gate.spike Spikes go. drop 2 30 s" in words
    assert "9f2a" in words


def test_waivers_and_thresholds_enter_the_lineage(tmp_path: Path) -> None:
    audit = made_audit(waived={("made/2", "spike"): "the arm was pushed"})
    words = written(tmp_path, audit, settings={"spike": {"jump_z": 8.0}}).words
    assert "Accepted Spike: the arm was pushed" in words
    assert "made/2, spike: the arm was pushed" in words
    assert "jump_z = 8.0" in words
    assert "spike 0.1 rad" in written(tmp_path, audit).words, "without settings, what findings were compared with"


def test_odd_recordings_break_nothing(tmp_path: Path) -> None:
    episodes = [episode for _, episode in hostile_episodes(reaching(0))]
    findings = [f for i in range(len(episodes)) for f in (finding(i, spans_s=(Span(-1, 1e9), Span(float("nan"), 1))),)]

    class Odd(MadeCorpus):
        def episodes(self, rows):
            for row in rows:
                yield episodes[row]

    audit = made_audit(len(episodes), findings, length=np.zeros(len(episodes), dtype=int))
    html = written(tmp_path, audit, corpus=Odd(audit.facts))
    assert len([i for i in html.ids if re.fullmatch(r"e\d+", i or "")]) == len(episodes)
    for name, value in html.attributes:
        if name in ("d", "x", "width", "x1"):
            assert "nan" not in (value or ""), (name, value)
            assert "inf" not in (value or ""), (name, value)


def test_the_same_audit_gives_the_same_page(tmp_path: Path) -> None:
    audit = made_audit()
    for name in ("a.html", "b.html"):
        write_report(audit, tmp_path / name, corpus=MadeCorpus(audit.facts))
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_failure_leaves_the_earlier_page_and_no_rubbish(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("earlier")

    class Dies(MadeCorpus):
        def episodes(self, rows):
            raise KeyboardInterrupt
            yield

    audit = made_audit()
    with pytest.raises(KeyboardInterrupt):
        write_report(audit, path, corpus=Dies(audit.facts))
    assert path.read_text() == "earlier"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_an_unwritable_place_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GristmillError, match=r"report\.html: .*is no folder; name another place"):
        write_report(made_audit(), tmp_path / "file" / "report.html")


def test_the_folder_is_made_and_the_file_can_be_shared(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    write_report(made_audit(), path)
    (tmp_path / "plain").write_text("")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_stored_traces_are_drawn_beside_what_a_camera_check_found(tmp_path: Path) -> None:
    asked = []

    def stored(row: int, camera: str):
        asked.append((row, camera))
        return SimpleNamespace(times_s=np.arange(150) / 30, diff=np.ones(150))

    audit = made_audit(3, [camera_finding(1)], rows=np.array([10, 11, 12]))
    page = written(tmp_path, audit, corpus=MadeCorpus(audit.facts), traces=stored)
    assert asked == [(11, TOP)]
    assert f"Change to the frame before {TOP}" in page.words
    assert "Change to the frame before" not in written(tmp_path, audit, corpus=MadeCorpus(audit.facts)).words


def test_a_metric_of_a_camera_names_it(tmp_path: Path) -> None:
    metrics = {f"blur.sharpness[{TOP}]": np.arange(12.0), "rate.rate_hz": np.linspace(9, 11, 12)}
    words = written(tmp_path, made_audit(metrics=metrics)).words
    assert f"Blur median 5.5 sharpness, {TOP}" in words
    assert "Rate median 10 Hz" in words
