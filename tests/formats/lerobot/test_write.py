"""Datasets as written, read back with pandas, pyarrow and PyAV alone."""

from __future__ import annotations

import json
from pathlib import Path

import av
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.errors import SnapshotError, UsageError, VideoError
from gristmill.formats.lerobot.image_statistics import PixelHistogram
from gristmill.formats.lerobot.write import DatasetWriter, PacketRange, Pictures, is_ours
from gristmill.statistics import QUANTILES

TOP = "observation.images.top"
FEATURES = {
    "observation.state": {"dtype": "float32", "shape": [3], "names": ["a", "b", "c"], "fps": 30.0},
    "action": {"dtype": "float32", "shape": [1]},
    "grid": {"dtype": "float64", "shape": [2, 2], "names": None},
    "next.done": {"dtype": "bool", "shape": [1], "names": None},
    "note": {"dtype": "string", "shape": [1], "names": None},
}
HWC = ["height", "width", "channels"]
VIDEO = {TOP: {"dtype": "video", "shape": [32, 48, 3], "names": ["height", "width", "channels"]}}


def _columns(n: int, seed: int) -> dict:
    rng = np.random.default_rng(seed)
    return {
        "observation.state": rng.normal(size=(n, 3)).astype(np.float32),
        "action": rng.normal(size=(n, 1)).astype(np.float32),
        "grid": rng.normal(size=(n, 2, 2)),
        "next.done": np.arange(n) == n - 1,
        "note": [f"row {i}" for i in range(n)],
    }


def _pictures(n: int, seed: int) -> np.ndarray:
    """Slow gradients, which survive encoding well."""
    y, x = np.mgrid[:32, :48]
    base = np.stack([4 * x, 6 * y, np.full_like(x, 60)], axis=-1)
    return np.stack([np.clip(base + seed * 10 + i, 0, 255) for i in range(n)]).astype(np.uint8)


def _rows(root: Path) -> pa.Table:
    return pa.concat_tables([pq.read_table(p) for p in sorted(root.glob("data/*/*.parquet"))])


def _episodes(root: Path) -> list[dict]:
    return pa.concat_tables([pq.read_table(p) for p in sorted(root.glob("meta/episodes/*/*.parquet"))]).to_pylist()


def _decode(path: Path) -> tuple[np.ndarray, list[float]]:
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
    return np.stack([f.to_ndarray(format="rgb24") for f in frames]), [float(f.pts * f.time_base) for f in frames]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("written") / "dataset"
    with DatasetWriter(
        root,
        fps=30.0,
        features=FEATURES | VIDEO,
        robot_type="so101",
        info_extra={"lab": "x", "fps": 99},
        tasks=["unused"],
        origin={"from": "test"},
    ) as writer:
        for i, n in enumerate((5, 8, 3)):
            part = Pictures(chunks=np.array_split(_pictures(n, i), 2), frames=n)
            index = writer.add_episode(
                _columns(n, i),
                ["lift", "place"] if i == 1 else ["lift"],
                {TOP: part},
                task_of_frame=np.array([0, 0, 0, 0, 1, 1, 1, 1]) if i == 1 else None,
                extra={"gristmill/corpus": "made", "gristmill/weight": 0.5, "gristmill/none": None},
            )
            assert index == i
        assert writer.close(splits={"train": "0:2", "val": "2:3"}) == root
    return root


def test_info(dataset) -> None:
    info = json.loads((dataset / "meta" / "info.json").read_text())
    assert info["codebase_version"] == "v3.0"
    assert (info["total_episodes"], info["total_frames"], info["total_tasks"]) == (3, 16, 3)
    assert info["fps"] == 30
    assert isinstance(info["fps"], int)
    assert info["lab"] == "x"
    assert info["splits"] == {"train": "0:2", "val": "2:3"}
    assert info["features"]["observation.state"] == FEATURES["observation.state"]
    assert info["features"]["action"]["names"] is None
    video = info["features"][TOP]["info"]
    assert (video["video.height"], video["video.width"], video["video.codec"], video["video.fps"]) == (
        32,
        48,
        "av1",
        30,
    )
    assert list(info["features"])[-5:] == ["timestamp", "frame_index", "episode_index", "index", "task_index"]
    assert is_ours(dataset)
    assert json.loads((dataset / "meta" / "gristmill.json").read_text())["from"] == "test"


