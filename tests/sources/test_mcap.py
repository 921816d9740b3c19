"""MCAP as a corpus: the contract, values, times, cameras, cuts, clocks, other encodings, and what is refused."""

from __future__ import annotations

import json
import pickle
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import made_logs as made
import numpy as np
import pytest
from made_logs import NAMES, START_NS, Sent
from mcap.writer import CompressionType, Writer

from gristmill.episode import Corpus, Episode
from gristmill.errors import CorpusError, RecipeError, RecordingError, UnsafeCorpusError
from gristmill.sources import open_locator, open_path
from gristmill.sources.mcap import Mcap
from gristmill.testing import SourceContract

PERIOD_NS = 20_000_000


class TestContract(SourceContract):
    source = Mcap

    def make_corpus(self, folder: Path) -> Path:
        for i in range(3):
            made.write_mcap(folder / f"run_{i}.mcap", made.arm_log(i, frames=40 + i))
        return folder


def opened(path: Path, **options: Any) -> Corpus:
    return open_path(path, key="log", options=options)


def only(corpus: Corpus) -> Episode:
    (episode,) = corpus.episodes(range(len(corpus.table)))
    return episode


def log(tmp_path: Path, sent: list[Sent], **more: Any) -> Path:
    return made.write_mcap(tmp_path / "log.mcap", sorted(sent, key=lambda s: s.log_ns), **more)


# -- values and times ------------------------------------------------------------------------------------


def test_values_names_roles_times_and_task(tmp_path: Path) -> None:
    corpus = opened(log(tmp_path, made.arm_log(3, frames=60)))
    episode = only(corpus)
    channels = episode.channels
    assert {k: c.role for k, c in channels.items()} == {
        "observation.state": "state",
        "action": "action",
        "observation.velocity": "other",
        "observation.effort": "other",
    }
    state = channels["observation.state"]
    assert state.names == NAMES
    assert np.array_equal(state.values, made.reach(60, 3))
    assert np.array_equal(channels["action"].values, made.reach(60, 4))
    assert np.array_equal(channels["observation.effort"].values, made.reach(60, 3) / 2)
    assert np.abs(state.times_s - np.arange(60) * 0.02).max() < 1e-9
    assert episode.tasks == ("put the cup on the shelf",)
    assert (corpus.facts.rate_hz, episode.length, corpus.facts.format) == (50.0, 60, "MCAP")
    offsets = corpus.facts.info["log"]["header_minus_log_s"]
    assert offsets == {"/joint_states": -0.003}


def test_nanoseconds_stay_integers_until_the_start_is_subtracted(tmp_path: Path) -> None:
    # As float64, times of this size are 256 ns apart.
    sent = [Sent("/joint_states", START_NS + 7 * i, made.joints(0, "a", [i])) for i in range(5)]
    episode = only(opened(log(tmp_path, sent), rate_hz=50.0))
    assert np.array_equal(episode.times_s, np.arange(5) * 7 / 1e9)


def test_joints_are_aligned_by_name(tmp_path: Path) -> None:
    rows = [("ab", [1, 2]), ("ba", [3, 4]), ("b", [5]), ("abc", [6, 7, 8]), ("", []), ("ab", []), ("ab", [9])]
    sent = [Sent("/joint_states", START_NS + i * PERIOD_NS, made.joints(0, n, p)) for i, (n, p) in enumerate(rows)]
    state = only(opened(log(tmp_path, sent))).channels["observation.state"]
    nan = np.nan
    expected = [[1, 2, nan], [4, 3, nan], [nan, 5, nan], [6, 7, 8], [nan] * 3, [nan] * 3, [nan] * 3]
    assert state.names == ("a", "b", "c")
    assert np.array_equal(state.values, expected, equal_nan=True)


