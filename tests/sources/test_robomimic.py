"""The robomimic source: the contract, values against h5py, what files leave unsaid, and what they say wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import ClassVar

import h5py
import made_hdf5 as made
import numpy as np
import pytest

from gristmill.errors import CorpusError, RecipeError, RecordingError, UnsafeCorpusError, VideoError
from gristmill.finding import Kind
from gristmill.sources import open_path, source_of
from gristmill.sources.robomimic import Robomimic
from gristmill.testing import SourceContract

CAMERA = "observation.images.agentview_image"


class TestContract(SourceContract):
    source: ClassVar = Robomimic

    def make_corpus(self, folder: Path) -> Path:
        return made.robomimic(folder / "lift.hdf5")

    def test_writes_nothing_into_the_corpus(self, tmp_path: Path) -> None:
        path = self.make_corpus(tmp_path / "corpus")
        before = path.read_bytes(), path.stat().st_mtime_ns, sorted(path.parent.iterdir())
        corpus = self.open(path)
        self._contents(corpus, range(len(corpus.table)))
        assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(path.parent.iterdir())) == before


def issues_of(corpus) -> list[tuple]:
    """(episode, check, code, channel or camera) of everything that the reader found wrong."""
    found = [*corpus.issues]
    for episode in corpus.episodes(range(len(corpus.table))):
        found += episode.issues
    return [(i.episode, i.check, i.code, i.channel or i.camera) for i in found]


def test_values_names_roles_and_times_are_those_written(tmp_path: Path) -> None:
    path = made.robomimic(tmp_path / "lift.hdf5")
    corpus = open_path(path)
    assert source_of(path) == "robomimic"
    assert (corpus.facts.key, corpus.facts.format, corpus.facts.rate_hz) == ("lift", "robomimic HDF5", 20.0)
    assert corpus.facts.robot_type == "panda"
    assert corpus.table.index.tolist() == [0, 2, 10]  # by number, not by name
    assert corpus.table.length.tolist() == [25, 40, 30]
    assert corpus.table.tasks == [("Lift",)] * 3
    assert issues_of(corpus) == []
    assert corpus.facts.unread == {"next_obs": "the observations again, one step later"}
    roles = {}
    with h5py.File(path, "r") as file:
        for episode in corpus.episodes(range(3)):
            group = file[f"data/demo_{episode.index}"]
            np.testing.assert_array_equal(episode.times_s, np.arange(episode.frames) / 20)
            for key, channel in episode.channels.items():
                stored = group[{"action": "actions", "next.reward": "rewards", "next.done": "dones"}.get(
                    key, key.replace("observation.", "obs/").replace("state.", "")
                )][()]  # fmt: skip
                np.testing.assert_array_equal(channel.values, stored.reshape(len(stored), -1))
                assert channel.values.dtype == stored.dtype
                roles[key] = channel.role
    assert roles == {
        "observation.state.robot0_eef_pos": "state",
        "observation.state.robot0_eef_quat": "state",
        "observation.state.robot0_gripper_qpos": "state",
        "observation.state.robot0_joint_pos": "state",
        "observation.robot0_joint_vel": "other",
        "observation.object": "other",
        "states": "other",
        "next.reward": "reward",
        "next.done": "done",
        "action": "action",
    }
    channels = next(iter(corpus.episodes([0]))).channels
    assert channels["observation.state.robot0_eef_pos"].names == ("x", "y", "z")
    assert channels["observation.state.robot0_eef_quat"].names == ("qx", "qy", "qz", "qw")
    assert channels["observation.state.robot0_joint_pos"].names == ("",) * 7
    assert channels["action"].names == (
        "delta_x", "delta_y", "delta_z", "delta_rx", "delta_ry", "delta_rz", "gripper",
    )  # fmt: skip


@pytest.mark.parametrize("storage", [{}, {"compression": "gzip"}, {"chunks": (7, 64, 96, 3)}], ids=str)
def test_frames_are_those_written(tmp_path: Path, storage: dict) -> None:
    content = made.demo(1, 23, camera=True)
    path = tmp_path / "seen.hdf5"
    with h5py.File(made.robomimic(path, {"demo_1": content}), "a") as file:
        del file["data/demo_1/obs/agentview_image"]
        file["data/demo_1/obs"].create_dataset("agentview_image", data=content["obs/agentview_image"], **storage)
        grey = content["obs/agentview_image"][..., :1]
        file["data/demo_1/obs/grey_image"] = grey
        file["data/demo_1/obs/planar_image"] = content["obs/agentview_image"].transpose(0, 3, 1, 2)
        file["data/demo_1/obs/agentview_depth"] = np.ones((23, 64, 96, 1), np.float32)
    corpus = open_path(path)
    info = corpus.facts.cameras[CAMERA]
    assert (info.height, info.width, info.rate_hz) == (64, 96, 20.0)
    assert "depth" in corpus.facts.unread["observation.agentview_depth"]
    episode = next(iter(corpus.episodes([0])))
    frames = content["obs/agentview_image"]
    camera = episode.cameras[CAMERA]
    np.testing.assert_array_equal(camera.rgb(range(23)), frames)
    np.testing.assert_array_equal(camera.rgb([3, 4, 20, 2]), frames[[3, 4, 20, 2]])
    np.testing.assert_array_equal(episode.cameras["observation.images.planar_image"].rgb([5]), frames[5:6])
    np.testing.assert_array_equal(
        np.concatenate(list(episode.cameras["observation.images.grey_image"].luma(chunk=10))), frames[..., 0]
    )
    weights = np.array([0.299, 0.587, 0.114])
    luma = np.concatenate(list(camera.luma(chunk=10)))
    np.testing.assert_allclose(luma, frames @ weights, atol=0.51)
    packets = camera.packets()
    assert len(packets) == 23
    np.testing.assert_allclose(packets.times_s, np.arange(23) / 20)
    with pytest.raises(VideoError, match="there is no frame 23"):
        camera.rgb([23])


def test_the_rate_is_found_or_has_to_be_stated(tmp_path: Path) -> None:
    def rate(env_args: object, **options: object) -> float:
        path = made.robomimic(tmp_path / "file.hdf5", env_args=env_args)
        return open_path(path, options=options).facts.rate_hz

    assert rate(made.PANDA) == 20
    assert rate(made.PANDA, rate_hz=10) == 10
    assert rate({"env_name": "Isaac-Stack", "type": 2, "sim_args": {"dt": 0.01, "decimation": 5}}) == pytest.approx(20)
    for silent in (
        None,
        {},
        {"env_name": "Isaac-Stack", "type": 2},
        {"env_kwargs": {"control_freq": 10**400}},
        "no json",
    ):
        with pytest.raises(CorpusError, match=r"file\.hdf5 does not say .* --option rate_hz=20"):
            rate(silent)
        assert rate(silent, rate_hz=12.5) == 12.5
    with pytest.raises(RecipeError, match="rate_hz"):
        rate(None, rate_hz=-5)
    with pytest.raises(RecipeError, match="unknown key"):
        rate(None, rate=5)


def test_tasks_come_from_the_user_the_episode_or_the_environment(tmp_path: Path) -> None:
    path = made.robomimic(tmp_path / "file.hdf5")
    with h5py.File(path, "a") as file:
        file["data/demo_2"].attrs["lang"] = "lift the cube"
        file["data/demo_10"].attrs["ep_meta"] = json.dumps({"lang": "open the drawer"})
    assert open_path(path).table.tasks == [("Lift",), ("lift the cube",), ("open the drawer",)]
    assert open_path(path, options={"task": "do it"}).table.tasks == [("do it",)] * 3
    with h5py.File(path, "a") as file:
        file["data"].attrs["problem_info"] = json.dumps({"language_instruction": list("put it away")})
    assert open_path(path).table.tasks[0] == ("put it away",)
    nameless = made.robomimic(tmp_path / "nameless.hdf5", env_args={"env_kwargs": {"control_freq": 20}})
    assert open_path(nameless).table.tasks == [()] * 3


def test_an_isaac_lab_file(tmp_path: Path) -> None:
    def content(seed: int) -> dict[str, np.ndarray]:
        return {
            "actions": made.series(seed, 20, 8).astype(np.float32),
            "processed_actions": made.series(seed, 20, 8).astype(np.float32),
            "obs/joint_pos": made.series(seed, 20, 9).astype(np.float32),
            "obs/eef_quat": made.series(seed, 20, 4).astype(np.float32),
            "obs/datagen_info/eef_pose/franka": made.series(seed, 20, 16).reshape(20, 4, 4),
            "states/articulation/robot/joint_position": made.series(seed, 20, 9),
            "initial_state/articulation/robot/joint_position": made.series(seed, 1, 9),
        }

    args = {"env_name": "Isaac-Stack-Cube-Franka-v0", "type": 2}
    path = made.robomimic(tmp_path / "stack.hdf5", {f"demo_{i}": content(i) for i in range(3)}, env_args=args)
    with h5py.File(path, "a") as file:
        for i in range(3):
            file[f"data/demo_{i}"].attrs["success"] = np.bool_(i != 1)
    corpus = open_path(path, options={"rate_hz": 20})
    assert corpus.facts.format == "Isaac Lab HDF5"
    assert issues_of(corpus) == []
    assert set(corpus.facts.unread) == {"initial_state"}
    for episode in corpus.episodes(range(3)):
        channels = episode.channels
        assert {k: c.role for k, c in channels.items()} == {
            "observation.state.joint_pos": "state",
            "observation.state.eef_quat": "state",
            "action": "action",
            "processed_actions": "other",
            "observation.datagen_info.eef_pose.franka": "other",
            "states.articulation.robot.joint_position": "other",
            "next.success": "success",
        }
        pose = channels["observation.datagen_info.eef_pose.franka"].values
        np.testing.assert_array_equal(pose, content(episode.index)["obs/datagen_info/eef_pose/franka"].reshape(20, 16))
        # Isaac Lab changed its order of quaternions, so nothing is claimed of it.
        assert channels["observation.state.eef_quat"].names == ("",) * 4
        assert (channels["next.success"].values == (episode.index != 1)).all()


def test_masks_and_environment_travel_as_metadata(tmp_path: Path) -> None:
    path = made.robomimic(
        tmp_path / "file.hdf5", masks={"train": ["demo_0", "demo_2"], "valid": ["demo_10", "demo_77"]}
    )
    corpus = open_path(path)
    assert corpus.facts.info["robomimic"]["env_args"] == made.PANDA
    assert corpus.facts.info["robomimic"]["masks"]["train"] == ["demo_0", "demo_2"]
    assert issues_of(corpus) == [(None, "pointers", "mask", None)]
    assert "demo_77" in corpus.issues[0].message


def changed(path: Path, change) -> Path:
    """The default file, changed by `change(file)`."""
    with h5py.File(made.robomimic(path), "a") as file:
        change(file)
    return path


def _lie(file: h5py.File) -> None:
    file["data/demo_2"].attrs["num_samples"] = 55


def _nonsense_count(file: h5py.File) -> None:
    file["data/demo_2"].attrs["num_samples"] = "many"


def _total(file: h5py.File) -> None:
    file["data"].attrs["total"] = 7


def _no_actions(file: h5py.File) -> None:
    del file["data/demo_2/actions"]


def _no_obs(file: h5py.File) -> None:
    del file["data/demo_2/obs"]


def _one_less(file: h5py.File) -> None:
    del file["data/demo_2/obs/object"]


def _ragged(file: h5py.File) -> None:
    del file["data/demo_2/obs/object"]
    file["data/demo_2/obs/object"] = np.zeros((37, 10))


def _empty(file: h5py.File) -> None:
    del file["data/demo_2/obs/object"]
    file["data/demo_2/obs/object"] = np.zeros((0, 10))


def _wider(file: h5py.File) -> None:
    del file["data/demo_2/obs/object"]
    file["data/demo_2/obs/object"] = np.zeros((40, 11))


def _unwritten(file: h5py.File) -> None:
    del file["data/demo_2/obs/object"]
    file["data/demo_2"].create_dataset("obs/object", shape=(40, 10), dtype="f8")


def _strings(file: h5py.File) -> None:
    del file["data/demo_2/actions"]
    file["data/demo_2"].create_dataset("actions", data=["a"] * 40, dtype=h5py.string_dtype())


def _references(file: h5py.File) -> None:
    del file["data/demo_2/actions"]
    file["data/demo_2"].create_dataset("actions", shape=(40,), dtype=h5py.ref_dtype)


def _twins(file: h5py.File) -> None:
    file.copy("data/demo_10", "data/demo_02")


def _no_group(file: h5py.File) -> None:
    del file["data/demo_2"]
    file["data/demo_2"] = np.zeros(3)


SPOILT = {
    "lying count": (_lie, [(2, "files", "count_lie", None)]),
    "count of words": (_nonsense_count, [(2, "schema", "num_samples", None)]),
    "lying total": (_total, [(None, "files", "total_frames", None)]),
    "no actions": (
        _no_actions,
        [(None, "files", "total_frames", None), (2, "schema", "column_absent", "action")],
    ),
    "no observations": (_no_obs, [(2, "schema", "observations_absent", None)]),
    "an observation less": (_one_less, [(2, "schema", "column_absent", "observation.object")]),
    "ragged": (
        _ragged,
        [(2, "schema", "lengths_differ", "observation.object"), (2, "files", "count_lie", None)],
    ),
    "empty": (_empty, [(2, "schema", "column_empty", "observation.object")]),
    "wider": (_wider, [(2, "schema", "shape_differs", "observation.object")]),
    "never written": (_unwritten, [(2, "files", "data_unwritten", "observation.object")]),
    "actions of text": (
        _strings,
        [(None, "files", "total_frames", None), (2, "schema", "column_unreadable", "action")],
    ),
    "actions of references": (
        _references,
        [(None, "files", "total_frames", None), (2, "schema", "column_unreadable", "action")],
    ),
    "two of one number": (_twins, [(None, "pointers", "episode_numbers", None)]),
    "no group": (_no_group, [(None, "files", "total_frames", None), (2, "files", "data_unreadable", None)]),
}


@pytest.mark.parametrize("case", SPOILT)
def test_what_is_wrong_is_told_of_the_episode(tmp_path: Path, case: str) -> None:
    change, expected = SPOILT[case]
    corpus = open_path(changed(tmp_path / "file.hdf5", change))
    assert issues_of(corpus) == expected
    assert corpus.table.index.tolist() == [0, 2, 10]
    for episode in corpus.episodes(range(3)):
        for issue in episode.issues:
            assert "demo_2 of file.hdf5" in issue.message
        if case == "no group" and episode.index == 2:
            with pytest.raises(RecordingError, match=r"demo_2 of file\.hdf5 is no group"):
                _ = episode.channels
            continue
        lengths = {len(c.values) for c in episode.channels.values()}
        expects = 37 if case == "ragged" else 40
        assert lengths == {expects if episode.index == 2 else episode.length}
    assert all(i.kind in (Kind.DEFECT, Kind.RISK) for i in corpus.issues)


def test_nan_is_read_as_it_is(tmp_path: Path) -> None:
    content = made.demo(0, 20)
    content["obs/object"][7, 3] = np.nan
    corpus = open_path(made.robomimic(tmp_path / "file.hdf5", {"demo_0": content}))
    values = next(iter(corpus.episodes([0]))).channels["observation.object"].values
    assert np.argwhere(np.isnan(values)).tolist() == [[7, 3]]


def test_attributes_that_are_no_utf8(tmp_path: Path) -> None:
    def spoil(file: h5py.File) -> None:
        file["data"].attrs["env_args"] = np.bytes_(b'{"env_name": "\xff\xfe"')
        file["data/demo_2"].attrs["lang"] = np.bytes_(b"lift \xff it")

    corpus = open_path(changed(tmp_path / "file.hdf5", spoil), options={"rate_hz": 20})
    assert issues_of(corpus) == [(None, "schema", "env_args", None)]
    assert corpus.table.tasks == [(), ("lift \ufffd it",), ()]


def _external_link(file: h5py.File) -> None:
    file["data/demo_2/obs/secret"] = h5py.ExternalLink("other.hdf5", "/data")


def _external_group(file: h5py.File) -> None:
    file["data/demo_7"] = h5py.ExternalLink("other.hdf5", "/data")


def _soft_circle(file: h5py.File) -> None:
    file["data/demo_2/obs/a"] = h5py.SoftLink("/data/demo_2/obs/b")
    file["data/demo_2/obs/b"] = h5py.SoftLink("/data/demo_2/obs/a")


def _soft_to_external(file: h5py.File) -> None:
    file["away"] = h5py.ExternalLink("other.hdf5", "/data")
    file["data/demo_2/obs/a"] = h5py.SoftLink("/away")


def _hard_circle(file: h5py.File) -> None:
    file["data/demo_2/obs/again"] = file["data/demo_2"]


def _external_storage(file: h5py.File) -> None:
    file["data/demo_2"].create_dataset("obs/raw", shape=(40, 3), dtype="f8", external=[("other.bin", 0, 960)])


def _virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(shape=(40, 3), dtype="f8")
    layout[:] = h5py.VirtualSource("other.hdf5", "data", shape=(40, 3))
    file["data/demo_2"].create_virtual_dataset("obs/virtual", layout)


@pytest.mark.parametrize(
    "change",
    [_external_link, _external_group, _soft_circle, _soft_to_external, _hard_circle, _external_storage, _virtual],
)
def test_what_leads_elsewhere_is_refused(tmp_path: Path, change) -> None:
    with h5py.File(tmp_path / "other.hdf5", "w") as file:
        file["data"] = np.ones((40, 3))
    (tmp_path / "other.bin").write_bytes(bytes(960))
    path = changed(tmp_path / "file.hdf5", change)
    with pytest.raises(UnsafeCorpusError) as caught:
        open_path(path)
    assert "\n" not in str(caught.value)
    assert "file.hdf5" in str(caught.value)


def test_links_within_the_file_are_followed(tmp_path: Path) -> None:
    def link(file: h5py.File) -> None:
        file["data/demo_2/obs/same"] = h5py.SoftLink("/data/demo_2/obs/object")
        for number in (0, 10):
            file[f"data/demo_{number}/obs/same"] = h5py.SoftLink("object")

    for episode in open_path(changed(tmp_path / "file.hdf5", link)).episodes(range(3)):
        same, object_ = (episode.channels[f"observation.{name}"].values for name in ("same", "object"))
        np.testing.assert_array_equal(same, object_)


def test_a_virtual_dataset_of_the_same_file_is_read(tmp_path: Path) -> None:
    def join(file: h5py.File) -> None:
        for number in (0, 2, 10):
            group = file[f"data/demo_{number}"]
            layout = h5py.VirtualLayout(shape=(len(group["actions"]), 10), dtype="f8")
            layout[:] = h5py.VirtualSource(group["obs/object"])
            group.create_virtual_dataset("obs/virtual", layout)

    for episode in open_path(changed(tmp_path / "file.hdf5", join)).episodes(range(3)):
        virtual, object_ = (episode.channels[f"observation.{name}"].values for name in ("virtual", "object"))
        np.testing.assert_array_equal(virtual, object_)


def test_a_shape_that_would_fill_memory_is_not_read(tmp_path: Path) -> None:
    def swell(file: h5py.File) -> None:
        for number in (0, 2, 10):
            file[f"data/demo_{number}"].create_dataset("obs/huge", shape=(10**9, 64), chunks=(1024, 64), dtype="f8")

    corpus = open_path(changed(tmp_path / "file.hdf5", swell))
    assert "which no recording has" in corpus.facts.unread["observation.huge"]
    assert [e.frames for e in corpus.episodes(range(3))] == [25, 40, 30]


def test_objects_in_other_datasets_are_left_alone(tmp_path: Path) -> None:
    def add(file: h5py.File) -> None:
        for number in (0, 2, 10):
            group = file[f"data/demo_{number}"]
            group.create_dataset("obs/lists", shape=(len(group["actions"]),), dtype=h5py.vlen_dtype(np.float64))
            group["obs/records"] = np.zeros(len(group["actions"]), [("a", "f4"), ("b", "i8")])

    corpus = open_path(changed(tmp_path / "file.hdf5", add))
    assert "lists of different lengths" in corpus.facts.unread["observation.lists"]
    assert "records" in corpus.facts.unread["observation.records"]
    assert issues_of(corpus) == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "file.hdf5 is empty (0 bytes)"),
        (b"\x89HDF\r\n\x1a\n" + b"\xff" * 200, "file.hdf5 is not a readable HDF5 file"),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "file.hdf5"
    path.write_bytes(content)
    with pytest.raises(CorpusError) as caught:
        open_path(path)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_kind_of_file_is_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "a.hdf5").write_bytes(b"text" * 100)
    with h5py.File(tmp_path / "b.hdf5", "w") as file:
        file["x"] = np.zeros(3)
    assert not Robomimic.recognizes(tmp_path / "a.hdf5")
    assert not Robomimic.recognizes(tmp_path / "b.hdf5")
    assert not Robomimic.recognizes(tmp_path)
    with pytest.raises(CorpusError, match="no demonstration"):
        with h5py.File(tmp_path / "c.hdf5", "w") as file:
            file.create_group("data").attrs["env_args"] = "{}"
        open_path(tmp_path / "c.hdf5")


def test_a_file_that_was_cut_off_gives_its_whole_episodes(tmp_path: Path) -> None:
    """Written demonstration after demonstration, flushed after each, and cut in the middle of the last ones."""
    path = tmp_path / "file.hdf5"
    demos = {f"demo_{i}": made.demo(i, 30, camera=True) for i in range(6)}
    made.robomimic(path, demos)
    whole = path.read_bytes()
    cut = tmp_path / "cut.hdf5"
    with h5py.File(path, "r") as file:
        ends = {
            name: max(d.id.get_offset() + d.id.get_storage_size() for d in _datasets(file["data"][name]))
            for name in file["data"]
        }
    real = ends["demo_3"] + 10_000
    cut.write_bytes(whole[:real])
    corpus = open_path(cut)
    survivors = [n for n in range(6) if ends[f"demo_{n}"] <= real]
    assert survivors == [0, 1, 2, 3]
    assert corpus.table.index.tolist() == survivors
    (issue,) = corpus.issues
    assert (issue.check, issue.code, issue.kind) == ("files", "truncated", Kind.DEFECT)
    assert "2 of its 6 demonstrations" in issue.message
    assert "demo_4, demo_5" in issue.message
    for episode in corpus.episodes(range(4)):
        content = demos[f"demo_{episode.index}"]
        np.testing.assert_array_equal(episode.channels["action"].values, content["actions"])
        np.testing.assert_array_equal(episode.cameras[CAMERA].rgb(range(30)), content["obs/agentview_image"])
    nothing = tmp_path / "nothing.hdf5"
    nothing.write_bytes(whole[:600])
    with pytest.raises(CorpusError, match=r"cut off|no root group|cannot be"):
        open_path(nothing)


def _datasets(group: h5py.Group) -> list[h5py.Dataset]:
    found: list[h5py.Dataset] = []
    group.visititems(lambda _, node: found.append(node) if isinstance(node, h5py.Dataset) else None)
    return found


def test_without_h5py_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made.robomimic(tmp_path / "file.hdf5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert Robomimic.recognizes(path)
    with pytest.raises(CorpusError, match=r"pip install 'gristmill\[hdf5\]'"):
        open_path(path)
    folder = tmp_path / "folder"
    folder.mkdir()
    assert not Robomimic.recognizes(folder)


def test_a_file_that_changes_meanwhile_is_noticed(tmp_path: Path) -> None:
    path = made.robomimic(tmp_path / "file.hdf5")
    corpus = open_path(path)
    reader = corpus.reader  # type: ignore[attr-defined]
    reader._files.opened("file.hdf5").close()
    reader._files._open.clear()
    made.robomimic(path, {"demo_0": made.demo(5, 12)})
    with pytest.raises(RecordingError, match="changed while it was read"):
        _ = next(iter(corpus.episodes([0]))).channels
