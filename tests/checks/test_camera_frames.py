from pathlib import Path

import numpy as np
import pytest

from gristmill.checks.camera_frames import CameraFrames
from gristmill.episode import CameraInfo
from gristmill.errors import MissingVideoError, VideoError
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, manifest_of, reaching
from gristmill.testing.filming import FRONT, filmed
from gristmill.video.camera import VideoCamera
from gristmill.video.mux import Part, copy_packets
from gristmill.video.packets import Packets

FRAMES = 120


class Stub:
    """A camera with frames at these times."""

    def __init__(self, times_s, *, frames=FRAMES, surplus=0, error=None):
        self.info = CameraInfo(key=FRONT, height=48, width=64, rate_hz=30)
        self.frames, self.path, self._error = frames, None, error
        n = len(times_s)
        self._packets = Packets(
            times_s=np.asarray(times_s, np.float64),
            sizes=np.full(n, 100, np.int32),
            keyframe=np.ones(n, bool),
            hashes=np.arange(n, dtype=np.uint64),
            digest=f"{n}",
            surplus=surplus,
        )

    def packets(self):
        if self._error:
            raise self._error
        return self._packets


def seen(index, times_s=None, **more):
    times_s = np.arange(FRAMES) / 30 if times_s is None else times_s
    return reaching(index, frames=FRAMES, cameras={FRONT: Stub(times_s, **more)})


class TestCameraFrames(CheckContract):
    check = CameraFrames()

    def clean_episode(self, index):
        return filmed(index)

    def broken_episode(self, index):
        return seen(index, np.arange(90) / 30)


def test_the_last_second_is_gone():
    (found,) = judge(CameraFrames(), [seen(0), seen(1, np.arange(90) / 30)])
    assert (found.row, found.camera, found.code, found.kind) == (1, FRONT, "video_truncated", Kind.DEFECT)
    assert found.spans_s == ((3.0, 4.0),)
    assert (found.measured, found.unit) == (30, "frames")
    assert "ends 1.00 s early" in found.message


def test_a_gap_in_the_middle():
    times_s = np.delete(np.arange(FRAMES), range(45, 60)) / 30
    (found,) = judge(CameraFrames(), [seen(0, times_s)])
    assert (found.code, found.measured) == ("video_gap", 15)
    assert found.spans_s == ((1.5, 2.0),)


def test_a_boundless_promise_costs_no_memory():
    camera = Stub(np.arange(FRAMES) / 30, frames=10**15)
    (found,) = judge(CameraFrames(), [reaching(0, frames=FRAMES, cameras={FRONT: camera})])
    assert found.measured == 10**15 - FRAMES


def test_jittering_times_are_not_missing():
    rng = np.random.default_rng(0)
    times_s = (np.arange(FRAMES) + rng.uniform(-0.4, 0.4, FRAMES)) / 30
    assert judge(CameraFrames(), [seen(0, times_s)]) == []


def test_another_rate_than_declared_is_one_finding():
    (found,) = judge(CameraFrames(), [seen(0, np.arange(60) / 15)])
    assert found.code == "video_rate"
    assert "every 66.7 ms and not every 33.3 ms" in found.message


@pytest.mark.parametrize(("surplus", "codes"), [(0, []), (1, []), (2, ["video_surplus"])])
def test_frames_beyond_the_promised_ones(surplus, codes):
    found = judge(CameraFrames(), [seen(0, surplus=surplus)])
    assert [f.code for f in found] == codes
    assert all(f.kind is Kind.RISK for f in found)


def test_a_file_that_cannot_be_read_is_a_defect():
    (found,) = judge(CameraFrames(), [seen(0, [], error=VideoError("cut.mp4: not a readable video"))])
    assert (found.code, found.measured) == ("video_unreadable", FRAMES)
    assert found.spans_s == ((0.0, 4.0),)
    assert "cut.mp4: not a readable video" in found.message


def test_missing_files_are_left_to_another_check():
    manifest = manifest_of(CameraFrames(), [seen(0, [], error=MissingVideoError("it is gone"))])
    assert list(CameraFrames().judge(manifest)) == []
    assert manifest.unknown == (f"no video file of {FRONT}",)


def test_real_recordings_are_complete(real_data):
    files = sorted(real_data.glob("g1_inspire/videos/*/*/*.mp4"))
    lengths = (221, 277, 280, 260)
    episodes = [
        reaching(i, frames=n, cameras={FRONT: real(f, n)}) for i, (f, n) in enumerate(zip(files, lengths, strict=True))
    ]
    assert judge(CameraFrames(), episodes) == []


def test_a_real_recording_without_its_last_second(tmp_path, real_data):
    source = sorted(real_data.glob("g1_inspire/videos/*/*/*.mp4"))[0]
    path = tmp_path / "short.mp4"
    copy_packets(path, [Part(source, 0, 191)], 30)
    (found,) = judge(CameraFrames(), [reaching(0, frames=221, cameras={FRONT: real(path, 221)})])
    assert found.code == "video_truncated"
    assert found.spans_s[0] == pytest.approx((191 / 30, 221 / 30))


def real(path: Path, frames: int) -> VideoCamera:
    info = CameraInfo(key=FRONT, height=480, width=640, rate_hz=30)
    return VideoCamera(info=info, path=path, start_s=0, frames=frames, rate_hz=30, where="episode 0")
