"""The Zarr source: the contract in all versions and places, values against what was written, bad input."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any, ClassVar

import made_buffers as made
import numpy as np
import pyarrow.parquet as pq
import pytest
import zarr

import gristmill
from gristmill.episode import Corpus, Episode
from gristmill.errors import CorpusError, RecipeError, RecordingError, UnsafeCorpusError, VideoError
from gristmill.finding import Kind
from gristmill.sources import default_key, open_path, source_of
from gristmill.sources.replay_buffer import ReplayBuffer
from gristmill.testing import SourceContract

RATE = {"rate_hz": 10}


class TestV2(SourceContract):
    source: ClassVar = ReplayBuffer

    def make_corpus(self, folder: Path) -> Path:
        return made.make(folder)

    def open(self, path: Path) -> Corpus:
        return ReplayBuffer.open(path, key="contract", options=ReplayBuffer.Options(rate_hz=10))


class TestV3(TestV2):
    def make_corpus(self, folder: Path) -> Path:
        return made.make(folder, version=3)


class TestShards(TestV2):
    def make_corpus(self, folder: Path) -> Path:
        return made.make(folder, version=3, shards=2)


class TestZip(TestV2):
    def make_corpus(self, folder: Path) -> Path:
        return made.make_zip(folder / "a.zarr.zip", version=3)


class TestUmi(TestV2):
    def make_corpus(self, folder: Path) -> Path:
        return made.make_umi(folder / "dataset.zarr.zip")


def opened(path: Path, **options: Any) -> Corpus:
    return open_path(path, options=RATE | options)


MADE = {
    "v2": lambda folder, data=None: made.make(folder / "b.zarr", data),
    "v3": lambda folder, data=None: made.make(folder / "b.zarr", data, version=3),
    "v3 shards": lambda folder, data=None: made.make(folder / "b.zarr", data, version=3, shards=2),
    "v2 zip": lambda folder, data=None: made.make_zip(folder / "b.zarr.zip", data),
    "v3 zip": lambda folder, data=None: made.make_zip(folder / "b.zarr.zip", data, version=3),
}


@pytest.mark.parametrize("case", MADE)
def test_values_times_frames_and_tasks_are_those_written(tmp_path: Path, case: str) -> None:
    path = MADE[case](tmp_path)
    assert source_of(path) == "replay_buffer"
    assert default_key(path) in ("b.zarr", "b")
    corpus, data = opened(path, task="push the T"), made.arrays()
    version = case[:2]
    assert corpus.facts.format == f"Zarr {version} replay buffer" + (" in a zip archive" if "zip" in case else "")
    assert corpus.issues == ()
    assert corpus.table.length.tolist() == list(made.LENGTHS)
    assert corpus.table.tasks == [("push the T",)] * 4
    assert [d.label for d in corpus.facts.dims] == [
        *(f"observation.state[{n}]" for n in ("agent_x", "agent_y", "block_x", "block_y", "block_angle")),
        "action[agent_x]", "action[agent_y]",
    ]  # fmt: skip
    camera = corpus.facts.cameras[made.CAMERA]
    assert (camera.height, camera.width, camera.rate_hz) == (16, 24, 10)
    for n, episode in enumerate(corpus.episodes(range(4))):
        start, stop = made.bounds(n)
        assert episode.issues == ()
        np.testing.assert_array_equal(episode.times_s, np.arange(stop - start) / 10)
        assert {k: c.role for k, c in episode.channels.items()} == {
            "action": "action", "observation.state": "state", "keypoint": "other", "n_contacts": "other",
        }  # fmt: skip
        for key, channel in episode.channels.items():
            expected = data[key.removeprefix("observation.")][start:stop]
            assert channel.values.dtype == np.float32
            np.testing.assert_array_equal(channel.values, expected.reshape(stop - start, -1))
        view = episode.cameras[made.CAMERA]
        np.testing.assert_array_equal(view.rgb(range(stop - start)), data["img"][start:stop])
        assert len(view.packets()) == stop - start == sum(len(chunk) for chunk in view.luma(chunk=7))


def test_umi_reads_back_and_its_lack_of_actions_is_told(tmp_path: Path) -> None:
    path, data = made.make_umi(tmp_path / "dataset.zarr.zip"), made.umi_arrays()
    corpus = opened(path)
    assert [(i.check, i.code, i.kind) for i in corpus.issues] == [("schema", "action_absent", Kind.TRAIT)]
    assert [(d.channel, d.name) for d in corpus.facts.dims] == [
        *(("observation.state.robot0_eef_pos", f"robot0_eef_{n}") for n in "xyz"),
        *(("observation.state.robot0_eef_rot_axis_angle", f"robot0_eef_r{n}") for n in "xyz"),
        ("observation.state.robot0_gripper_width", "robot0_gripper_width"),
    ]
    for n, episode in enumerate(corpus.episodes(range(4))):
        start, stop = made.bounds(n)
        for key, channel in episode.channels.items():
            np.testing.assert_array_equal(channel.values, data[key.removeprefix("observation.state.")][start:stop])
        assert episode.channels["robot0_demo_start_pose"].role == "other"
        view = episode.cameras["observation.images.camera0_rgb"]
        np.testing.assert_array_equal(view.rgb(range(stop - start)), data["camera0_rgb"][start:stop])
    audit = gristmill.open(path, options=RATE, store=tmp_path / "store").audit(jobs=1)
    assert not audit.unreadable
    assert "action_absent" in {f.code for f in audit.corpus_findings}


def test_the_rate_has_to_be_stated(tmp_path: Path) -> None:
    path = made.make(tmp_path / "b")
    with pytest.raises(CorpusError, match=r"state it, such as --option rate_hz=10"):
        open_path(path)
    with pytest.raises(RecipeError, match=r"rate_hz: must be at least 0\.001"):
        open_path(path, options={"rate_hz": 0})
    with pytest.raises(RecipeError, match="unknown key; did you mean 'task'"):
        open_path(path, options=RATE | {"tasks": "x"})


def test_a_recorders_clock_gives_times_and_rate(tmp_path: Path) -> None:
    clock = np.concatenate([1.7e9 + 1000 * n + np.arange(t) / 30 for n, t in enumerate(made.LENGTHS)])
    clock[25] += 0.004
    path = made.make(tmp_path / "b", made.arrays() | {"timestamp": clock})
    corpus = open_path(path)
    assert corpus.facts.rate_hz == 30
    assert corpus.facts.cameras[made.CAMERA].rate_hz == 30
    first, second = corpus.episodes([0, 1])
    assert "timestamp" not in second.channels
    np.testing.assert_array_equal(first.times_s, clock[:20] - clock[0])
    np.testing.assert_array_equal(second.times_s, clock[20:51] - clock[20])
    np.testing.assert_array_equal(second.cameras[made.CAMERA].packets().times_s, second.times_s)
    assert opened(path).facts.rate_hz == 10  # what the user states wins
    (path / "data" / "timestamp" / "0").write_bytes(b"broken")
    broken = next(iter(opened(path).episodes([0])))
    assert "data/timestamp, chunk 0 along time" in error_of(broken)
    with pytest.raises(VideoError, match="data/timestamp, chunk 0 along time"):
        broken.cameras[made.CAMERA].packets()
    clock[:] = 7
    with pytest.raises(CorpusError, match="--option rate_hz=10"):
        open_path(made.make(tmp_path / "still", made.arrays() | {"timestamp": clock}))


def test_options_name_state_and_action(tmp_path: Path) -> None:
    path = made.make(tmp_path / "b")
    corpus = opened(path, state=["keypoint"], action=["n_contacts"])
    assert {s.key: s.role for s in corpus.channels} == {  # type: ignore[attr-defined]
        "observation.state.keypoint": "state", "action.n_contacts": "action", "action": "other", "state": "other",
    }  # fmt: skip
    with pytest.raises(CorpusError, match=r"options.state: there is no array 'qpos'; known: action, img"):
        opened(path, state=["qpos"])


def test_names_of_dimensions_are_stated(tmp_path: Path) -> None:
    path = made.make(tmp_path / "b")
    corpus = opened(path, names={"n_contacts": ["count"], "action": ["x", "y"]})
    assert [d.label for d in corpus.facts.dims[-2:]] == ["action[x]", "action[y]"]
    assert next(iter(corpus.episodes([0]))).channels["n_contacts"].names == ("count",)
    with pytest.raises(CorpusError, match=r"options.names: there is no channel 'state'; known: action, keypoint"):
        opened(path, names={"state": ["x"]})
    for names in (["x"], ["x", "y", "z"], ["x", "x"]):
        with pytest.raises(CorpusError, match=r"options.names: 'action' has 2 dimensions"):
            opened(path, names={"action": names})
    with pytest.raises(RecipeError, match=r"names\.action: expected a list"):
        opened(path, names={"action": "x"})


def test_what_is_stated_differently_is_measured_anew(tmp_path: Path) -> None:
    path = made.make(tmp_path / "b")
    stated = (
        {},
        {"rate_hz": 20},
        {"state": ["keypoint"]},
        {"names": {"action": ["x", "y"]}},
        {"absent_chunks": "fill"},
    )
    stamps = [tuple(opened(path, **options).table.values_stamp) for options in stated]
    assert len(set(stamps)) == 5
    path = made.make(tmp_path / "c", smooth())
    for options in stated[:2]:  # the same store, and the snapshot agrees with what was audited
        project = gristmill.open(path, options=RATE | {"task": "wipe"} | options, store=tmp_path / "store")
        project.audit(jobs=1, cameras="none")
        assert project.curate(cameras="none", jobs=1).snapshot is not None


def test_names_that_lerobot_keeps_for_itself_are_changed(tmp_path: Path) -> None:
    data = made.arrays() | {"index": np.arange(made.ROWS), "timestamp": np.arange(made.ROWS)}
    keys = {s.key for s in opened(made.make(tmp_path / "b", data)).channels}  # type: ignore[attr-defined]
    assert {"observation.index", "observation.timestamp"} < keys


def test_a_task_of_two_arms_with_nested_groups_and_what_is_not_read(tmp_path: Path) -> None:
    rows = made.ROWS
    data = {
        "obs/robot0_eef_pos": np.ones((rows, 3)),
        "obs/robot1_eef_pos": np.zeros((rows, 3)),
        "actions": np.ones((rows, 7), np.float32),
        "point_cloud": np.ones((rows, 1024, 6), np.float32),
        "depth": np.ones((rows, 84, 84)),
        "wrist_depth_img": np.ones((rows, 16, 16), np.uint16),
        "reward": np.ones(rows),
        "done": np.ones(rows, bool),
        "label": np.full(rows, "a", "<U4"),
    }
    corpus = opened(made.make(tmp_path / "b", data))
    assert {s.key: (s.role, s.width, s.dtype) for s in corpus.channels} == {  # type: ignore[attr-defined]
        "observation.state.obs.robot0_eef_pos": ("state", 3, "float64"),
        "observation.state.obs.robot1_eef_pos": ("state", 3, "float64"),
        "action": ("action", 7, "float32"),
        "reward": ("reward", 1, "float64"),
        "done": ("done", 1, "bool"),
    }
    assert corpus.facts.dims[5].name == "obs.robot1_eef_z"
    assert corpus.facts.unread == {
        "depth": "7,056 numbers a frame are no channel that a check reads",
        "label": "of dtype '<U4'; no check reads it",
        "point_cloud": "6,144 numbers a frame are no channel that a check reads",
        "wrist_depth_img": "depth is not decoded",
    }
    episode = next(iter(corpus.episodes([0])))
    assert episode.channels["done"].values.shape == (20, 1)


@pytest.mark.parametrize("scale", [1, 255])
@pytest.mark.parametrize("first", [True, False])
def test_pictures_of_real_numbers_and_channels_first(tmp_path: Path, scale: int, first: bool) -> None:
    levels = np.random.default_rng(1).integers(0, 256, (made.ROWS, 16, 24, 3), dtype=np.uint8)
    levels[:40] = 0  # a range cannot be told from dark frames
    real = (levels / np.float32(255) * np.float32(scale)).astype(np.float32)
    data = made.arrays() | {"img": real.transpose(0, 3, 1, 2) if first else real}
    corpus = opened(made.make(tmp_path / "b", data), absent_chunks="fill")
    assert (corpus.facts.cameras[made.CAMERA].height, corpus.facts.cameras[made.CAMERA].width) == (16, 24)
    for n, episode in enumerate(corpus.episodes(range(4))):
        np.testing.assert_array_equal(
            episode.cameras[made.CAMERA].rgb(range(made.LENGTHS[n])), levels[slice(*made.bounds(n))]
        )


def test_grey_pictures_and_an_alpha_channel(tmp_path: Path) -> None:
    grey = np.random.default_rng(1).integers(0, 256, (made.ROWS, 16, 24), dtype=np.uint8)
    rgba = np.random.default_rng(2).integers(0, 256, (made.ROWS, 16, 24, 4), dtype=np.uint8)
    data = {"action": np.ones((made.ROWS, 2)), "gray_img": grey, "one_img": grey[..., None], "camera_0": rgba}
    episode = next(iter(opened(made.make(tmp_path / "b", data)).episodes([1])))
    for key in ("gray_img", "one_img"):
        np.testing.assert_array_equal(episode.cameras[f"observation.images.{key}"].rgb([3])[0, ..., 2], grey[23])
        np.testing.assert_array_equal(
            np.concatenate([*episode.cameras[f"observation.images.{key}"].luma()]), grey[20:51]
        )
    np.testing.assert_array_equal(episode.cameras["observation.images.camera_0"].rgb([3])[0], rgba[23, ..., :3])


def test_a_missing_chunk_of_numbers_is_told_and_gives_no_zeros(tmp_path: Path) -> None:
    path = made.make(tmp_path / "b")
    for name in ("action/1.0", "n_contacts/1.0"):  # rows 24 to 48
        (path / "data" / name).unlink()
    corpus, data = opened(path), made.arrays()
    *_, last = episodes = list(corpus.episodes(range(4)))
    assert [[(i.code, i.kind, i.channel, i.measured) for i in e.issues] for e in episodes] == [
        [],
        [("chunk_missing", Kind.DEFECT, "action", 24), ("chunk_missing", Kind.RISK, "n_contacts", 24)],
        [],
        [],
    ]
    assert "24 of 31 rows of data/action lie in chunks that are missing" in episodes[1].issues[0].message
    values = episodes[1].channels["action"].values
    assert np.isnan(values[4:28]).all()
    np.testing.assert_array_equal(values[:4], data["action"][20:24])
    np.testing.assert_array_equal(values[28:], data["action"][48:51])
    assert (episodes[1].channels["n_contacts"].values[4:28] == 0).all()
    assert not np.isnan(last.channels["action"].values).any()
    audit = gristmill.open(path, options=RATE, store=tmp_path / "store").audit(jobs=1)
    assert {f.row for f in audit.findings if f.code == "chunk_missing" and f.kind is Kind.DEFECT} == {1}
    assert {f.row for f in audit.findings if f.check == "non_finite"} == {1}


def test_a_missing_chunk_of_whole_numbers_is_told_too(tmp_path: Path) -> None:
    path = made.make(tmp_path / "b", {"action": np.ones((made.ROWS, 2), np.int32)})
    (path / "data" / "action" / "1.0").unlink()
    first, second = opened(path).episodes([0, 1])
    assert first.channels["action"].values.dtype == np.int32
    assert np.isnan(second.channels["action"].values[4:28]).all()


@pytest.mark.parametrize("case", MADE)
def test_chunks_that_were_left_out_are_read_when_the_user_says_so(tmp_path: Path, case: str) -> None:
    data = made.arrays()
    data["action"][20:80] = 0
    data["img"][20:80] = 0
    path = MADE[case](tmp_path, data)
    assert [len(e.issues) for e in opened(path).episodes(range(4))] == [0, 2, 2, 2]
    corpus = opened(path, absent_chunks="fill")
    for n, episode in enumerate(corpus.episodes(range(4))):
        assert episode.issues == ()
        rows = slice(*made.bounds(n))
        np.testing.assert_array_equal(episode.channels["action"].values, data["action"][rows])
        np.testing.assert_array_equal(episode.cameras[made.CAMERA].rgb(range(made.LENGTHS[n])), data["img"][rows])


def test_without_a_fill_value_nothing_stands_for_a_missing_chunk(tmp_path: Path) -> None:
    path = made.make(tmp_path / "b")
    edited(path, "data/action", fill_value=None)
    (path / "data" / "action" / "1.0").unlink()
    second = next(iter(opened(path, absent_chunks="fill").episodes([1])))
    assert [i.code for i in second.issues] == ["chunk_missing"]
    assert np.isnan(second.channels["action"].values[4:28]).all()


@pytest.mark.parametrize("version", [2, 3])
def test_a_missing_chunk_of_pictures_concerns_the_camera(tmp_path: Path, version: int) -> None:
    path = made.make(tmp_path / "b", version=version)
    (path / "data" / "img" / ("2.0.0.0" if version == 2 else "c/2/0/0/0")).unlink()  # rows 48 to 72
    good, bad = opened(path).episodes([0, 1])
    assert len(good.cameras[made.CAMERA].packets()) == 20
    assert bad.frames == 31
    assert [(i.code, i.kind, i.camera) for i in bad.issues] == [("chunk_missing", Kind.DEFECT, made.CAMERA)]
    with pytest.raises(VideoError, match="frame 28 lies in a chunk that is missing"):
        bad.cameras[made.CAMERA].packets()
    np.testing.assert_array_equal(bad.cameras[made.CAMERA].rgb([27])[0], made.arrays()["img"][47])


@pytest.mark.parametrize("case", ["v2", "v3", "v2 zip"])
def test_a_truncated_chunk_makes_its_episodes_unreadable_and_no_other(tmp_path: Path, case: str) -> None:
    path = MADE[case](tmp_path)
    name = f"data/state/{'c/0/0' if case == 'v3' else '0.0'}"  # rows 0 to 24
    if path.is_file():
        whole = path.with_suffix(".whole")
        path.rename(whole)
        with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
            for info in old.infolist():
                new.writestr(info, old.read(info)[: 30 if info.filename == name else None])
    else:
        (path / name).write_bytes((path / name).read_bytes()[:30])
    corpus = opened(path)
    episodes = list(corpus.episodes(range(4)))
    for number in (2, 3, 0, 1):
        if number > 1:
            np.testing.assert_array_equal(
                episodes[number].channels["observation.state"].values,
                made.arrays()["state"][slice(*made.bounds(number))],
            )
        else:
            message = error_of(episodes[number])
            assert message.startswith(f"episode {number} of {path.name}: data/state, chunk 0 along time (rows 0 to 24)")
    audit = gristmill.open(path, options=RATE, store=tmp_path / "store").audit(jobs=1, cameras="none")
    assert set(audit.unreadable) == {0, 1}


def test_a_damaged_member_of_an_archive_is_told(tmp_path: Path) -> None:
    path = made.make_zip(tmp_path / "b.zip")
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("data/action/0.0")
    data = bytearray(path.read_bytes())
    data[info.header_offset + 60] ^= 0xFF
    path.write_bytes(data)
    first, _, third, _ = opened(path).episodes(range(4))
    assert "data/action, chunk 0 along time (rows 0 to 24) cannot be decoded" in error_of(first)
    assert third.frames == 17


def test_a_damaged_picture_concerns_its_episode(tmp_path: Path) -> None:
    path = made.make_umi(tmp_path / "whole.zip")
    spoilt = tmp_path / "b.zip"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(spoilt, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            new.writestr(info, content[:40] if info.filename == "data/camera0_rgb/22.0.0.0" else content)
    good, bad = opened(spoilt).episodes([0, 1])
    key = "observation.images.camera0_rgb"
    assert len(good.cameras[key].packets()) == 20
    assert bad.frames == 31
    with pytest.raises(VideoError, match=r"data/camera0_rgb, chunk 22 along time .* cannot be decoded"):
        bad.cameras[key].packets()


def test_arrays_of_other_lengths_are_told(tmp_path: Path) -> None:
    data = made.arrays()
    data |= {"keypoint": data["keypoint"][:60], "state": np.concatenate([data["state"], data["state"][:6]])}
    corpus = opened(made.make(tmp_path / "b", data))
    assert {(i.code, i.kind, i.subject) for i in corpus.issues} == {
        ("array_short", Kind.DEFECT, "data/keypoint"),
        ("rows_left_over", Kind.TRAIT, "data/state"),
    }
    first, second, third, fourth = corpus.episodes(range(4))
    assert (first.frames, second.frames) == (20, 31)
    assert "data/keypoint ends at row 60 and the episode at row 68" in error_of(third)
    assert "data/keypoint ends at row 60" in error_of(fourth)


ENDS = {
    "falling": (np.array([20, 51, 40, 94]), "entry 2 is 40, after 51; they have to rise"),
    "negative": (np.array([-3, 51]), "entry 0 is -3, after 0"),
    "empty": (np.array([], np.int64), "holds 0 entries"),
    "real": (np.array([20.0, 51.0]), r"is float64 of shape \[2\]; expected a list of whole numbers"),
    "a table": (np.array([[20, 51]]), r"is int64 of shape \[1, 2\]"),
    "far too large": (np.array([20, 2**63 - 1]), ""),
}


@pytest.mark.parametrize("case", ENDS)
def test_ends_of_episodes_that_make_no_sense(tmp_path: Path, case: str) -> None:
    ends, says = ENDS[case]
    path = made.make(tmp_path / "b", ends=ends)
    if says:
        with pytest.raises(CorpusError, match=says) as caught:
            opened(path)
        assert str(caught.value).startswith("meta/episode_ends of b: ")
        return
    good, bad = opened(path).episodes([0, 1])
    assert good.frames == 20
    assert "every array ends at row 94" in error_of(bad)
    with pytest.raises(VideoError, match="every array ends at row 94"):
        bad.cameras[made.CAMERA].packets()


def test_missing_or_broken_ends_are_one_line(tmp_path: Path) -> None:
    path = made.make(tmp_path / "b")
    chunk = path / "meta" / "episode_ends" / "0"
    content = chunk.read_bytes()
    chunk.write_bytes(content[:7])
    with pytest.raises(CorpusError, match="meta/episode_ends, chunk 0 along time"):
        opened(path)
    chunk.unlink()
    with pytest.raises(CorpusError, match="meta/episode_ends of b: a chunk is missing"):
        opened(path)
    with pytest.raises(CorpusError, match="no corpus that is known"):
        open_path(made.make(tmp_path / "c", ends=None))


def test_an_empty_episode_and_nan_are_read_as_they_are(tmp_path: Path) -> None:
    data = made.arrays()
    data["state"][3, 1] = np.nan
    corpus = opened(made.make(tmp_path / "b", data, ends=[20, 20, 94]))
    first, empty, _ = corpus.episodes(range(3))
    np.testing.assert_array_equal(first.channels["observation.state"].values, data["state"][:20])
    assert (empty.length, empty.frames) == (0, 0)
    assert empty.channels["action"].values.shape == (0, 2)
    assert len(empty.cameras[made.CAMERA].packets()) == 0
    assert [(i.check, i.code) for i in empty.issues] == [("pointers", "episode_empty")]


def edited(path: Path, name: str, **changes: Any) -> None:
    """Change keys of an array's `.zarray`."""
    file = path / name / ".zarray"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_a_pickle_is_refused_and_not_executed(tmp_path: Path) -> None:
    proof = tmp_path / "executed"
    payload = f"cposix\nsystem\n(S'touch {proof}'\ntR.".encode()
    path = made.make(tmp_path / "b")
    for name in ("data/keypoint", "meta/episode_ends"):
        for file in (path / name).iterdir():
            if not file.name.startswith("."):
                file.write_bytes(payload)
        edited(path, name, dtype="|O", filters=[{"id": "pickle", "protocol": 4}], compressor=None)
        with pytest.raises(UnsafeCorpusError, match=r"data/keypoint: .*Python objects"):
            opened(path)
    assert not proof.exists()


