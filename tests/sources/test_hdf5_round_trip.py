"""LeRobot corpora written as robomimic and as ALOHA read back the same; a robomimic file becomes a LeRobot dataset."""

from __future__ import annotations

from pathlib import Path

import h5py
import made_hdf5 as made
import numpy as np
import pytest

import gristmill
from gristmill.episode import Corpus, Episode
from gristmill.sources import open_path


@pytest.fixture(scope="module")
def recorded(filmed_corpus: Path) -> tuple[Corpus, list[Episode]]:
    """The first episodes of a generated LeRobot corpus with cameras."""
    corpus = open_path(filmed_corpus)
    return corpus, list(corpus.episodes(range(3)))


def frames_of(episode: Episode, key: str) -> np.ndarray:
    return episode.cameras[key].rgb(range(episode.frames))


def same_times(found: Episode, written: Episode) -> None:
    """Within a nanosecond of frame / rate; LeRobot's own timestamps are rounded to float32."""
    exact = np.arange(written.frames) / written.rate_hz
    np.testing.assert_allclose(found.times_s, exact, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.times_s, written.times_s, rtol=0, atol=1e-6)


def test_lerobot_as_robomimic(recorded: tuple[Corpus, list[Episode]], tmp_path: Path) -> None:
    corpus, episodes = recorded
    cameras = list(corpus.facts.cameras)
    demos = {}
    for e in episodes:
        demos[f"demo_{e.index}"] = {
            "actions": e.channels["action"].values,
            "obs/joint_pos": e.channels["observation.state"].values,
        } | {f"obs/{key.rpartition('.')[2]}": frames_of(e, key) for key in cameras}
    args = {"env_name": episodes[0].tasks[0], "env_kwargs": {"control_freq": corpus.facts.rate_hz}}
    again = open_path(made.robomimic(tmp_path / "same.hdf5", demos, env_args=args, compression="gzip"))
    assert set(again.facts.cameras) == set(cameras)
    assert again.facts.rate_hz == corpus.facts.rate_hz
    for found, written in zip(again.episodes(range(3)), episodes, strict=True):
        assert (found.index, found.length, found.issues) == (written.index, written.length, ())
        assert found.tasks == episodes[0].tasks
        for here, there in (("action", "action"), ("observation.state.joint_pos", "observation.state")):
            np.testing.assert_array_equal(found.channels[here].values, written.channels[there].values)
            assert found.channels[here].values.dtype == written.channels[there].values.dtype
            assert found.channels[here].role == written.channels[there].role
        same_times(found, written)
        for key in cameras:
            np.testing.assert_array_equal(frames_of(found, key), frames_of(written, key))


def test_lerobot_as_aloha(recorded: tuple[Corpus, list[Episode]], tmp_path: Path) -> None:
    corpus, episodes = recorded
    for e in episodes:
        with h5py.File(tmp_path / f"episode_{e.index}.hdf5", "w") as file:
            file["action"] = e.channels["action"].values
            file["observations/qpos"] = e.channels["observation.state"].values
            for key in corpus.facts.cameras:
                file[f"observations/images/{key.rpartition('.')[2]}"] = frames_of(e, key)
    again = open_path(tmp_path, options={"rate_hz": corpus.facts.rate_hz, "task": "x"})
    for found, written in zip(again.episodes(range(3)), episodes, strict=True):
        assert (found.index, found.length, found.tasks, found.issues) == (written.index, written.length, ("x",), ())
        for key in ("action", "observation.state"):
            np.testing.assert_array_equal(found.channels[key].values, written.channels[key].values)
            assert found.channels[key].role == written.channels[key].role
        same_times(found, written)
        for key in corpus.facts.cameras:
            np.testing.assert_array_equal(frames_of(found, key), frames_of(written, key))


def test_a_robomimic_file_is_audited_and_becomes_a_lerobot_dataset(tmp_path: Path) -> None:
    lengths = {0: 40, 1: 44, 3: 36, 4: 42}
    demos = {f"demo_{n}": made.demo(20 * n, frames, camera=True) for n, frames in lengths.items()}
    demos["demo_7"] = {k: v.copy() for k, v in made.demo(200, 40, camera=True).items()}
    demos["demo_7"]["obs/robot0_eef_pos"][11, 1] = np.nan
    path = made.robomimic(tmp_path / "lift.hdf5", demos)
    before = path.read_bytes()
    project = gristmill.open(path, store=tmp_path / "store", options={"task": "lift the red cube"})
    audit = project.audit(jobs=1)
    assert audit.facts.format == "robomimic HDF5"
    named = {
        (int(audit.index[f.row]), f.channel) for f in audit.findings if f.check == "non_finite" and f.row is not None
    }
    assert named == {(7, "observation.state.robot0_eef_pos[y]")}
    assert project.counters.read == 5
    project.audit(jobs=1)
    assert project.counters.read == 0

    project.curate(tmp_path / "clean", jobs=1)
    assert path.read_bytes() == before
    # One group of episodes has one folder, or the dataset is the folder itself.
    exported = next(p.parents[1] for p in sorted((tmp_path / "clean").rglob("meta/info.json")))
    dataset = open_path(exported)
    assert dataset.issues == ()
    assert dataset.facts.rate_hz == 20
    assert dataset.facts.robot_type == "panda"
    assert dataset.facts.info["robomimic"]["env_args"] == made.PANDA
    kept = [n for n in lengths if n != 7]
    assert len(dataset.table) == len(kept)
    for episode, number in zip(dataset.episodes(range(len(kept))), kept, strict=True):
        content = demos[f"demo_{number}"]
        assert episode.tasks == ("lift the red cube",)
        assert episode.issues == ()
        for key, name in (
            ("action", "actions"),
            ("states", "states"),
            ("next.reward", "rewards"),
            ("next.done", "dones"),
            ("observation.state.robot0_eef_quat", "obs/robot0_eef_quat"),
            ("observation.object", "obs/object"),
        ):
            values = episode.channels[key].values
            np.testing.assert_array_equal(values, content[name].reshape(len(content[name]), -1))
        roles = {k: c.role for k, c in episode.channels.items()}
        assert roles["observation.state.robot0_joint_pos"] == "state"
        assert (roles["next.reward"], roles["next.done"]) == ("reward", "done")
        seen = frames_of(episode, "observation.images.agentview_image").astype(int)
        wanted = content["obs/agentview_image"].astype(int)
        error = np.abs(seen - wanted).mean(axis=(1, 2, 3))
        assert error.max() < 8  # AV1 with subsampled colours costs a few levels
        shifted = np.abs(seen[1:] - wanted[:-1]).mean(axis=(1, 2, 3))
        assert (error[1:] < shifted).all()  # every frame is itself, not its neighbour
