"""A large corpus makes a page of bounded size, written in bounded memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from made_audits import MadeCorpus, large_audit

from gristmill.report import filmstrips, write_report

MB = 1 << 20


def written(path: Path, n: int) -> tuple[int, int]:
    """Bytes of the page and the most that writing it allocated, beyond the audit itself."""
    audit = large_audit(n)
    corpus = MadeCorpus(audit.facts)
    tracemalloc.start()
    write_report(audit, path, corpus=corpus)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(corpus.asked) == 200
    return path.stat().st_size, peak


def test_ten_and_twenty_thousand_episodes(tmp_path: Path) -> None:
    _, small_peak = written(tmp_path / "small.html", 2_000)
    size, peak = written(tmp_path / "large.html", 10_000)
    largest_size, largest_peak = written(tmp_path / "largest.html", 20_000)
    assert size < 4 * MB
    # A plain row costs some 35 bytes, a flagged one some 130.
    assert largest_size - size < 10_000 * 100
    assert max(small_peak, peak, largest_peak) < 8 * MB
    assert largest_peak < small_peak + 3 * MB


def test_pictures_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from made_audits import camera_finding, made_audit

    audit = made_audit(90, [camera_finding(i) for i in range(90)])
    path = tmp_path / "report.html"
    write_report(audit, path, corpus=MadeCorpus(audit.facts))
    html = path.read_text(encoding="utf-8")
    assert html.count('<figure class="film') == filmstrips.STRIPS
    assert f"{90 - filmstrips.STRIPS} more were left out" in html
