"""The proposal: topics, rates, gaps, offsets, and options that give the same corpus when they are given back."""

from __future__ import annotations

import tomllib
from dataclasses import asdict
from pathlib import Path

import made_logs as made
import numpy as np
import pytest
from made_logs import START_NS, Sent

from gristmill.errors import CorpusError
from gristmill.formats.logs.proposal import proposal
from gristmill.sources import open_path

PERIOD_NS = 20_000_000


def full_log(path: Path) -> Path:
    sent = made.arm_log(0, frames=100)
    # A second without joint states, from 0.98 s on; a camera at half the rate; text; depth; something unreadable.
    sent = [s for s in sent if not (s.topic == "/joint_states" and 50 <= (s.log_ns - START_NS) // PERIOD_NS < 100)]
    sent += [
        Sent("/joint_states", START_NS + 100 * PERIOD_NS + i, made.joints(0, made.NAMES, [0] * 5))
        for i in (0, PERIOD_NS)
    ]
    sent += [
        Sent("/cam/color/image_raw", START_NS + 2 * i * PERIOD_NS, made.image(0, made.picture(i))) for i in range(50)
    ]
    sent += [
        Sent("/cam/depth/image_rect", START_NS + i, made.image(0, made.picture(i)[..., :2], "16UC1")) for i in range(3)
    ]
    sent += [Sent("/chatter", START_NS + i, made.text("hello")) for i in range(4)]
    sent += [Sent("/scan", START_NS + i, made.floats(range(2000))) for i in range(3)]
    return made.write_mcap(path, sorted(sent, key=lambda s: s.log_ns))


def test_topics_rates_gaps_and_what_each_becomes(tmp_path: Path) -> None:
    found = proposal(full_log(tmp_path / "a.mcap"))
    topics = {t.topic: t for t in found.topics}
    state = topics["/joint_states"]
    assert (state.role, state.key, state.names) == ("state", "observation.state", made.NAMES)
    assert (state.messages, state.type, state.encoding) == (52, "sensor_msgs/msg/JointState", "cdr")
    assert state.rate_hz == pytest.approx(50.0)
    assert (state.gaps.count, state.gaps.longest_s, state.gaps.longest_at_s) == (1, 1.02, 0.98)
    assert state.header_offset_s == -0.003
    camera = topics["/cam/color/image_raw"]
    assert (camera.role, camera.key, camera.rate_hz) == ("camera", "observation.images.cam", 25.0)
    assert topics["/arm/command"].key == "action"
    assert topics["/instruction"].role == "task"
    ignored = {t.topic: t.why for t in found.topics if t.role == "ignore"}
    assert set(ignored) == {"/cam/depth/image_rect", "/chatter", "/scan"}
    assert ignored["/cam/depth/image_rect"] == "depth" and "more than 512 numbers" in ignored["/scan"]
    assert (found.container, found.clock, found.logs) == ("MCAP", "log", ("a.mcap",))
    assert found.duration_s == pytest.approx(101 * 0.02 + 1e-6)
    assert any("/joint_states" in line and "1 gaps, longest 1.020 s" in line for line in found.lines())
    assert asdict(found)["topics"][0]["topic"] == "/arm/command"


def test_its_toml_gives_the_same_corpus(tmp_path: Path) -> None:
    path = full_log(tmp_path / "a.mcap")
    options = tomllib.loads(proposal(path).toml)
    assert set(options) == {"clock", "topics"}
    stated, proposed = open_path(path, options=options), open_path(path)
    assert stated.facts.features == proposed.facts.features
    first, second = (next(iter(c.episodes([0]))) for c in (stated, proposed))
    for key, channel in first.channels.items():
        assert np.array_equal(channel.values, second.channels[key].values, equal_nan=True)
    assert stated.table.tasks == proposed.table.tasks


def test_two_arms_and_two_cameras_get_names_of_their_own(tmp_path: Path) -> None:
    sent = []
    for side in ("left", "right"):
        sent += [Sent(f"/{side}/joint_states", START_NS + i, made.joints(0, "ab", [1, 2])) for i in range(3)]
        sent += [Sent(f"/{side}/command", START_NS + i, made.floats([1, 2])) for i in range(3)]
        sent += [Sent(f"/{side}/camera/image_raw", START_NS + i, made.image(0, made.picture(0))) for i in range(3)]
    found = proposal(made.write_mcap(tmp_path / "a.mcap", sent))
    assert {t.key for t in found.topics} == {
        f"{base}.{side}" for side in ("left", "right") for base in ("observation.state", "action", "observation.images")
    }


def test_a_log_of_no_use_still_has_a_proposal(real_data: Path) -> None:
    found = proposal(real_data / "rosbag2/rosbag2_tests/resources/sqlite3/wrong_rmw_test")
    assert {t.role for t in found.topics} == {"ignore"}
    assert all("wrong_format" in t.why for t in found.topics)
    assert "[topics]\n# " in found.toml and tomllib.loads(found.toml)["topics"] == {}


def test_topic_names_that_would_break_the_toml(tmp_path: Path) -> None:
    name = '/a"b\\c\n[x]'
    sent = [Sent(name, START_NS + i, made.joints(0, "ab", [1, 2])) for i in range(3)]
    found = proposal(made.write_mcap(tmp_path / "a.mcap", sent))
    assert list(tomllib.loads(found.toml)["topics"]) == [name]


def test_what_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="is no log"):
        proposal(tmp_path)
