"""Real recordings through reader, freeze and export."""

from __future__ import annotations

import json
from pathlib import Path

import av
import numpy as np
import pandas as pd
import pytest

from gristmill.export.lerobot import Lerobot
from gristmill.finding import Finding, Kind, Span
from gristmill.sources import open_path
from gristmill.video.decode import frames
from gristmill.video.packets import index_file


def _head(row: int, end_s: float) -> Finding:
    return Finding(
        check="idle", code="idle_head", kind=Kind.RISK, row=row, message="m", fix="f", spans_s=(Span(0, end_s),)
    )


def _rgb(path: Path, first: int, stop: int) -> np.ndarray:
    return np.stack([frame.to_ndarray(format="rgb24") for frame in frames(path, first, stop)])


@pytest.fixture
def exported(bench, tmp_path):
    """Freeze and export a corpus without episode 1 and with episode 2 trimmed by about a second."""

    def run(folder):
        corpus = open_path(folder)
        bench.corpora[corpus.facts.root] = corpus
        spike = Finding(check="spike", kind=Kind.DEFECT, row=1, message="m", fix="f")
        snapshot = bench.freeze([spike, _head(2, 1.03)])
        result = Lerobot().export(snapshot, tmp_path / "out", open_corpus=bench.open)
        return corpus, snapshot, result

    return run


def test_g1_frames_are_bit_identical(real_data, exported, read, tmp_path) -> None:
    _, snapshot, result = exported(real_data / "g1_inspire")
    assert (result.copied_frames, result.encoded_frames, result.notes) == (733, 0, ())
    written = read(tmp_path / "out")
    camera = "observation.images.cam_high"
    for new, (old, start) in enumerate(((0, 0), (2, 28), (3, 0))):
        assert written.episodes[new]["gristmill/start_frame"] == start
        source = pd.read_parquet(real_data / f"g1_inspire/data/chunk-000/episode_{old:06d}.parquet")
        np.testing.assert_array_equal(written.values("action", new), np.stack(source["action"])[start:])
        np.testing.assert_array_equal(written.values("task_index", new), source["task_index"][start:])
        video = real_data / f"g1_inspire/videos/chunk-000/{camera}/episode_{old:06d}.mp4"
        path, first = written.video(camera, new, rate_hz=30)
        n = len(source) - start
        # Every packet is the same; some frames at both ends are decoded to see that they decode alike.
        new_file, old_file = index_file(path), index_file(video)
        np.testing.assert_array_equal(new_file.content[first : first + n], old_file.content[start:])
        for at in (0, n - 8):
            got, want = (_rgb(p, a + at, a + at + 8) for p, a in ((path, first), (video, start)))
            np.testing.assert_array_equal(got, want)
    info = json.loads((tmp_path / "out/meta/info.json").read_text())
    raw = json.loads((real_data / "g1_inspire/meta/info.json").read_text())
    assert info["features"]["observation.state"] == raw["features"]["observation.state"]
    assert info["features"][camera]["info"] == raw["features"][camera]["info"]
    # Whole episodes keep the image statistics that their recorder took; the trimmed one has its own.
    told = json.loads((real_data / "g1_inspire/meta/episodes_stats.jsonl").read_text().splitlines()[0])["stats"]
    assert written.episodes[0][f"stats/{camera}/mean"] == told[camera]["mean"]
    assert written.episodes[1][f"stats/{camera}/count"] == [32]
    assert snapshot.kept()[1].rules == ("gate.idle", "trim.head")


def test_gr1_keeps_its_modality_and_task_numbers(real_data, exported, read, tmp_path) -> None:
    _, _, result = exported(real_data / "gr1_sim_picknplace")
    # One keyframe an episode: the trimmed episode has to be encoded anew, the others are copied.
    assert (result.copied_frames, result.encoded_frames) == (416 + 412 + 328, 470 - 19)
    assert result.notes == (
        "observation.images.egoview was not exported: declared, but the corpus holds no video of it",
        "observation.images.ego_view: 451 of 1607 frames were encoded anew, in h264",
    )
    written = read(tmp_path / "out")
    camera = "observation.images.ego_view"
    paths = (tmp_path / "out/videos").rglob("*.mp4")
    for path in paths:
        with av.open(str(path)) as container:
            assert container.streams.video[0].codec_context.name == "h264"
    assert (
        json.loads((tmp_path / "out/meta/info.json").read_text())["features"][camera]["info"]["video.codec"] == "h264"
    )
    modality = (real_data / "gr1_sim_picknplace/meta/modality.json").read_bytes()
    assert (tmp_path / "out/meta/modality.json").read_bytes() == modality
    tasks = pd.read_parquet(tmp_path / "out/meta/tasks.parquet")
    assert tasks.index.tolist()[:3] == [
        "pick the pear from the counter and place it in the plate",
        "valid",
        "pick the sweet potato from the counter and place it in the plate",
    ]
    source = pd.read_parquet(next(real_data.glob("gr1_sim_picknplace/data/*/episode_000003.parquet")))
    for key in ("task_index", "annotation.human.validity", "annotation.human.action.task_description", "next.done"):
        np.testing.assert_array_equal(written.values(key, 2), source[key])
    assert written.values("observation.state", 2).dtype == np.float64
    info = json.loads((tmp_path / "out/meta/info.json").read_text())
    assert info["fps"] == 20
    assert "video_info" not in info["features"]["observation.images.ego_view"]
    assert "observation.images.egoview" not in info["features"]


def test_pusht_loses_its_absent_camera_and_nothing_else(real_data, exported, read, tmp_path) -> None:
    _, snapshot, result = exported(real_data / "pusht_lowdim")
    (dataset,) = result.datasets
    assert (dataset.path, dataset.episodes) == (tmp_path / "out", 205)
    source = pd.read_parquet(real_data / "pusht_lowdim/data/chunk-000/file-000.parquet")
    kept = source[source["episode_index"] != 1]
    start = snapshot.kept()[1].start
    kept = kept[(kept["episode_index"] != 2) | (kept["frame_index"] >= start)]
    rows = read(tmp_path / "out").rows
    for key in ("observation.state", "action"):
        np.testing.assert_array_equal(np.array(rows[key].to_pylist()), np.stack(kept[key]))
    np.testing.assert_array_equal(rows["next.reward"].to_numpy(), kept["next.reward"])
    stats = json.loads((tmp_path / "out/meta/stats.json").read_text())
    states = np.stack(kept["observation.state"]).astype(np.float64)
    np.testing.assert_allclose(stats["observation.state"]["mean"], states.mean(axis=0))
    np.testing.assert_allclose(stats["observation.state"]["q99"], np.quantile(states, 0.99, axis=0))
    assert stats["observation.state"]["mean"] == snapshot.stats["unknown"]["observation.state"]["mean"].tolist()
