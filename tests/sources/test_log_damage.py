"""Folders of logs of which one is damaged: the others are kept, and what is lost is told."""

from __future__ import annotations

from pathlib import Path

import made_logs as made
import numpy as np
import pytest
from made_logs import START_NS, Sent
from mcap.writer import CompressionType

from gristmill.errors import CorpusError, VideoError
from gristmill.finding import Kind
from gristmill.sources import open_path

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