def test_a_joint_that_nobody_has_seen_is_told_and_can_be_left_out(tmp_path: Path) -> None:
    sent = [Sent("/joint_states", START_NS + i * PERIOD_NS, made.joints(0, "ab", [i, i])) for i in range(3000)]
    sent[1234] = Sent("/joint_states", sent[1234].log_ns, made.joints(0, "az", [1, 2]))
    path = log(tmp_path, sent)
    with pytest.raises(RecordingError, match=r"episode 0 \(log.mcap\).*/joint_states.*z appears.*`names`"):
        _ = only(opened(path)).channels
    rule = {"role": "state", "names": ["b", "a"]}
    state = only(opened(path, topics={"/joint_states": rule})).channels["observation.state"]
    assert state.names == ("b", "a") and np.array_equal(state.values[1234], [np.nan, 1], equal_nan=True)


def test_messages_of_many_types(tmp_path: Path) -> None:
    xyz = made.new("geometry_msgs/msg/Vector3", x=1.0, y=2.0, z=3.0)
    point = made.new("geometry_msgs/msg/Point", x=4.0, y=5.0, z=6.0)
    turn = made.new("geometry_msgs/msg/Quaternion", x=0.0, y=0.6, z=0.0, w=0.8)
    pose = made.new("geometry_msgs/msg/Pose", position=point, orientation=turn)
    head = made.header(START_NS)
    wrench = made.new("geometry_msgs/msg/Wrench", force=xyz)
    messages = {
        "/ft": made.new("geometry_msgs/msg/WrenchStamped", header=head, wrench=wrench),
        "/eef_pose": made.new("geometry_msgs/msg/PoseStamped", header=head, pose=pose),
        "/cmd_vel": made.new("geometry_msgs/msg/Twist", linear=xyz),
        "/gripper/command": made.new("control_msgs/msg/GripperCommand", position=0.04, max_effort=5.0),
        "/battery": made.new("std_msgs/msg/Float32", data=0.5),
        "/pressed": made.new("std_msgs/msg/Bool", data=True),
    }
    sent = [Sent(t, START_NS + i * PERIOD_NS, m) for t, m in messages.items() for i in range(3)]
    channels = only(opened(log(tmp_path, sent))).channels
    held = {k: (c.role, c.names, c.values[0].tolist()) for k, c in channels.items()}
    assert held == {
        "observation.state": (
            "state",
            ("position.x", "position.y", "position.z", *(f"orientation.{a}" for a in "xyzw")),
            [4, 5, 6, 0, 0.6, 0, 0.8],
        ),
        "action.cmd_vel": (
            "action",
            tuple(f"{p}.{a}" for p in ("linear", "angular") for a in "xyz"),
            [1, 2, 3, 0, 0, 0],
        ),
        "action.gripper_command": ("action", ("position", "max_effort"), [0.04, 5]),
        "observation.ft": ("other", tuple(f"{p}.{a}" for p in ("force", "torque") for a in "xyz"), [1, 2, 3, 0, 0, 0]),
        "observation.battery": ("other", ("data",), [0.5]),
        "observation.pressed": ("other", ("data",), [1]),
    }
    assert channels["observation.battery"].values.dtype == np.float32


def test_a_trajectory_commands_its_first_point_joint_by_joint(tmp_path: Path) -> None:
    kind, point = "trajectory_msgs/msg/JointTrajectory", "trajectory_msgs/msg/JointTrajectoryPoint"
    rows = [(["a", "b"], [1.0, 2.0]), (["b", "a"], [3.0, 4.0])]
    sent = [
        Sent(
            "/arm/joint_trajectory",
            START_NS + i,
            made.new(kind, joint_names=n, points=[made.new(point, positions=np.array(p))] * 2),
        )
        for i, (n, p) in enumerate(rows)
    ]
    action = only(opened(log(tmp_path, sent))).channels["action"]
    assert (action.names, action.values.tolist()) == (("a", "b"), [[1, 2], [4, 3]])