def test_rows(dataset) -> None:
    table = _rows(dataset)
    assert table["index"].to_pylist() == list(range(16))
    assert table["episode_index"].to_pylist() == [0] * 5 + [1] * 8 + [2] * 3
    assert table["frame_index"].to_pylist() == [*range(5), *range(8), *range(3)]
    assert table["task_index"].to_pylist() == [1] * 9 + [2] * 4 + [1] * 3
    want = np.concatenate([np.arange(n, dtype=np.float32) / np.float32(30) for n in (5, 8, 3)])
    np.testing.assert_allclose(table["timestamp"].to_numpy(), want, rtol=1e-6)
    assert table.schema.field("timestamp").type == pa.float32()
    assert table.schema.field("observation.state").type == pa.list_(pa.float32(), 3)
    assert table.schema.field("action").type == pa.float32()
    assert TOP not in table.schema.names
    parts = [_columns(n, i) for i, n in enumerate((5, 8, 3))]
    state = np.concatenate([p["observation.state"] for p in parts])
    np.testing.assert_array_equal(np.array(table["observation.state"].to_pylist(), np.float32), state)
    np.testing.assert_array_equal(np.array(table["grid"].to_pylist()), np.concatenate([p["grid"] for p in parts]))
    assert table["note"].to_pylist() == [t for p in parts for t in p["note"]]
    note = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert note["grid"] == {"shape": [2, 2], "dtype": "float64", "_type": "Array2D"}
    assert note["observation.state"]["length"] == 3


def test_tasks_are_a_pandas_frame_by_text(dataset) -> None:
    tasks = pd.read_parquet(dataset / "meta" / "tasks.parquet")
    assert tasks.index.name == "task"
    assert tasks.index.tolist() == ["unused", "lift", "place"]
    assert tasks["task_index"].tolist() == [0, 1, 2]


def test_episodes(dataset) -> None:
    rows = _episodes(dataset)
    assert [r["episode_index"] for r in rows] == [0, 1, 2]
    assert [(r["dataset_from_index"], r["dataset_to_index"], r["length"]) for r in rows] == [
        (0, 5, 5),
        (5, 13, 8),
        (13, 16, 3),
    ]
    assert [r["tasks"] for r in rows] == [["lift"], ["lift", "place"], ["lift"]]
    starts = [r[f"videos/{TOP}/from_timestamp"] for r in rows]
    np.testing.assert_allclose(starts, np.array([0, 5, 13]) / 30)
    assert {r[f"videos/{TOP}/file_index"] for r in rows} == {0}
    assert all(r["meta/episodes/chunk_index"] == r["meta/episodes/file_index"] == 0 for r in rows)
    assert [r["gristmill/corpus"] for r in rows] == ["made"] * 3
    assert [r["gristmill/weight"] for r in rows] == [0.5] * 3
    for i, row in enumerate(rows):
        state = _columns(row["length"], i)["observation.state"].astype(np.float64)
        np.testing.assert_allclose(row["stats/observation.state/mean"], state.mean(axis=0))
        np.testing.assert_allclose(row["stats/observation.state/q90"], np.quantile(state, 0.9, axis=0))
        assert row["stats/observation.state/count"] == [row["length"]]
        assert np.shape(row[f"stats/{TOP}/mean"]) == (3, 1, 1)
        assert np.shape(row["stats/grid/max"]) == (2, 2)
    assert not any(k.startswith("stats/note") for k in rows[0])


