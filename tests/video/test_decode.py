import av
import numpy as np
import pytest

from gristmill.errors import VideoError
from gristmill.video import decode
from gristmill.video.decode import SequentialReader, frames, luma
from gristmill.video.packets import index_file


def whole(path, first=0, stop=None, **more):
    return np.concatenate(list(luma(path, first, len(index_file(path)) if stop is None else stop, **more)))


def luma_by_pyav(path):
    with av.open(str(path)) as container:
        return np.stack([f.to_ndarray()[: f.height] for f in container.decode(video=0)])


@pytest.mark.parametrize("which", ["av1", "h264"])
def test_luma_equals_pyavs(request, which):
    path = request.getfixturevalue(which)
    assert (whole(path) == luma_by_pyav(path)).all()


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_chunks_hold_at_most_so_many_frames(av1, chunk):
    blocks = list(luma(av1, 3, 33, chunk=chunk))
    assert [len(b) for b in blocks[:-1]] == [chunk] * (len(blocks) - 1)
    assert sum(map(len, blocks)) == 30


@pytest.mark.parametrize("which", ["av1", "h264"])
def test_any_stretch_equals_the_same_stretch_of_the_whole(request, which):
    path = request.getfixturevalue(which)
    every = luma_by_pyav(path)
    rng = np.random.default_rng(0)
    for _ in range(25):
        first = int(rng.integers(0, len(every) - 1))
        stop = int(rng.integers(first + 1, len(every) + 1))
        assert (whole(path, first, stop, chunk=5) == every[first:stop]).all(), (first, stop)


def test_reading_on_neither_seeks_nor_reopens(av1, monkeypatch):
    decode._readers.clear()
    opened = []
    monkeypatch.setattr(decode, "open_video", lambda path, real=decode.open_video: opened.append(path) or real(path))
    every = luma_by_pyav(av1)
    got = [whole(av1, first, first + 8) for first in range(0, 40, 8)]
    assert (np.concatenate(got) == every).all()
    assert len(opened) == 1


def test_two_loops_over_one_file_do_not_disturb_each_other(h264):
    every = luma_by_pyav(h264)
    pairs = list(zip(luma(h264, 0, 30, chunk=3), luma(h264, 30, 60, chunk=3), strict=True))
    assert (np.concatenate([a for a, _ in pairs]) == every[:30]).all()
    assert (np.concatenate([b for _, b in pairs]) == every[30:]).all()


def test_few_readers_stay_open(tmp_path, make_video, make_pictures):
    decode._readers.clear()
    for k in range(12):
        whole(make_video(tmp_path / f"{k}.mp4", make_pictures(3)))
    assert len(decode._readers) == 8


@pytest.mark.parametrize("which", [0, 1])
def test_damage_in_the_middle_leaves_the_frames_before_it(request, tmp_path, which, g1, gr1):
    source = (g1, gr1)[which][0]
    data = bytearray(source.read_bytes())
    middle = len(data) // 2
    for at in range(middle, middle + 400):
        data[at] ^= 0x5A
    path = tmp_path / "damaged.mp4"
    path.write_bytes(data)
    promised = len(index_file(path))
    got = []
    with pytest.raises(VideoError, match=r"damaged\.mp4: \d+ of \d+ frames do not decode, from frame \d+ on") as error:
        got.extend(luma(path, 0, promised))
    count = sum(map(len, got))
    assert 0 < count < promised
    assert f"{promised - count} of {promised} frames" in str(error.value)
    assert (np.concatenate(got) == luma_by_pyav(source)[:count]).all()


def test_a_damaged_file_can_still_be_read_before_the_damage(tmp_path, g1):
    data = bytearray(g1[0].read_bytes())
    for at in range(1_000_000, 1_000_400):
        data[at] ^= 0x5A
    path = tmp_path / "damaged.mp4"
    path.write_bytes(data)
    for _ in range(2):
        with pytest.raises(VideoError):
            list(luma(path, 0, 221))
        assert len(whole(path, 0, 50)) == 50


@pytest.mark.parametrize(
    ("codec", "pix_fmt", "name"),
    [("libx264rgb", "rgb24", "rgb.mkv"), ("libx264", "yuv420p10le", "deep.mp4"), ("ffv1", "gray", "grey.mkv")],
)
def test_other_pixel_formats_become_grey_levels(tmp_path, make_video, make_pictures, codec, pix_fmt, name):
    images = make_pictures(4)
    path = make_video(tmp_path / name, images, codec=codec, pix_fmt=pix_fmt, **({} if codec == "ffv1" else {"crf": 1}))
    grey = images.mean(axis=3)
    levels = whole(path).astype(np.float64)
    if not index_file(path).full_range:
        levels = (levels - 16) * 255 / 219
    assert np.abs(levels - grey).mean() < 3


def test_threads_change_no_pixel(h264):
    assert (whole(h264, threads=2) == whole(h264)).all()


def test_no_frames_are_no_error(av1):
    assert list(luma(av1, 5, 5)) == []
    assert list(frames(av1, 0, 0)) == []


def test_a_reader_names_a_missing_file(tmp_path):
    with pytest.raises(VideoError, match=r"gone\.mp4"):
        SequentialReader(tmp_path / "gone.mp4")


def test_nothing_is_written_to_stderr(tmp_path, g1, capfd):
    path = tmp_path / "damaged.mp4"
    data = bytearray(g1[0].read_bytes())
    data[1_000_000:1_000_400] = bytes(400)
    path.write_bytes(data)
    with pytest.raises(VideoError):
        list(luma(path, 0, 221))
    assert capfd.readouterr().err == ""
