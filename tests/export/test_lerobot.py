"""Exports read back with pyarrow and PyAV: values, pixels, origin, tasks, and what happens when things go wrong."""

from __future__ import annotations

import errno
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.errors import GristmillError, SnapshotError, UsageError
from gristmill.export._encoding import encoding_like
from gristmill.export.lerobot import Lerobot, is_export
from gristmill.finding import Finding, Kind, Span
from gristmill.select.dropped_frames import DroppedFrames
from gristmill.select.trim import Trim
from gristmill.testing import reaching
from gristmill.video.encode import encode

TOP = "observation.images.top"


def _finding(row: int, check: str, *spans, kind: Kind = Kind.DEFECT, **more) -> Finding:
    return Finding(
        check=check, kind=kind, row=row, message="m", fix="f", spans_s=tuple(Span(*s) for s in spans), **more
    )


def _head(row: int, end_s: float) -> Finding:
    return _finding(row, "idle", (0.0, end_s), kind=Kind.RISK, code="idle_head")


def _export(bench, snapshot, out: Path, **more):
    return Lerobot(**more).export(snapshot, out, open_corpus=bench.open)


def _info(root: Path) -> dict:
    return json.loads((root / "meta" / "info.json").read_text())


def test_values_and_pixels(bench, read, decoded, tmp_path) -> None:
    corpus = bench.corpus()
    done = []
    snapshot = bench.freeze([_head(0, 2.2), _finding(1, "spike")])
    result = Lerobot().export(snapshot, tmp_path / "out", open_corpus=bench.open, progress=done.append)
    assert sum(done) == 3
    assert (result.copied_frames, result.encoded_frames, result.notes) == (38 + 40 + 70, 0, ())
    assert [(d.path, d.episodes, d.frames) for d in result.datasets] == [(tmp_path / "out", 3, 148)]
    written = read(tmp_path / "out")
    episodes = list(corpus.episodes(range(4)))
    for new, (old, start) in enumerate(((0, 22), (2, 0), (3, 0))):
        for key in ("observation.state", "action"):
            np.testing.assert_array_equal(written.values(key, new), episodes[old].channels[key].values[start:])
        np.testing.assert_array_equal(written.frames(TOP, new), decoded(episodes[old].cameras[TOP].path)[start:])
        n = len(episodes[old].times_s) - start
        np.testing.assert_allclose(written.values("timestamp", new), np.arange(n) / 10, rtol=1e-6)
    rows = written.episodes
    assert [(r["gristmill/episode_id"], r["gristmill/start_frame"], r["gristmill/stop_frame"]) for r in rows] == [
        ("made/000000", 22, 60),
        ("made/000002", 0, 40),
        ("made/000003", 0, 70),
    ]
    mark = json.loads((tmp_path / "out" / "meta" / "gristmill.json").read_text())
    assert (mark["data_hash"], mark["lineage_hash"]) == (snapshot.data_hash, snapshot.lineage_hash)
    assert str(tmp_path) not in json.dumps(mark), "paths of this machine do not travel"
    info = _info(tmp_path / "out")
    assert (info["robot_type"], info["fps"], info["splits"]) == ("so101", 10, {"train": "0:3"})
    stats = json.loads((tmp_path / "out" / "meta" / "stats.json").read_text())
    np.testing.assert_allclose(stats["action"]["mean"], snapshot.stats["so101"]["action"]["mean"])
    np.testing.assert_allclose(stats["action"]["q10"], snapshot.stats["so101"]["action"]["q10"])
    assert np.shape(stats[TOP]["mean"]) == (3, 1, 1)


