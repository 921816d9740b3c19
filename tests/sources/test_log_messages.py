"""Messages that are no plain row of numbers: flags, whole numbers, nameless joints, other types, damage."""

from __future__ import annotations

import json
from pathlib import Path

import made_logs as made
import numpy as np
import pytest
from made_logs import START_NS, Sent
from mcap.writer import Writer

from gristmill.episode import Corpus, Episode
from gristmill.errors import CorpusError, RecipeError, RecordingError
from gristmill.formats.logs.proposal import proposal
from gristmill.resample import Resample, resample
from gristmill.sources import open_path

STATE = "observation.state"
PERIOD_NS = 20_000_000


def opened(path: Path, **options) -> Corpus:
    return open_path(path, key="log", options=options)


def only(path: Path, **options) -> Episode:
    (episode,) = opened(path, **options).episodes([0])
    return episode


def log(tmp_path: Path, *topics: tuple[str, list]) -> Path:
    """A log of messages at 50 Hz."""
    sent = [Sent(name, START_NS + i * PERIOD_NS, m) for name, messages in topics for i, m in enumerate(messages)]
    return made.write_mcap(tmp_path / "log.mcap", sorted(sent, key=lambda s: s.log_ns))


def json_log(tmp_path: Path, messages: list[bytes]) -> Path:
    path = tmp_path / "json.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("x", "jsonschema", b"{}")
        channel = writer.register_channel("/state", "json", schema)
        for i, data in enumerate(messages):
            writer.add_message(channel, START_NS + i * PERIOD_NS, data, START_NS + i * PERIOD_NS)
        writer.finish()
    return path


def raw_log(tmp_path: Path, messages: list[tuple[str, bytes]]) -> Path:
    """Messages (type, CDR) of one topic, a channel for each type."""
    path = tmp_path / "raw.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start("ros2")
        channels: dict[str, int] = {}
        for i, (kind, data) in enumerate(messages):
            if kind not in channels:
                text = made.STORE.generate_msgdef(kind, ros_version=2)[0].encode()
                schema = writer.register_schema(kind, "ros2msg", text)
                channels[kind] = writer.register_channel("/joint_states", "cdr", schema)
            writer.add_message(channels[kind], START_NS + i * PERIOD_NS, data, START_NS)
        writer.finish()
    return path


def cdr(message) -> bytes:
    return bytes(made.STORE.serialize_cdr(message, message.__msgtype__))


def joint_state(i: int) -> tuple[str, bytes]:
    return "sensor_msgs/msg/JointState", cdr(made.joints(START_NS, ["a", "b"], [i, -i]))


def test_flags_and_whole_numbers_stay_what_they_are(tmp_path: Path) -> None:
    path = log(
        tmp_path,
        ("/joint_states", [made.joints(START_NS, ["a"], [i / 10]) for i in range(20)]),
        ("/grip", [made.new("std_msgs/msg/Bool", data=i % 2 == 0) for i in range(20)]),
        ("/counter", [made.new("std_msgs/msg/Int64", data=2**60 + i) for i in range(20)]),
    )
    corpus = opened(path)
    (episode,) = corpus.episodes([0])
    grip, counter = episode.channels["observation.grip"], episode.channels["observation.counter"]
    assert corpus.facts.features["observation.grip"]["dtype"] == "bool"
    assert corpus.facts.features["observation.counter"]["dtype"] == "int64"
    assert grip.values.dtype == bool
    assert grip.values[:, 0].tolist() == [i % 2 == 0 for i in range(20)]
    assert counter.values[:, 0].tolist() == [2**60 + i for i in range(20)]
    finer = resample(episode, Resample(rate_hz=200)).channels
    assert finer["observation.grip"].values.dtype == bool
    assert set(finer["observation.counter"].values[:, 0].tolist()) <= {2**60 + i for i in range(20)}
    np.testing.assert_allclose(finer[STATE].values[:5, 0], [0, 0.025, 0.05, 0.075, 0.1])
    with pytest.raises(RecipeError, match=r"observation\.grip is discrete"):
        resample(episode, Resample(rate_hz=200, methods={"observation.grip": "linear"}))


def test_what_is_whole_beside_a_fraction_is_not_averaged(tmp_path: Path) -> None:
    told = [json.dumps({"x": i / 10, "open": i % 2 == 0, "mode": 3 * (i % 2)}).encode() for i in range(20)]
    episode = only(json_log(tmp_path, told))
    channel = episode.channels[STATE]
    assert (channel.values.dtype, channel.names, channel.discrete) == (np.float64, ("x", "open", "mode"), (1, 2))
    for methods in ({}, {STATE: "linear"}):
        finer = resample(episode, Resample(rate_hz=200, methods=methods)).channels[STATE].values
        np.testing.assert_allclose(finer[:5, 0], [0, 0.025, 0.05, 0.075, 0.1])
        assert set(finer[:, 1].tolist()) == {0.0, 1.0}
        assert set(finer[:, 2].tolist()) == {0.0, 3.0}
    with pytest.raises(RecipeError, match=r"observation.state\[open\] is discrete"):
        resample(episode, Resample(rate_hz=200, methods={f"{STATE}[open]": "linear"}))