def test_each_topic_keeps_its_own_clock(tmp_path: Path) -> None:
    sent = [Sent("/joint_states", START_NS + i * 10_000_000, made.joints(0, "a", [i])) for i in range(100)]
    sent += [Sent("/cmd", START_NS + 3_000_000 + i * 33_000_000, made.floats([i])) for i in range(30)]
    channels = only(opened(log(tmp_path, sent))).channels
    assert len(channels["observation.state"].times_s) == 100
    assert np.allclose(channels["action"].times_s, 0.003 + 0.033 * np.arange(30), atol=1e-12)


def test_the_clock_that_is_declared_counts(tmp_path: Path) -> None:
    sent = [
        Sent("/joint_states", START_NS + 40 * i, made.joints(START_NS + 10**9 + 50 * i, "a", [i]), START_NS + 60 * i)
        for i in range(9)
    ]
    path = log(tmp_path, sent)
    for clock, step_ns in (("log", 40), ("header", 50), ("publish", 60)):
        episode = only(opened(path, clock=clock, rate_hz=100.0))
        assert np.array_equal(episode.times_s, np.arange(9) * step_ns / 1e9), clock
    with pytest.raises(RecipeError, match="clock"):
        opened(path, clock="device")


# -- the topic map ---------------------------------------------------------------------------------------


def test_a_topic_map_says_what_counts(tmp_path: Path) -> None:
    path = log(tmp_path, made.arm_log(1, frames=20))
    topics = {
        "/joint_states": {"role": "action", "key": "action.torque", "field": "effort"},
        "/arm/command": {"role": "state"},
    }
    corpus = opened(path, topics=topics, task="by hand")
    channels = only(corpus).channels
    assert {k: c.role for k, c in channels.items()} == {"observation.state": "state", "action.torque": "action"}
    assert np.array_equal(channels["action.torque"].values, made.reach(20, 1) / 2)
    assert corpus.table.tasks == [("by hand",)]


def test_an_array_gets_the_names_that_the_user_gives(tmp_path: Path) -> None:
    topics = {"/joint_states": {"role": "state"}, "/arm/command": {"role": "action", "names": list(NAMES)}}
    action = only(opened(log(tmp_path, made.arm_log(1, frames=20)), topics=topics)).channels["action"]
    assert action.names == NAMES and np.array_equal(action.values, made.reach(20, 2))


@pytest.mark.parametrize(
    ("topics", "what"),
    [
        ({"/joint_state": {"role": "state"}}, "options.topics./joint_state: .*did you mean '/joint_states'"),
        ({"/joint_states": {"role": "camera"}}, r"\.role: its messages are no pictures"),
        ({"/joint_states": {"role": "stat"}}, "'stat' is not one of"),
        ({"/joint_states": {"role": "state", "field": "acceleration"}}, "known: position, velocity, effort"),
        ({"/joint_states": {"role": "state", "names": ["knee"]}}, "no dimension is called 'knee'"),
        ({"/joint_states": {"role": "state", "key": "a/b"}}, r"joint_states.key: 'a/b' is no name of a folder"),
        ({"/joint_states": {"role": "state", "key": ".."}}, r"'\.\.' is no name of a folder"),
        ({"/instruction": {"role": "task", "key": "../x"}}, r"'\.\./x' is no name of a folder"),
        (
            {"/joint_states": {"role": "state"}, "/arm/command": {"role": "state"}},
            "has the key 'observation.state' too",
        ),
    ],
)
def test_a_wrong_map_is_one_line(tmp_path: Path, topics: dict, what: str) -> None:
    with pytest.raises(RecipeError, match=what):
        opened(log(tmp_path, made.arm_log(1, frames=5)), topics=topics)


