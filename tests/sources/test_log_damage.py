"""Folders of logs of which one is damaged: the others are kept, and what is lost is told."""

from __future__ import annotations

import struct
from pathlib import Path

import made_logs as made
import numpy as np
import pytest
from made_logs import START_NS, Sent
from mcap.writer import CompressionType

from gristmill.checks.camera_decode import CameraDecode
from gristmill.errors import CorpusError, VideoError
from gristmill.finding import Kind
from gristmill.resample import Resample, resample
from gristmill.sources import open_path
from gristmill.testing import judge
from gristmill.traces import trace

TOPIC = "/cam/image/compressed"


def log(path: Path, further: list[Sent], damaged: bytes = b"") -> Path:
    """20 joint states and further messages, each in a chunk of its own; the chunk that holds `damaged` is so."""
    sent = [Sent("/joint_states", START_NS + i * 40_000_000, made.joints(0, "a", [i])) for i in range(20)]
    ordered = sorted([*sent, *further], key=lambda s: s.log_ns)
    made.write_mcap(path, ordered, chunk_size=1, compression=CompressionType.NONE)
    data = bytearray(path.read_bytes())
    if damaged:
        assert data.count(damaged) == 1
        data[data.index(damaged)] ^= 0xFF
    path.write_bytes(data)
    return path


def test_a_log_whose_instruction_is_damaged_does_not_stand_in_the_way_of_the_others(tmp_path: Path) -> None:
    task = [Sent("/task", START_NS - 1, made.text("pick the cup up"))]
    log(tmp_path / "0.mcap", task, damaged=b"pick the cup up")
    log(tmp_path / "1.mcap", task)
    corpus = open_path(tmp_path, key="logs")
    assert corpus.table.length.tolist() == [20]
    assert corpus.table.tasks == [("pick the cup up",)]
    (issue,) = corpus.issues
    assert (issue.code, issue.kind, issue.subject) == ("log_unreadable", Kind.DEFECT, "0.mcap")
    assert "0.mcap" in issue.message and "checksum" in issue.message


def test_a_damaged_first_picture_leaves_the_size_to_the_next_log(tmp_path: Path) -> None:
    picture = made.jpeg(0, made.picture(1))
    needle = bytes(picture.data[:60])
    further = [Sent(TOPIC, START_NS + 5, picture)]
    log(tmp_path / "0.mcap", further, damaged=needle)
    log(tmp_path / "1.mcap", further)
    corpus = open_path(
        tmp_path, key="logs", options={"topics": {"/joint_states": {"role": "state"}, TOPIC: {"role": "camera"}}}
    )
    (camera,) = corpus.facts.cameras.values()
    assert (camera.height, camera.width) == (48, 64)
    broken, whole = corpus.episodes([0, 1])
    np.testing.assert_array_equal(next(iter(whole.cameras.values())).rgb([0])[0], made.picture(1))
    with pytest.raises(VideoError, match=r"checksum"):
        next(iter(broken.cameras.values())).rgb([0])


@pytest.mark.parametrize("damage", ["metadata", "file"])
def test_a_rosbag2_folder_that_is_damaged_does_not_stand_in_the_way_of_the_others(tmp_path: Path, damage: str) -> None:
    for i in range(3):
        made.write_db3(tmp_path / f"run_{i}", made.arm_log(i, frames=20 + i))
    if damage == "metadata":
        (tmp_path / "run_1" / "metadata.yaml").write_text("rosbag2: !!bool foo")
    else:
        next((tmp_path / "run_1").glob("*.db3")).unlink()
    corpus = open_path(tmp_path, key="logs")
    assert corpus.table.length.tolist() == [20, 22]
    (issue,) = corpus.issues
    assert (issue.code, issue.kind, issue.subject) == ("log_unreadable", Kind.DEFECT, "run_1")
    assert ("not valid YAML" if damage == "metadata" else "which is missing") in issue.message
    if damage == "metadata":  # alone, it is no corpus
        with pytest.raises(CorpusError, match="not valid YAML"):
            open_path(tmp_path / "run_1", key="log")


# -- indexes ---------------------------------------------------------------------------------------------


def shifted_index(path: Path, topic: str, number: int, by_ns: int) -> None:
    """Change what the index says of the time of one message of a topic: the `number`th entry of its first index."""
    from mcap.reader import make_reader

    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
    channel = next(c.id for c in summary.channels.values() if c.topic == topic)
    data = bytearray(path.read_bytes())
    at = min(c.message_index_offsets[channel] for c in summary.chunk_indexes if channel in c.message_index_offsets)
    assert data[at] == 0x07
    place = at + 15 + 16 * number
    struct.pack_into("<Q", data, place, struct.unpack_from("<Q", data, place)[0] + by_ns)
    path.write_bytes(data)