def test_what_cannot_be_cut_is_encoded_anew(bench, read, decoded, tmp_path) -> None:
    corpus = bench.corpus(gop=1000)  # one keyframe an episode
    snapshot = bench.freeze([_head(0, 2.2)])
    result = _export(bench, snapshot, tmp_path / "out")
    assert (result.copied_frames, result.encoded_frames) == (160, 39)
    written = read(tmp_path / "out")
    episodes = list(corpus.episodes(range(4)))
    np.testing.assert_array_equal(written.frames(TOP, 3), decoded(episodes[3].cameras[TOP].path))
    new, old = written.frames(TOP, 0), decoded(episodes[0].cameras[TOP].path)[21:]
    assert new.shape == old.shape
    assert np.abs(new.astype(int) - old).mean() < 4
    assert result.notes == (f"{TOP}: 39 of 199 frames were encoded anew, in av1",)


@pytest.mark.parametrize(("codec", "name"), [("libx264", "h264"), ("libsvtav1", "av1")])
def test_frames_are_encoded_in_their_files_codec_and_nothing_is_seen_of_it(
    bench, read, decoded, tmp_path, codec, name
) -> None:
    corpus = bench.corpus(gop=1000, codec=codec)
    declared = {"dtype": "video", "shape": [480, 640, 3], "names": None, "info": {"video.codec": "vp9", "lab": "x"}}
    corpus.facts.features[TOP] = declared  # which is a lie
    snapshot = bench.freeze([_head(0, 2.2)])
    result = _export(bench, snapshot, tmp_path / "out")
    assert (result.copied_frames, result.encoded_frames) == (160, 39)
    assert result.notes == (f"{TOP}: 39 of 199 frames were encoded anew, in {name}",)
    for path in (tmp_path / "out" / "videos").rglob("*.mp4"):
        with av.open(str(path)) as container:
            assert container.streams.video[0].codec_context.name.replace("libdav1d", "av1") == name
    feature = _info(tmp_path / "out")["features"][TOP]
    assert (feature["info"]["video.codec"], feature["info"]["lab"]) == (name, "x")
    assert feature["shape"] == [feature["info"]["video.height"], feature["info"]["video.width"], 3] == [32, 48, 3]
    path, first = read(tmp_path / "out").video(TOP, 0)
    with av.open(str(path)) as container:
        keys = [p.is_keyframe for p in container.demux(video=0) if p.size][first : first + 39]
    assert sum(keys) >= 19  # every second one, so that any frame is near one
    old = decoded(next(iter(corpus.episodes([0]))).cameras[TOP].path)[21:].astype(float)
    error = ((read(tmp_path / "out").frames(TOP, 0) - old) ** 2).mean(axis=(1, 2, 3))
    assert 10 * np.log10(255**2 / error.max()) > 40  # dB, of the worst picture


@pytest.mark.parametrize(
    ("codec", "encoder"), [("av1", "libsvtav1"), ("h264", "libx264"), ("hevc", "libsvtav1"), ("", "libsvtav1")]
)
def test_what_encodes_frames_of_a_codec(codec, encoder) -> None:
    assert encoding_like(codec)["codec"] == encoder


@pytest.mark.parametrize("shape", [[0, 0, 3], [64], [1] * 9])
def test_the_size_of_a_camera_is_its_videos(bench, tmp_path, shape) -> None:
    corpus = bench.corpus()
    corpus.facts.features[TOP] = {"dtype": "video", "shape": shape, "names": None}
    _export(bench, bench.freeze(), tmp_path / "out")
    assert _info(tmp_path / "out")["features"][TOP]["shape"] == [32, 48, 3]


def test_a_camera_of_several_codecs_is_told(bench, decoded, tmp_path) -> None:
    path = next(iter(bench.corpus().episodes([1]))).cameras[TOP].path
    encode(path, [decoded(path)], 10.0, codec="libx264", preset=None)
    result = _export(bench, bench.freeze(), tmp_path / "out")
    assert result.notes == (
        f"{TOP} holds av1 (170 frames), h264 (50 frames); info.json names the first, loaders look into each file",
    )
    assert _info(tmp_path / "out")["features"][TOP]["info"]["video.codec"] == "av1"


