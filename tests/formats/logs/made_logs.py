"""Logs written by the libraries of their formats: `mcap.writer`, and `rosbags` for bags and for messages."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
from mcap.writer import CompressionType, Writer
from rosbags.rosbag1 import Writer as BagWriter
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Bag2Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

STORE = get_typestore(Stores.ROS2_HUMBLE)
STORE1 = get_typestore(Stores.ROS1_NOETIC)
FOXGLOVE_VIDEO = "builtin_interfaces/Time timestamp\nstring frame_id\nuint8[] data\nstring format\n"
GRIPPER = "float64 position\nfloat64 max_effort\n"
STORE.register(get_types_from_msg(FOXGLOVE_VIDEO, "foxglove_msgs/msg/CompressedVideo"))
STORE.register(get_types_from_msg(GRIPPER, "control_msgs/msg/GripperCommand"))

START_NS = 1_700_000_000_123_456_789
NAMES = ("shoulder_pan", "shoulder_lift", "elbow", "wrist", "gripper_jaw")


class Sent(NamedTuple):
    """One message of a log to be written."""

    topic: str
    log_ns: int
    message: Any  # of `STORE`
    publish_ns: int | None = None


def new(type_name: str, **fields: Any) -> Any:
    """A ROS 2 message; fields that are not given are its type's zeros."""
    cls = STORE.types[type_name]
    return cls(
        **{name: fields[name] if name in fields else _zero(kind) for name, kind in STORE.fielddefs[type_name][1]}
    )


def _zero(kind: tuple) -> Any:
    node, inner = kind
    if node == 2:  # a message
        return new(inner)
    if node == 1:
        return "" if inner[0] == "string" else False if inner[0] == "bool" else 0.0 if "float" in inner[0] else 0
    element, count = inner
    if element[0] == 1 and element[1][0] != "string":
        return np.zeros(count if node == 3 else 0, element[1][0])
    return [_zero(element) for _ in range(count if node == 3 else 0)]


def header(stamp_ns: int, frame: str = "base") -> Any:
    return new("std_msgs/msg/Header", stamp=stamp(stamp_ns), frame_id=frame)


def stamp(time_ns: int) -> Any:
    return new("builtin_interfaces/msg/Time", sec=time_ns // 10**9, nanosec=time_ns % 10**9)


def joints(stamp_ns: int, names: Iterable[str], position: Any, velocity: Any = (), effort: Any = ()) -> Any:
    return new(
        "sensor_msgs/msg/JointState",
        header=header(stamp_ns),
        name=list(names),
        position=np.array(position, np.float64),
        velocity=np.array(velocity, np.float64),
        effort=np.array(effort, np.float64),
    )


def text(value: str) -> Any:
    return new("std_msgs/msg/String", data=value)


def floats(values: Any) -> Any:
    return new("std_msgs/msg/Float64MultiArray", data=np.array(values, np.float64))


def jpeg(stamp_ns: int, pixels: np.ndarray, *, codec: str = "png") -> Any:
    """A compressed image; png keeps its pixels exactly."""
    data = np.frombuffer(encoded(pixels, codec), np.uint8)
    return new(
        "sensor_msgs/msg/CompressedImage", header=header(stamp_ns), format=f"rgb8; {codec} compressed bgr8", data=data
    )


def encoded(pixels: np.ndarray, codec: str) -> bytes:
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="image2pipe") as out:
        stream = out.add_stream({"jpeg": "mjpeg"}.get(codec, codec), rate=1)
        stream.height, stream.width = pixels.shape[:2]
        stream.pix_fmt = "rgb24" if codec == "png" else "yuvj420p"
        out.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        out.mux(stream.encode())
    return buffer.getvalue()


def image(stamp_ns: int, pixels: np.ndarray, encoding: str = "rgb8") -> Any:
    height, width = pixels.shape[:2]
    data = np.ascontiguousarray(pixels).view(np.uint8).reshape(-1)
    return new(
        "sensor_msgs/msg/Image",
        header=header(stamp_ns),
        height=height,
        width=width,
        encoding=encoding,
        step=len(data) // height,
        data=data,
    )


