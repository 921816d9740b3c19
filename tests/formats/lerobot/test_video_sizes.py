"""Declared sizes of cameras against real videos, whose sizes PyAV wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import made_datasets as made
import numpy as np
import pytest

from gristmill.finding import Issue, Kind
from gristmill.formats.lerobot.video_sizes import Picture, picture_of
from gristmill.sources import open_path
from gristmill.video.encode import encode


def video(path: Path, frames: int, height: int = 32, width: int = 48, codec: str = "libx264") -> None:
    preset = "ultrafast" if codec == "libx264" else 12
    encode(path, [np.zeros((frames, height, width, 3), np.uint8)], made.FPS, codec=codec, preset=preset)


def dataset(tmp_path: Path, version: str = "v3.0") -> Path:
    return made.make(tmp_path / "c", version, cameras=[made.TOP], video=video)


def issues(root: Path) -> list[Issue]:
    return list(open_path(root).issues)


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
@pytest.mark.parametrize("shape", [[32, 48, 3], [3, 32, 48]])
def test_sizes_that_fit(tmp_path: Path, version: str, shape: list[int]) -> None:
    root = dataset(tmp_path, version)
    made.edit_feature(root, made.TOP, shape=shape)
    assert issues(root) == []


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
@pytest.mark.parametrize("shape", [[480, 640, 3], [48, 32, 3], [3, 480, 640], [64], [32, 48], [32, 48, 7]])
def test_a_declared_size_that_the_videos_do_not_have(tmp_path: Path, version: str, shape: list[int]) -> None:
    root = dataset(tmp_path, version)
    made.edit_feature(root, made.TOP, shape=shape)
    (found,) = issues(root)
    assert (found.check, found.code, found.kind, found.camera) == ("schema", "camera_shape", Kind.DEFECT, made.TOP)
    assert f"shape {shape}, but its pictures are 32 high and 48 wide" in found.message


@pytest.mark.parametrize("info", [{"video.height": 480}, {"video.width": "x"}])
def test_what_is_said_of_the_video_counts_too(tmp_path: Path, info: dict[str, Any]) -> None:
    root = dataset(tmp_path)
    made.edit_feature(root, made.TOP, info=info)
    assert [i.code for i in issues(root)] == ["camera_shape"]


def test_files_of_one_camera_that_differ(tmp_path: Path) -> None:
    root = dataset(tmp_path)
    video(root / f"videos/{made.TOP}/chunk-000/file-001.mp4", 14, 64, 48)
    (found,) = issues(root)
    assert (found.code, found.kind, found.camera) == ("camera_sizes", Kind.DEFECT, made.TOP)
    assert "32 x 48 in" in found.message
    assert "64 x 48 in" in found.message


def test_another_codec_than_declared_is_a_trait(tmp_path: Path) -> None:
    root = dataset(tmp_path)
    made.edit_feature(root, made.TOP, info={"video.codec": "av1"})
    assert [(i.code, i.kind) for i in issues(root)] == [("camera_codec", Kind.TRAIT)]


@pytest.mark.parametrize(("codec", "name"), [("libx264", "h264"), ("libsvtav1", "av1")])
def test_headers_say_what_pyav_says(tmp_path: Path, codec: str, name: str) -> None:
    path = tmp_path / "a.mp4"
    video(path, 3, 64, 96, codec)
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert picture_of(path) == Picture(stream.height, stream.width, name) == Picture(64, 96, name)


@pytest.mark.parametrize("keep", [0, 7, 40, 0.3, 0.9, -1])
def test_damaged_headers_tell_nothing_wrong(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "a.mp4"
    video(path, 3)
    made.cut(path, keep)
    assert picture_of(path) in (None, Picture(32, 48, "h264"))


def test_bytes_that_were_flipped_end_and_harm_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    video(path, 3)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        broken = bytearray(data)
        for at in rng.integers(0, len(data), 20):
            broken[at] = rng.integers(256)
        path.write_bytes(bytes(broken))
        picture_of(path)