def test_a_task_that_is_no_text_is_written_as_one(bench, read, tmp_path) -> None:
    bench.corpus(video=False, tasks=("lift \ud800 it",), facts={"tasks": {0: "lift \ud800 it"}})
    result = _export(bench, bench.freeze(), tmp_path / "out")
    tasks = pq.read_table(tmp_path / "out/meta/tasks.parquet")["task"].to_pylist()
    assert tasks == ["lift \ufffd it"]
    assert read(tmp_path / "out").episodes[0]["tasks"] == ["lift \ufffd it"]
    (note,) = result.notes
    assert "could not be read; they were written as U+FFFD" in note


def test_a_pause_gives_two_episodes(bench, read, tmp_path) -> None:
    bench.corpus(video=False)
    pause = _finding(3, "idle", (2.0, 5.0), kind=Kind.RISK, code="idle_middle")
    snapshot = bench.freeze([pause], trim=Trim(cut_pauses_over_s=1.0))
    _export(bench, snapshot, tmp_path / "out")
    rows = read(tmp_path / "out").episodes
    assert [(r["gristmill/episode_index"], r["length"]) for r in rows] == [(0, 60), (1, 50), (2, 40), (3, 25), (3, 25)]


def test_filled_steps_are_marked(bench, read, decoded, tmp_path) -> None:
    bench.lengths = (60,)
    path = next(bench.corpus("source").episodes([0])).cameras[TOP].path
    bench.corpora.clear()
    times = np.delete(np.arange(63), range(30, 33)) / 10.0
    camera = {TOP: bench.camera(path, 60)}
    gap = reaching(0, frames=60, dims=3, rate_hz=10.0, times_s=times, corpus="made", cameras=camera)
    bench.add([gap, reaching(1, frames=40, dims=3, rate_hz=10.0, corpus="made")])
    snapshot = bench.freeze(dropped_frames=DroppedFrames(fill_steps=3))
    _export(bench, snapshot, tmp_path / "out")
    written = read(tmp_path / "out")
    assert np.flatnonzero(~written.values("is_observed", 0)).tolist() == [30, 31, 32]
    action = written.values("action", 0)
    np.testing.assert_array_equal(action[29:34], gap.channels["action"].values[[29, 29, 29, 29, 30]])
    np.testing.assert_allclose(written.values("timestamp", 0)[-1], 6.2)
    frames = written.frames(TOP, 0)
    assert len(frames) == 63
    want = decoded(path)[[*range(30), 29, 29, 29, *range(30, 60)]]
    assert np.abs(frames.astype(int) - want).mean() < 4
    assert "is_observed" not in read(tmp_path / "out" / "so101-low_dim").rows.schema.names


def test_one_dataset_a_schema(bench, read, tmp_path) -> None:
    bench.corpus()
    snapshot = bench.freeze([_finding(1, "black_frames", camera=TOP)])
    result = _export(bench, snapshot, tmp_path / "out")
    assert [(d.group, d.path.name, d.episodes) for d in result.datasets] == [
        ("so101", "out", 3),
        ("so101-low_dim", "so101-low_dim", 1),
    ]
    assert is_export(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "gristmill.json").read_text())["datasets"] == ["so101", "so101-low_dim"]
    assert TOP not in _info(tmp_path / "out" / "so101-low_dim")["features"]
    assert [r["gristmill/episode_index"] for r in read(tmp_path / "out").episodes] == [0, 2, 3]
    assert [r["gristmill/episode_index"] for r in read(tmp_path / "out" / "so101-low_dim").episodes] == [1]


