"""A LeRobot corpus written as a Zarr replay buffer and as RLDS reads back the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import imagecodecs
import made_buffers
import made_rlds
import numpy as np
import pytest

from gristmill.episode import Episode
from gristmill.sources import open_path

COUNT = 2  # episodes; their frames are compared whole


@pytest.fixture(scope="module")
def episodes(filmed_corpus: Path) -> list[Episode]:
    return list(open_path(filmed_corpus).episodes(range(COUNT)))


def frames_of(episode: Episode, key: str) -> np.ndarray:
    return episode.cameras[key].rgb(range(episode.frames))


def same(again: Iterator[Episode], episodes: list[Episode]) -> None:
    """Values, types, roles, tasks and frames equal; times within a nanosecond of frame / rate."""
    for found, written in zip(again, episodes, strict=True):
        assert (found.index, found.length, found.issues) == (written.index, written.length, ())
        assert (found.rate_hz, found.tasks) == (written.rate_hz, written.tasks)
        for key in ("observation.state", "action"):
            np.testing.assert_array_equal(found.channels[key].values, written.channels[key].values)
            assert found.channels[key].values.dtype == written.channels[key].values.dtype
            assert found.channels[key].role == written.channels[key].role
        np.testing.assert_allclose(found.times_s, np.arange(written.frames) / written.rate_hz, rtol=0, atol=1e-9)
        assert set(found.cameras) == set(written.cameras)
        for key in written.cameras:
            np.testing.assert_array_equal(frames_of(found, key), frames_of(written, key))


@pytest.mark.parametrize("version", [2, 3])
def test_as_a_replay_buffer(episodes: list[Episode], tmp_path: Path, version: int) -> None:
    same_task = [e for e in episodes if e.tasks == episodes[0].tasks]  # a buffer has one task, which is stated
    data = {
        "action": np.concatenate([e.channels["action"].values for e in same_task]),
        "state": np.concatenate([e.channels["observation.state"].values for e in same_task]),
    }
    for key in same_task[0].cameras:
        data[key.rpartition(".")[2]] = np.concatenate([frames_of(e, key) for e in same_task])
    ends = np.cumsum([e.frames for e in same_task])
    path = made_buffers.make(tmp_path / "arm.zarr", data, version=version, ends=ends)
    again = open_path(path, options={"rate_hz": same_task[0].rate_hz, "task": same_task[0].tasks[0]})
    same(again.episodes(range(len(same_task))), same_task)


def test_as_rlds(episodes: list[Episode], tmp_path: Path) -> None:
    records = []
    for e in episodes:
        at = np.arange(e.frames)
        features = {
            "steps/observation/state": e.channels["observation.state"].values,
            "steps/action": e.channels["action"].values,
            "steps/is_first": at == 0,
            "steps/is_last": at == e.frames - 1,
            "steps/language_instruction": [e.tasks[0]] * e.frames,
        }
        for key in e.cameras:
            pictures = [imagecodecs.png_encode(f) for f in frames_of(e, key)]
            features[f"steps/observation/{key.rpartition('.')[2]}"] = pictures
        records.append(made_rlds.framed(made_rlds.example(features)))
    path = tmp_path / "arm-train.tfrecord-00000-of-00001"
    path.write_bytes(b"".join(records))
    again = open_path(path, options={"rate_hz": episodes[0].rate_hz})
    same(again.episodes(range(COUNT)), episodes)