def test_a_stated_corpus_reopens_by_its_pickled_locator(tmp_path: Path) -> None:
    topics = {"/joint_states": {"role": "state", "field": "effort"}}
    corpus = opened(log(tmp_path, made.arm_log(1, frames=20)), topics=topics, cut={"times_s": [[0, 0.1], [0.2, 0.3]]})
    again = open_locator(pickle.loads(pickle.dumps(corpus.locator)))  # type: ignore[attr-defined]
    for first, second in zip(corpus.episodes([1, 0]), again.episodes([1, 0]), strict=True):
        assert first.id == second.id and first.length == second.length == 5
        a, b = (e.channels["observation.state"] for e in (first, second))
        assert np.array_equal(a.values, b.values) and np.array_equal(a.times_s, b.times_s)


def test_a_topic_without_stamps_among_stamped_ones_is_told(tmp_path: Path) -> None:
    corpus = opened(log(tmp_path, made.arm_log(1, frames=20)), clock="header")
    assert [(i.code, i.subject) for i in corpus.issues] == [("clock_mixed", "/arm/command")]


def test_logs_of_another_format_in_the_folder_are_told(tmp_path: Path) -> None:
    made.write_mcap(tmp_path / "a.mcap", made.arm_log(1, frames=5))
    made.write_bag(tmp_path / "b.bag", made.arm_log(1, frames=5))
    corpus = opened(tmp_path)
    assert len(corpus.table) == 1
    assert [(i.code, i.subject) for i in corpus.issues] == [("other_logs", ".bag")]


def test_other_options_change_the_stamp(tmp_path: Path) -> None:
    path = log(tmp_path, made.arm_log(1, frames=20))
    stamps = [opened(path, **o).table.values_stamp for o in ({}, {"clock": "header"}, {"rate_hz": 10.0})]
    assert len({tuple(s) for s in stamps}) == 3


# -- cuts ------------------------------------------------------------------------------------------------


def parts(corpus: Corpus) -> list[list[float]]:
    """First and last value of each episode's first channel."""
    found = []
    for e in corpus.episodes(range(len(corpus.table))):
        values = next(iter(e.channels.values())).values[:, 0]
        assert len(values) == e.length and (not e.length or e.times_s[0] == 0)
        found.append([values[0], values[-1]] if e.length else [])
    return found


def counting(n: int = 100) -> list[Sent]:
    return [Sent("/joint_states", START_NS + i * PERIOD_NS, made.joints(0, "a", [i])) for i in range(n)]


def mark(topic: str, step: float, message: Any) -> Sent:
    return Sent(topic, START_NS + round(step * PERIOD_NS), message)


def test_cut_by_a_marker(tmp_path: Path) -> None:
    words = [(9.5, "start"), (30.5, "stop"), (40.5, "noise"), (49.5, "start"), (59.5, "start"), (70.5, "stop")]
    sent = counting() + [mark("/episode", s, made.text(w)) for s, w in words]
    path = log(tmp_path, sent)
    assert parts(opened(path, cut={"topic": "/episode", "start": "start", "stop": "stop"})) == [
        [10, 30],
        [50, 59],
        [60, 70],
    ]
    everything = [[10, 30], [31, 40], [41, 49], [50, 59], [60, 70], [71, 99]]
    assert parts(opened(path, cut={"topic": "/episode"})) == everything
    with pytest.raises(RecipeError, match=r"options.cut.topic: log.mcap has no topic '/episodes'"):
        opened(path, cut={"topic": "/episodes"})
    with pytest.raises(CorpusError, match="leaves no episode"):
        opened(path, cut={"topic": "/episode", "start": "begin"})


def test_cut_by_a_marker_that_is_a_number(tmp_path: Path) -> None:
    flags = [(9.5, True), (30.5, False), (49.5, True)]
    sent = counting() + [mark("/on", s, made.new("std_msgs/msg/Bool", data=v)) for s, v in flags]
    cut = {"topic": "/on", "start": "true", "stop": "false"}
    assert parts(opened(log(tmp_path, sent), cut=cut)) == [[10, 30], [50, 99]]


