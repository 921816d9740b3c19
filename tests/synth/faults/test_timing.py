"""Faults of time, read back from the corpora that carry them."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.synth.faults.timing import _pause

RATE = 30


def test_time_gap_loses_nine_rows_and_frames_but_no_time(all_faults):
    for planted in all_faults.planted("time_gap"):
        before = all_faults.before.episodes[planted["episode"]].rows
        after = all_faults.after.episodes[planted["episode"]].rows
        assert len(after["index"]) == len(before["index"]) - 9
        times = after["timestamp"][:, 0]
        at = int(np.argmax(np.diff(times)))
        assert planted["span_s"] == pytest.approx([times[at], times[at + 1]], abs=1e-5)
        assert times[at + 1] - times[at] == pytest.approx(10 / RATE, abs=1e-5)
        kept = np.delete(np.arange(len(before["index"])), np.arange(at + 1, at + 10))
        for key in ("observation.state", "action", "timestamp", "observation.contact_force"):
            assert np.array_equal(after[key], before[key][kept])
        for camera in all_faults.after.cameras:
            old = all_faults.before.frames(planted["episode"], camera)[kept].astype(int)
            new = all_faults.after.frames(planted["episode"], camera).astype(int)
            assert np.abs(new - old).mean() < 4


def test_rate_error_stretches_the_timestamps(all_faults):
    for planted in all_faults.planted("rate_error"):
        rows = all_faults.after.episodes[planted["episode"]].rows
        rate = 1 / np.diff(rows["timestamp"][:, 0].astype(float))
        assert np.median(rate) == pytest.approx(33, rel=1e-3) or np.median(rate) == pytest.approx(27, rel=1e-3)
        assert rows["timestamp"][0, 0] == 0


@pytest.mark.parametrize("where", ["head", "middle", "tail"])
def test_idle_stands_still_for_three_seconds(all_faults, where):
    for planted in all_faults.planted(f"idle_{where}"):
        before = all_faults.before.episodes[planted["episode"]].rows
        after = all_faults.after.episodes[planted["episode"]].rows
        added = len(after["index"]) - len(before["index"])
        assert 90 <= added <= 90 + 16  # and slowing down and setting off again
        first, stop = (round(t * RATE) for t in planted["span_s"])
        assert stop - first == 90
        if where == "head":
            assert first <= 1
        elif where == "tail":
            assert len(after["index"]) - stop <= 1
        else:
            assert len(after["index"]) * 0.15 < first and stop < len(after["index"]) * 0.9
        step = np.array([2 * np.pi / 4096] * 5 + [1 / 1024])
        for key in ("observation.state", "action"):
            still = after[key][first:stop]
            assert np.abs(still - np.median(still, axis=0)).max(axis=0) == pytest.approx(step, rel=0.2, abs=0)
            assert not (np.diff(still, axis=0) == 0).all()
            counts = after[key] / step
            assert np.abs(counts - np.round(counts)).max() < 0.02  # still what the encoders can read
        for key in before:
            assert after[key].dtype == before[key].dtype
        # The recorded motion is all there, before and after.
        head = max(first - 20, 0)
        assert np.array_equal(after["observation.state"][:head], before["observation.state"][:head])
        assert np.array_equal(after["observation.state"][-1], before["observation.state"][-1]) or where == "tail"


def test_idle_frames_differ_by_noise_only(all_faults):
    planted = all_faults.planted("idle_middle")[0]
    first, stop = (round(t * RATE) for t in planted["span_s"])
    for camera in all_faults.after.cameras:
        frames = all_faults.after.frames(planted["episode"], camera).astype(int)
        assert len(frames) == len(all_faults.after.episodes[planted["episode"]].rows["index"])
        still = np.abs(np.diff(frames[first:stop], axis=0)).mean(axis=(1, 2, 3))
        moving = np.abs(np.diff(frames, axis=0)).mean(axis=(1, 2, 3))
        assert still.max() < np.quantile(moving, 0.8)
        assert still.mean() > 0.2  # the sensor's noise, as much of it as the codec keeps


def test_too_short_keeps_twelve_frames(all_faults):
    for planted in all_faults.planted("too_short"):
        before = all_faults.before.episodes[planted["episode"]].rows
        told = all_faults.after.episodes[planted["episode"]]
        assert told.length == len(told.rows["index"]) == 12
        assert np.array_equal(told.rows["action"], before["action"][:12])
        for camera in all_faults.after.cameras:
            assert all_faults.after.frames(planted["episode"], camera).shape[0] == 12


def test_a_pause_slows_down_evenly():
    positions, first = _pause(20, 10.0, 5, 4)
    assert positions[first : first + 5].tolist() == [10.0] * 5
    assert positions[:7].tolist() == [0, 1, 2, 3, 4, 5, 6]
    # Eight rows for the last four places before the pause: speeds fall from 1 by 1/8 each.
    assert np.diff(positions[6 : first + 1]) == pytest.approx([15 / 16 - k / 8 for k in range(8)] + [0])
    assert positions[-1] == 19 and np.diff(positions).min() >= 0
    assert len(positions) == 20 + 5 + 4 + 4
    assert _pause(20, 0.0, 3, 4)[0][:4].tolist() == [0, 0, 0, 0]


def test_pauses_in_real_corpora(real_data, plant):
    found = plant(real_data / "pusht_lowdim", "idle_head", "idle_middle", "idle_tail", "too_short", share=0.03)
    assert found.truth["skipped"] == []
    after = found.after
    starts = 0
    for index, told in sorted(after.episodes.items()):
        assert told.length == len(told.rows["index"])
        assert told.bounds == (starts, starts + told.length)
        assert told.rows["index"][:, 0].tolist() == list(range(starts, starts + told.length))
        assert told.rows["next.done"][-1, 0] == found.before.episodes[index].rows["next.done"][-1, 0]
        starts += told.length
    assert after.info["total_frames"] == starts
    for planted in found.truth["planted"]:
        told = after.episodes[planted["episode"]]
        assert told.length == (4 if planted["fault"] == "too_short" else told.length)
        if planted["span_s"]:
            first, stop = (round(t * 10) for t in planted["span_s"])
            assert stop - first == 30
            assert np.ptp(told.rows["action"][first:stop], axis=0).max() <= 2  # pixels
