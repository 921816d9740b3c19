import pickle

import numpy as np
import pytest

from gristmill.episode import CameraInfo
from gristmill.errors import MissingVideoError, VideoError
from gristmill.video.camera import VideoCamera
from gristmill.video.mux import Part, copy_packets

INFO = CameraInfo(key="observation.images.top", height=64, width=64, rate_hz=30)


def camera(path, **more):
    given = {
        "info": INFO,
        "path": path,
        "start_s": 0.0,
        "frames": 40,
        "rate_hz": 30.0,
        "where": "episode 3, camera top",
    }
    return VideoCamera(**given | more)


@pytest.fixture(scope="module")
def packed(tmp_path_factory, av1):
    """Three episodes of 40, 10 and 20 frames in one file."""
    path = tmp_path_factory.mktemp("packed") / "file-000.mp4"
    copy_packets(path, [Part(av1, 0, 40), Part(av1, 20, 30), Part(av1, 10, 30)], 30)
    return path


def test_every_episode_of_a_packed_file_has_its_own_frames(packed, av1, decoded):
    every = decoded(av1)
    for start, first, count in ((0, 0, 40), (40, 20, 10), (50, 10, 20)):
        seen = camera(packed, start_s=start / 30, frames=count)
        assert sum(map(len, seen.luma(chunk=7))) == count
        assert (seen.rgb(range(count)) == every[first : first + count]).all()
        assert seen.packets().times_s == pytest.approx(np.arange(count) / 30)
        assert seen.file_range(0, count) == (start, start + count)


def test_frames_in_colour_in_any_order(av1, decoded):
    assert (camera(av1).rgb([7, 31, 2]) == decoded(av1)[[7, 31, 2]]).all()
    assert camera(av1).rgb([]).shape == (0, 64, 64, 3)


def test_frames_that_do_not_exist_are_named(av1):
    with pytest.raises(VideoError, match=r"episode 3, camera top: .*holds no frame 45 \(at 1.500 s\)"):
        camera(av1, frames=50).rgb([45])
    with pytest.raises(VideoError, match="holds no frame -1"):
        camera(av1).rgb([-1])


def test_a_range_with_a_hole_is_refused(tmp_path, make_video, make_pictures):
    path = make_video(tmp_path / "gap.mp4", make_pictures(25), times=[*range(10), *range(15, 30)], bf=0)
    seen = camera(path, frames=30)
    assert seen.file_range(15, 30) == (10, 25)
    with pytest.raises(VideoError, match=r"holds 18 frames where 23 are promised"):
        seen.file_range(5, 28)


def test_a_shorter_video_gives_the_frames_that_it_has(av1):
    seen = camera(av1, frames=60)
    assert len(seen.packets()) == 40
    assert sum(map(len, seen.luma())) == 40


def test_a_missing_file_is_named_with_the_episode(tmp_path):
    with pytest.raises(MissingVideoError, match="episode 3, camera top: the video file is missing"):
        camera(None).packets()
    with pytest.raises(MissingVideoError, match=r"episode 3, camera top: .*gone\.mp4: No such file"):
        list(camera(tmp_path / "gone.mp4").luma())


def test_it_travels_between_processes(av1):
    seen = camera(av1)
    seen.packets()
    again = pickle.loads(pickle.dumps(seen))
    assert again.packets().digest == seen.packets().digest
