"""Faults of states and actions, read back from the corpora that carry them."""

from __future__ import annotations

import numpy as np
import pytest

NAMES = ["base_yaw", "shoulder_pitch", "elbow_pitch", "wrist_pitch", "wrist_roll", "gripper"]
RATE = 30


def values(found, planted, key="observation.state"):
    """The channel before and after."""
    index = planted["episode"]
    return found.before.episodes[index].rows[key], found.after.episodes[index].rows[key]


def rows_of(planted):
    start, end = planted["span_s"]
    return slice(round(start * RATE), round(end * RATE))


def differing(before, after):
    return np.argwhere(~((before == after) | (np.isnan(before) & np.isnan(after))))


def test_state_frozen_repeats_bit_for_bit_while_the_action_moves(all_faults):
    for planted in all_faults.planted("state_frozen"):
        before, after = values(all_faults, planted)
        span = rows_of(planted)
        assert span.stop - span.start == 30
        assert (after[span] == before[span.start]).all()
        changed = set(differing(before, after)[:, 0])
        assert min(changed) >= span.start and max(changed) < span.stop
        action, same = values(all_faults, planted, "action")
        assert np.array_equal(action, same)
        travelled = np.abs(np.diff(action[span], axis=0)).sum(axis=0) / np.ptp(
            np.concatenate([t.rows["action"] for t in all_faults.before.episodes.values()]), axis=0
        )
        assert travelled.max() > 0.05
        assert planted["channel"] == "observation.state"


def test_spike_is_one_sample_a_quarter_of_the_range_off(all_faults):
    everything = np.concatenate([t.rows["observation.state"] for t in all_faults.before.episodes.values()])
    for planted in all_faults.planted("spike"):
        before, after = values(all_faults, planted)
        ((row, dim),) = differing(before, after)
        assert planted["channel"] == f"observation.state[{NAMES[dim]}]"
        assert planted["span_s"] == pytest.approx([row / RATE, (row + 1) / RATE], abs=1e-5)
        assert abs(after[row, dim] - before[row, dim]) == pytest.approx(0.25 * np.ptp(everything[:, dim]), rel=1e-4)
        assert everything[:, dim].min() <= after[row, dim] <= everything[:, dim].max()


def test_nan_is_three_samples_of_one_channel(all_faults):
    for planted in all_faults.planted("nan"):
        before, after = values(all_faults, planted)
        missing = np.argwhere(np.isnan(after))
        assert np.array_equal(missing, differing(before, after))
        span = rows_of(planted)
        assert missing[:, 0].tolist() == [span.start, span.start + 1, span.start + 2] and span.stop == span.start + 3
        (dim,) = set(missing[:, 1])
        assert planted["channel"] == f"observation.state[{NAMES[dim]}]"


def test_gripper_chatter_reverses_eight_times_in_two_seconds(all_faults):
    for planted in all_faults.planted("gripper_chatter"):
        span = rows_of(planted)
        assert span.stop - span.start == 60
        for key in ("action", "observation.state"):
            before, after = values(all_faults, planted, key)
            changed = differing(before, after)
            assert set(changed[:, 1]) == {5}
            assert changed[:, 0].min() >= span.start and changed[:, 0].max() < span.stop
            assert 8 <= _reversals(after[span, 5], swing=0.1) <= 10
            assert after[:, 5].min() > -0.1 and after[:, 5].max() <= 1.01
        assert planted["channel"] == "action[gripper]"


def test_lag_shifts_the_whole_state_by_six_frames(all_faults):
    for planted in all_faults.planted("lag"):
        before, after = values(all_faults, planted)
        assert np.array_equal(after[6:], before[:-6])
        assert np.abs(after[:6] - before[0]).max() <= 2 * np.pi / 4096 + 1e-6
        action, same = values(all_faults, planted, "action")
        assert np.array_equal(action, same)


def test_dead_joint_is_constant_in_this_episode_only(all_faults):
    for planted in all_faults.planted("dead_joint"):
        before, after = values(all_faults, planted)
        (dim,) = set(differing(before, after)[:, 1])
        assert dim != 5 and np.ptp(after[:, dim]) == 0 and np.ptp(before[:, dim]) > 0.1
        assert planted["channel"] == f"observation.state[{NAMES[dim]}]"
        others = [t.rows["observation.state"] for i, t in all_faults.after.episodes.items() if i != planted["episode"]]
        assert sum(np.ptp(o[:, dim]) == 0 for o in others) <= len(all_faults.planted("dead_joint")) - 1


def test_units_of_the_card_decide_how_far_a_spike_goes(real_data, plant):
    found = plant(real_data / "g1_inspire", "spike", share=1.0)
    for planted in found.truth["planted"]:
        before, after = values(found, planted)
        ((row, dim),) = differing(before, after)
        size = abs(float(after[row, dim]) - float(before[row, dim]))
        everything = np.concatenate([t.rows["observation.state"] for t in found.before.episodes.values()])
        assert size == pytest.approx(0.5 if dim < 14 else 0.25 * np.ptp(everything[:, dim]), rel=1e-3)


def test_what_a_corpus_has_no_place_for_is_told(real_data, plant):
    found = plant(real_data / "pusht_lowdim", "gripper_chatter", "video_black", "nan", share=0.02)
    assert {p["fault"] for p in found.truth["planted"]} == {"nan"}
    reasons = {s["fault"]: s["reason"] for s in found.truth["skipped"]}
    assert "gripper" in reasons["gripper_chatter"] and "no video file" in reasons["video_black"]


def _reversals(signal: np.ndarray, swing: float) -> int:
    """Turning points between which the signal travels at least `swing`."""
    turns, direction, extreme = 0, 0, signal[0]
    for value in signal[1:]:
        if direction >= 0 and extreme - value > swing:
            turns += direction != 0
            direction, extreme = -1, value
        elif direction <= 0 and value - extreme > swing:
            turns += direction != 0
            direction, extreme = 1, value
        elif (value - extreme) * direction > 0:
            extreme = value
    return turns
