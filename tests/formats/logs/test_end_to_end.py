"""From a log to an audit and to a training set, and a LeRobot episode through MCAP and back."""

from __future__ import annotations

from pathlib import Path

import av
import made_logs as made
import numpy as np
import pyarrow.parquet as pq
from made_logs import START_NS, Sent

import gristmill
from gristmill.pipeline import Project
from gristmill.sources import open_path


def test_the_real_arm_is_audited(real_data: Path, tmp_path: Path) -> None:
    audit = gristmill.open(real_data / "kuka_lwr" / "test.bag", store=tmp_path / "store").audit()
    found = {(f.check, f.code) for f in audit.findings}
    # It stands still at both ends, and nobody says what it does; its clock, values and limits are clean.
    assert {("idle", "idle_head"), ("idle", "idle_tail"), ("task_text", "empty_task")} <= found
    assert not {c for c, _ in found} & {"timestamps", "non_finite", "spike", "files", "rate"}


def test_questions_are_about_the_timeline_that_was_audited(real_data: Path, tmp_path: Path) -> None:
    store, rules = tmp_path / "store", tmp_path / "r.toml"
    rules.write_text("[resample]\nrate_hz = 30\n")
    gristmill.open(real_data / "kuka_lwr", store=store, recipe=rules, options={"task": "wave"}).audit()
    story = Project.known(store=store).why(0)
    assert (story.length, story.owed) == (1231, ())  # 41.0 s at 30 Hz
    assert {f.check for f in story.findings} == {"idle"}
    recorded = tmp_path / "recorded.toml"
    recorded.write_text("")  # a recipe that says nothing of a timeline asks about what was recorded
    story = Project.known(store=store, recipe=recorded).why(0)
    assert story.length == 4101
    assert "idle" in story.owed and "spike" in story.owed


def test_logs_with_cameras_become_a_training_set(tmp_path: Path) -> None:
    for e in range(3):
        sent = made.arm_log(e, frames=50)
        for i in range(50):
            at, shown = START_NS + i * 20_000_000, made.picture(i + 7 * e, 64, 64)
            sent.append(Sent("/wrist/image_raw", at, made.image(0, shown)))
            sent.append(Sent("/front/image_raw/compressed", at, made.jpeg(0, shown)))
        made.write_mcap(tmp_path / "logs" / f"run_{e}.mcap", sorted(sent, key=lambda s: s.log_ns))
    project = gristmill.open(tmp_path / "logs", store=tmp_path / "store")
    audit = project.audit()
    unreadable = {"files", "camera_decode", "timestamps", "non_finite", "camera_frames"}
    assert not [f for f in audit.findings if f.check in unreadable]
    assert set(audit.facts.cameras) == {"observation.images.front", "observation.images.wrist"}
    project.curate(tmp_path / "out")
    tables = [pq.read_table(p) for p in (tmp_path / "out").rglob("data/*/*.parquet")]
    states = [e.channels["observation.state"].values for e in open_path(tmp_path / "logs").episodes(range(3))]
    written = 0
    for table in tables:
        values = np.array(table["observation.state"].to_pylist())
        for episode in np.unique(table["episode_index"]).tolist():
            own = values[np.array(table["episode_index"]) == episode]
            assert any(_part_of(own, state) for state in states)
            written += 1
    assert written == 3
    assert list((tmp_path / "out").rglob("videos/observation.images.wrist/*/*.mp4"))


def _part_of(values: np.ndarray, whole: np.ndarray) -> bool:
    """Whether these rows stand in a row in the episode: trimming may have taken its ends."""
    starts = range(len(whole) - len(values) + 1)
    return any(np.array_equal(values, whole[at : at + len(values)]) for at in starts)


def test_a_lerobot_episode_through_mcap_and_back(real_data: Path, tmp_path: Path) -> None:
    corpus = open_path(real_data / "g1_inspire")
    (episode,) = corpus.episodes([0])
    frames = 60
    (key,) = episode.cameras
    file = episode.cameras[key].path
    assert file is not None
    with av.open(str(file)) as container:
        packets = [p for p in container.demux(video=0) if p.size][:frames]
        head = bytes(container.streams.video[0].codec_context.extradata or b"")[4:]
    state, action = (episode.channels[k] for k in ("observation.state", "action"))
    period_ns = round(1e9 / 30)
    sent = [Sent("/task", START_NS - 5, made.text(episode.tasks[0]))]
    for i, packet in enumerate(packets):
        at = START_NS + i * period_ns
        data = np.frombuffer((head if packet.is_keyframe else b"") + bytes(packet), np.uint8)
        sent.append(Sent("/joint_states", at, made.joints(at, state.names, state.values[i])))
        sent.append(Sent("/joint_command", at, made.joints(at, action.names, action.values[i])))
        kind = "foxglove_msgs/msg/CompressedVideo"
        sent.append(Sent("/head", at, made.new(kind, timestamp=made.stamp(at), data=data, format="av1")))
    path = made.write_mcap(tmp_path / "g1.mcap", sorted(sent, key=lambda s: s.log_ns))
    (again,) = open_path(path).episodes([0])
    assert again.tasks == episode.tasks and again.length == frames and again.rate_hz == 30.0
    for name, was in (("observation.state", state), ("action", action)):
        channel = again.channels[name]
        assert np.array_equal(channel.values, was.values[:frames])
        assert (channel.names, channel.role) == (was.names, was.role)
        assert np.abs(channel.times_s - np.arange(frames) * period_ns / 1e9).max() <= 1e-9
    camera = again.cameras["observation.images.head"]
    assert camera.frames == frames
    assert np.array_equal(camera.rgb([0, 1, 30, 59]), episode.cameras[key].rgb([0, 1, 30, 59]))
