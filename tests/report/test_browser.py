"""The page in a real browser: silent, quick, usable by keyboard, on a phone, in both modes, on paper."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser, find
from hostile_page import hostile_page
from made_audits import MadeCorpus, camera_finding, finding, large_audit, made_audit

from gristmill.audit import NotChecked, Verdict
from gristmill.finding import Kind, Span
from gristmill.report import Curation, RuleOutcome, write_report

# Contrast of every piece of text with the ground it stands on, after WCAG 2.2: those below 4.5.
CONTRAST = """(() => {
  const rgb = (css) => {
    const c = document.createElement("canvas").getContext("2d");
    c.fillStyle = css; c.fillRect(0, 0, 1, 1);
    return [...c.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const color = rgb(getComputedStyle(e).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  const low = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !e.checkVisibility() || e.closest("script, :disabled, .skip")) continue;
    const style = getComputedStyle(e);
    const ink = rgb(e.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(ground(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) low.push(`${walk.currentNode.data.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return low;
})()"""
TIGHT = """(() => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  for (const row of document.querySelectorAll("button.row")) row.click();
  return document.scrollingElement.scrollWidth;
})()"""
LISTED = "[...document.querySelectorAll('#episodes tbody th')].map((cell) => Number(cell.textContent))"


def choose(browser: Browser, field: str, value: str) -> None:
    browser.ask(
        f"(() => {{ const f = document.getElementById('{field}'); f.value = {value!r};"
        " f.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every section filled: all kinds and verdicts, curation, waivers, pictures."""
    findings = [
        finding(2, message="episode 2, observation.state[joint_0]: one sample jumps by 0.5 rad"),
        camera_finding(5),
        finding(5, "lag", Kind.RISK, spans_s=()),
        finding(7, "idle", Kind.RISK, channel=None, spans_s=(Span(0, 1.0),)),
        finding(9, "view_quality", Kind.TRAIT),
    ]
    verdicts = [Verdict.KEEP] * 120
    verdicts[2], verdicts[5], verdicts[7] = Verdict.DROP, Verdict.QUARANTINE, Verdict.TRIM
    audit = made_audit(
        120,
        findings,
        verdicts=verdicts,
        tasks=[
            ("pick the cube",) if i % 4 else ("open the drawer and leave it open for the next person",)
            for i in range(120)
        ],
        corpus_findings=[finding(None, "stats", channel=None)],
        not_checked=[NotChecked("depth", "camera observation.images.depth", "no check reads depth")],
        waived={("made/2", "spike"): "the arm was pushed"},
        metrics={f"check_{i}.metric": [float(j * i % 17) for j in range(120)] for i in range(24)},
    )
    rule = RuleOutcome(rule="gate.spike", action="drop", episodes=1, removed_s=4.5, about="Spikes go.")
    curation = Curation(
        episodes_in=120, episodes_out=118, seconds_in=600, seconds_out=580, rules=[rule], data_hash="9f2ab1c0" * 8
    )
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(audit, path, corpus=MadeCorpus(audit.facts), curation=curation)
    return path


@pytest.mark.parametrize("dark", [False, True])
def test_it_runs_silently_and_asks_for_nothing(browser: Browser, page: Path, dark: bool) -> None:
    browser.open(page, dark=dark)
    assert browser.ask("document.images.length") > 0
    assert browser.ask("[...document.images].every((i) => { i.loading = 'eager'; return true; })")
    assert browser.ask("Promise.all([...document.images].map((i) => i.decode().then(() => i.naturalWidth > 0)))")
    assert browser.complaints() == []
    assert [url for url in browser.requests() if not url.startswith("data:")] == [page.as_uri()]


def test_hostile_texts_do_nothing(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    hostile_page(path)
    browser.open(path)
    browser.ask("window.alert = () => { window.attacked = true; }")
    browser.ask("(() => { for (const row of document.querySelectorAll('button.row')) row.click(); })()")
    choose(browser, "text", "</script>")
    assert browser.ask("document.querySelectorAll('#episodes tbody tr').length") == 2
    assert browser.ask("window.attacked") is None
    assert (
        browser.ask("document.querySelectorAll('main img[src=x], main script, [onmouseover], [onfocus]').length") == 0
    )
    assert browser.complaints() == []
    assert browser.requests() == [path.as_uri()]


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read(browser: Browser, page: Path, dark: bool) -> None:
    browser.open(page, dark=dark)
    assert browser.ask(CONTRAST) == []


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_scrolls_sideways(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width=width)
    assert browser.ask(TIGHT) <= width


def test_hostile_texts_do_not_widen_the_page(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    hostile_page(path)
    browser.open(path, width=390)
    assert browser.ask(TIGHT) <= 390


def test_the_list_begins_with_the_worst_and_pages(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.ask("document.getElementById('shown').textContent") == "120 episodes"
    assert browser.ask(LISTED)[:4] == [2, 5, 7, 0]
    assert len(browser.ask(LISTED)) == 50
    assert browser.ask("document.querySelector('#pager span').textContent") == "Page 1 of 3"
    browser.ask("document.querySelector('#pager [data-step=\"1\"]').click()")
    browser.ask("document.querySelector('#pager [data-step=\"1\"]').click()")
    assert len(browser.ask(LISTED)) == 20
    assert browser.ask("document.querySelector('#pager [data-step=\"1\"]').disabled") is True


def test_filters(browser: Browser, page: Path) -> None:
    browser.open(page)
    choose(browser, "check", "lag")
    assert browser.ask(LISTED) == [5]
    choose(browser, "check", "")
    choose(browser, "text", "drawer 11")
    assert browser.ask(LISTED) == [112, 116], "multiples of 4 that hold 11"
    choose(browser, "text", "JOINT_0 jumps")
    assert browser.ask(LISTED) == [2]
    choose(browser, "text", "nothing of the kind")
    assert browser.ask("document.getElementById('shown').textContent") == "None of 120 episodes matches."
    assert browser.ask("document.getElementById('episodes').hidden") is True
    choose(browser, "text", "")
    browser.ask("document.querySelector('[name=verdict][value=\"0\"]').click()")
    assert browser.ask(LISTED) == [2, 5, 7]
    assert browser.ask("document.getElementById('shown').textContent") == "3 of 120 episodes"


def test_orders(browser: Browser, page: Path) -> None:
    browser.open(page)
    choose(browser, "order", "index")
    assert browser.ask(LISTED)[:3] == [0, 1, 2]
    choose(browser, "order", "shortest")
    assert browser.ask(LISTED)[:3] == [0, 13, 26], "lengths repeat every 13 episodes"
    choose(browser, "order", "longest")
    assert browser.ask(LISTED)[:2] == [12, 25]


def test_a_check_leads_to_its_episodes(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.ask("document.querySelector('[data-check=idle]').click()")
    assert browser.ask(LISTED) == [7]
    assert browser.ask("document.activeElement.id") == "check"


def test_a_row_opens_by_keyboard_and_leads_to_the_closer_look(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.ask("document.querySelector('button.row').focus()")
    browser.press("Enter", 13)
    assert browser.ask("document.activeElement.getAttribute('aria-expanded')") == "true"
    text = browser.ask("document.querySelector('tr.open').textContent")
    assert "Spike (defect) observation.state[joint_0]: one sample jumps by 0.5 rad" in text
    browser.ask("(() => { document.getElementById('e2').open = false; })()")
    browser.ask("document.querySelector('tr.open a').click()")
    assert browser.ask("new Promise((done) => setTimeout(() => done(document.getElementById('e2').open), 50))") is True
    browser.ask("document.querySelector('button.row').focus()")
    browser.press("Enter", 13)
    assert browser.ask("document.querySelector('tr.open')") is None


def test_the_first_stop_skips_to_the_verdict(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.press("Tab", 9)
    assert browser.ask("document.activeElement.className") == "skip"
    browser.press("Enter", 13)
    assert browser.ask("location.hash") == "#main"


def test_the_theme_can_be_chosen_and_is_kept(browser: Browser, page: Path) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    browser.open(page)
    light = browser.ask(paper)
    browser.ask("document.getElementById('theme').click()")
    assert browser.ask("document.getElementById('theme').textContent") == "Theme: light"
    browser.ask("document.getElementById('theme').click()")
    dark = browser.ask(paper)
    assert dark != light
    browser.open(page)
    assert browser.ask(paper) == dark
    browser.ask("document.getElementById('theme').click()")
    assert browser.ask("document.getElementById('theme').textContent") == "Theme: auto"
    assert browser.ask(paper) == light


def test_the_list_of_good_episodes_can_be_copied(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.ask(
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { window.kept = text; }}})"
    )
    browser.ask("document.getElementById('copy').click()")
    good = ", ".join(str(i) for i in range(120) if i not in (2, 5))
    assert browser.ask("window.kept") == f"episodes=[{good}]"
    assert browser.ask("document.getElementById('copied').textContent") == "Copied"


def test_a_refused_clipboard_selects_the_list(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.ask(
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async () => { throw new Error('no'); }}})"
    )
    browser.ask("document.getElementById('copy').click()")
    assert browser.ask("getSelection().toString()").startswith("episodes=[0, 1, 3, 4, 6")
    assert "Ctrl+C" in browser.ask("document.getElementById('copied').textContent")


def test_paper_shows_content_and_no_controls(browser: Browser, page: Path) -> None:
    browser.open(page, media="print", dark=True)
    for selector in (".top", "#filters", "#pager button", "#copy", "#theme"):
        assert browser.ask(f"document.querySelector('{selector}').checkVisibility()") is False, selector
    for selector in ("#verdict", "#found", "#episodes button.row", "#pager span", "#good", "#lineage"):
        assert browser.ask(f"document.querySelector('{selector}').checkVisibility()") is True, selector
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(251, 250, 247)"


def test_everything_that_can_be_operated_or_seen_has_a_name(browser: Browser, page: Path) -> None:
    browser.open(page)
    roles = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "image", "img", "table", "navigation"}
    nodes = browser.accessibility()
    assert {role for role, _ in nodes} >= {"button", "link", "searchbox", "combobox", "checkbox", "image", "table"}
    assert [(role, name) for role, name in nodes if role in roles and not name.strip()] == []


def test_headings_go_down_one_step_at_a_time(browser: Browser, page: Path) -> None:
    browser.open(page)
    levels: list[Any] = browser.ask("[...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1]))")
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_ten_thousand_episodes_open_at_once(browser: Browser, tmp_path: Path) -> None:
    audit = large_audit(10_000)
    path = tmp_path / "report.html"
    write_report(audit, path, corpus=MadeCorpus(audit.facts))
    browser.open(path)
    assert browser.ask("document.getElementById('shown').textContent") == "10,000 episodes"
    assert browser.ask("document.querySelectorAll('#episodes tbody tr').length") == 50
    # The list's share of the page is a page of rows; the rest is 200 folded blocks.
    assert browser.ask("document.querySelectorAll('#list *').length") < 2_000
    assert browser.ask("document.querySelectorAll('*').length") < 40_000
    # Processor time, for a busy machine makes everything late.
    assert browser.cpu_s() < 3.0
    before = browser.cpu_s()
    choose(browser, "text", "joint_3 spike")
    spiked = sum((row * 37) % 100 < 30 and row % 6 == 3 for row in range(10_000))
    assert browser.ask("document.getElementById('shown').textContent") == f"{spiked} of 10,000 episodes"
    assert browser.cpu_s() - before < 1.0
    assert browser.complaints() == []


def test_without_scripts_the_page_still_tells_its_story(browser: Browser, page: Path) -> None:
    browser.scripts(False)
    try:
        browser.open(page)
        assert browser.ask("document.querySelector('noscript').checkVisibility()") is True
        assert browser.ask("document.getElementById('filters').checkVisibility()") is False
        assert browser.ask("document.querySelector('#e2 .plot').checkVisibility()") is True
    finally:
        browser.scripts(True)


def test_a_missing_browser_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.fail.Exception, match=r"no browser for the report's tests .*; apt-get install chromium"):
        find()
