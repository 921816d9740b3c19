"""Cameras in MCAP: raw, compressed and video messages, windows that begin between keyframes, depth, damage."""

from __future__ import annotations

import base64
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import av
import made_logs as made
import numpy as np
import pytest
from made_logs import START_NS, Sent, picture
from mcap.writer import Writer

from gristmill.episode import Episode
from gristmill.errors import RecipeError, VideoError
from gristmill.sources import open_path
from gristmill.traces import trace
from gristmill.video.raw import grey

PERIOD_NS = 40_000_000


def only(path: Path, **options: Any) -> Episode:
    corpus = open_path(path, key="log", options=options)
    (episode,) = corpus.episodes(range(len(corpus.table)))
    return episode


def filmed(tmp_path: Path, topic: str, messages: list[Any], states: int | None = None) -> Path:
    sent = [Sent(topic, START_NS + i * PERIOD_NS + 1000, m) for i, m in enumerate(messages)]
    count = len(messages) if states is None else states
    sent += [Sent("/joint_states", START_NS + i * PERIOD_NS, made.joints(0, "a", [i])) for i in range(count)]
    return made.write_mcap(tmp_path / "log.mcap", sorted(sent, key=lambda s: s.log_ns), chunk_size=64 << 10)


@pytest.mark.parametrize("encoding", ["rgb8", "bgr8", "rgba8", "bgra8", "mono8"])
def test_raw_pictures(tmp_path: Path, encoding: str) -> None:
    truth = np.stack([picture(i) for i in range(9)])

    def laid_out(rgb: np.ndarray) -> np.ndarray:
        if encoding == "mono8":
            return rgb[..., 1]
        alpha = np.full((*rgb.shape[:2], 1), 255, np.uint8)
        ordered = rgb if encoding.startswith("rgb") else rgb[..., ::-1]
        return np.concatenate([ordered, alpha], axis=-1) if len(encoding) == 5 else ordered

    path = filmed(tmp_path, "/cam/image_raw", [made.image(0, laid_out(p), encoding) for p in truth])
    episode = only(path)
    camera = episode.cameras["observation.images.cam"]
    assert (camera.frames, camera.info.height, camera.info.width, camera.info.rate_hz) == (9, 48, 64, 25.0)
    seen = np.repeat(truth[..., 1:2], 3, axis=-1) if encoding == "mono8" else truth
    assert np.array_equal(camera.rgb([0, 8, 3]), seen[[0, 8, 3]])
    assert np.array_equal(
        np.concatenate(list(camera.luma(chunk=4))), truth[..., 1] if encoding == "mono8" else grey(truth)
    )
    packets = camera.packets()
    assert np.allclose(packets.times_s, np.arange(9) * 0.04 + 1e-6, atol=1e-12)


@pytest.mark.parametrize("codec", ["png", "jpeg"])
def test_compressed_pictures(tmp_path: Path, codec: str) -> None:
    truth = np.stack([picture(i) for i in range(6)])
    messages = [made.jpeg(0, p, codec=codec) for p in truth]
    camera = only(filmed(tmp_path, "/wrist/image/compressed", messages)).cameras["observation.images.wrist"]
    assert (camera.frames, camera.info.height, camera.info.width) == (6, 48, 64)
    error = np.abs(camera.rgb(range(6)).astype(int) - truth)
    assert error.max() == 0 if codec == "png" else error.mean() < 4
    sizes = [len(m.data) for m in messages]
    assert camera.packets().sizes.tolist() == sizes


def test_pictures_in_json(tmp_path: Path) -> None:
    truth = [picture(i) for i in range(3)]
    path = tmp_path / "log.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("foxglove.CompressedImage", "jsonschema", b"{}")
        channel = writer.register_channel("/cam", "json", schema)
        for i, pixels in enumerate(truth):
            data = base64.b64encode(made.encoded(pixels, "png")).decode()
            body = {"timestamp": {"sec": 7, "nsec": 5 * i}, "frame_id": "c", "data": data, "format": "png"}
            writer.add_message(channel, START_NS + i, json.dumps(body).encode(), START_NS + i)
        writer.finish()
    camera = only(path, clock="header", rate_hz=30.0).cameras["observation.images.cam"]
    assert np.array_equal(camera.rgb(range(3)), truth)
    assert np.array_equal(camera.packets().times_s, [0.0, 5e-9, 1e-8])


