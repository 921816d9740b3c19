from threading import Event

import numpy as np
import pytest

from gristmill.errors import VideoError
from gristmill.video import encode as module
from gristmill.video.encode import available_encoder, encode
from gristmill.video.packets import index_file


def test_the_defaults_are_lerobots(tmp_path, make_pictures, decoded, capfd):
    path = tmp_path / "a.mp4"
    images = make_pictures(21)
    written = encode(path, [images[:8], images[8:]], 30)
    assert (written.frames, written.encoder) == (21, "libsvtav1")
    assert written.duration_s == pytest.approx(0.7)
    index = index_file(path)
    assert (index.codec, index.pix_fmt) == ("av1", "yuv420p")
    assert index.keyframe.tolist() == [k % 2 == 0 for k in range(21)]
    assert index.times_s == pytest.approx(np.arange(21) / 30)
    assert np.abs(decoded(path).astype(float) - images).mean() < 12
    assert capfd.readouterr().err == ""


def test_h264_with_another_group_of_pictures(tmp_path, make_pictures):
    path = tmp_path / "a.mp4"
    encode(path, [make_pictures(24)], 29.97, codec="libx264", gop=8, crf=20, preset="veryfast")
    index = index_file(path)
    assert index.codec == "h264"
    assert index.starts.tolist()[:1] == [0]
    assert index.times_s == pytest.approx(np.arange(24) / 29.97)


def test_an_encoder_that_is_missing_has_a_substitute(monkeypatch):
    monkeypatch.setattr(module, "_INSTEAD", {"no-such": ("neither", "libx264")})
    assert available_encoder("no-such") == "libx264"
    with pytest.raises(VideoError, match="no encoder for unheard-of"):
        available_encoder("unheard-of")


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        ([], "there are no frames to write"),
        ([np.zeros((2, 64, 63, 3), np.uint8)], "frames of 63 x 64 cannot be encoded"),
        ([np.zeros((2, 64, 64, 3), np.uint8), np.zeros((1, 32, 64, 3), np.uint8)], "frame 2 is"),
    ],
)
def test_what_cannot_be_encoded_leaves_no_file(tmp_path, chunks, text):
    path = tmp_path / "a.mp4"
    with pytest.raises(VideoError, match=text):
        encode(path, chunks, 30)
    assert not path.exists()


def test_a_folder_that_does_not_exist(tmp_path, make_pictures):
    with pytest.raises(VideoError, match="writing with libsvtav1 failed"):
        encode(tmp_path / "none" / "a.mp4", [make_pictures(2)], 30)


def test_an_encoder_that_hangs_is_told_from_a_slow_one(tmp_path, make_pictures, monkeypatch):
    forever = Event()
    monkeypatch.setattr(module, "STUCK_S", 0.5)
    monkeypatch.setattr(module.VideoFrame, "from_ndarray", staticmethod(lambda image, format: forever.wait()))
    with pytest.raises(VideoError, match=r"a\.mp4: libx264 has not taken a frame for 0 s|seems to hang"):
        encode(tmp_path / "a.mp4", [make_pictures(4)] * 3, 30, codec="libx264", preset="veryfast")
    assert not (tmp_path / "a.mp4").exists()
    forever.set()


def test_a_full_disk_is_no_fault_of_the_video(tmp_path, make_pictures, full_disk):
    out = tmp_path / "out.mp4"
    with pytest.raises(OSError, match="File too large"):
        encode(out, [make_pictures(90)], 30, codec="libx264", crf=1, preset="ultrafast")
    assert not out.exists()