def test_statistics(dataset) -> None:
    stats = json.loads((dataset / "meta" / "stats.json").read_text())
    parts = [_columns(n, i) for i, n in enumerate((5, 8, 3))]
    for key in ("observation.state", "action", "grid", "next.done"):
        rows = np.concatenate([p[key] for p in parts]).astype(np.float64)
        rows = rows[:, None] if rows.ndim == 1 else rows
        found = stats[key]
        np.testing.assert_allclose(found["min"], rows.min(axis=0))
        np.testing.assert_allclose(found["max"], rows.max(axis=0))
        np.testing.assert_allclose(found["mean"], rows.mean(axis=0), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found["std"], rows.std(axis=0), rtol=1e-9)
        assert found["count"] == [16]
        for name, share in QUANTILES.items():
            np.testing.assert_allclose(found[name], np.quantile(rows, share, axis=0), rtol=1e-9, atol=1e-12)
    assert stats["index"]["max"] == [15]
    pixels = np.concatenate([_pictures(n, i) for i, n in enumerate((5, 8, 3))]).reshape(-1, 3) / 255
    np.testing.assert_allclose(np.ravel(stats[TOP]["mean"]), pixels.mean(axis=0))
    np.testing.assert_allclose(np.ravel(stats[TOP]["std"]), pixels.std(axis=0))
    np.testing.assert_allclose(np.ravel(stats[TOP]["q10"]), np.quantile(pixels, 0.1, axis=0))
    assert stats[TOP]["count"] == [16]
    assert "note" not in stats


def test_pictures(dataset) -> None:
    frames, times_s = _decode(dataset / "videos" / TOP / "chunk-000" / "file-000.mp4")
    np.testing.assert_allclose(times_s, np.arange(16) / 30, atol=1e-9)
    want = np.concatenate([_pictures(n, i) for i, n in enumerate((5, 8, 3))])
    assert np.abs(frames.astype(int) - want).mean() < 4


def test_copied_packets_decode_to_the_same_pixels(dataset, tmp_path) -> None:
    source = dataset / "videos" / TOP / "chunk-000" / "file-000.mp4"
    features = {"action": FEATURES["action"]} | VIDEO
    histogram = PixelHistogram()
    histogram.add(_pictures(3, 0))
    with DatasetWriter(tmp_path / "cut", fps=30, features=features, robot_type=None) as writer:
        # The episodes begin at frames 0, 5 and 13, each of them a keyframe of its own encoding.
        for start, n, stats in ((13, 3, histogram), (0, 5, histogram), (5, 4, None)):
            part = PacketRange(path=source, start_frame=start, frames=n, stats=stats)
            writer.add_episode({"action": np.zeros(n, np.float32)}, [""], {TOP: part})
        root = writer.close()
    whole, _ = _decode(source)
    cut, times_s = _decode(root / "videos" / TOP / "chunk-000" / "file-000.mp4")
    np.testing.assert_array_equal(cut, np.concatenate([whole[13:16], whole[:5], whole[5:9]]))
    np.testing.assert_allclose(times_s, np.arange(12) / 30, atol=1e-9)
    stats = json.loads((root / "meta" / "stats.json").read_text())
    assert TOP not in stats, "one episode came without"
    assert not any(k.startswith(f"stats/{TOP}") for k in _episodes(root)[0])


def test_parts_that_cannot_share_a_file_get_their_own(dataset, tmp_path) -> None:
    source = dataset / "videos" / TOP / "chunk-000" / "file-000.mp4"
    features = {"action": FEATURES["action"]} | VIDEO
    other = Pictures(chunks=[np.zeros((4, 64, 64, 3), np.uint8)], frames=4)
    with DatasetWriter(tmp_path / "mixed", fps=30, features=features, robot_type="x") as writer:
        for part in (PacketRange(path=source, start_frame=0, frames=5), other):
            writer.add_episode({"action": np.zeros(part.frames, np.float32)}, ["t"], {TOP: part})
        writer.add_episode(
            {"action": np.zeros(3, np.float32)}, ["t"], {TOP: PacketRange(path=source, start_frame=13, frames=3)}
        )
        root = writer.close()
    rows = _episodes(root)
    assert [r[f"videos/{TOP}/file_index"] for r in rows] == [0, 1, 0]
    np.testing.assert_allclose([r[f"videos/{TOP}/from_timestamp"] for r in rows], [0, 0, 5 / 30])