def test_depth_is_named_and_left_out(tmp_path: Path) -> None:
    depth = np.arange(48 * 64, dtype=np.uint16).reshape(48, 64)
    corpus = open_path(filmed(tmp_path, "/cam/depth", [made.image(0, depth, "16UC1")] * 3), key="log")
    assert corpus.facts.unread == {"/cam/depth": "depth"} and not corpus.facts.cameras


def test_a_picture_that_does_not_fit_is_a_video_error(tmp_path: Path) -> None:
    messages = [made.image(0, picture(i)) for i in range(4)]
    messages[2] = made.new("sensor_msgs/msg/Image", height=2**31, width=64, encoding="rgb8", step=192)
    camera = only(filmed(tmp_path, "/cam/image", messages)).cameras["observation.images.cam"]
    with pytest.raises(VideoError, match=r"episode 0 \(log.mcap\), camera observation.images.cam: .*does not fit"):
        list(camera.luma())
    assert len(camera.rgb([0, 1])) == 2


@pytest.mark.parametrize("key", ["observation.images/../../../x", "a/b", "..", "."])
def test_a_camera_is_called_by_no_path(tmp_path: Path, key: str) -> None:
    path = filmed(tmp_path, "/cam/image", [made.image(0, picture(0))] * 3)
    with pytest.raises(RecipeError, match=r"options\.topics\./cam/image\.key: .* is no name of a folder"):
        open_path(path, key="log", options={"topics": {"/cam/image": {"role": "camera", "key": key}}})


def test_images_of_several_sizes_are_a_video_error(tmp_path: Path) -> None:
    messages = [made.jpeg(0, picture(i, 48, 64 if i < 2 else 32)) for i in range(4)]
    camera = only(filmed(tmp_path, "/cam/image/compressed", messages)).cameras["observation.images.cam"]
    assert [len(camera.rgb([0, 1])), len(camera.rgb([2, 3]))] == [2, 2]
    with pytest.raises(
        VideoError, match=r"camera observation.images.cam: the frame size changes between 32 x 48 and 64"
    ):
        camera.rgb([1, 2])


# -- video -----------------------------------------------------------------------------------------------


ENCODE = """
import pickle, sys
from fractions import Fraction
import av
pictures, codec, options = pickle.load(sys.stdin.buffer)
context = av.CodecContext.create(codec, "w")
context.height, context.width, context.pix_fmt = *pictures.shape[1:3], "yuv420p"
context.time_base, context.options, context.thread_count = Fraction(1, 25), options, 1
packets = []
for i, p in enumerate(pictures):
    frame = av.VideoFrame.from_ndarray(p, format="rgb24")
    frame.pts = i
    packets += [bytes(x) for x in context.encode(frame)]
packets += [bytes(x) for x in context.encode(None)]
pickle.dump(packets, sys.stdout.buffer)
"""


def packets_of(pictures: np.ndarray, codec: str, gop: int) -> list[bytes]:
    """One packet a picture, without B-frames, parameter sets at every keyframe.

    In a process of its own, and again when that fails: x265 4.2 now and then refuses its work or aborts.
    """
    settings = f"keyint={gop}:min-keyint={gop}:scenecut=0:bframes=0:repeat-headers=1"
    options = {
        "libx264": {"x264-params": settings, "tune": "zerolatency"},
        "libx265": {"x265-params": f"{settings}:log-level=0", "tune": "zerolatency"},
    }[codec]
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", ENCODE], input=pickle.dumps((pictures, codec, options)), capture_output=True
        )
        if done.returncode == 0:
            packets = pickle.loads(done.stdout)
            assert len(packets) == len(pictures)
            return packets
    raise AssertionError(done.stderr.decode())


def decoded(packets: list[bytes], codec: str) -> np.ndarray:
    context = av.CodecContext.create(codec, "r")
    frames = [f for p in [*packets, None] for f in context.decode(av.Packet(p) if p is not None else None)]
    return np.stack([f.to_ndarray(format="rgb24") for f in frames])


def video(packets: list[bytes], name: str) -> list[Any]:
    kind = "foxglove_msgs/msg/CompressedVideo"
    return [made.new(kind, timestamp=made.stamp(0), data=np.frombuffer(p, np.uint8), format=name) for p in packets]


