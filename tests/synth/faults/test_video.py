"""Faults of cameras, read back from the frames of the corpora that carry them."""

from __future__ import annotations

import av
import numpy as np
import pytest

from gristmill.synth.faults.video import blurred, overexposed

RATE = 30
# What a second encoding may change, mean absolute grey levels.
CODEC = 4.0


def both(found, planted):
    index, camera = planted["episode"], planted["camera"]
    return found.before.frames(index, camera).astype(float), found.after.frames(index, camera).astype(float)


def span_of(planted, rate=RATE):
    return slice(*(round(t * rate) for t in planted["span_s"]))


def outside(frames, span):
    return np.concatenate([frames[: span.start], frames[span.stop :]])


def sharpness(frames):
    grey = frames.mean(axis=-1)
    return (
        4 * grey[:, 1:-1, 1:-1] - grey[:, :-2, 1:-1] - grey[:, 2:, 1:-1] - grey[:, 1:-1, :-2] - grey[:, 1:-1, 2:]
    ).var(axis=(1, 2))


def test_video_missing_has_no_file_but_is_promised(all_faults):
    for planted in all_faults.planted("video_missing"):
        told = all_faults.after.episodes[planted["episode"]]
        assert planted["camera"] not in told.videos or not told.videos[planted["camera"]][0].exists()
        assert told.length == len(told.rows["index"])
        for camera in set(all_faults.after.cameras) - {planted["camera"]}:
            assert told.videos[camera][0].exists()


def test_video_truncated_lacks_the_last_second(all_faults):
    for planted in all_faults.planted("video_truncated"):
        told = all_faults.after.episodes[planted["episode"]]
        kept = all_faults.after.packets(planted["episode"], planted["camera"])
        whole = all_faults.before.packets(planted["episode"], planted["camera"])
        assert told.length == len(told.rows["index"]) == len(whole)
        assert 0 <= len(whole) - 30 - len(kept) <= 3
        assert kept == whole[: len(kept)]
        assert planted["span_s"] == pytest.approx([(len(whole) - 30) / RATE, len(whole) / RATE], abs=1e-4)


def test_video_frozen_repeats_a_frame_while_the_arm_moves(all_faults):
    for planted in all_faults.planted("video_frozen"):
        before, after = both(all_faults, planted)
        span = span_of(planted)
        assert span.stop - span.start == 30
        change = np.abs(np.diff(after[span], axis=0)).mean(axis=(1, 2, 3))
        assert np.median(change) == 0 and change.max() < 2  # keyframes are coded afresh
        assert np.abs(after[span.start] - before[span.start]).mean() < CODEC
        assert np.abs(outside(after, span) - outside(before, span)).mean() < CODEC
        state = all_faults.after.episodes[planted["episode"]].rows["observation.state"]
        assert np.abs(np.diff(state[span], axis=0)).sum(axis=0).max() > 0.15


def test_video_black_is_black_while_the_arm_moves(all_faults):
    for planted in all_faults.planted("video_black"):
        before, after = both(all_faults, planted)
        span = span_of(planted)
        assert after[span].max() <= 16 and after[span].mean() < 2
        assert np.abs(outside(after, span) - outside(before, span)).mean() < CODEC
        state = all_faults.after.episodes[planted["episode"]].rows["observation.state"]
        assert np.abs(np.diff(state[span], axis=0)).sum(axis=0).max() > 0.15


def test_blur_takes_the_detail_for_two_seconds(all_faults):
    for planted in all_faults.planted("blur"):
        before, after = both(all_faults, planted)
        span = span_of(planted)
        assert span.stop - span.start == 60
        assert (sharpness(after)[span] < 0.1 * sharpness(before)[span]).all()
        assert (sharpness(outside(after, span)) > 0.6 * sharpness(outside(before, span))).mean() > 0.9
        assert after[span].mean() == pytest.approx(before[span].mean(), abs=2)


