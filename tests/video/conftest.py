"""Tiny videos, made with PyAV."""

from __future__ import annotations

import resource
from fractions import Fraction

import av
import numpy as np
import pytest


def pictures(frames, size=64, seed=0):
    """(t, h, w, 3) a textured square that wanders over a textured ground."""
    rng = np.random.default_rng(seed)
    ground = rng.integers(60, 190, (size, size, 1)).repeat(3, axis=2)
    out = np.empty((frames, size, size, 3), np.uint8)
    for k in range(frames):
        out[k] = ground
        at = (3 * k + 5 * seed) % (size - 16)
        out[k, at : at + 16, at // 2 : at // 2 + 16] = rng.integers(0, 255, (16, 16, 1))
    return out


def write(path, images, *, codec="libx264", rate=30, pix_fmt="yuv420p", times=None, start=0, **options):
    """A video of these images; `times` gives their frame numbers where some are left out."""
    with av.open(str(path), "w") as target:
        stream = target.add_stream(codec, rate=rate, options={k: str(v) for k, v in options.items()})
        stream.height, stream.width = images.shape[1:3]
        stream.pix_fmt = pix_fmt
        for k, image in enumerate(images):
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts, frame.time_base = (times[k] if times is not None else k) + start, Fraction(1, rate)
            target.mux(stream.encode(frame))
        target.mux(stream.encode())
    return path


@pytest.fixture(scope="session")
def make_pictures():
    return pictures


@pytest.fixture(scope="session")
def make_video():
    return write


@pytest.fixture
def full_disk():
    """No file grows beyond 2,000 bytes."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limit[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)


@pytest.fixture(scope="session")
def av1(tmp_path_factory):
    """40 frames as LeRobot writes them: a keyframe every second frame."""
    from gristmill.video.encode import encode

    path = tmp_path_factory.mktemp("video") / "av1.mp4"
    encode(path, [pictures(40)], 30)
    return path


@pytest.fixture(scope="session")
def h264(tmp_path_factory):
    """60 frames with B-frames and a keyframe every 20."""
    path = tmp_path_factory.mktemp("video") / "h264.mp4"
    return write(path, pictures(60), g=20, bf=2, sc_threshold=0)


@pytest.fixture(scope="session")
def g1(real_data):
    """Four AV1 files of a real robot."""
    return sorted((real_data / "g1_inspire/videos/chunk-000/observation.images.cam_high").glob("*.mp4"))


@pytest.fixture(scope="session")
def gr1(real_data):
    """Five h264 files with B-frames."""
    return sorted((real_data / "gr1_sim_picknplace/videos").glob("chunk-*/observation.images.ego_view/*.mp4"))


@pytest.fixture(scope="session")
def decoded():
    """All frames of a file in RGB, by PyAV alone."""

    def decode(path):
        with av.open(str(path)) as container:
            return np.stack([f.to_ndarray(format="rgb24") for f in container.decode(video=0)])

    return decode
