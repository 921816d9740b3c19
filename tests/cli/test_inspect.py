"""`gristmill inspect`: told by content, in one clear line when there is nothing to tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gristmill.cli import run


def test_a_dataset_is_told(sample_corpus: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", str(sample_corpus), "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    info = json.loads((sample_corpus / "meta" / "info.json").read_text())
    assert (found["source"], found["format"]) == ("lerobot", "lerobot v3.0")
    assert (found["episodes"], found["frames"]) == (info["total_episodes"], info["total_frames"])
    roles = {c["key"]: (c["role"], c["width"]) for c in found["channels"]}
    width = info["features"]["observation.state"]["shape"][0]
    assert roles["observation.state"] == ("state", width)
    assert "timestamp" not in roles
    assert run(["inspect", str(sample_corpus)]) == 0
    assert f"{info['total_episodes']} episodes" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"PAR1....", "is a Parquet file; give the folder of its dataset"),
        (b"\x00\x00\x00\x20ftypisom", "is an MP4 video; give the folder of its dataset"),
        (b"hello", "is no recording that is known"),
    ],
)
def test_what_is_no_recording_is_named(content: bytes, told: str, tmp_path: Path, capfd) -> None:
    path = tmp_path / "thing.bin"
    path.write_bytes(content)
    assert run(["inspect", str(path)]) == 2
    err = capfd.readouterr().err.strip()
    assert told in err
    assert len(err.splitlines()) == 1


def test_a_log_is_told_with_what_its_topics_would_become(real_data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", str(real_data / "kuka_lwr" / "test.bag")]) == 0
    out = capfd.readouterr().out
    assert "/joint_states (sensor_msgs/JointState, ros1): 4101 messages, 100 Hz" in out
    assert '"/joint_states" = { role = "state", key = "observation.state" }' in out
    assert "1 episode, 4101 frames at 100 Hz" in out


def test_what_a_format_leaves_unsaid_is_asked_for(real_data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", str(real_data / "bridge_rlds")]) == 0
    assert "--option rate_hz=" in capfd.readouterr().out
    assert run(["inspect", str(real_data / "bridge_rlds"), "--option", "rate_hz=5"]) == 0
    assert "25 episodes, 250 frames at 5 Hz" in capfd.readouterr().out


def test_a_log_without_messages_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from mcap.writer import Writer

    path = tmp_path / "a.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        writer.finish()
    assert run(["inspect", str(path)]) == 2
    assert "holds no messages" in capfd.readouterr().err
