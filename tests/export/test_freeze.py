"""From findings to a snapshot, on episodes in memory with real videos."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.errors import RecordingError, SnapshotError, UsageError
from gristmill.finding import Finding, Kind, Span
from gristmill.kept import Fill
from gristmill.select.align import Align
from gristmill.select.dropped_frames import DroppedFrames
from gristmill.snapshot import Snapshot
from gristmill.testing import reaching

TOP = "observation.images.top"


def _finding(row: int, check: str, *spans, kind: Kind = Kind.DEFECT, **more) -> Finding:
    return Finding(
        check=check, kind=kind, row=row, message="m", fix="f", spans_s=tuple(Span(*s) for s in spans), **more
    )


def _head(row: int, end_s: float) -> Finding:
    return _finding(row, "idle", (0.0, end_s), kind=Kind.RISK, code="idle_head")


def _verdicts(snapshot: Snapshot) -> list[tuple[str, list[str], list[str]]]:
    return [(e["verdict"], e["usable_for"], e["rules"]) for e in snapshot.episodes.to_pylist()]


def test_a_clean_corpus_is_kept_whole(bench) -> None:
    corpus = bench.corpus()
    snapshot = bench.freeze()
    assert _verdicts(snapshot) == [("keep", ["low_dim", "vision"], [])] * 4
    kept = snapshot.kept()
    assert [(s.start, s.stop, s.cameras, s.reencode, s.group) for s in kept] == [
        (0, n, (TOP,), (), "so101") for n in (60, 50, 40, 70)
    ]
    episodes = list(corpus.episodes(range(4)))
    state = np.concatenate([e.channels["observation.state"].values for e in episodes])
    stats = snapshot.stats["so101"]["observation.state"]
    np.testing.assert_allclose(stats["mean"], state.astype(np.float64).mean(axis=0))
    np.testing.assert_allclose(stats["q99"], np.quantile(state.astype(np.float64), 0.99, axis=0))
    row = snapshot.episodes.to_pylist()[0]
    assert row["camera_digests"] == [{"camera": TOP, "digest": episodes[0].cameras[TOP].packets().digest}]


def test_statistics_are_of_the_kept_frames_alone(bench) -> None:
    corpus = bench.corpus(video=False)
    snapshot = bench.freeze([_head(0, 2.1), _finding(1, "spike")])
    assert [(s.episode_index, s.start, s.stop) for s in snapshot.kept()] == [(0, 20, 60), (2, 0, 40), (3, 0, 70)]
    episodes = list(corpus.episodes(range(4)))
    parts = [e.channels["action"].values for e in episodes]
    action = np.concatenate([parts[0][20:], parts[2], parts[3]]).astype(np.float64)
    stats = snapshot.stats["so101"]["action"]
    np.testing.assert_allclose(stats["std"], action.std(axis=0))
    assert stats["count"].tolist() == [150]
    assert _verdicts(snapshot)[0] == ("trim", ["low_dim"], ["gate.idle", "trim.head"])
    assert _verdicts(snapshot)[1] == ("quarantine", [], ["gate.defects.spike"])


def test_cuts_are_aligned_before_freezing(bench) -> None:
    bench.corpus()
    snapshot = bench.freeze([_head(0, 2.2)])  # 22 frames, one stays: the cut is at 21, a keyframe at 22
    span = snapshot.kept()[0]
    assert (span.start, span.reencode) == (22, ())
    assert "align.moved" in span.rules
    span = bench.freeze([_head(0, 2.2)], align=Align(max_shift_frames=0)).kept()[0]
    assert (span.start, span.reencode) == (21, (TOP,))
    assert "align.reencode" in span.rules


def test_camera_trouble_leaves_the_low_dimensional_data(bench) -> None:
    corpus = bench.corpus()
    snapshot = bench.freeze([_finding(1, "black_frames", camera=TOP)])
    assert _verdicts(snapshot)[1] == ("keep", ["low_dim"], ["gate.defects.black_frames"])
    groups = {s.episode_index: (s.group, s.cameras) for s in snapshot.kept()}
    assert groups == {0: ("so101", (TOP,)), 1: ("so101-low_dim", ()), 2: ("so101", (TOP,)), 3: ("so101", (TOP,))}
    assert set(snapshot.stats) == {"so101", "so101-low_dim"}
    # A file that is gone costs the same, although no check looked.
    next(corpus.episodes([2])).cameras[TOP].path.unlink()
    verdict, usable, rules = _verdicts(bench.freeze())[2]
    assert (verdict, usable) == ("keep", ["low_dim"])
    assert rules[0].startswith("camera_left_out: ")


def test_a_camera_with_too_few_frames_is_left_behind(bench) -> None:
    corpus = bench.corpus()
    episode = next(corpus.episodes([1]))
    bench.lengths = (50,)
    short = bench.folder / "short.mp4"
    from gristmill.video.encode import encode

    encode(short, [np.zeros((45, 32, 48, 3), np.uint8)], 10.0)
    episode.cameras[TOP] = bench.camera(short, 50)  # type: ignore[index]
    verdict, usable, rules = _verdicts(bench.freeze())[1]
    assert (verdict, usable) == ("keep", ["low_dim"])
    assert "45 frames for 50 rows" in rules[0]


def _with_gap(bench, missing: int, **more):
    times = np.delete(np.arange(60 + missing), range(30, 30 + missing)) / 10.0
    return bench.add([reaching(0, frames=60, dims=3, rate_hz=10.0, times_s=times, corpus="made", **more)])


def test_gaps_by_severity(bench) -> None:
    _with_gap(bench, 3)
    gap = [_finding(0, "timestamps", (2.9, 3.3), code="time_gap")]
    with pytest.raises(UsageError, match="no episode is left"):
        bench.freeze(gap)
    snapshot = bench.freeze(gap, dropped_frames=DroppedFrames(tolerate_steps=3))
    assert _verdicts(snapshot) == [("keep", ["low_dim"], ["gate.defects.timestamps", "dropped_frames.tolerate"])]
    snapshot = bench.freeze(gap, dropped_frames=DroppedFrames(fill_steps=3))
    (span,) = snapshot.kept()
    assert span.fills == (Fill(29, 3),)
    assert len(span.rows) == 63
    assert np.flatnonzero(~span.observed).tolist() == [30, 31, 32]
    assert snapshot.stats["so101"]["action"]["count"].tolist() == [63]
    assert _verdicts(snapshot)[0][0] == "trim"


def test_a_gap_that_no_check_found_bad_condemns_nobody(bench) -> None:
    _with_gap(bench, 3)
    assert _verdicts(bench.freeze()) == [("keep", ["low_dim"], ["dropped_frames.tolerate"])]
    assert bench.freeze(dropped_frames=DroppedFrames(fill_steps=3)).kept()[0].fills == (Fill(29, 3),)


def test_other_defects_are_not_forgiven_with_the_gap(bench) -> None:
    _with_gap(bench, 1)
    with pytest.raises(UsageError):
        bench.freeze([_finding(0, "timestamps", code="time_gap"), _finding(0, "spike")])


def test_a_recording_that_changed_since_the_audit_is_refused(bench) -> None:
    bench.corpus(video=False)
    with pytest.raises(SnapshotError, match="made/000000: its values changed"):
        bench.freeze(audited=lambda d: d._replace(values=d.values[::-1]))


def test_an_unreadable_recording_is_dropped_and_said(bench) -> None:
    corpus = bench.corpus(video=False)
    plans = bench.plan()
    episode = next(corpus.episodes([2]))

    def torn():
        raise RecordingError("the page is torn")

    episode.load_channels = torn
    del episode.__dict__["channels"]
    verdict, usable, rules = _verdicts(bench.carry_out(plans))[2]
    assert (verdict, usable, rules) == ("drop", [], ["unreadable: the page is torn"])


def test_different_schemas_make_different_groups(bench) -> None:
    bench.corpus("one", video=False)
    bench.corpus("two", video=False, dims=4)
    bench.corpus("three", video=False, first=10, facts={"robot_type": "koch/v1.1"})
    snapshot = bench.freeze()
    assert {s.corpus: s.group for s in snapshot.kept()} == {"one": "so101", "two": "so101-2", "three": "koch-v1.1"}


def test_freezing_is_deterministic(bench) -> None:
    bench.corpus()
    one, two = bench.freeze([_head(0, 2.2)]), bench.freeze([_head(0, 2.2)])
    assert (one.id, one.data_hash) == (two.id, two.data_hash)
    assert bench.freeze([_head(0, 2.4)]).data_hash != one.data_hash
