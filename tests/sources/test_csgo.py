"""The CS:GO source: the contract, values against h5py, colours, gaps, damaged files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import h5py
import made_hdf5 as made
import numpy as np
import pytest

from gristmill.errors import CorpusError, RecordingError, VideoError
from gristmill.sources import open_path, source_of
from gristmill.sources.csgo import Csgo
from gristmill.testing import SourceContract

SCREEN = "observation.images.screen"


class TestContract(SourceContract):
    source: ClassVar = Csgo

    def make_corpus(self, folder: Path) -> Path:
        for number in (1, 2, 10):
            made.csgo(folder / f"hdf5_dm_july2021_{number}.hdf5", 6, seed=number)
        return folder


def test_values_names_and_frames_are_those_written(tmp_path: Path) -> None:
    path = tmp_path / "hdf5_dm_july2021_12.hdf5"
    content = made.csgo(path, 12)  # frame_10 follows frame_9, not frame_1
    corpus = open_path(path, options={"task": "win"})
    assert source_of(path) == "csgo"
    assert (corpus.facts.format, corpus.facts.rate_hz, corpus.facts.robot_type) == ("CS:GO HDF5", 16.0, "csgo")
    assert corpus.table.index.tolist() == [12]
    assert corpus.table.length.tolist() == [12]
    (episode,) = corpus.episodes([0])
    assert episode.issues == ()
    assert episode.tasks == ("win",)
    np.testing.assert_array_equal(episode.times_s, np.arange(12) / 16)
    for key, part, role in (
        ("action", "y", "action"),
        ("observation.xaux", "xaux", "other"),
        ("observation.helperarr", "helperarr", "other"),
    ):
        np.testing.assert_array_equal(episode.channels[key].values, content[part])
        assert episode.channels[key].role == role
    names = episode.channels["action"].names
    assert names[:13] == (
        "key_w", "key_a", "key_s", "key_d", "key_space", "key_ctrl", "key_shift", "key_1", "key_2", "key_3", "key_r",
        "click_left", "click_right",
    )  # fmt: skip
    # config.py of the dataset: 23 bins from -1000 to 1000, then 15 from -200 to 200.
    assert (names[13], names[24], names[35]) == ("mouse_x_minus_1000", "mouse_x_0", "mouse_x_1000")
    assert (names[36], names[43], names[50]) == ("mouse_y_minus_200", "mouse_y_0", "mouse_y_200")
    assert len(set(names)) == 51
    assert episode.channels["observation.helperarr"].names == ("kill", "death")
    camera = episode.cameras[SCREEN]
    assert (camera.info.height, camera.info.width) == (150, 280)
    # The files hold blue, green, red.
    np.testing.assert_array_equal(camera.rgb(range(12)), content["x"][..., ::-1])


def test_frames_that_are_torn_become_gaps(tmp_path: Path) -> None:
    path = tmp_path / "hdf5_dm_1.hdf5"
    content = made.csgo(path, 8, without=["frame_3_x", "frame_5_y"])
    (episode,) = open_path(path).episodes([0])
    (issue,) = episode.issues
    assert (issue.check, issue.code, issue.measured) == ("schema", "frames_torn", 2)
    kept = [0, 1, 2, 4, 6, 7]
    np.testing.assert_array_equal(episode.times_s, np.array(kept) / 16)
    np.testing.assert_array_equal(episode.channels["action"].values, content["y"][kept])
    np.testing.assert_array_equal(episode.cameras[SCREEN].rgb([3, 4]), content["x"][[4, 6]][..., ::-1])
    np.testing.assert_allclose(episode.cameras[SCREEN].packets().times_s, np.array(kept) / 16)


def test_files_of_two_series_with_the_same_numbers_are_counted(tmp_path: Path) -> None:
    for name in ("hdf5_a_1", "hdf5_a_10", "hdf5_a_2", "hdf5_b_1"):
        made.csgo(tmp_path / f"{name}.hdf5", 2)
    corpus = open_path(tmp_path)
    assert corpus.table.index.tolist() == [0, 1, 2, 3]
    assert [h.where for h in corpus.headers] == [  # type: ignore[attr-defined]
        "hdf5_a_1.hdf5", "hdf5_a_2.hdf5", "hdf5_a_10.hdf5", "hdf5_b_1.hdf5",
    ]  # fmt: skip


def test_damaged_files_lose_their_episode_only(tmp_path: Path) -> None:
    for number in range(4):
        made.csgo(tmp_path / f"dm_{number}.hdf5", 4)
    whole = (tmp_path / "dm_0.hdf5").read_bytes()
    (tmp_path / "dm_1.hdf5").write_bytes(whole[:-1000])
    with h5py.File(tmp_path / "dm_2.hdf5", "a") as file:
        del file["frame_1_y"], file["frame_2_x"]
        file["frame_1_y"] = np.zeros(50)
        file["frame_2_x"] = np.zeros((10, 10, 3), np.uint8)
    with h5py.File(tmp_path / "dm_3.hdf5", "a") as file:
        del file["frame_1_y"]
        file["frame_1_y"] = h5py.ExternalLink("dm_0.hdf5", "/frame_1_y")
    episodes = list(open_path(tmp_path).episodes(range(4)))
    assert len(episodes[0].channels["action"].values) == 4
    for index, says in ((1, "cut off"), (2, r"frame_1_y has 50 numbers, others have 51"), (3, "link to another file")):
        with pytest.raises(RecordingError, match=says):
            _ = episodes[index].channels
    with pytest.raises(VideoError, match="frame_2_x is no picture like the others"):
        episodes[2].cameras[SCREEN].packets()
    with pytest.raises(VideoError, match="cut off"):
        episodes[1].cameras[SCREEN].packets()


def test_nothing_that_can_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "dm_1.hdf5"
    made.csgo(path, 3, without=[f"frame_{i}_y" for i in range(3)])
    with pytest.raises(CorpusError, match=r"dm_1\.hdf5 holds no frame with both a picture .* and an action"):
        open_path(path)