def test_whole_numbers_with_fractions_later_are_no_flags(tmp_path: Path) -> None:
    # Between the moments that are looked at, and JavaScript writes 1.0 as 1.
    told = [b'{"x": %d}' % i for i in range(200)]
    told[15] = b'{"x": 15.5}'
    channel = only(json_log(tmp_path, told)).channels[STATE]
    assert channel.values[14:17, 0].tolist() == [14.0, 15.5, 16.0]
    assert channel.discrete == ()


def test_a_whole_number_that_lacks_is_no_sample(tmp_path: Path) -> None:
    of = [[1, 2]] * 60
    of[13] = [1]
    numbers = [made.new("std_msgs/msg/Int32MultiArray", data=np.array(d, np.int32)) for d in of]
    states = [made.joints(START_NS, ["a"], [i]) for i in range(60)]
    channel = only(log(tmp_path, ("/joint_states", states), ("/modes", numbers))).channels["observation.modes"]
    assert channel.values.dtype == np.int32
    assert len(channel.values) == len(channel.times_s) == 59
    np.testing.assert_allclose(channel.times_s[12:14], [0.24, 0.28])


def test_nan_in_json_is_a_missing_value(tmp_path: Path) -> None:
    told = [json.dumps({"q": [float(i), float("nan") if i == 57 else 2.0], "x": i / 2}).encode() for i in range(100)]
    told[58] = b'{"q": [58.0, 2.0], "x": NaN}'
    episode = only(json_log(tmp_path, told))
    expected = [[56, 2, 28], [57, np.nan, 28.5], [58, 2, np.nan]]
    np.testing.assert_array_equal(episode.channels[STATE].values[56:59], expected)
    assert list(episode.issues) == []


def test_a_message_that_cannot_be_decoded_is_lost_alone(tmp_path: Path) -> None:
    sent = [joint_state(i) for i in range(101)]
    sent[57] = (sent[57][0], b"\0\1\0\0\xff\xff")
    episode = only(raw_log(tmp_path, sent))
    values = episode.channels[STATE].values
    assert np.flatnonzero(np.isnan(values).any(axis=1)).tolist() == [57]
    assert values[58].tolist() == [58, -58]
    (issue,) = episode.issues
    assert issue.code == "messages_undecodable"
    assert "topic /joint_states: 1 of 101 messages, the first at 1.140 s, cannot be decoded" in issue.message


def test_a_topic_that_is_mostly_undecodable_is_refused(tmp_path: Path) -> None:
    sent = [joint_state(i) for i in range(300)]
    for i in range(100, 260):
        sent[i] = (sent[i][0], b"\0\1\0\0\xff\xff")
    with pytest.raises(RecordingError, match="topic /joint_states: 160 of 300 messages cannot be decoded: "):
        _ = only(raw_log(tmp_path, sent)).channels


def test_messages_of_another_type_on_a_topic_are_told(tmp_path: Path) -> None:
    other = ("std_msgs/msg/Float64", cdr(made.new("std_msgs/msg/Float64", data=1.0)))
    episode = only(raw_log(tmp_path, [joint_state(i) if i % 2 else other for i in range(40)]))
    values = episode.channels[STATE].values
    assert np.isnan(values).all(axis=1).tolist() == [i % 2 == 0 for i in range(40)]
    mixed, empty = episode.issues
    assert mixed.code == "topic_mixed"
    assert "std_msgs/msg/Float64, sensor_msgs/msg/JointState" in mixed.message
    assert empty.code == "messages_without_values"
    assert "20 of 40 messages, the first at 0.000 s, hold none of the numbers of observation.state" in empty.message


def test_joints_without_names_are_called_by_their_number(tmp_path: Path) -> None:
    path = log(tmp_path, ("/joint_states", [made.joints(START_NS, [], [i, 2 * i]) for i in range(20)]))
    channel = only(path).channels[STATE]
    assert channel.names == ("joint_0", "joint_1")
    assert channel.values[3].tolist() == [3, 6]
    assert "without names, called joint_0" in next(t.why for t in proposal(path).topics)
    rule = {"role": "state", "names": ["shoulder", "elbow"]}
    assert only(path, topics={"/joint_states": rule}).channels[STATE].names == ("shoulder", "elbow")


def test_a_message_without_names_adds_no_joint_to_those_that_have_some(tmp_path: Path) -> None:
    states = [made.joints(START_NS, ["a", "b"] if i % 2 else [], [i, 2 * i]) for i in range(20)]
    episode = only(log(tmp_path, ("/joint_states", states)))
    assert episode.channels[STATE].names == ("a", "b")
    assert [i.code for i in episode.issues] == ["messages_without_values"]


def test_a_joint_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    path = log(tmp_path, ("/joint_states", [made.joints(START_NS, ["a", "a"], [i, 2 * i]) for i in range(20)]))
    with pytest.raises(CorpusError, match="/joint_states: a message names the joint 'a' twice"):
        opened(path)