def test_files_roll_over_by_size(tmp_path) -> None:
    features = {"x": {"dtype": "float64", "shape": [1024]}} | VIDEO
    n = 40  # 320 KB of values an episode: three to a megabyte
    noise = np.random.default_rng(0)
    with DatasetWriter(
        tmp_path / "big", fps=10, features=features, robot_type="x", data_files_size_in_mb=1, video_files_size_in_mb=1
    ) as writer:
        for _ in range(8):
            pictures = Pictures(chunks=[noise.integers(0, 256, (n, 32, 48, 3), dtype=np.uint8)], frames=n)
            writer.add_episode({"x": noise.normal(size=(n, 1024))}, ["t"], {TOP: pictures})
        root = writer.close()
    rows = _episodes(root)
    files = [r["data/file_index"] for r in rows]
    assert files == [0, 0, 0, 1, 1, 1, 2, 2]
    for row in rows:
        table = pq.read_table(root / f"data/chunk-000/file-{row['data/file_index']:03d}.parquet")
        own = table.filter(pa.compute.equal(table["episode_index"], row["episode_index"]))
        assert own["index"].to_pylist() == list(range(row["dataset_from_index"], row["dataset_to_index"]))
    assert _rows(root)["index"].to_pylist() == list(range(8 * n))


def test_images_in_the_table(tmp_path) -> None:
    from io import BytesIO

    def png(picture: np.ndarray) -> bytes:
        buffer = BytesIO()
        with av.open(buffer, "w", format="image2pipe") as out:
            stream = out.add_stream("png", rate=1)
            stream.height, stream.width, stream.pix_fmt = *picture.shape[:2], "rgb24"
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            out.mux(stream.encode())
        return buffer.getvalue()

    pictures = _pictures(3, 0)
    features = {TOP: {"dtype": "image", "shape": [32, 48, 3], "names": ["height", "width", "channels"]}}
    with DatasetWriter(tmp_path / "images", fps=10, features=features, robot_type="x") as writer:
        writer.add_episode({TOP: [png(p) for p in pictures]}, ["t"])
        root = writer.close()
    cell = _rows(root)[TOP].to_pylist()[1]
    assert cell["path"] is None
    with av.open(BytesIO(cell["bytes"]), mode="r") as container:
        np.testing.assert_array_equal(next(container.decode(video=0)).to_ndarray(format="rgb24"), pictures[1])
    stats = json.loads((root / "meta" / "stats.json").read_text())
    np.testing.assert_allclose(np.ravel(stats[TOP]["max"]), pictures.reshape(-1, 3).max(axis=0) / 255)
    assert json.loads((root / "meta" / "info.json").read_text())["video_path"] is None
    with (
        pytest.raises(VideoError, match="image 0 does not decode"),
        DatasetWriter(tmp_path / "bad", fps=10, features=features, robot_type="x") as writer,
    ):
        writer.add_episode({TOP: [b"no picture"]}, ["t"])
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action": None}, r"missing features \['action'\]"),
        ({"more": np.zeros(4)}, r"undeclared features \['more'\]"),
        ({"action": np.zeros(3, np.float32)}, "same number of frames"),
        ({"observation.state": np.zeros((4, 2), np.float32)}, "do not fit 4 rows"),
        ({"next.done": np.ones(4)}, "do not fit the declared bool"),
    ],
)
def test_refuses_what_does_not_fit(tmp_path, change, message) -> None:
    columns = {k: v for k, v in (_columns(4, 0) | change).items() if v is not None}
    with (
        pytest.raises(UsageError, match=message),
        DatasetWriter(tmp_path / "out", fps=30, features=FEATURES, robot_type="x") as writer,
    ):
        writer.add_episode(columns, ["t"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"a/b": {"dtype": "float32", "shape": [1]}}, "no '/'"),
        ({"a": {"dtype": "object", "shape": [1]}}, "cannot be written"),
        ({"a": {"dtype": "float32", "shape": [0]}}, "positive sizes"),
    ],
)
def test_refuses_features_that_lerobot_cannot_load(tmp_path, features, message) -> None:
    with pytest.raises(UsageError, match=message):
        DatasetWriter(tmp_path / "out", fps=30, features=features, robot_type="x")
    assert not list(tmp_path.iterdir())