@pytest.fixture(scope="module", params=[("libx264", "h264", "h264"), ("libx265", "h265", "hevc")], ids=["h264", "h265"])
def stream(request: pytest.FixtureRequest) -> tuple[list[bytes], str, np.ndarray]:
    encoder, name, codec = request.param
    packets = packets_of(np.stack([picture(i, 64, 96) for i in range(50)]), encoder, gop=12)
    return packets, name, decoded(packets, codec)


def test_video_messages(tmp_path: Path, stream: tuple) -> None:
    packets, name, truth = stream
    camera = only(filmed(tmp_path, "/front/video", video(packets, name))).cameras["observation.images.front"]
    assert (camera.info.height, camera.info.width, camera.info.codec) == (64, 96, "hevc" if name == "h265" else name)
    assert np.array_equal(camera.rgb([0, 11, 12, 30, 5]), truth[[0, 11, 12, 30, 5]])
    assert sum(len(block) for block in camera.luma(chunk=7)) == 50
    found = camera.packets()
    assert np.flatnonzero(found.keyframe).tolist() == [0, 12, 24, 36, 48]
    assert found.sizes.tolist() == [len(p) for p in packets]
    assert len(trace(camera)) == 50 and trace(camera).lost == 0


def test_a_window_begins_between_keyframes(tmp_path: Path, stream: tuple) -> None:
    packets, name, truth = stream
    path = filmed(tmp_path, "/front/video", video(packets, name))
    corpus = open_path(path, key="log", options={"cut": {"times_s": [[0.0, 0.4], [0.72, 1.2]]}})
    first, second = (e.cameras["observation.images.front"] for e in corpus.episodes([0, 1]))
    assert np.array_equal(first.rgb(range(first.frames)), truth[:10])
    assert np.array_equal(second.rgb(range(second.frames)), truth[18:30])
    assert np.array_equal(second.rgb([3]), truth[[21]])
    luma = np.concatenate(list(second.luma()))
    whole = only(path).cameras["observation.images.front"]
    assert np.array_equal(luma, np.concatenate(list(whole.luma()))[18:30])
    assert second.packets().times_s[0] == pytest.approx(1e-6, abs=1e-12)


def test_a_recording_that_began_between_keyframes_starts_at_its_first(tmp_path: Path, stream: tuple) -> None:
    packets, name, truth = stream
    camera = only(filmed(tmp_path, "/front/video", video(packets[5:], name))).cameras["observation.images.front"]
    assert camera.frames == 50 - 5 - 7  # seven frames come before the keyframe: nobody can decode them
    assert np.array_equal(camera.rgb([0, 37]), truth[[12, 49]])
    assert camera.packets().times_s[0] == pytest.approx(7 * 0.04 + 1e-6)


def test_damaged_video_is_told(tmp_path: Path, stream: tuple) -> None:
    packets, name, _ = stream
    broken = [*packets[:30], b"\0\0\0\1\xff" + bytes(40), *packets[31:]]
    camera = only(filmed(tmp_path, "/front/video", video(broken, name))).cameras["observation.images.front"]
    with pytest.raises(VideoError, match="of 50 frames do not decode"):
        list(camera.luma())
    assert len(camera.rgb([29])) == 1


def test_av1_keyframes_and_frames(tmp_path: Path, real_data: Path) -> None:
    # A recorder's own AV1: its packets are low-overhead OBUs already.
    file = next((real_data / "g1_inspire" / "videos").rglob("*.mp4"))
    with av.open(str(file)) as container:
        packets = [p for p in container.demux(video=0) if p.size][:12]
        keys = [p.is_keyframe for p in packets]
        head = bytes(container.streams.video[0].codec_context.extradata or b"")[4:]
    with av.open(str(file)) as container:
        frames = container.decode(video=0)
        truth = np.stack([next(frames).to_ndarray(format="rgb24") for _ in range(12)])
    data = [
        bytes(p) if not k or _has_sequence(bytes(p)) else head + bytes(p) for p, k in zip(packets, keys, strict=True)
    ]
    path = filmed(tmp_path, "/head/video", video(data, "av1"))
    corpus = open_path(path, key="log", options={"cut": {"times_s": [[0.12, 0.4]]}})
    camera = next(iter(corpus.episodes([0]))).cameras["observation.images.head"]
    assert np.array_equal(camera.rgb(range(7)), truth[3:10])
    assert camera.packets().keyframe.tolist() == keys[3:10]


def _has_sequence(data: bytes) -> bool:
    from gristmill.video.messages import is_keyframe

    return is_keyframe(data, "av1")
