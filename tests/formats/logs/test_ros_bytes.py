"""Our decoder against two independent ones: `rosbags`, and MCAP's own for ROS 1 and ROS 2."""

from __future__ import annotations

import struct
from dataclasses import fields
from typing import Any

import made_logs as made
import numpy as np
import pytest
from mcap.records import Schema
from mcap_ros1.decoder import DecoderFactory as Ros1Factory
from mcap_ros2.decoder import DecoderFactory as Ros2Factory

from gristmill.formats.logs.decoding import decoder_for, stamps_ns
from gristmill.formats.logs.definitions import parse
from gristmill.formats.logs.ros_bytes import MessageError, RosDecoder
from gristmill.formats.logs.stream import Format

RNG = np.random.default_rng(3)


def decoder(kind: str, *, ros1: bool = False) -> RosDecoder:
    store = made.STORE1 if ros1 else made.STORE
    text = store.generate_msgdef(kind, ros_version=1 if ros1 else 2)[0]
    return RosDecoder(parse(kind, text, ros1=ros1), cdr=not ros1)


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """What `rosbags` decoded, by path: numbers as flat arrays, texts as they are."""
    if hasattr(value, "__msgtype__"):
        found: dict[str, Any] = {}
        for field in fields(value):
            if field.name != "__msgtype__" and not field.name.isupper():  # constants
                found |= flat(getattr(value, field.name), f"{path}.{field.name}" if path else field.name)
        return found
    if isinstance(value, list) and value and hasattr(value[0], "__msgtype__"):
        return {k: v for i, item in enumerate(value) for k, v in flat(item, f"{path}[{i}]").items()}
    if isinstance(value, list):
        return {path: tuple(value)} if value else {}  # of no message or no text: nothing tells which
    return {path: value if isinstance(value, str) else np.atleast_1d(value)}


def random_message(kind: str) -> Any:
    """A message of a type with random numbers, texts and lengths."""

    def fill(node: tuple) -> Any:
        sort, inner = node
        if sort == 2:
            return random_message(inner)
        if sort == 1:
            if inner[0] == "string":
                return "".join(RNG.choice(list("abcdé"), int(RNG.integers(0, 9))))
            if inner[0] == "bool":
                return bool(RNG.integers(2))
            return float(RNG.normal()) if "float" in inner[0] else int(RNG.integers(0, 100))
        element, count = inner
        count = count if sort == 3 else int(RNG.integers(0, 6))
        if element[0] == 1 and element[1][0] != "string":
            return RNG.integers(0, 100, count).astype(element[1][0])
        return [fill(element) for _ in range(count)]

    cls = made.STORE.types[kind]
    return cls(**{name: fill(node) for name, node in made.STORE.fielddefs[kind][1]})


KINDS = [
    "sensor_msgs/msg/JointState",
    "std_msgs/msg/Float64MultiArray",
    "std_msgs/msg/Bool",
    "geometry_msgs/msg/WrenchStamped",
    "geometry_msgs/msg/PoseWithCovarianceStamped",
    "geometry_msgs/msg/PoseArray",
    "nav_msgs/msg/Odometry",
    "trajectory_msgs/msg/JointTrajectory",
    "sensor_msgs/msg/Imu",
    "sensor_msgs/msg/MultiDOFJointState",
    "sensor_msgs/msg/CameraInfo",
    "diagnostic_msgs/msg/DiagnosticArray",
]


@pytest.mark.parametrize("kind", KINDS)
def test_cdr_agrees_with_rosbags(kind: str) -> None:
    own = decoder(kind)
    payloads = [bytes(made.STORE.serialize_cdr(random_message(kind), kind)) for _ in range(40)]
    payloads += payloads[:3]  # layouts that occur more than once
    seen = np.zeros(len(payloads), int)
    for group in own.many(payloads):
        for i, row in enumerate(group.rows.tolist()):
            seen[row] += 1
            truth = flat(made.STORE.deserialize_cdr(payloads[row], kind))
            numbers = {k: v for k, v in truth.items() if isinstance(v, np.ndarray)}
            assert set(numbers) == set(group.numbers)
            for path, value in numbers.items():
                assert np.array_equal(group.numbers[path][i], value), path
            arrays = {k: v for k, v in truth.items() if isinstance(v, tuple)}
            assert {k: v for k, v in group.texts.items() if isinstance(v, tuple) and v} == arrays
    assert (seen == 1).all()