def test_a_codec_that_only_the_file_knows_is_refused(tmp_path: Path) -> None:
    path = made.make(tmp_path / "b")
    edited(path, "data/keypoint", compressor={"id": "antigravity"})
    with pytest.raises(CorpusError, match="data/keypoint: the codec 'antigravity' is not known"):
        opened(path)
    assert "antigravity" not in sys.modules


def test_a_codec_whose_settings_make_no_sense_is_one_line(tmp_path: Path) -> None:
    path = made.make(tmp_path / "b")
    edited(path, "data/keypoint", compressor={"id": "zlib", "levels": "high"})
    with pytest.raises(CorpusError, match="data/keypoint: Zarr cannot open it"):
        opened(path)


def test_broken_metadata_is_one_line(tmp_path: Path) -> None:
    path = made.make(tmp_path / "b")
    (path / "data" / "action" / ".zarray").write_text("{")
    with pytest.raises(CorpusError, match="data/action: its metadata is not valid JSON"):
        opened(path)
    path = made.make(tmp_path / "c", {"label": np.full(made.ROWS, "a", "<U4")})
    with pytest.raises(CorpusError, match="no array of numbers or pictures under `data`"):
        opened(path)


def test_links_that_leave_the_folder_are_unsafe(tmp_path: Path) -> None:
    path = made.make(tmp_path / "b")
    (path / "data" / "action").rename(tmp_path / "outside")
    (path / "data" / "action").symlink_to(tmp_path / "outside")
    with pytest.raises(UnsafeCorpusError, match="data/action is a link that leaves the corpus"):
        opened(path)


