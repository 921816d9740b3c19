"""Frames of real videos, cut out of shared files by the metadata."""

from __future__ import annotations

from pathlib import Path

import made_datasets as made
import numpy as np
import pytest

from gristmill.episode import Camera
from gristmill.errors import VideoError
from gristmill.formats.cameras import LazyCameras
from gristmill.sources import open_path
from gristmill.video.encode import encode

LENGTHS = (5, 7, 6, 8)


def film(path: Path, frames: int) -> None:
    """A video whose frame k is plain grey of level 15 k + 20."""
    pictures = np.stack([np.full((32, 48, 3), 15 * k + 20, np.uint8) for k in range(frames)])
    encode(path, [pictures], made.FPS, codec="h264", preset="ultrafast", crf=10)


def levels(camera: Camera) -> list[int]:
    """Which frame of its file each frame of the episode is."""
    images = camera.rgb(range(camera.frames))
    return np.round((images.reshape(len(images), -1).mean(1) - 20) / 15).astype(int).tolist()


def test_an_episodes_frames_are_those_of_its_window(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", cameras=[made.TOP], video=film)
    cameras = [e.cameras[made.TOP] for e in open_path(root).episodes(range(4))]
    assert [levels(c) for c in cameras] == [[*range(5)], [*range(5, 12)], [*range(6)], [*range(6, 14)]]
    assert [len(c.packets()) for c in cameras] == list(LENGTHS)
    assert cameras[0].packets().digest != cameras[1].packets().digest


def test_an_episodes_frames_in_a_file_of_its_own(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1", cameras=[made.TOP], video=film)
    cameras = [e.cameras[made.TOP] for e in open_path(root).episodes(range(4))]
    assert [levels(c) for c in cameras] == [[*range(n)] for n in LENGTHS]
    assert [c.packets().surplus for c in cameras] == [0] * 4


def test_a_length_that_lies_does_not_take_frames_of_the_next_episode(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", cameras=[made.TOP], video=film)
    made.edit_episodes(root, lambda rows: rows[0].update(length=9))
    camera = next(iter(open_path(root).episodes([0]))).cameras[made.TOP]
    assert camera.frames == 5  # as many as there are rows
    assert levels(camera) == [*range(5)]


def test_a_video_that_is_cut_off_harms_its_episodes_only(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1", cameras=[made.TOP], video=film)
    made.cut(root / f"videos/chunk-000/{made.TOP}/episode_000002.mp4", 0.5)
    episodes = list(open_path(root).episodes(range(4)))
    for episode in episodes:
        camera = episode.cameras[made.TOP]
        assert episode.frames == LENGTHS[episode.index]
        if episode.index == 2:
            with pytest.raises(VideoError, match=f"episode 2, camera {made.TOP}"):
                camera.packets()
        else:
            assert len(camera.packets()) == episode.frames


def test_cameras_are_made_when_they_are_asked_for() -> None:
    made_for: list[str] = []

    def make(key: str) -> Camera:
        made_for.append(key)
        return object()  # type: ignore[return-value]

    cameras = LazyCameras(("top", "wrist"), make)
    assert list(cameras) == ["top", "wrist"]
    assert len(cameras) == 2
    assert "top" in cameras.keys()  # noqa: SIM118
    assert made_for == []
    assert cameras["wrist"] is cameras["wrist"]
    assert made_for == ["wrist"]
    with pytest.raises(KeyError):
        cameras["absent"]
