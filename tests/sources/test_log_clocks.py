"""Clocks of logs: kept apart, compared, and brought to one timeline."""

from __future__ import annotations

from pathlib import Path

import made_logs as made
import numpy as np
import pytest
from made_logs import NAMES, START_NS, Sent

from gristmill.checks.stream_clocks import StreamClocks
from gristmill.episode import Corpus, Episode
from gristmill.finding import Kind
from gristmill.resample import Provenance, Resample, resample
from gristmill.sources import open_path
from gristmill.testing import judge

STATE, ACTION = "observation.state", "action"
MS = 1_000_000


def arm_log(
    *, frames: int = 200, drift: float = 0.0, jump_ns: int = 0, hole: tuple[int, int] | None = None
) -> list[Sent]:
    """States at 100 Hz, stamped 3 ms before they are recorded, and commands at 40 Hz; both follow one motion.

    Args:
        frames: states.
        drift: seconds a second by which the states' stamps fall behind.
        jump_ns: how much the stamps jump back after half of the log.
        hole: states from .. to (exclusive) that are lost.
    """
    sent = []
    for i in range(frames):
        at = START_NS + i * 10 * MS
        stamp = at - 3 * MS - int(drift * i * 10 * MS) - (jump_ns if i >= frames // 2 else 0)
        if hole is None or not hole[0] <= i < hole[1]:
            sent.append(Sent("/joint_states", at, made.joints(stamp, NAMES, motion(i / 100))))
    sent += [
        Sent("/arm/command", START_NS + i * 25 * MS, made.floats(motion(i / 40))) for i in range(frames * 10 // 25)
    ]
    return sorted(sent, key=lambda s: s.log_ns)


def motion(time_s: float) -> np.ndarray:
    return np.sin(time_s * np.array([0.5, 0.6, 0.7, 0.8, 0.9]) + np.arange(5))


def opened(path: Path, **options) -> Corpus:
    return open_path(path, key="log", options=options)


def only(corpus: Corpus) -> Episode:
    (episode,) = corpus.episodes([0])
    return episode


@pytest.mark.parametrize("write", [made.write_mcap, made.write_bag, made.write_db3])
def test_log_and_header_time_are_kept_apart(tmp_path: Path, write) -> None:
    path = write(tmp_path / ("log.bag" if write is made.write_bag else "log.mcap"), arm_log())
    episode = only(opened(path))
    clocks = episode.clocks
    assert list(clocks) == [STATE]  # commands carry no header
    assert list(clocks[STATE]) == ["log", "header"]
    np.testing.assert_allclose(clocks[STATE]["log"], np.arange(200) / 100, atol=1e-9)
    np.testing.assert_allclose(clocks[STATE]["header"], np.arange(200) / 100 - 0.003, atol=1e-9)
    np.testing.assert_array_equal(clocks[STATE]["log"], episode.channels[STATE].times_s)
    stamped = only(opened(path, clock="header")).clocks
    assert list(stamped[STATE]) == ["header", "log"]
    np.testing.assert_allclose(stamped[STATE]["log"] - stamped[STATE]["header"], 0.003, atol=1e-9)


def test_publish_time_is_a_clock_where_it_differs(tmp_path: Path) -> None:
    sent = [s._replace(publish_ns=s.log_ns - 2 * MS) for s in arm_log(frames=40)]
    clocks = only(opened(made.write_mcap(tmp_path / "log.mcap", sent))).clocks
    assert {key: list(of) for key, of in clocks.items()} == {
        STATE: ["log", "publish", "header"],
        ACTION: ["log", "publish"],
    }
    np.testing.assert_allclose(clocks[ACTION]["log"] - clocks[ACTION]["publish"], 0.002, atol=1e-9)


@pytest.mark.parametrize("clock", ["log", "header"])
def test_cameras_have_header_times_too(tmp_path: Path, clock: str) -> None:
    pictures = [
        Sent("/cam/compressed", START_NS + i * 100 * MS, made.jpeg(START_NS + (i * 100 - 80) * MS, made.picture(i)))
        for i in range(20)
    ]
    sent = sorted([*arm_log(), *pictures], key=lambda s: s.log_ns)
    episode = only(opened(made.write_mcap(tmp_path / "log.mcap", sent), clock=clock))
    (key,) = episode.cameras
    times = episode.clocks[key]
    assert list(times) == (["log", "header"] if clock == "log" else ["header", "log"])
    np.testing.assert_allclose(times["log"] - times["header"], 0.08, atol=1e-9)
    np.testing.assert_array_equal(times[clock], episode.cameras[key].times_s)


def test_stamps_that_nobody_set_are_no_clock(tmp_path: Path) -> None:
    sent = [
        s._replace(message=made.joints(0, NAMES, motion(0))) for s in arm_log(frames=40) if s.topic == "/joint_states"
    ]
    assert only(opened(made.write_mcap(tmp_path / "log.mcap", sent))).clocks == {}


def test_stamps_that_drift_and_jump_are_told(tmp_path: Path) -> None:
    logs = [arm_log(), arm_log(drift=0.01), arm_log(jump_ns=200 * MS), arm_log()]
    for i, sent in enumerate(logs):
        made.write_mcap(tmp_path / "logs" / f"run_{i}.mcap", sent)
    corpus = opened(tmp_path / "logs")
    episodes = list(corpus.episodes(range(4)))
    found = [f for f in judge(StreamClocks(), episodes, facts=corpus.facts) if f.kind is not Kind.TRAIT]
    assert [(f.row, f.code, f.channel) for f in found] == [(1, "clock_drift", STATE), (2, "clock_jump", STATE)]
    assert found[0].measured == pytest.approx(0.01 * 1.99, rel=1e-6)
    assert found[1].measured == pytest.approx(0.2, abs=1e-6)
    assert found[1].spans_s[0].start_s == pytest.approx(1.0, abs=0.011)


def test_a_log_with_a_hole_comes_to_one_timeline(tmp_path: Path) -> None:
    raw = only(opened(made.write_mcap(tmp_path / "log.mcap", arm_log(frames=400, hole=(161, 200)))))
    assert len(raw.channels[STATE].values) == 361
    assert len(raw.channels[ACTION].values) == 160
    episode = resample(raw, Resample(rate_hz=50))
    times = episode.times_s
    # Both streams sample one motion, so that resampled ones must be that motion, and agree with one another.
    expected = np.stack([motion(t) for t in times])
    observed = episode.channels[f"provenance.{STATE}"].values[:, 0] == Provenance.OBSERVED
    np.testing.assert_allclose(episode.channels[STATE].values[observed], expected[observed], atol=1e-6)
    # Between two commands, 25 ms apart, a line is off by at most a^2 h^2 / 8.
    arm = slice(0, 4)  # the last command is a gripper's, and not averaged
    np.testing.assert_allclose(episode.channels[ACTION].values[:, arm], expected[:, arm], atol=0.9**2 * 0.025**2 / 8)
    # The hole, from 1.60 to 2.00 s: the instants 1.62 to 1.98 s.
    np.testing.assert_array_equal(np.flatnonzero(~observed), np.arange(81, 100))


def test_a_stamp_that_nobody_set_is_no_time(tmp_path: Path) -> None:
    sent = []
    for i in range(20):
        at = START_NS + i * 40 * MS
        sent.append(Sent("/joint_states", at, made.joints(0 if i == 0 else at - 5 * MS, "a", [i])))
        sent.append(Sent("/cam/image_raw", at + 1000, made.image(0 if i == 3 else at - 5 * MS, made.picture(i))))
    episode = only(opened(made.write_mcap(tmp_path / "log.mcap", sent), clock="header"))
    # Log time stands in for it, as the origin too; all others are stamped 5 ms before they were recorded.
    np.testing.assert_allclose(episode.times_s, [0, *(np.arange(1, 20) * 0.04 - 0.005)], atol=1e-9)
    expected = np.arange(20) * 0.04 - 0.005
    expected[3] = 0.120001
    (camera,) = episode.cameras.values()
    np.testing.assert_allclose(camera.times_s, expected, atol=1e-9)  # type: ignore[attr-defined]


def test_two_publishers_of_one_topic_take_turns_on_the_timeline(tmp_path: Path) -> None:
    """An arm and its gripper, 50 Hz each and 7 ms apart, on one topic: a row of the log knows of one of them."""
    sent = []
    for i in range(100):
        at = START_NS + i * 20 * MS
        sent.append(Sent("/joint_states", at, made.joints(at, ("a", "b"), [i, -i])))
        sent.append(Sent("/joint_states", at + 7 * MS, made.joints(at, ("grip",), [i])))
    raw = only(opened(made.write_mcap(tmp_path / "log.mcap", sent)))
    assert raw.channels[STATE].names == ("a", "b", "grip")
    for rate_hz in (50.0, 30.0):
        episode = resample(raw, Resample(rate_hz=rate_hz))
        step = episode.times_s / 0.02
        expected = np.stack([np.minimum(step, 99), -np.minimum(step, 99), np.maximum(step - 0.35, 0)], axis=1)
        np.testing.assert_allclose(episode.channels[STATE].values, expected, atol=1e-6)
        assert set(episode.channels[f"provenance.{STATE}"].values[:, 0]) == {Provenance.OBSERVED}
