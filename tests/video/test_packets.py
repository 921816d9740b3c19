import hashlib

import av
import numpy as np
import pytest

from gristmill.digest import packets_digest
from gristmill.errors import VideoError
from gristmill.video.mux import Part, copy_packets
from gristmill.video.packets import demux, index_file


def test_packets_of_a_real_recording(g1):
    packets = demux(g1[0], 0.0, 221, 30)
    assert len(packets) == 221
    assert packets.times_s == pytest.approx(np.arange(221) / 30)
    assert packets.keyframe.tolist() == [k % 2 == 0 for k in range(221)]
    assert packets.sizes[:4].tolist() == [16443, 104, 16280, 86]
    assert not packets.full_range


def test_the_digest_is_that_of_the_payloads_hashes_in_decode_order(h264):
    with av.open(str(h264)) as container:
        payloads = [bytes(p) for p in container.demux(video=0) if p.size]
    hashes = [hashlib.blake2b(p, digest_size=16).digest() for p in payloads]
    packets = demux(h264, 0.0, 60, 30)
    assert packets.digest == packets_digest([b"".join(hashes)])
    assert set(packets.hashes.tolist()) == {int.from_bytes(h[:8], "little") for h in hashes}


def test_frames_are_in_presentation_order(h264):
    index = index_file(h264)
    assert (np.diff(index.pts) < 0).any(), "the file has no B-frames"
    packets = demux(h264, 0.0, 60, 30)
    assert packets.times_s == pytest.approx(np.arange(60) / 30)
    assert np.flatnonzero(packets.keyframe).tolist() == [0, 20, 40]


def test_the_digest_does_not_depend_on_the_place_in_the_file(tmp_path, g1):
    packed = tmp_path / "packed.mp4"
    copy_packets(packed, [Part(g1[1], 0, 277), Part(g1[0], 0, 221), Part(g1[1], 10, 20)], 30)
    alone = demux(g1[0], 0.0, 221, 30)
    inside = demux(packed, 277 / 30, 221, 30)
    assert inside.digest == alone.digest
    assert (inside.hashes == alone.hashes).all()
    assert inside.times_s == pytest.approx(alone.times_s)
    assert demux(packed, 277 / 30, 220, 30).digest != alone.digest


@pytest.mark.parametrize("drift_s", [-0.4 / 30, 0.0, 0.4 / 30])
def test_half_a_frame_of_drift_changes_nothing(av1, drift_s):
    packets = demux(av1, 10 / 30 + drift_s, 20, 30)
    assert len(packets) == 20
    assert packets.sizes.tolist() == index_file(av1).sizes[10:30].tolist()


def test_another_episodes_frames_are_not_taken(av1):
    assert len(demux(av1, 0.0, 20, 30, stop_s=15 / 30)) == 15


def test_surplus_is_told_where_the_file_belongs_to_one_episode(av1):
    assert demux(av1, 0.0, 30, 30, whole_file=True).surplus == 10
    assert demux(av1, 0.0, 30, 30).surplus == 0


def test_missing_frames_leave_holes(tmp_path, make_video, make_pictures):
    times = [*range(10), *range(15, 30)]
    path = make_video(tmp_path / "gap.mp4", make_pictures(25), times=times, bf=0)
    packets = demux(path, 0.0, 30, 30)
    assert np.rint(packets.times_s * 30).astype(int).tolist() == times


def test_an_episode_beyond_the_file_is_empty(av1):
    packets = demux(av1, 100.0, 20, 30)
    assert len(packets) == 0
    assert packets.hashes.shape == (0,)


def test_full_range_is_told(tmp_path, make_video, make_pictures):
    path = make_video(tmp_path / "full.mp4", make_pictures(4), pix_fmt="yuvj420p")
    assert demux(path, 0.0, 4, 30).full_range


def test_a_changed_file_is_read_again(tmp_path, make_video, make_pictures):
    path = make_video(tmp_path / "a.mp4", make_pictures(5))
    assert len(index_file(path)) == 5
    make_video(path, make_pictures(7))
    assert len(index_file(path)) == 7


def test_a_file_cut_off_is_one_clear_line(tmp_path, g1):
    path = tmp_path / "cut.mp4"
    path.write_bytes(g1[0].read_bytes()[:1_000_000])
    with pytest.raises(VideoError, match=r"cut\.mp4: not a readable video .*the file is cut off") as error:
        index_file(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "text"), [(None, "No such file"), (b"", "the file is empty"), (b"x" * 100, "not a readable video")]
)
def test_files_that_are_no_videos(tmp_path, content, text):
    path = tmp_path / "no.mp4"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(VideoError, match=text):
        index_file(path)


def test_a_file_without_video(tmp_path):
    path = tmp_path / "sound.wav"
    with av.open(str(path), "w") as target:
        stream = target.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), format="s16", layout="mono")
        frame.sample_rate = 8000
        target.mux(stream.encode(frame))
        target.mux(stream.encode())
    with pytest.raises(VideoError, match="no video stream"):
        index_file(path)
