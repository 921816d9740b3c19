"""Keyframes of packets without a container, by bytes that are worked out from the specifications."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gristmill.episode import CameraInfo
from gristmill.errors import VideoError
from gristmill.video.messages import MessageCamera, is_keyframe

START = b"\0\0\0\1"


@pytest.mark.parametrize(
    ("codec", "data", "key"),
    [
        # H.264: type in the low five bits. 7 and 8 are parameter sets, 5 an IDR slice, 1 another slice.
        ("h264", START + b"\x67aa" + START + b"\x68b" + START + b"\x65c", True),
        ("h264", b"\0\0\1\x65c", True),
        ("h264", START + b"\x41c", False),
        ("h264", START + b"\x67aa", False),
        # H.265: type in bits 1 to 6. 32 is a parameter set, 19 an IDR slice, 21 a clean random access, 1 trails.
        ("hevc", START + bytes([32 << 1, 1]) + START + bytes([19 << 1, 1, 7]), True),
        ("hevc", START + bytes([21 << 1, 1, 7]), True),
        ("hevc", START + bytes([1 << 1, 1, 7]), False),
        # AV1: type in bits 3 to 6, bit 1 says that a size follows. 2 is a delimiter, 1 a sequence header, 6 a frame.
        ("av1", bytes([2 << 3 | 2, 0, 1 << 3 | 2, 2, 9, 9, 6 << 3 | 2, 1, 9]), True),
        ("av1", bytes([2 << 3 | 2, 0, 6 << 3 | 2, 1, 9]), False),
        ("av1", bytes([6 << 3]) + b"\x0a\x0a", False),
        # VP9: marker 2, two bits of profile, show_existing_frame, frame_type (0 is a keyframe).
        ("vp9", bytes([0b1000_0000]), True),
        ("vp9", bytes([0b1000_0100]), False),
        ("vp9", bytes([0b1000_1000]), False),
        ("vp9", b"", False),
        ("h264", b"", False),
        ("av1", b"\xff\xff\xff\xff", False),
    ],
)
def test_keyframes(codec: str, data: bytes, key: bool) -> None:
    assert is_keyframe(data, codec) is key


def camera(packets: list[bytes], *, before: int = 0, codec: str = "h264") -> MessageCamera:
    def read(start: int, stop: int) -> Iterator[bytes]:
        return iter(packets[start + before : stop + before])

    frames = len(packets) - before
    info = CameraInfo(key="observation.images.top", height=None, width=None, rate_hz=30.0)
    return MessageCamera(
        info=info, codec=codec, frames=frames, before=before, times_s=np.arange(frames) / 30, where="here", read=read
    )


def test_the_keyframe_before_a_packet_is_found_however_far_back() -> None:
    key, other = START + b"\x65c", START + b"\x41c"
    packets = [other, key, *[other] * 100, key, *[other] * 5]
    stream = camera(packets, before=50)
    assert [stream.keyframe_before(n) for n in (0, 51, 52, 53, 57)] == [-49, -49, 52, 52, 52]
    assert camera(packets).keyframe_before(0) is None


def test_what_cannot_be_decoded_is_one_line() -> None:
    for stream in (camera([START + b"\x65junk"]), camera([START + b"\x41c"]), camera([b"x"], codec="av1")):
        with pytest.raises(VideoError, match="here: ") as caught:
            list(stream.luma())
        assert "\n" not in str(caught.value)
    with pytest.raises(VideoError, match="no frame 3; the episode has 1"):
        camera([b"x"]).rgb([3])


def test_a_stream_without_keyframes_says_so() -> None:
    none = camera([START + b"\x41c"] * 4).from_first_keyframe()
    assert none.frames == 4
    with pytest.raises(VideoError, match="no keyframe comes before frame 0"):
        none.packets()
