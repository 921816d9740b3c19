"""The index-only export."""

from __future__ import annotations

import json

import pytest

from gristmill.errors import UsageError
from gristmill.export.index import Index
from gristmill.finding import Finding, Kind, Span


def _never(_: str):
    pytest.fail("recordings must not be opened")


def test_lists_episodes_spans_and_weights(bench, tmp_path) -> None:
    bench.corpus(video=False)
    findings = [
        Finding(check="spike", kind=Kind.DEFECT, row=1, message="m", fix="f"),
        Finding(check="idle", code="idle_head", kind=Kind.RISK, row=2, message="m", fix="f", spans_s=(Span(0, 1.1),)),
    ]
    snapshot = bench.freeze(findings)
    out = tmp_path / "deep" / "index.json"
    result = Index().export(snapshot, out, open_corpus=_never)
    assert (result.datasets[0].episodes, result.datasets[0].frames) == (3, 60 + 30 + 70)
    index = json.loads(out.read_text())
    assert (index["data_hash"], index["lineage_hash"]) == (snapshot.data_hash, snapshot.lineage_hash)
    (corpus,) = index["corpora"]
    assert (corpus["key"], corpus["root"], corpus["rate_hz"]) == ("made", str(bench.folder / "made"), 10.0)
    assert corpus["episodes"] == [0, 2, 3]
    span = corpus["spans"][1]
    assert (span["episode_index"], span["start_frame"], span["stop_frame"]) == (2, 10, 40)
    assert (span["start_s"], span["stop_s"], span["weight"], span["split"]) == (1.0, 4.0, 1.0, "train")
    assert span["rules"] == ["gate.idle", "trim.head"]
    assert [p.name for p in out.parent.iterdir()] == ["index.json"]


def test_an_existing_file_is_replaced_only_when_asked(bench, tmp_path) -> None:
    bench.corpus(video=False)
    snapshot = bench.freeze()
    out = tmp_path / "index.json"
    out.write_text("mine")
    with pytest.raises(UsageError, match="exists"):
        Index().export(snapshot, out, open_corpus=_never)
    assert out.read_text() == "mine"
    with pytest.raises(UsageError, match="is no index that gristmill wrote"):
        Index(overwrite=True).export(snapshot, out, open_corpus=_never)
    assert out.read_text() == "mine"
    out.unlink()
    for overwrite in (False, True):
        Index(overwrite=overwrite).export(snapshot, out, open_corpus=_never)
        assert json.loads(out.read_text())["format"] == "gristmill-index"
    with pytest.raises(UsageError, match="no folder"):
        Index().export(snapshot, out / "x", open_corpus=_never)
    with pytest.raises(UsageError, match="exists"):
        Index(overwrite=True).export(snapshot, tmp_path, open_corpus=_never)