def test_declared_image_statistics_are_carried_over_for_whole_episodes_only(bench, read, tmp_path) -> None:
    declared = {
        "min": np.full(3, 0.125),
        "max": np.full(3, 0.75),
        "mean": np.full(3, 0.5),
        "std": np.full(3, 0.25),
        "count": [9],
    }
    bench.corpus(declared_stats={TOP: declared})
    _export(bench, bench.freeze([_head(0, 2.2)]), tmp_path / "out")
    rows = read(tmp_path / "out").episodes
    assert rows[0][f"stats/{TOP}/count"] == [32]  # of 38 frames, as many as are sampled
    assert np.ravel(rows[1][f"stats/{TOP}/mean"]).tolist() == [0.5] * 3
    assert not any(k.startswith(f"stats/{TOP}/q") for k in rows[0])


def _carrying(index: int, corpus: str = "made", **more):
    """An episode with task numbers in a column of their own and two tasks."""
    count = np.arange(20)
    numbers = {
        "timestamp": (count / 10).astype(np.float32),
        "frame_index": count,
        "episode_index": np.full(20, index),
        "index": count,
        "task_index": np.where(count < 5, 2, 0),
    }
    return reaching(
        index,
        frames=20,
        dims=3,
        rate_hz=10.0,
        corpus=corpus,
        index_columns=numbers,
        extra={"annotation.human.validity": ("other", np.full((20, 1), 1)), "next.done": ("done", count == 19)},
        **more,
    )


def _notes(corpus: str, index: int) -> dict:
    return {"note": [f"{corpus} {index} {i}" for i in range(20)]}


def _features(*more: str) -> dict:
    number = {"dtype": "float32", "shape": [3], "names": ["a", "b", "c"], "unit": "rad"}
    return {
        "observation.state": number,
        "action": number,
        "annotation.human.validity": {"dtype": "int64", "shape": [1], "names": None},
        "next.done": {"dtype": "bool", "shape": [1], "names": None},
        **{key: {"dtype": "string", "shape": [1], "names": None} for key in more},
    }


def test_what_no_check_reads_travels_too(bench, read, tmp_path) -> None:
    bench.folder.mkdir()
    modality = bench.folder / "any name"
    modality.write_text('{"annotation": {"human.validity": {}}}')
    bench.add(
        [_carrying(0, tasks=("pick", "place")), _carrying(1, tasks=("pick",))],
        tasks={0: "pick", 1: "valid", 2: "place"},
        columns=[_notes("made", 0), _notes("made", 1)],
        side_files={"meta/modality.json": modality, "meta/gristmill.json": modality},
        features=_features("note", "lost"),
        info={"fps": 10, "lab": "north", "features": {}, "total_videos": 3},
        unread={"observation.depth": "depth is not decoded"},
    )
    result = _export(bench, bench.freeze([_head(1, 1.1)]), tmp_path / "out")
    written = read(tmp_path / "out")
    assert written.values("note", 1).tolist() == [f"made 1 {i}" for i in range(10, 20)]
    assert (tmp_path / "out/meta/modality.json").read_text() == '{"annotation": {"human.validity": {}}}'
    assert "made_by" in json.loads((tmp_path / "out/meta/gristmill.json").read_text())
    info = _info(tmp_path / "out")
    assert (info["lab"], info["total_tasks"]) == ("north", 3)
    assert "total_videos" not in info
    assert info["features"]["action"]["unit"] == "rad"
    assert info["features"]["next.done"]["dtype"] == "bool"
    assert written.values("next.done", 0).tolist() == [False] * 19 + [True]
    # Task numbers stay what they were, also in columns that refer to them.
    assert written.values("task_index", 0).tolist() == [2] * 5 + [0] * 15
    assert written.values("annotation.human.validity", 0).tolist() == [1] * 20
    assert [r["tasks"] for r in written.episodes] == [["pick", "place"], ["pick"]]
    assert sorted(result.notes) == [
        "lost (string) was not exported: episode 0: there is no column lost",
        "observation.depth was not exported: depth is not decoded",
    ]


