import numpy as np
import pytest

from gristmill.errors import VideoError
from gristmill.video.decode import frames
from gristmill.video.mux import Part, copy_packets, keyframes
from gristmill.video.packets import demux, index_file


def rgb(path, first, stop):
    return np.stack([f.to_ndarray(format="rgb24") for f in frames(path, first, stop)])


def test_a_hundred_frames_of_a_real_av1_recording_stay_bit_identical(tmp_path, g1):
    out = tmp_path / "cut.mp4"
    copied = copy_packets(out, [Part(g1[0], 40, 140)], 30)
    assert (copied.frames, copied.starts_s) == (100, (0.0,))
    assert copied.duration_s == pytest.approx(100 / 30)
    assert (rgb(out, 0, 100) == rgb(g1[0], 40, 140)).all()
    assert index_file(out).times_s == pytest.approx(np.arange(100) / 30, abs=1e-9)


def test_joined_parts_stay_bit_identical_and_keep_their_digests(tmp_path, g1):
    out = tmp_path / "joined.mp4"
    parts = [Part(g1[3], 258, 260), Part(g1[0], 0, 31), Part(g1[1], 100, 120)]
    copied = copy_packets(out, parts, 30)
    assert copied.starts_s == pytest.approx((0, 2 / 30, 33 / 30))
    for part, start_s, digest in zip(parts, copied.starts_s, copied.digests, strict=True):
        count, at = part.stop - part.first, round(start_s * 30)
        assert (rgb(out, at, at + count) == rgb(part.path, part.first, part.stop)).all()
        assert demux(out, start_s, count, 30).digest == digest
        assert demux(part.path, part.first / 30, count, 30).digest == digest


def test_a_real_h264_recording_can_be_cut_at_its_keyframes_only(tmp_path, gr1):
    assert keyframes(gr1[0]).tolist() == [0, 250]
    out = tmp_path / "cut.mp4"
    with pytest.raises(VideoError, match=r"cannot begin at frame 100; .* 0 and 250; cut there or re-encode"):
        copy_packets(out, [Part(gr1[0], 100, 250)], 20)
    assert not out.exists()


def test_an_end_amid_b_frames_is_refused(tmp_path, gr1):
    with pytest.raises(VideoError, match=r"cannot end at frame 3; .* 1 and 5;"):
        copy_packets(tmp_path / "cut.mp4", [Part(gr1[0], 0, 3)], 20)


def test_b_frames_joined_stay_bit_identical(tmp_path, gr1):
    out = tmp_path / "joined.mp4"
    stop = int(index_file(gr1[0]).stops[60])
    copied = copy_packets(out, [Part(gr1[0], 0, stop), Part(gr1[0], 250, 416), Part(gr1[1], 0, 470)], 20)
    assert copied.frames == stop + 166 + 470
    assert index_file(out).times_s == pytest.approx(np.arange(copied.frames) / 20, abs=1e-9)
    assert (rgb(out, 0, stop) == rgb(gr1[0], 0, stop)).all()
    assert (rgb(out, stop, stop + 166) == rgb(gr1[0], 250, 416)).all()
    assert (rgb(out, stop + 166, stop + 166 + 470) == rgb(gr1[1], 0, 470)).all()


def test_every_cut_that_is_offered_works(tmp_path, h264, decoded):
    every, index = decoded(h264), index_file(h264)
    assert index.starts.tolist() == [0, 20, 40]
    for first in index.starts.tolist():
        for stop in index.stops[index.stops > first].tolist()[::4]:
            out = tmp_path / "cut.mp4"
            copy_packets(out, [Part(h264, first, stop)], 30)
            assert (decoded(out) == every[first:stop]).all(), (first, stop)


@pytest.mark.parametrize(("rate_hz", "seconds"), [(10, 4.0), (29.97, 40 / 29.97), (60, 40 / 60), (12.5, 3.2)])
def test_any_rate(tmp_path, av1, rate_hz, seconds):
    out = tmp_path / "paced.mp4"
    copied = copy_packets(out, [Part(av1, 0, 40)], rate_hz)
    assert copied.duration_s == pytest.approx(seconds, abs=1e-9)
    assert index_file(out).times_s == pytest.approx(np.arange(40) * seconds / 40, abs=1e-9)


@pytest.mark.parametrize(("first", "stop"), [(-2, 10), (10, 10), (10, 4), (0, 41)])
def test_ranges_outside_the_file(tmp_path, av1, first, stop):
    with pytest.raises(VideoError, match="it holds 40"):
        copy_packets(tmp_path / "out.mp4", [Part(av1, first, stop)], 30)


def test_different_codecs_cannot_share_a_file(tmp_path, av1, h264):
    with pytest.raises(VideoError, match=r"h264\.mp4 cannot follow .*av1\.mp4 in one file"):
        copy_packets(tmp_path / "out.mp4", [Part(av1, 0, 40), Part(h264, 0, 60)], 30)
    with pytest.raises(VideoError, match="no frames to write"):
        copy_packets(tmp_path / "out.mp4", [], 30)


def test_nothing_half_written_is_left(tmp_path, av1, monkeypatch):
    import gristmill.video.mux as mux

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(mux, "_send", fail)
    out = tmp_path / "out.mp4"
    with pytest.raises(VideoError, match=r"out\.mp4: copying failed \(Input/output error\)"):
        copy_packets(out, [Part(av1, 0, 40)], 30)
    assert not out.exists()


def test_a_full_disk_is_no_fault_of_the_video(tmp_path, g1, full_disk):
    out = tmp_path / "cut.mp4"
    with pytest.raises(OSError, match="File too large") as raised:
        copy_packets(out, [Part(g1[0], 40, 140)], 30)
    assert raised.value.filename == str(out)
    assert not out.exists()