def arm_log(path: Path) -> Path:
    sent = [Sent("/joint_states", START_NS + i * 10_000_000, made.joints(START_NS, ["a"], [i])) for i in range(50)]
    sent += [
        Sent("/cam/compressed", START_NS + i * 100_000_000 + 5, made.jpeg(START_NS, made.picture(i))) for i in range(5)
    ]
    return made.write_mcap(path, sorted(sent, key=lambda s: s.log_ns))


@pytest.mark.parametrize("by_ns", [3_000_000, 25_000_000, 10**15])  # the second one changes the order
@pytest.mark.parametrize("topic", ["/joint_states", "/cam/compressed"])
def test_times_of_the_index_are_compared_with_the_messages(tmp_path: Path, topic: str, by_ns: int) -> None:
    path = arm_log(tmp_path / "log.mcap")
    (whole,) = open_path(path, key="log").episodes([0])
    expected, pictures = whole.channels["observation.state"], next(iter(whole.cameras.values())).times_s
    shifted_index(path, topic, 2, by_ns)
    (episode,) = open_path(path, key="log").episodes([0])
    found = episode.channels["observation.state"]
    np.testing.assert_array_equal(found.times_s, expected.times_s)
    np.testing.assert_array_equal(found.values, expected.values)
    assert {key: list(of) for key, of in episode.clocks.items()} == {key: list(of) for key, of in whole.clocks.items()}
    np.testing.assert_array_equal(next(iter(episode.cameras.values())).times_s, pictures)
    assert [i.code for i in episode.issues] == ["log_index_damaged"]


# -- folders and cuts ------------------------------------------------------------------------------------


def test_what_crashed_recorders_leave_is_told(tmp_path: Path) -> None:
    arm_log(tmp_path / "run_0.mcap")
    (tmp_path / "run_1.mcap").write_bytes(b"")
    (tmp_path / "run_2.mcap").write_bytes(bytes(4096))
    (tmp_path / "run_3.mcap").write_bytes(b"\x89MCA")
    (tmp_path / "run_4.mcap").write_text("hello")
    (tmp_path / "demo.hdf5").write_bytes(b"\x89HDF\r\n\x1a\n")
    corpus = open_path(tmp_path, key="log")
    assert len(corpus.table) == 1
    told = [(i.code, i.subject, i.message) for i in corpus.issues]
    assert [(code, subject) for code, subject, _ in told] == [
        *(("log_unreadable", f"run_{i}.mcap") for i in (1, 2, 3, 4)),
        ("other_logs", ".hdf5"),
    ]
    assert "run_1.mcap is empty" in told[0][2]
    assert "zeros alone" in told[1][2]
    assert "does not begin as its ending promises" in told[2][2]


def test_cuts_that_share_frames_are_told(tmp_path: Path) -> None:
    path = arm_log(tmp_path / "log.mcap")
    corpus = open_path(path, key="log", options={"cut": {"times_s": [[0.0, 0.2], [0.15, 0.3]]}})
    (issue,) = corpus.issues
    assert issue.code == "cut_overlaps"
    assert "between 0.15 s and 0.2 s is part of two episodes" in issue.message
    beside = open_path(path, key="log", options={"cut": {"times_s": [[0.0, 0.2], [0.2, 0.3], [90.0, 91.0]]}})
    assert [i.code for i in beside.issues] == ["cut_empty"]


# -- pictures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", ["compressed", "raw"])
def test_a_broken_picture_is_lost_alone(tmp_path: Path, sort: str) -> None:
    sent = [Sent("/joint_states", START_NS + i * 50_000_000, made.joints(START_NS, ["a"], [i])) for i in range(40)]
    for i in range(20):
        if sort == "raw":
            picture = made.image(START_NS, made.picture(i))
            if i == 3:
                picture.data = picture.data[:-1]
        else:
            picture = made.jpeg(START_NS, made.picture(i))
            if i == 3:
                picture.data = picture.data[:60]
        sent.append(Sent("/cam/image", START_NS + i * 100_000_000, picture))
    path = made.write_mcap(tmp_path / "log.mcap", sorted(sent, key=lambda s: s.log_ns))
    (episode,) = open_path(path, key="log").episodes([0])
    (key,) = episode.cameras
    traces = trace(episode.cameras[key])
    assert traces.lost == 1
    np.testing.assert_allclose(traces.times_s, np.delete(np.arange(20) / 10, 3), atol=1e-9)
    with pytest.raises(VideoError, match="frame 3"):
        list(episode.cameras[key].luma())
    np.testing.assert_array_equal(episode.cameras[key].rgb([4])[0], made.picture(4))
    episode.load_traces = lambda _: traces
    (found,) = judge(CameraDecode(), [episode])
    assert "1 frame does not decode, from 0.30 s on" in found.message
    resampled = resample(episode, Resample(rate_hz=10))
    assert trace(resampled.cameras[key]).lost == 1
