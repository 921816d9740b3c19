"""ROS 1 bags: against `rosbags`, in every compression, without their index, cut off and damaged."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import made_logs as made
import pytest
from rosbags.rosbag1 import Reader
from rosbags.rosbag1 import Writer as BagWriter

from gristmill.errors import CorpusError
from gristmill.formats.logs.bag_log import BagLog
from gristmill.formats.logs.stream import LogDamageError

FORMATS = [None, BagWriter.CompressionFormat.BZ2, BagWriter.CompressionFormat.LZ4]


def truth(path: Path) -> list[tuple[str, int, bytes]]:
    with Reader(path) as reader:
        return [(c.topic, t, bytes(data)) for c, t, data in reader.messages()]


def found_in(log: BagLog) -> list[tuple[str, int, bytes]]:
    messages = []
    for topic in log.topics:
        entries = log.entries(topic)
        assert len(entries) == log.topics[topic].count
        messages += [(topic, m.log_ns, bytes(m.data)) for m in log.read(entries)]
    return messages


def written(path: Path, compression: Any = None) -> Path:
    """A bag of several chunks: `rosbags` closes one after a megabyte, so one topic is padded."""
    sent = made.arm_log(0, frames=60)
    sent += [made.Sent("/note", made.START_NS + i, made.text("x" * 60_000 + str(i))) for i in range(60)]
    return made.write_bag(path, sent, compression=compression)


@pytest.mark.parametrize("compression", FORMATS)
def test_all_messages_are_found(tmp_path: Path, compression: Any) -> None:
    path = written(tmp_path / "a.bag", compression)
    log = BagLog(path)
    assert len(log._chunks) > 1 and log.losses == ()
    assert sorted(found_in(log)) == sorted(truth(path))


def test_the_real_bag_agrees_with_rosbags(real_data: Path) -> None:
    path = real_data / "kuka_lwr" / "test.bag"
    log = BagLog(path)
    assert log.topics["/joint_states"].count == 4101
    assert log.topics["/joint_states"].format.type == "sensor_msgs/JointState"
    assert found_in(log) == truth(path)


@pytest.mark.parametrize("compression", FORMATS)
def test_a_bag_that_was_not_closed(tmp_path: Path, compression: Any) -> None:
    path = written(tmp_path / "a.bag", compression)
    everything = truth(path)
    data = bytearray(path.read_bytes())
    at = data.index(b"index_pos=") + 10
    (index,) = struct.unpack_from("<Q", data, at)
    struct.pack_into("<Q", data, at, 0)
    path.write_bytes(data[:index])
    log = BagLog(path)
    assert sorted(found_in(log)) == sorted(everything)
    assert [(loss.code, "was not closed" in loss.message) for loss in log.losses] == [("log_unclosed", True)]


def test_a_cut_off_bag_gives_its_whole_chunks(tmp_path: Path) -> None:
    path = written(tmp_path / "a.bag")
    everything = truth(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    log = BagLog(path)
    found = found_in(log)
    assert 0 < len(found) < len(everything) and set(found) <= set(everything)
    assert [loss.code for loss in log.losses] == ["log_truncated"] and f"{len(found)} complete" in log.losses[0].message


def test_every_cut_is_an_error_or_a_part(tmp_path: Path) -> None:
    path = made.write_bag(tmp_path / "a.bag", made.arm_log(0, frames=20))
    data, everything = path.read_bytes(), set(truth(path))
    outcomes = set()
    for size in range(0, len(data), 61):
        path.write_bytes(data[:size])
        try:
            found = found_in(BagLog(path))
        except CorpusError as error:
            assert "\n" not in str(error)
            outcomes.add("error")
            continue
        outcomes.add("all" if set(found) == everything else "part")
        assert set(found) <= everything
    assert "error" in outcomes and "all" in outcomes


def test_a_flipped_byte_is_told_and_does_no_harm(tmp_path: Path) -> None:
    path = made.write_bag(tmp_path / "a.bag", made.arm_log(0, frames=20))
    data = path.read_bytes()
    for at in range(0, len(data), 53):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            found_in(BagLog(path))
        except (CorpusError, LogDamageError) as error:
            assert "\n" not in str(error)


def test_an_empty_bag_opens_with_no_messages(tmp_path: Path) -> None:
    log = BagLog(made.write_bag(tmp_path / "a.bag", []))
    assert log.topics == {} and log.losses == ()


def test_other_versions_and_encryption_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.bag"
    path.write_bytes(b"#ROSBAG V1.2\n" + bytes(50))
    with pytest.raises(CorpusError, match=r"#ROSBAG V1.2"):
        BagLog(path)
    path = made.write_bag(tmp_path / "b.bag", made.arm_log(0, frames=3))
    data = path.read_bytes()
    (length,) = struct.unpack_from("<I", data, 13)
    field = struct.pack("<I", 13) + b"encryptor=aes"
    path.write_bytes(data[:13] + struct.pack("<I", length + len(field)) + field + data[17:])
    with pytest.raises(CorpusError, match="encrypted"):
        BagLog(path)