def test_task_numbers_of_several_corpora_are_translated(bench, read, tmp_path) -> None:
    one = {"tasks": {0: "pick", 1: "valid", 2: "place"}, "features": _features("note")}
    two = {"tasks": {0: "pour", 1: "valid", 2: "pick"}, "features": _features("note")}
    bench.add([_carrying(0, "one", tasks=("pick",))], key="one", columns=[_notes("one", 0)], **one)
    bench.add([_carrying(5, "two", tasks=("pour",))], key="two", columns=[_notes("two", 5)], **two)
    _export(bench, bench.freeze(), tmp_path / "out")
    written = read(tmp_path / "out")
    table = pq.read_table(tmp_path / "out/meta/tasks.parquet")
    assert table["task"].to_pylist() == ["pick", "valid", "place", "pour"]
    assert written.values("task_index", 1).tolist() == [0] * 5 + [3] * 15
    assert written.values("annotation.human.validity", 1).tolist() == [1] * 20
    assert [r["gristmill/corpus"] for r in written.episodes] == ["one", "two"]
    assert written.values("note", 1)[0] == "two 5 0"


def test_splits_become_ranges(bench, read, tmp_path) -> None:
    bench.corpus(video=False)
    snapshot = bench.freeze()
    spans = snapshot.spans.to_pylist()
    spans[1]["split"] = "val"
    snapshot = replace(snapshot, spans=pa.Table.from_pylist(spans, schema=snapshot.spans.schema))
    _export(bench, snapshot, tmp_path / "out")
    assert _info(tmp_path / "out")["splits"] == {"train": "0:3", "val": "3:4"}
    assert [r["gristmill/episode_index"] for r in read(tmp_path / "out").episodes] == [0, 2, 3, 1]


# -- what must not happen -----------------------------------------------------------------------


def test_changed_recordings_are_refused(bench, tmp_path) -> None:
    corpus = bench.corpus()
    snapshot = bench.freeze()
    episodes = list(corpus.episodes(range(4)))
    changed = reaching(2, frames=40, dims=3, rate_hz=10.0, corpus="made", cameras=episodes[2].cameras, tasks=("other",))
    bench.add([*episodes[:2], changed, episodes[3]])
    with pytest.raises(SnapshotError, match=r"made/000002 changed since the snapshot was frozen \(task\)"):
        _export(bench, snapshot, tmp_path / "out")
    bench.add(episodes[:2])
    with pytest.raises(SnapshotError, match="episode 2 is gone"):
        _export(bench, snapshot, tmp_path / "out")
    path = episodes[1].cameras[TOP].path
    encode(path, [np.zeros((50, 32, 48, 3), np.uint8)], 10.0)
    episodes[1].cameras = {TOP: bench.camera(path, 50)}
    bench.add(episodes)
    with pytest.raises(SnapshotError, match=f"made/000001 changed .*camera {TOP}"):
        _export(bench, snapshot, tmp_path / "out")
    path.unlink()
    episodes[1].cameras = {TOP: bench.camera(path, 50)}
    with pytest.raises(SnapshotError, match="made/000001 cannot be read any more"):
        _export(bench, snapshot, tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["raw"]


def test_only_an_export_of_ours_is_replaced_and_only_when_asked(bench, tmp_path) -> None:
    bench.corpus(video=False)
    snapshot = bench.freeze()
    out = tmp_path / "out"
    (out / "meta").mkdir(parents=True)
    (out / "meta" / "info.json").write_text("{}")
    for overwrite, why in ((False, "not empty"), (True, "did not write")):
        with pytest.raises(UsageError, match=why):
            _export(bench, snapshot, out, overwrite=overwrite)
        with pytest.raises(UsageError, match=why):
            Lerobot(overwrite=overwrite).check(out, snapshot.roots.values())
    Lerobot().check(tmp_path / "free", snapshot.roots.values())
    assert (out / "meta" / "info.json").read_text() == "{}"
    other = tmp_path / "other"
    _export(bench, snapshot, other)
    with pytest.raises(UsageError, match="not empty"):
        _export(bench, snapshot, other)
    _export(bench, bench.freeze([_finding(0, "spike")]), other, overwrite=True)
    assert _info(other)["total_episodes"] == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "out", "raw"]