@pytest.mark.parametrize("library", ["zarr", "imagecodecs"])
def test_without_a_library_it_says_what_to_install(
    tmp_path: Path, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numcodecs.registry

    path = made.make_umi(tmp_path / "b.zip")
    monkeypatch.delitem(numcodecs.registry.codec_registry, "imagecodecs_jpegxl", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    assert ReplayBuffer.recognizes(path)  # needs no library
    with pytest.raises(CorpusError, match=rf"needs {library}; pip install 'gristmill\[zarr\]'"):
        opened(path)


@pytest.mark.parametrize("case", [*MADE, "umi"])
def test_any_damage_is_told_in_one_line(tmp_path: Path, case: str) -> None:
    path = made.make_umi(tmp_path / "u.zip") if case == "umi" else MADE[case](tmp_path)
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    rng = np.random.default_rng(7)
    for _ in range(25):
        file = files[rng.integers(len(files))]
        content = file.read_bytes()
        damaged = bytearray(content[: rng.integers(len(content))] if rng.random() < 0.3 else content)
        # The table of an archive stands at its end.
        low = max(0, len(damaged) - 3000) if path.is_file() and rng.random() < 0.5 else 0
        for at in rng.integers(low, max(low + 1, len(damaged)), rng.integers(1, 5)).tolist():
            if at < len(damaged):
                damaged[at] ^= 1 << int(rng.integers(8))
        file.write_bytes(damaged)
        try:
            corpus = ReplayBuffer.open(path, key="k", options=ReplayBuffer.Options(rate_hz=10))
            for episode in corpus.episodes(range(len(corpus.table))):
                for read in (lambda e: e.channels, *(lambda e, k=k: e.cameras[k].packets() for k in episode.cameras)):
                    try:
                        read(episode)
                    except RecordingError as error:
                        assert "\n" not in str(error)
        except CorpusError as error:
            assert "\n" not in str(error)
            assert len(str(error)) < 500
        file.write_bytes(content)


def test_new_episodes_leave_the_stamps_of_the_others_alone(tmp_path: Path) -> None:
    path = made.make(tmp_path / "b")
    before = opened(path).table.values_stamp
    more = made.arrays(30)
    root = zarr.open_group(str(path), mode="a")
    for name, values in more.items():
        root[f"data/{name}"].append(values)  # type: ignore[union-attr]
    root["meta/episode_ends"].append(np.array([made.ROWS + 30]))  # type: ignore[union-attr]
    after = opened(path).table.values_stamp
    assert after[:3] == before[:3]  # the last chunk holds rows of the fourth and of the fifth
    assert len(after) == 5


def test_a_curated_buffer_holds_what_was_recorded(tmp_path: Path) -> None:
    data = smooth()
    path = made.make(tmp_path / "b", data, version=3)
    project = gristmill.open(path, options=RATE | {"task": "wipe"}, store=tmp_path / "store")
    audit = project.audit(jobs=1)
    assert not audit.unreadable
    done = project.curate(tmp_path / "out", jobs=1)
    assert done.snapshot is not None
    spans = done.snapshot.kept()
    assert [s.episode_index for s in spans] == [0, 1, 2, 3]
    table = pq.read_table(next((tmp_path / "out" / "data").rglob("*.parquet")))
    again = open_path(tmp_path / "out")
    assert {d.channel: d.role for d in again.facts.dims} == {"observation.state": "state", "action": "action"}
    for at, (span, episode) in enumerate(zip(spans, again.episodes(range(4)), strict=True)):
        rows = table.filter([e == at for e in table["episode_index"].to_pylist()])
        start, _ = made.bounds(span.episode_index)
        for key, name in (("action", "action"), ("observation.state", "state")):
            np.testing.assert_array_equal(np.array(rows[key].to_pylist(), np.float32), data[name][start + span.rows])
        assert episode.tasks == ("wipe",)
        frames = [0, len(span.rows) - 1]
        seen = episode.cameras[made.CAMERA].rgb(frames).astype(int)
        truth = data["img"][start + span.rows].astype(int)
        # Video is lossy; a frame of another time differs by far more.
        assert np.abs(seen - truth[frames]).mean() < 12 < np.abs(seen - truth[frames[::-1]]).mean()


def smooth() -> dict[str, np.ndarray]:
    """A robot that moves steadily, and a bright square that crosses a dark field."""
    t = np.concatenate([np.arange(n) / 10 for n in made.LENGTHS])
    which = np.repeat(np.arange(4), made.LENGTHS)
    frames = np.full((made.ROWS, 64, 64, 3), 40, np.uint8)
    for row in range(made.ROWS):
        at = int(t[row] * 10)
        frames[row, 16:48, at : at + 24] = 220 - 20 * which[row]
    return {
        "state": np.sin(t[:, None] * [1.0, 0.7, 0.4] + which[:, None]).astype(np.float32),
        "action": np.cos(t[:, None] * [1.0, 0.7] + which[:, None]).astype(np.float32),
        "img": frames,
    }


def error_of(episode: Episode) -> str:
    with pytest.raises(RecordingError) as caught:
        episode.channels  # noqa: B018
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


def test_a_refusal_names_the_buffer(tmp_path: Path) -> None:
    path = made.make(tmp_path / "pusht", version=2)
    (declared,) = (path / "data").glob("state/.zarray")
    declared.write_text(declared.read_text().replace('"zarr_format"', '"order_of"'))
    with pytest.raises(CorpusError, match="pusht: data/state"):
        opened(path)
