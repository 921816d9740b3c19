"""Cameras whose frames are arrays or single images: runs of frames, large frames, exchanged colours."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from gristmill.episode import CameraInfo
from gristmill.errors import VideoError
from gristmill.video.raw import RawCamera, grey


def camera_of(frames: np.ndarray, asked: list[tuple[int, int]]) -> RawCamera:
    def read(start: int, stop: int) -> np.ndarray:
        asked.append((start, stop))
        return frames[start:stop]

    info = CameraInfo(key="top", height=frames.shape[1], width=frames.shape[2], rate_hz=10)
    return RawCamera(info=info, frames=len(frames), times_s=np.arange(len(frames)) / 10, where="here", read=read)


def test_neighbours_are_read_together() -> None:
    frames = np.random.default_rng(0).integers(0, 256, (20, 8, 9, 3), np.uint8)
    asked: list[tuple[int, int]] = []
    camera = camera_of(frames, asked)
    np.testing.assert_array_equal(camera.rgb([3, 4, 5, 9, 8, 0]), frames[[3, 4, 5, 9, 8, 0]])
    assert asked == [(3, 6), (9, 10), (8, 9), (0, 1)]
    assert camera.rgb([]).shape == (0, 8, 9, 3)
    with pytest.raises(VideoError, match="here: there is no frame 20"):
        camera.rgb([1, 20])
    assert len(asked) == 4


def test_large_frames_come_in_small_chunks() -> None:
    frames = np.zeros((6, 2000, 3000, 3), np.uint8)  # 18 MB each
    asked: list[tuple[int, int]] = []
    chunks = list(camera_of(frames, asked).luma(chunk=64))
    assert sum(map(len, chunks)) == 6
    assert max(stop - start for start, stop in asked) * frames[0].nbytes <= 32 << 20


def test_packets_are_the_pixels() -> None:
    frames = np.random.default_rng(0).integers(0, 256, (5, 8, 9, 3), np.uint8)
    frames[3] = frames[1]
    packets = camera_of(frames, []).packets()
    assert packets.sizes.tolist() == [216] * 5
    assert packets.hashes[3] == packets.hashes[1] != packets.hashes[0]
    first = hashlib.blake2b(frames[0].tobytes(), digest_size=16).digest()
    assert int(packets.hashes[0]) == int.from_bytes(first[:8], "little")


def test_grey_levels_are_those_of_bt601() -> None:
    pixels = np.array([[[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255], [0, 0, 0]]]], np.uint8)
    # 0.299, 0.587 and 0.114 of 255.
    assert grey(pixels).tolist() == [[[76, 150, 29, 255, 0]]]
