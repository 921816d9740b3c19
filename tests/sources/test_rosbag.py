"""ROS 1 bags as a corpus: the contract, a real arm against `rosbags`, cameras, a bag that was not closed."""

from __future__ import annotations

import struct
from pathlib import Path

import made_logs as made
import numpy as np
import pytest
from made_logs import START_NS, Sent
from rosbags.rosbag1 import Reader
from rosbags.typesys import Stores, get_typestore

from gristmill.errors import RecipeError
from gristmill.sources import open_path, source_of
from gristmill.sources.rosbag import Rosbag
from gristmill.testing import SourceContract


class TestContract(SourceContract):
    source = Rosbag

    def make_corpus(self, folder: Path) -> Path:
        for i in range(3):
            made.write_bag(folder / f"run_{i}.bag", made.arm_log(i, frames=40 + i))
        return folder


def test_the_real_arm_agrees_with_rosbags(real_data: Path) -> None:
    path = real_data / "kuka_lwr" / "test.bag"
    assert source_of(path) == source_of(path.parent) == "rosbag"
    store = get_typestore(Stores.ROS1_NOETIC)
    with Reader(path) as reader:
        rows = [(t, store.deserialize_ros1(raw, c.msgtype)) for c, t, raw in reader.messages()]
    (episode,) = open_path(path).episodes([0])
    start_ns = rows[0][0]
    for field, key in (("position", "state"), ("velocity", "velocity"), ("effort", "effort")):
        channel = episode.channels[f"observation.{key}"]
        assert np.array_equal(channel.values, np.stack([getattr(m, field) for _, m in rows]))
        assert channel.names == tuple(rows[0][1].name)
        assert np.array_equal(channel.times_s, np.array([t - start_ns for t, _ in rows]) / 1e9)
    assert (episode.length, episode.rate_hz) == (4101, 100.0)


def test_header_times_and_their_offset(real_data: Path) -> None:
    path = real_data / "kuka_lwr" / "test.bag"
    store = get_typestore(Stores.ROS1_NOETIC)
    with Reader(path) as reader:
        messages = [(t, store.deserialize_ros1(raw, c.msgtype)) for c, t, raw in reader.messages()]
    stamps = np.array([m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for _, m in messages])
    corpus = open_path(path, options={"clock": "header"})
    (episode,) = corpus.episodes([0])
    assert np.array_equal(episode.times_s, (stamps - stamps[0]) / 1e9)
    all_s = np.median(stamps - np.array([t for t, _ in messages])) / 1e9
    told = corpus.facts.info["log"]["header_minus_log_s"]["/joint_states"]
    assert 0.001 < told < 0.006 and abs(told - all_s) < 0.002  # from a few messages spread over the log


def test_pictures_in_a_bag(tmp_path: Path) -> None:
    truth = np.stack([made.picture(i) for i in range(8)])
    sent = [Sent("/cam/image_raw", START_NS + i, made.image(0, p)) for i, p in enumerate(truth)]
    sent += [Sent("/wrist/compressed", START_NS + i, made.jpeg(0, p)) for i, p in enumerate(truth)]
    (episode,) = open_path(made.write_bag(tmp_path / "a.bag", sent)).episodes([0])
    assert set(episode.cameras) == {"observation.images.cam", "observation.images.wrist"}
    assert episode.length == 8 and not episode.channels
    for camera in episode.cameras.values():
        assert np.array_equal(camera.rgb(range(8)), truth)


def test_a_bag_that_was_not_closed_is_read_and_told(tmp_path: Path) -> None:
    path = made.write_bag(tmp_path / "a.bag", made.arm_log(0, frames=50))
    data = bytearray(path.read_bytes())
    struct.pack_into("<Q", data, data.index(b"index_pos=") + 10, 0)
    path.write_bytes(data)
    (episode,) = open_path(path).episodes([0])
    assert np.array_equal(episode.channels["observation.state"].values, made.reach(50, 0))
    assert [i.code for i in episode.issues] == ["log_unclosed"]


def test_a_bag_keeps_no_time_of_publishing(tmp_path: Path) -> None:
    path = made.write_bag(tmp_path / "a.bag", made.arm_log(0, frames=5))
    with pytest.raises(RecipeError, match=r"options\.clock: a ROS 1 bag keeps no time of publishing"):
        open_path(path, options={"clock": "publish"})