@pytest.mark.parametrize("kind", [k for k in KINDS if k in made.STORE1.types and "CameraInfo" not in k])
def test_ros1_agrees_with_rosbags(kind: str) -> None:
    own = decoder(kind, ros1=True)
    for _ in range(20):
        data = bytes(made.STORE1.serialize_ros1(made.ros1(random_message(kind)), kind))
        truth = flat(made.STORE1.deserialize_ros1(data, kind))
        group = own.one(memoryview(data))
        for path, value in truth.items():
            if isinstance(value, np.ndarray):
                assert np.array_equal(group.numbers[path][0], value), path
            else:
                assert group.texts[path] == value


def test_joint_states_agree_with_the_decoders_that_come_with_mcap() -> None:
    kind = "sensor_msgs/msg/JointState"
    message = made.joints(made.START_NS, made.NAMES, RNG.normal(size=5), RNG.normal(size=5), RNG.normal(size=5))
    for ros1, factory, name, encoding in (
        (False, Ros2Factory(), "ros2msg", "cdr"),
        (True, Ros1Factory(), "ros1msg", "ros1"),
    ):
        store = made.STORE1 if ros1 else made.STORE
        text = store.generate_msgdef(kind, ros_version=1 if ros1 else 2)[0]
        data = bytes(store.serialize_ros1(made.ros1(message), kind) if ros1 else store.serialize_cdr(message, kind))
        theirs = factory.decoder_for(
            encoding, Schema(1, text.encode(), name, kind.replace("/msg", "") if ros1 else kind)
        )
        ours = decoder(kind, ros1=ros1).one(memoryview(data))
        assert theirs is not None
        decoded = theirs(data)
        assert ours.texts["name"] == tuple(decoded.name)
        for field in ("position", "velocity", "effort"):
            assert ours.numbers[field][0].tolist() == list(getattr(decoded, field))
        assert stamps_ns(ours).tolist() == [made.START_NS]  # type: ignore[union-attr]


def test_big_endian_cdr() -> None:
    # By hand: representation 0000, then a uint32 length of 2, four bytes of padding, two float64.
    own = RosDecoder(parse("p/M", "float64[] data", ros1=False), cdr=True)
    data = bytes([0, 0, 0, 0]) + struct.pack(">I", 2) + bytes(4) + struct.pack(">2d", 1.5, -2.25)
    assert own.one(memoryview(data)).numbers["data"].tolist() == [[1.5, -2.25]]


def test_xcdr2_aligns_eight_bytes_to_four() -> None:
    own = RosDecoder(parse("p/M", "int32 a\nfloat64 b", ros1=False), cdr=True)
    data = bytes([0, 7, 0, 0]) + struct.pack("<id", 7, 0.125)
    group = own.one(memoryview(data))
    assert (group.numbers["a"].item(), group.numbers["b"].item()) == (7, 0.125)


def test_an_empty_message_is_one_byte() -> None:
    assert len(RosDecoder(parse("p/M", "", ros1=False), cdr=True).one(memoryview(bytes([0, 1, 0, 0, 0]))).numbers) == 0


@pytest.mark.parametrize(
    ("text", "body", "what"),
    [
        ("float64[] data", struct.pack("<I", 2**32 - 1), "does not fit"),
        ("string data", struct.pack("<I", 100), "shorter"),
        ("p/E[] data\n" + "=" * 80 + "\nMSG: p/E\n", struct.pack("<I", 2**31), "does not fit"),
        ("float64 data", b"\0\0", "shorter"),
        ("wstring data", struct.pack("<I", 0), "wstring"),
    ],
)
def test_hostile_messages_are_refused_before_memory_is_taken(text: str, body: bytes, what: str) -> None:
    own = RosDecoder(parse("p/M", text, ros1=False), cdr=True)
    with pytest.raises(MessageError, match=what):
        own.one(memoryview(bytes([0, 1, 0, 0]) + body))


def test_an_unknown_representation_is_named() -> None:
    own = RosDecoder(parse("p/M", "int8 x", ros1=False), cdr=True)
    with pytest.raises(MessageError, match="0003"):
        own.one(memoryview(bytes([0, 3, 0, 0, 1])))


def test_a_definition_that_the_log_lacks_comes_from_ros_itself() -> None:
    form = Format(type="sensor_msgs/msg/JointState", encoding="cdr", schema_encoding="", schema=b"")
    data = made.STORE.serialize_cdr(made.joints(5, ["a"], [0.25]), form.type)
    assert decoder_for(form).one(memoryview(bytes(data))).numbers["position"].tolist() == [[0.25]]