def test_cut_by_a_pause(tmp_path: Path) -> None:
    sent = [s for i, s in enumerate(counting()) if not 20 <= i < 60 and not 80 <= i < 85]
    path = log(tmp_path, sent)
    assert parts(opened(path, cut={"pause_s": 0.5})) == [[0, 19], [60, 99]]
    assert parts(opened(path, cut={"pause_s": 0.1})) == [[0, 19], [60, 79], [85, 99]]


def test_cut_at_given_times(tmp_path: Path) -> None:
    path = log(tmp_path, counting())
    assert parts(opened(path, cut={"times_s": [[0, 0.2], [1.0, 1.5]]})) == [[0, 9], [50, 74]]
    with pytest.raises(RecipeError, match="does not go forward"):
        opened(path, cut={"times_s": [[2, 1]]})
    with pytest.raises(RecipeError, match="exactly one of"):
        opened(path, cut={"times_s": [[0, 1]], "pause_s": 1})


def test_cut_at_a_service_call(tmp_path: Path) -> None:
    kind = "std_srvs/srv/SetBool_Event"
    text = "bool data\n---\nbool success\nstring message\n"

    def event(event_type: int, number: int, data: bool | None) -> bytes:
        # service_msgs/ServiceEventInfo: uint8 event_type, Time stamp, uint8[16] client_gid, int64 sequence_number.
        request = b"" if data is None else bytes([data])
        body = struct.pack("<B3xiI", event_type, 0, 0) + bytes(16)
        body += bytes(-len(body) % 8) + struct.pack("<qI", number, len(request)) + request
        return bytes([0, 1, 0, 0]) + body + bytes(-len(body) % 4) + struct.pack("<I", 0)

    path = tmp_path / "log.mcap"
    calls = [(9.5, 0, 1, True), (9.6, 1, 1, True), (9.7, 2, 1, None), (30.5, 1, 2, False), (49.5, 1, 3, True)]
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        store = made.STORE
        joint = "sensor_msgs/msg/JointState"
        schema = writer.register_schema(joint, "ros2msg", store.generate_msgdef(joint, ros_version=2)[0].encode())
        channel = writer.register_channel("/joint_states", "cdr", schema)
        service = writer.register_channel(
            "/record/_service_event", "cdr", writer.register_schema(kind, "ros2msg", text.encode())
        )
        for s in counting():
            writer.add_message(channel, s.log_ns, bytes(store.serialize_cdr(s.message, joint)), s.log_ns)
        for step, event_type, number, data in calls:
            at = START_NS + round(step * PERIOD_NS)
            writer.add_message(service, at, event(event_type, number, data), at)
        writer.finish()
    assert parts(opened(path, cut={"service": "/record"})) == [[10, 30], [50, 99]]
    with pytest.raises(RecipeError, match=r"options.cut.service: .*no calls of '/recor'.*did you mean '/record'"):
        opened(path, cut={"service": "/recor"})


def test_each_part_has_its_own_instruction(tmp_path: Path) -> None:
    words = [(-1, "pick"), (49.5, "place"), (60, "place"), (70, "wait")]
    path = log(tmp_path, counting() + [mark("/task", s, made.text(w)) for s, w in words])
    # Relative to the first message, the instruction 20 ms earlier; what was said last still holds.
    tasks = opened(path, cut={"times_s": [[0, 0.5], [0.6, 0.9], [0.95, 1.9], [1.9, 2.0]]}).table.tasks
    assert tasks == [("pick",), ("pick",), ("place", "wait"), ("wait",)]


# -- other encodings -------------------------------------------------------------------------------------


def write_raw(path: Path, channels: dict[str, tuple], messages: list[tuple[str, int, bytes]]) -> Path:
    """Messages of any encoding: topic -> (encoding, schema name, schema encoding, schema), "" for no schema."""
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        ids = {}
        for topic, (encoding, name, kind, schema) in channels.items():
            number = writer.register_schema(name, kind, schema) if name else 0
            ids[topic] = writer.register_channel(topic, encoding, number)
        for topic, at, data in messages:
            writer.add_message(ids[topic], at, data, at)
        writer.finish()
    return path