@pytest.mark.parametrize("low_dim", [False, True])
def test_files_of_the_user_are_never_deleted(bench, tmp_path, low_dim) -> None:
    bench.corpus(video=low_dim)
    # An episode whose camera is of no use makes a dataset within a dataset.
    snapshot = bench.freeze([_finding(1, "black_frames", camera=TOP)] if low_dim else [])
    out = tmp_path / "out"
    _export(bench, snapshot, out)
    before = {p.relative_to(out) for p in out.rglob("*")}
    assert (out / "so101-low_dim").is_dir() == low_dim
    (out / "mine.txt").write_text("x")
    (out / "meta" / "linked").symlink_to(tmp_path)
    for ask in (_export, lambda _b, s, o, **_: Lerobot(overwrite=True).check(o, s.roots.values())):
        with pytest.raises(UsageError, match=r"did not write \(meta/linked, mine\.txt\)"):
            ask(bench, snapshot, out, overwrite=True)
    assert (out / "mine.txt").read_text() == "x"
    (out / "mine.txt").unlink()
    (out / "meta" / "linked").unlink()
    link = tmp_path / "link"
    link.symlink_to(out)
    _export(bench, snapshot, link, overwrite=True)
    assert link.is_symlink()
    assert {p.relative_to(out) for p in out.rglob("*")} == before


@pytest.mark.parametrize("where", ["raw/made", "raw/made/sub", "raw", "link"])
def test_the_corpus_is_never_written_to(bench, tmp_path, where) -> None:
    bench.corpus(video=False)
    snapshot = bench.freeze()
    (tmp_path / "link").symlink_to(bench.folder / "made")
    before = sorted(bench.folder.rglob("*"))
    with pytest.raises(UsageError, match="overlaps the recordings"):
        _export(bench, snapshot, tmp_path / where, overwrite=True)
    assert sorted(bench.folder.rglob("*")) == before


def test_a_full_disk_leaves_the_old_export(bench, tmp_path, monkeypatch) -> None:
    bench.corpus()
    out = tmp_path / "out"
    _export(bench, bench.freeze(), out)
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10))
    with pytest.raises(GristmillError, match="No space left") as caught:
        _export(bench, bench.freeze([_finding(0, "spike")]), out, overwrite=True)
    assert caught.value.exit_status == 70
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "raw"]


def test_a_full_disk_while_rows_are_written(bench, tmp_path, monkeypatch) -> None:
    bench.corpus(video=False)
    snapshot = bench.freeze()

    def full(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(GristmillError, match="No space left"):
        _export(bench, snapshot, tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["raw"]


def test_an_interrupt_leaves_nothing(bench, tmp_path) -> None:
    bench.corpus()

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Lerobot().export(bench.freeze(), tmp_path / "out", open_corpus=bench.open, progress=interrupt)
    assert [p.name for p in tmp_path.iterdir()] == ["raw"]


def test_leftovers_of_a_killed_export_are_cleaned(bench, tmp_path) -> None:
    bench.corpus(video=False)
    left = tmp_path / "out.partial-00c0ffee"
    (left / "payload" / "data").mkdir(parents=True)
    (left / "payload.partial-12345678" / "payload").mkdir(parents=True)
    _export(bench, bench.freeze(), tmp_path / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "raw"]


def test_exports_are_deterministic(bench, tmp_path) -> None:
    bench.corpus()
    snapshot = bench.freeze([_head(0, 2.2)])
    for name in ("one", "two"):
        _export(bench, snapshot, tmp_path / name)
    files = sorted(p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*") if p.is_file())
    assert any(p.suffix == ".mp4" for p in files)
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
