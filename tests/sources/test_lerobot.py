"""The LeRobot source: the contract in all versions, bad input, links, reopening."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import ClassVar

import made_datasets as made
import numpy as np
import pyarrow as pa
import pytest

from gristmill.errors import CorpusError, UnsafeCorpusError
from gristmill.finding import Kind
from gristmill.sources import Locator, open_locator, open_path
from gristmill.sources.lerobot import Lerobot
from gristmill.testing import SourceContract

VERSIONS = ("v2.0", "v2.1", "v3.0")


class TestV20(SourceContract):
    source: ClassVar = Lerobot

    def make_corpus(self, folder: Path) -> Path:
        return made.make(folder, "v2.0", cameras=[made.TOP])


class TestV21(TestV20):
    def make_corpus(self, folder: Path) -> Path:
        return made.make(folder, "v2.1", cameras=[made.TOP])


class TestV30(TestV20):
    def make_corpus(self, folder: Path) -> Path:
        return made.make(folder, "v3.0", cameras=[made.TOP])


@pytest.mark.parametrize("version", VERSIONS)
def test_values_names_times_and_tasks_are_those_written(tmp_path: Path, version: str) -> None:
    corpus = open_path(made.make(tmp_path / "robot", version))
    assert corpus.facts.format == f"lerobot {version}"
    assert corpus.facts.key == "robot"
    assert corpus.issues == ()
    assert corpus.table.length.tolist() == [5, 7, 6, 8]
    assert corpus.table.tasks == [(made.TASKS[e % 2],) for e in range(4)]
    assert [d.label for d in corpus.facts.dims[:2]] == ["observation.state[shoulder]", "observation.state[elbow]"]
    assert [d.channel for d in corpus.facts.dims] == ["observation.state"] * 3 + ["action"] * 3
    for e, episode in enumerate(corpus.episodes(range(4))):
        n = (5, 7, 6, 8)[e]
        assert episode.id == f"robot/{e:06d}"
        assert episode.issues == ()
        assert list(episode.channels) == ["observation.state", "action"]
        channel = episode.channels["observation.state"]
        assert channel.role == "state"
        assert channel.names == tuple(made.NAMES)
        assert channel.values.dtype == np.float32
        np.testing.assert_array_equal(channel.values, made.state(e, n))
        np.testing.assert_array_equal(episode.channels["action"].values, made.state(e, n) + np.float32(0.5))
        assert episode.times_s.dtype == np.float64
        np.testing.assert_array_equal(episode.times_s, (np.arange(n) / 10).astype(np.float32).astype(np.float64))
        assert set(episode.index_columns) == {"timestamp", "frame_index", "episode_index", "index", "task_index"}
        assert episode.index_columns["task_index"].tolist() == [e % 2] * n


@pytest.mark.parametrize("version", VERSIONS)
def test_declared_statistics_of_episodes(tmp_path: Path, version: str) -> None:
    corpus = open_path(made.make(tmp_path / "robot", version))
    episode = next(iter(corpus.episodes([2])))
    if version == "v2.0":
        assert not episode.declared_stats
        assert corpus.facts.declared_stats["action"]["mean"].tolist() == [0, 0, 0]
    else:
        mean = episode.declared_stats["observation.state"]["mean"]
        np.testing.assert_allclose(mean, made.state(2, 6).astype(np.float64).mean(0))
        assert episode.declared_stats["action"]["count"].tolist() == [6]


BROKEN_INFO = {
    "empty": (b"", "is empty"),
    "blank": (b" \n", "is empty"),
    "cut off": (b'{"fps": 10, "features": {', "is not valid JSON"),
    "a list": (b"[1, 2]", "expected an object"),
    "deep": (b"[" * 100_000, "is not valid JSON"),
    "deep value": (b'{"a":' * 5000 + b"1" + b"}" * 5000, "is not valid JSON"),
    "no text": (b"\xff\xfe\x00\x01", "is not valid JSON"),
}


@pytest.mark.parametrize("case", BROKEN_INFO)
def test_a_broken_info_file_is_one_line(tmp_path: Path, case: str) -> None:
    content, says = BROKEN_INFO[case]
    root = made.make(tmp_path / "robot")
    (root / "meta" / "info.json").write_bytes(content)
    before = made.listing(root)
    message = error_of(root, CorpusError)
    assert says in message
    assert message.startswith("meta/info.json")
    assert made.listing(root) == before


NAN = float("nan")
BAD_VALUES = [
    ({"features": None}, "has no features"),
    ({"features": {}}, "features is an object of 0 keys"),
    ({"features": [1]}, "features is [1]"),
    ({"features": {"action": 7}}, "features['action'] is 7"),
    ({"features": {"action": {"dtype": "float32", "shape": "24"}}}, "shape is '24'"),
    ({"features": {"action": {"dtype": "float32", "shape": [-3]}}}, "shape is [-3]"),
    ({"features": {"action": {"dtype": "float32", "shape": [2.5]}}}, "shape is [2.5]"),
    ({"features": {"action": {"dtype": "float32", "shape": [10**12]}}}, "more than 1,000,000 numbers"),
    ({"features": {"action": {"dtype": None, "shape": [3]}}}, "dtype is None"),
    ({"fps": 0}, "fps is 0"),
    ({"fps": -30}, "fps is -30"),
    ({"fps": NAN}, "fps is nan"),
    ({"fps": float("inf")}, "fps is inf"),
    ({"fps": "30"}, "fps is '30'"),
    ({"fps": True}, "fps is True"),
    ({"fps": None}, "fps is None"),
    ({"chunks_size": 0}, "chunks_size is 0"),
    ({"chunks_size": "many"}, "chunks_size is 'many'"),
    ({"codebase_version": "v1.6"}, "codebase_version is 'v1.6'"),
    ({"codebase_version": 3}, "codebase_version is 3"),
    ({"codebase_version": "v4.0"}, "codebase_version is 'v4.0'"),
    ({"storage_format": "lance"}, "storage_format is 'lance'"),
    ({"data_path": 5}, "data_path is 5"),
    ({"data_path": "data/{unknown}.parquet"}, "the field {unknown}"),
    ({"data_path": "data/{chunk_index:x}.parquet"}, "the field {chunk_index:x}"),
    ({"data_path": "data/{"}, "data_path is 'data/{'"),
]


@pytest.mark.parametrize(("changes", "says"), BAD_VALUES, ids=[s for _, s in BAD_VALUES])
def test_values_that_cannot_be_read_are_one_line(tmp_path: Path, changes: dict, says: str) -> None:
    root = made.make(tmp_path / "robot")
    made.edit_info(root, **changes)
    message = error_of(root, CorpusError)
    assert says in message
    assert message.startswith("meta/info.json")


UNSAFE_TEMPLATES = [
    "/etc/{chunk_index}",
    "../{chunk_index:03d}.parquet",
    "data/../../{file_index}.parquet",
    "{episode_index.__class__}",
    "{episode_index.__init__.__globals__}",
    "data/{chunk_index[0]}.parquet",
    "data/{chunk_index!r}.parquet",
    "data/{chunk_index:999999999d}.parquet",
    "data/{chunk_index:{file_index}}.parquet",
    "data\\..\\{chunk_index}.parquet",
]


@pytest.mark.parametrize("key", ["data_path", "video_path"])
@pytest.mark.parametrize("template", UNSAFE_TEMPLATES)
def test_templates_that_leave_the_corpus_or_reach_into_objects_are_unsafe(
    tmp_path: Path, template: str, key: str
) -> None:
    root = made.make(tmp_path / "robot")
    made.edit_info(root, **{key: template})
    assert "meta/info.json" in error_of(root, UnsafeCorpusError)


def test_a_camera_key_cannot_climb_out(tmp_path: Path) -> None:
    root = made.make(tmp_path / "robot", "v2.1", cameras=[made.TOP])
    made.edit_feature(root, "../../../outside", dtype="video", shape=[32, 48, 3])
    error_of(root, UnsafeCorpusError)


@pytest.mark.parametrize("place", ["data/chunk-000/file-000.parquet", "meta/info.json", "meta/tasks.parquet", "data"])
def test_links_that_leave_the_corpus_are_unsafe(tmp_path: Path, place: str) -> None:
    root = made.make(tmp_path / "robot")
    inside, outside = root / place, tmp_path / "outside"
    inside.rename(outside)
    inside.symlink_to(outside)
    assert place in error_of(root, UnsafeCorpusError)


def test_a_dangling_link_out_of_the_corpus_is_unsafe(tmp_path: Path) -> None:
    root = made.make(tmp_path / "robot", cameras=[made.TOP])
    video = root / f"videos/{made.TOP}/chunk-000/file-001.mp4"
    video.unlink()
    video.symlink_to("/nowhere/at/all.mp4")
    error_of(root, UnsafeCorpusError)


def test_links_within_the_corpus_and_into_the_hubs_blobs_are_fine(tmp_path: Path) -> None:
    cache = tmp_path / "datasets--someone--robot"
    root = made.make(cache / "snapshots" / "0123abcd")
    table = root / "data/chunk-000/file-000.parquet"
    blob = cache / "blobs" / "f00d"
    blob.parent.mkdir()
    table.rename(blob)
    table.symlink_to("../../../../blobs/f00d")
    other = root / "data/chunk-000/file-001.parquet"
    other.rename(root / "kept.parquet")
    other.symlink_to("../../kept.parquet")
    corpus = open_path(root)
    assert [e.frames for e in corpus.episodes(range(4))] == [5, 7, 6, 8]
    assert corpus.issues == ()


def test_a_link_loop_ends(tmp_path: Path) -> None:
    root = made.make(tmp_path / "robot")
    (root / "data" / "again").symlink_to(root / "data")
    assert [e.frames for e in open_path(root).episodes(range(4))] == [5, 7, 6, 8]


def test_a_pickled_column_type_is_refused_and_not_executed(tmp_path: Path) -> None:
    proof = tmp_path / "executed"

    class Pickled(pa.ExtensionType):
        def __init__(self) -> None:
            super().__init__(pa.list_(pa.float32(), 3), "arrow.py_extension_type")

        def __arrow_ext_serialize__(self) -> bytes:
            return f"cposix\nsystem\n(S'touch {proof}'\ntR.".encode()

        @classmethod
        def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Pickled:
            return cls()

    root = made.make(tmp_path / "robot", episodes_a_file=4)

    def pickled(table: pa.Table) -> pa.Table:
        column = table.column("action").combine_chunks()
        return made.with_column(table, "action", pa.ExtensionArray.from_storage(Pickled(), column))

    made.edit_table(root / "data/chunk-000/file-000.parquet", pickled)
    assert "pickled type" in error_of(root, UnsafeCorpusError)
    assert not proof.exists()


@pytest.mark.parametrize("version", VERSIONS)
def test_zero_episodes_are_an_error(tmp_path: Path, version: str) -> None:
    root = made.make(tmp_path / "robot", version)
    if version == "v3.0":
        made.edit_table(root / "meta/episodes/chunk-000/file-000.parquet", lambda t: t.slice(0, 0))
    else:
        (root / "meta/episodes.jsonl").write_text("\n")
    assert "holds no episode" in error_of(root, CorpusError)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_missing_table_of_episodes_is_an_error(tmp_path: Path, version: str) -> None:
    root = made.make(tmp_path / "robot", version)
    name = "meta/episodes/chunk-000/file-000.parquet" if version == "v3.0" else "meta/episodes.jsonl"
    (root / name).unlink()
    assert name.rpartition("/chunk")[0] in error_of(root, CorpusError) or name in error_of(root, CorpusError)


def test_a_folder_without_a_corpus_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"is no corpus that is known \(.*lerobot.*\)"):
        open_path(tmp_path)
    with pytest.raises(CorpusError, match="there is no file or folder"):
        open_path(tmp_path / "absent")


def test_a_locator_is_small_and_reopens_without_listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = open_path(made.make(tmp_path / "robot", lengths=[5] * 300))
    data = pickle.dumps(corpus.locator)  # type: ignore[attr-defined]
    assert len(data) < 400
    monkeypatch.setattr("gristmill.formats.lerobot.corpus.survey", lambda *_: pytest.fail("listed again"))
    again = open_locator(pickle.loads(data))
    assert [e.index for e in again.episodes([7, 3])] == [7, 3]
    assert pickle.loads(data) == Locator(source="lerobot", path=str(tmp_path / "robot"), key="robot")


def test_stamps_follow_the_files_and_digests_the_content(tmp_path: Path) -> None:
    root = made.make(tmp_path / "robot", cameras=[made.TOP])
    before = open_path(root).table
    path = root / "data/chunk-000/file-001.parquet"
    path.write_bytes(path.read_bytes())
    (root / f"videos/{made.TOP}/chunk-000/file-000.mp4").write_bytes(b"other")
    after = open_path(root).table
    assert [a == b for a, b in zip(before.values_stamp, after.values_stamp, strict=True)] == [True, True, False, False]
    stamps = before.camera_stamps[made.TOP], after.camera_stamps[made.TOP]
    assert [a == b for a, b in zip(*stamps, strict=True)] == [False, False, True, True]
    assert before.meta_digest == after.meta_digest
    assert len(set(before.values_stamp)) == 4


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_new_episodes_leave_the_digests_of_the_others_alone(tmp_path: Path, version: str) -> None:
    before = open_path(made.make(tmp_path / "a", version, lengths=[5, 7])).table
    after = open_path(made.make(tmp_path / "b", version, lengths=[5, 7, 6])).table
    assert after.meta_digest[:2] == before.meta_digest
    assert len(set(after.meta_digest)) == 3


def test_changed_statistics_and_tasks_change_the_digest(tmp_path: Path) -> None:
    root = made.make(tmp_path / "robot")
    before = open_path(root).table.meta_digest

    def change(rows: list[dict]) -> None:
        rows[1]["stats/action/mean"][2] += 1e-9
        rows[2]["tasks"] = ["something else"]

    made.edit_episodes(root, change)
    after = open_path(root).table.meta_digest
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, False, True]


def test_g1_inspire_has_nothing_wrong(real_data: Path) -> None:
    corpus = open_path(real_data / "g1_inspire")
    assert corpus.facts.format == "lerobot v2.1"
    assert corpus.table.length.tolist() == [221, 277, 280, 260]
    assert len(corpus.facts.dims) == 52
    assert corpus.facts.dims[0].name == "kLeftShoulderPitch"
    assert corpus.issues == ()
    for episode in corpus.episodes(range(4)):
        assert episode.issues == ()
        camera = episode.cameras["observation.images.cam_high"]
        assert len(camera.packets()) == episode.frames == episode.length
        stats = episode.declared_stats["action"]
        np.testing.assert_allclose(stats["mean"], episode.channels["action"].values.mean(0), atol=1e-4)


def test_gr1_has_its_known_quirks_and_no_trouble_with_episodes(real_data: Path) -> None:
    corpus = open_path(real_data / "gr1_sim_picknplace")
    found = {(i.check, i.code): i for i in corpus.issues}
    assert found.keys() == {
        ("files", "path_template"),
        ("files", "camera_absent"),
        ("files", "total_videos"),
        ("files", "total_chunks"),
        ("schema", "splits"),
        ("schema", "default_absent"),
        ("schema", "task_unused"),
    }
    assert found["files", "camera_absent"].camera == "observation.images.egoview"
    assert found["schema", "default_absent"].channel == "frame_index"
    assert "'valid'" in found["schema", "task_unused"].message
    assert found["schema", "splits"].kind is Kind.TRAIT
    assert "0:100" in found["schema", "splits"].message
    assert list(corpus.facts.cameras) == ["observation.images.ego_view"]
    assert "observation.images.egoview" in corpus.facts.unread
    assert [*corpus.side_files] == ["meta/modality.json"]
    assert json.loads(corpus.side_files["meta/modality.json"].read_text())["video"]
    lengths = []
    for episode in corpus.episodes(range(5)):
        lengths.append(episode.frames)
        assert episode.issues == ()
        assert len(episode.cameras["observation.images.ego_view"].packets()) == episode.frames
        assert episode.channels["observation.state"].values.shape == (episode.frames, 44)
        assert episode.channels["annotation.human.validity"].role == "other"
        assert episode.channels["next.done"].values.dtype == bool
    assert lengths == [416, 470, 470, 412, 328]


def test_pusht_has_one_quirk(real_data: Path) -> None:
    corpus = open_path(real_data / "pusht_lowdim")
    assert [(i.check, i.code, i.kind) for i in corpus.issues] == [("files", "camera_absent", Kind.RISK)]
    assert corpus.facts.cameras == {}
    assert corpus.table.tasks[0] == ("Push the T-shaped block onto the T-shaped target.",)
    frames = 0
    for episode in corpus.episodes(range(206)):
        frames += episode.frames
        assert episode.issues == ()
        assert not episode.cameras
        low = episode.declared_stats["observation.state"]["min"]
        np.testing.assert_array_equal(low.astype(np.float32), episode.channels["observation.state"].values.min(0))
    assert frames == 25_650


def error_of(root: Path, kind: type[CorpusError]) -> str:
    """The one line that opening, or reading, the corpus fails with."""
    with pytest.raises(kind) as caught:
        for episode in open_path(root).episodes(range(4)):
            episode.channels  # noqa: B018
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message