def test_overexposed_clips_thirty_percent_for_two_seconds(all_faults):
    for planted in all_faults.planted("overexposed"):
        before, after = both(all_faults, planted)
        span = span_of(planted)
        assert span.stop - span.start == 60
        white = after @ [0.299, 0.587, 0.114] >= 250
        assert 0.27 < white[span].mean() < 0.36
        assert outside(white, span).mean() < 0.02
        assert np.abs(outside(after, span) - outside(before, span)).mean() < CODEC


def test_view_desync_shows_one_view_six_frames_late(all_faults):
    for planted in all_faults.planted("view_desync"):
        before, after = both(all_faults, planted)
        assert len(after) == len(before)
        assert np.abs(after[6:] - before[:-6]).mean() < CODEC
        assert np.abs(np.diff(after[:7], axis=0)).mean() < 0.5
        assert np.abs(after[6:] - before[:-6]).mean() < 0.8 * np.abs(after - before).mean()


def test_a_gaussian_of_known_width():
    point = np.zeros((65, 65, 3), np.uint8)
    point[32, 32] = 255
    soft = blurred(np.repeat(point, 1, axis=2), 2 / 65)
    # The peak of a two-dimensional Gaussian of 2 px is 1 / (2 pi 2^2).
    assert soft[32, 32, 0] == round(255 / (2 * np.pi * 4))
    assert (blurred(np.full((20, 30, 3), 77, np.uint8), 0.1) == 77).all()


def test_exposure_clips_the_share_that_was_asked():
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 200, (100, 100, 3), dtype=np.uint8)
    for share in (0.1, 0.3, 0.6):
        white = (overexposed(picture, share) @ [0.299, 0.587, 0.114] >= 252).mean()
        assert white == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize(("name", "codec", "rate"), [("g1_inspire", "av1", 30), ("gr1_sim_picknplace", "h264", 20)])
def test_real_videos_keep_codec_size_and_rhythm(real_data, plant, name, codec, rate):
    found = plant(real_data / name, "video_black", "video_truncated", "exact_duplicate", share=0.75, seed=3)
    assert found.truth["skipped"] == []
    for planted in found.truth["planted"]:
        index = planted["episode"]
        camera = next(iter(found.after.episodes[index].videos))
        path = found.after.episodes[index].videos[camera][0]
        model = found.before.episodes[index if planted["copy_of"] is None else planted["copy_of"]].videos[camera][0]
        (new, keys), (old, old_keys) = probe(path), probe(model)
        assert new == old and new[0] == codec
        if planted["fault"] == "exact_duplicate":
            assert path.read_bytes() == model.read_bytes()
        elif planted["fault"] == "video_truncated":
            assert (
                found.before.packets(index, camera)[: len(keys)] == found.after.packets(index, camera)
                or codec == "h264"
            )
            length = found.after.episodes[index].length
            assert length - rate - 3 <= len(keys) <= length - rate
        else:
            # The encoder may add a keyframe where the picture turns black.
            assert _gap(keys) <= _gap(old_keys) and len(keys) == len(old_keys)
            assert codec == "h264" or keys == old_keys
            span = span_of(planted, rate)
            with av.open(str(path)) as container:
                means = np.array([f.to_ndarray(format="gray").mean() for f in container.decode(video=0)])
            assert means[span].max() < 2 and np.delete(means, np.arange(span.start, span.stop)).min() > 20
    untouched = set(found.before.episodes) - {p["episode"] for p in found.truth["planted"]}
    for index in untouched:
        for camera, (path, _) in found.before.episodes[index].videos.items():
            assert path.read_bytes() == found.after.episodes[index].videos[camera][0].read_bytes()


def probe(path):
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        decoder = {"libdav1d": "av1"}.get(stream.codec_context.name, stream.codec_context.name)
        what = (decoder, stream.codec_context.pix_fmt, stream.width, stream.height, stream.average_rate)
        keys = [p.is_keyframe for p in sorted((p for p in container.demux(stream) if p.size), key=lambda p: p.pts)]
    return what, keys


def _gap(keys):
    at = np.flatnonzero(keys)
    return np.diff(at).max() if len(at) > 1 else len(keys)