def test_an_empty_dataset_is_refused(tmp_path) -> None:
    with (
        pytest.raises(UsageError, match="at least one episode"),
        DatasetWriter(tmp_path / "out", fps=30, features=FEATURES, robot_type="x") as writer,
    ):
        writer.close()
    assert not list(tmp_path.iterdir())


def test_values_that_are_not_finite_do_not_spoil_the_json(tmp_path) -> None:
    features = {"x": {"dtype": "float32", "shape": [2]}, "y": {"dtype": "float32", "shape": [1]}}
    x = np.array([[1, np.nan], [3, 4], [np.nan, 8]], np.float32)
    with DatasetWriter(tmp_path / "out", fps=30, features=features, robot_type="x") as writer:
        writer.add_episode({"x": x, "y": np.full(3, np.nan, np.float32)}, ["t"])
        root = writer.close()
    stats = json.loads((root / "meta" / "stats.json").read_text(), parse_constant=pytest.fail)
    assert stats["x"]["mean"] == [2, 6]
    assert "y" not in stats
    assert not any(k.startswith("stats/y/") for k in _episodes(root)[0])


def test_writing_is_deterministic(tmp_path) -> None:
    for name in ("one", "two"):
        with DatasetWriter(tmp_path / name, fps=30, features=FEATURES, robot_type="x") as writer:
            for i in range(3):
                writer.add_episode(_columns(20, i), ["t"])
            writer.close()
    files = sorted(p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*") if p.is_file())
    assert files
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_a_file_that_was_not_written_whole_is_noticed(tmp_path, monkeypatch) -> None:
    features = {"action": FEATURES["action"]} | VIDEO
    with DatasetWriter(tmp_path / "out", fps=30, features=features, robot_type="x") as writer:
        part = Pictures(chunks=[_pictures(6, 0)], frames=6)
        writer.add_episode({"action": np.zeros(6, np.float32)}, ["t"], {TOP: part})
        monkeypatch.setattr("gristmill.formats.lerobot.write_check._frames", lambda path: 5)
        with pytest.raises(SnapshotError, match=r"5 frames in videos/.*file-000.mp4 where 6 were written"):
            writer.close()
    assert not list(tmp_path.iterdir())


def test_statistics_of_what_is_called_an_image_but_is_none_stay_out_of_the_episodes(tmp_path) -> None:
    features = {"image_embedding": {"dtype": "float32", "shape": [4]}}
    with DatasetWriter(tmp_path / "out", fps=30, features=features, robot_type="x") as writer:
        writer.add_episode({"image_embedding": np.ones((3, 4), np.float32)}, ["t"])
        root = writer.close()
    assert not any(k.startswith("stats/image_embedding") for k in _episodes(root)[0])
    assert json.loads((root / "meta" / "stats.json").read_text())["image_embedding"]["mean"] == [1, 1, 1, 1]


def test_language_columns_pass_through(tmp_path) -> None:
    nested = pa.array([[{"role": "user", "content": f"say {i}"}] for i in range(3)])
    features = {"language_events": {"dtype": "language", "shape": [1], "names": None}, "action": FEATURES["action"]}
    with DatasetWriter(tmp_path / "out", fps=30, features=features, robot_type="x") as writer:
        writer.add_episode({"language_events": nested, "action": np.zeros(3, np.float32)}, ["t"])
        root = writer.close()
    assert _rows(root)["language_events"].to_pylist() == nested.to_pylist()
    assert "language_events" not in json.loads((root / "meta" / "stats.json").read_text())


@pytest.mark.parametrize(
    ("declared", "shape", "names"),
    [
        (
            {"info": {"video.codec": "h264", "video.height": 480, "lab": 1}},
            [32, 48, 3],
            ["height", "width", "channels"],
        ),
        ({"info": "x"}, [32, 48, 3], HWC),
        ({"info": ["x"], "shape": [480, 640, 3]}, [32, 48, 3], HWC),
        ({"info": None, "shape": [64], "names": None}, [32, 48, 3], HWC),
        (
            {"shape": [3, 480, 640], "names": ["channels", "height", "width"]},
            [3, 32, 48],
            ["channels", "height", "width"],
        ),
        ({"shape": [3, 32, 48], "names": None}, [3, 32, 48], None),
    ],
)
def test_what_is_said_of_a_video_is_what_it_is(tmp_path, declared, shape, names) -> None:
    features = {"action": {"dtype": "float32", "shape": [1]}, TOP: VIDEO[TOP] | declared}
    with DatasetWriter(tmp_path / "out", fps=30, features=features, robot_type=None) as writer:
        columns = {"action": np.zeros((4, 1), np.float32)}
        writer.add_episode(columns, ["lift"], {TOP: Pictures(chunks=[_pictures(4, 0)], frames=4)})
        writer.close()
    found = json.loads((tmp_path / "out/meta/info.json").read_text())["features"][TOP]
    assert (found["shape"], found["names"]) == (shape, names)
    assert (found["info"]["video.height"], found["info"]["video.width"]) == (32, 48)
    assert found["info"]["video.codec"] == "av1"
    assert found["info"].get("lab") == (1 if isinstance(declared.get("info"), dict) else None)


def test_halves_of_characters_are_replaced(tmp_path) -> None:
    with DatasetWriter(
        tmp_path / "out",
        fps=30,
        features={"action": {"dtype": "float32", "shape": [1]}},
        robot_type=None,
        tasks=["\ud800"],
    ) as writer:
        columns = {"action": np.zeros((4, 1), np.float32)}
        writer.add_episode(columns, ["a\udc00b", "\U0001f600"], extra={"gristmill/corpus": "c\udcff"})
        writer.close()
    assert pq.read_table(tmp_path / "out/meta/tasks.parquet")["task"].to_pylist() == [
        "\ufffd",
        "a\ufffdb",
        "\U0001f600",
    ]
    (row,) = _episodes(tmp_path / "out")
    assert row["tasks"] == ["a\ufffdb", "\U0001f600"]
    assert row["gristmill/corpus"] == "c\ufffd"


def test_what_somebody_else_put_there_is_not_deleted(tmp_path) -> None:
    def write(overwrite: bool) -> None:
        features = {"action": {"dtype": "float32", "shape": [1]}}
        with DatasetWriter(tmp_path / "out", fps=30, features=features, robot_type=None, overwrite=overwrite) as writer:
            writer.add_episode({"action": np.zeros((4, 1), np.float32)}, ["lift"])
            writer.close()

    write(overwrite=False)
    write(overwrite=True)
    (tmp_path / "out" / "meta" / "mine.txt").write_text("x")
    with pytest.raises(UsageError, match=r"did not write \(meta/mine\.txt\)"):
        write(overwrite=True)
    mark = tmp_path / "out" / "meta" / "gristmill.json"
    mark.write_text("{}")
    with pytest.raises(UsageError, match="does not say which files"):
        write(overwrite=True)
    assert (tmp_path / "out" / "meta" / "mine.txt").read_text() == "x"