def picture(seed: int, height: int = 48, width: int = 64) -> np.ndarray:
    """A smooth picture with a bright block that moves with the seed."""
    y, x = np.mgrid[0:height, 0:width]
    pixels = np.stack([40 + x, 60 + y, np.full_like(x, 90)], axis=-1).astype(np.uint8)
    at = 4 * seed % (width - 12)
    pixels[10:22, at : at + 12] = (240, 200, 30)
    return pixels


def write_mcap(
    path: Path,
    sent: Iterable[Sent],
    *,
    compression: CompressionType = CompressionType.ZSTD,
    chunk_size: int = 16 << 10,
    **options: Any,
) -> Path:
    """ROS 2 messages as rosbag2 writes them: cdr with ros2msg."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        writer = Writer(file, chunk_size=chunk_size, compression=compression, **options)
        writer.start(profile="ros2", library="test")
        channels: dict[str, int] = {}
        schemas: dict[str, int] = {}
        for topic, log_ns, message, publish_ns in sent:
            kind = message.__msgtype__
            if kind not in schemas:
                definition = STORE.generate_msgdef(kind, ros_version=2)[0]
                schemas[kind] = writer.register_schema(kind, "ros2msg", definition.encode())
            if topic not in channels:
                channels[topic] = writer.register_channel(topic, "cdr", schemas[kind])
            data = bytes(STORE.serialize_cdr(message, kind))
            writer.add_message(channels[topic], log_ns, data, log_ns if publish_ns is None else publish_ns)
        writer.finish()
    return path


def write_bag(path: Path, sent: Iterable[Sent], *, compression: Any = None) -> Path:
    """The same messages as a ROS 1 bag."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = BagWriter(path)
    if compression is not None:
        writer.set_compression(compression)
    with writer:
        connections: dict[str, Any] = {}
        for topic, log_ns, message, _ in sent:
            kind = message.__msgtype__
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=STORE1)
            writer.write(connections[topic], log_ns, STORE1.serialize_ros1(ros1(message), kind))
    return path


def ros1(message: Any) -> Any:
    """The ROS 1 message of a ROS 2 one: headers have a sequence number."""
    cls = STORE1.types[message.__msgtype__]
    values = {}
    for name, (node, _) in STORE1.fielddefs[message.__msgtype__][1]:
        value = 0 if name == "seq" and not hasattr(message, "seq") else getattr(message, name)
        values[name] = ros1(value) if node == 2 and hasattr(value, "__msgtype__") else value
    return cls(**values)


def write_db3(folder: Path, sent: Iterable[Sent]) -> Path:
    """The same messages as a rosbag2 folder with SQLite storage."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Bag2Writer(folder, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        connections: dict[str, Any] = {}
        for topic, log_ns, message, _ in sent:
            kind = message.__msgtype__
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=STORE)
            writer.write(connections[topic], log_ns, STORE.serialize_cdr(message, kind))
    return folder


def reach(frames: int, seed: int, *, rate_hz: float = 50.0) -> np.ndarray:
    """(frames, 5) smooth joint positions in rad."""
    phase = np.arange(frames) / rate_hz
    return np.stack([np.sin(phase * (0.4 + 0.1 * j) + seed) * (0.5 + 0.1 * j) for j in range(5)], axis=1)


def arm_log(seed: int, frames: int = 60, *, start_ns: int = START_NS, period_ns: int = 20_000_000) -> list[Sent]:
    """An arm's log: state, command and instruction on one clock."""
    state, action = reach(frames, seed), reach(frames, seed + 1)
    sent = [Sent("/instruction", start_ns - 1000, text("put the cup on the shelf"))]
    for i in range(frames):
        at = start_ns + i * period_ns
        sent.append(Sent("/joint_states", at, joints(at - 3_000_000, NAMES, state[i], np.zeros(5), state[i] / 2)))
        sent.append(Sent("/arm/command", at, floats(action[i])))
    return sent