def test_json_is_flattened_by_path(tmp_path: Path) -> None:
    rows = [{"joints": {"q": [i, i + 0.5], "ok": True}, "note": "x", "temp": None} for i in range(4)]
    states = [{"name": ["b", "a"], "position": [i, -i], "timestamp": {"sec": 5, "nsec": i}} for i in range(4)]
    messages = [("/arm", START_NS + i * PERIOD_NS, json.dumps(r).encode()) for i, r in enumerate(rows)]
    messages += [("/joints", START_NS + i * PERIOD_NS, json.dumps(r).encode()) for i, r in enumerate(states)]
    path = write_raw(tmp_path / "a.mcap", dict.fromkeys(("/arm", "/joints"), ("json", "", "", b"")), messages)
    channels = only(opened(path)).channels
    assert channels["observation.arm"].names == ("q[0]", "q[1]", "ok")
    assert channels["observation.arm"].values[3].tolist() == [3, 3.5, 1]
    assert channels["observation.state"].names == ("b", "a")
    assert channels["observation.state"].values.tolist() == [[i, -i] for i in range(4)]
    header = only(opened(path, clock="header", rate_hz=50.0)).channels["observation.state"]
    assert np.array_equal(header.times_s, np.arange(4) / 1e9)


def protobuf_schema() -> tuple[bytes, Any]:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto as F
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass

    file = FileDescriptorProto(name="arm.proto", package="demo", syntax="proto3")
    inner = file.message_type.add(name="Tool")
    inner.field.add(name="width", number=1, type=F.TYPE_FLOAT, label=F.LABEL_OPTIONAL)
    arm = file.message_type.add(name="ArmState")
    arm.field.add(name="position", number=1, type=F.TYPE_DOUBLE, label=F.LABEL_REPEATED)
    arm.field.add(name="count", number=2, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL)
    arm.field.add(name="tool", number=3, type=F.TYPE_MESSAGE, type_name=".demo.Tool", label=F.LABEL_OPTIONAL)
    arm.field.add(name="who", number=4, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
    pool = DescriptorPool()
    pool.Add(file)
    return FileDescriptorSet(file=[file]).SerializeToString(), GetMessageClass(
        pool.FindMessageTypeByName("demo.ArmState")
    )


def test_protobuf_is_flattened_by_path(tmp_path: Path) -> None:
    schema, cls = protobuf_schema()
    messages = []
    for i in range(3):
        message = cls(position=[i, 2 * i], count=i, who="x")
        message.tool.width = 0.25
        messages.append(("/arm_state", START_NS + i * PERIOD_NS, message.SerializeToString()))
    channel = {"/arm_state": ("protobuf", "demo.ArmState", "protobuf", schema)}
    state = only(opened(write_raw(tmp_path / "a.mcap", channel, messages))).channels["observation.state"]
    assert state.names == ("position[0]", "position[1]", "count", "tool.width")
    # proto3 leaves zeros out of the bytes: they are zeros all the same.
    assert state.values.tolist() == [[i, 2 * i, i, 0.25] for i in range(3)]


def test_ros1_messages_in_mcap(tmp_path: Path) -> None:
    kind = "sensor_msgs/msg/JointState"
    text = made.STORE1.generate_msgdef(kind, ros_version=1)[0].encode()
    messages = []
    for i in range(4):
        message = made.ros1(made.joints(START_NS, "ab", [i, -i]))
        messages.append(("/joint_states", START_NS + i * PERIOD_NS, bytes(made.STORE1.serialize_ros1(message, kind))))
    channel = {"/joint_states": ("ros1", "sensor_msgs/JointState", "ros1msg", text)}
    state = only(opened(write_raw(tmp_path / "a.mcap", channel, messages))).channels["observation.state"]
    assert (state.names, state.values.tolist()) == (("a", "b"), [[i, -i] for i in range(4)])


@pytest.mark.parametrize(
    ("channel", "what"),
    [
        (("cbor", "x", "", b""), "'cbor'; known: cdr, ros1, protobuf, json"),
        (("cdr", "p/msg/M", "ros2idl", b"module p {};"), "schema is of kind 'ros2idl'"),
        (("cdr", "", "", b""), "has no schema"),
        (("cdr", "p/msg/M", "ros2msg", b"p/M again"), "within itself"),
        (("protobuf", "demo.X", "protobuf", b"\xff\xff\xff"), "protobuf schema of demo.X cannot be read"),
        (("protobuf", "demo.X", "jsonschema", b"{}"), "'jsonschema', not protobuf"),
        (("json", "", "", b""), "not valid JSON"),
        (("cdr", "p/msg/M", "ros2msg", b"float64[] data"), "does not fit"),
    ],
)
def test_what_cannot_be_decoded_says_why(tmp_path: Path, channel: tuple, what: str) -> None:
    path = write_raw(tmp_path / "a.mcap", {"/t": channel}, [("/t", 5, b"\0\1\0\0\xff\xff\xff\x7f")])
    with pytest.raises(CorpusError, match=what) as caught:
        opened(path)
    assert "\n" not in str(caught.value) and "/t" in str(caught.value)


def test_one_topic_that_cannot_be_decoded_does_not_stand_in_the_others_way(tmp_path: Path) -> None:
    channels = {"/q": ("json", "", "", b""), "/t": ("cbor", "x", "", b"")}
    corpus = opened(write_raw(tmp_path / "a.mcap", channels, [("/q", 5, b'{"a": 1}'), ("/t", 6, b"x")]))
    assert list(only(corpus).channels) == ["observation.q"]
    assert "cbor" in corpus.facts.unread["/t"]


def test_a_long_log_takes_little_memory(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (240, 320, 3), dtype=np.uint8)
    sent = counting(200) + [Sent("/cam/image_raw", START_NS + i * PERIOD_NS, made.image(0, pixels)) for i in range(200)]
    path = log(tmp_path, sent, chunk_size=1 << 20, compression=CompressionType.NONE)
    assert path.stat().st_size > 40e6
    tracemalloc.start()
    episode = only(opened(path))
    assert episode.channels["observation.state"].values[-1] == 199
    opening = tracemalloc.get_traced_memory()[1]
    frames = sum(len(block) for block in episode.cameras["observation.images.cam"].luma(chunk=8))
    reading = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert frames == 200 and opening < 8e6 and reading < 20e6


# -- what is refused or salvaged -------------------------------------------------------------------------


def test_a_log_without_numbers_says_what_it_holds(tmp_path: Path) -> None:
    path = log(tmp_path, [Sent("/chatter", START_NS, made.text("hello"))])
    with pytest.raises(CorpusError, match=r"holds no numbers.*topics are /chatter \(std_msgs/msg/String\)"):
        opened(path)
    with pytest.raises(CorpusError, match="holds no messages"):
        opened(made.write_mcap(tmp_path / "empty.mcap", []))


def test_the_wrong_encoding_is_refused_by_name(real_data: Path) -> None:
    folder = real_data / "rosbag2/rosbag2_tests/resources/mcap/wrong_rmw_test"
    for place in (folder, folder / "wrong_rmw_test_0.mcap"):
        with pytest.raises(CorpusError, match="encoded as 'wrong_format'"):
            opened(place)


def test_a_cut_off_log_tells_its_loss(tmp_path: Path) -> None:
    path = log(tmp_path, made.arm_log(0, frames=200), chunk_size=2048)
    path.write_bytes(path.read_bytes()[:9000])
    corpus = opened(path)
    episode = only(corpus)
    assert 10 < episode.length < 200 and len(episode.channels["observation.state"].values) == episode.length
    assert np.array_equal(episode.channels["observation.state"].values, made.reach(200, 0)[: episode.length])
    assert [(i.check, i.code) for i in episode.issues] == [("files", "log_truncated")]


def test_one_unreadable_log_of_a_folder_does_not_stand_in_the_others_way(tmp_path: Path) -> None:
    for i in range(10):
        made.write_mcap(tmp_path / f"run_{i}.mcap", made.arm_log(i, frames=20))
    (tmp_path / "run_5.mcap").write_bytes((tmp_path / "run_5.mcap").read_bytes()[:300])
    corpus = opened(tmp_path)
    assert len(corpus.table) == 9
    assert [(i.code, i.subject) for i in corpus.issues] == [("log_unreadable", "run_5.mcap")]


def test_a_topic_that_one_log_lacks_is_told(tmp_path: Path) -> None:
    made.write_mcap(tmp_path / "a.mcap", made.arm_log(0, frames=20))
    made.write_mcap(tmp_path / "b.mcap", [s for s in made.arm_log(1, frames=20) if s.topic != "/arm/command"])
    first, second = opened(tmp_path).episodes([0, 1])
    assert "action" in first.channels and "action" not in second.channels
    assert [i.code for i in second.issues] == ["topic_missing"] and first.issues == ()


def test_split_files_of_a_rosbag2_folder_are_one_log(tmp_path: Path, real_data: Path) -> None:
    sent = made.arm_log(0, frames=60)
    for i in range(3):
        made.write_mcap(
            tmp_path / "bag" / f"bag_{i}.mcap", [s for s in sent if (s.log_ns - START_NS) // 400_000_000 == i]
        )
    names = "".join(f"  - bag_{i}.mcap\n" for i in range(3))
    text = f"rosbag2_bagfile_information:\n  storage_identifier: mcap\n  relative_file_paths:\n{names}"
    (tmp_path / "bag" / "metadata.yaml").write_text(text)
    episode = only(opened(tmp_path / "bag"))
    assert np.array_equal(episode.channels["observation.state"].values, made.reach(60, 0))
    (tmp_path / "bag" / "bag_1.mcap").unlink()
    with pytest.raises(CorpusError, match=r"names bag_1.mcap, which is missing"):
        opened(tmp_path / "bag")


def test_nothing_outside_the_corpus_is_read(tmp_path: Path) -> None:
    made.write_mcap(tmp_path / "secret.mcap", made.arm_log(0, frames=5))
    inside = tmp_path / "bag"
    made.write_mcap(inside / "a.mcap", made.arm_log(0, frames=5))
    metadata = "rosbag2_bagfile_information:\n  storage_identifier: mcap\n  relative_file_paths:\n  - ../secret.mcap\n"
    (inside / "metadata.yaml").write_text(metadata)
    with pytest.raises(UnsafeCorpusError, match="leaves the corpus"):
        opened(inside)
    (inside / "metadata.yaml").unlink()
    (inside / "b.mcap").symlink_to(tmp_path / "secret.mcap")
    with pytest.raises(UnsafeCorpusError, match="link that leaves the corpus"):
        opened(inside)


def test_metadata_that_would_run_code_does_not(tmp_path: Path) -> None:
    made.write_mcap(tmp_path / "a.mcap", made.arm_log(0, frames=5))
    (tmp_path / "metadata.yaml").write_text("!!python/object/apply:os.system ['touch /tmp/pwned_by_yaml']\n")
    with pytest.raises(CorpusError, match=r"metadata\.yaml"):
        opened(tmp_path)
    assert not Path("/tmp/pwned_by_yaml").exists()


def test_messages_that_are_hours_apart_have_a_rate_all_the_same(tmp_path: Path) -> None:
    sent = [Sent("/joint_states", START_NS + i * 10_000 * 10**9, made.joints(0, "a", [i])) for i in range(4)]
    assert opened(log(tmp_path, sent)).facts.rate_hz == pytest.approx(1e-4)
