"""Planting: what is chosen, what is refused, and that everything around a fault stays true."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from gristmill.errors import UnknownNameError, UsageError
from gristmill.synth import inject
from gristmill.synth.faults.catalog import FAULTS

from .conftest import EPISODES, Folder

# What the planted fault itself makes untrue of its episode.
LIES = {
    "count_lie": {"length"},
    "wrong_pointer": {"bounds", "episode_index"},
    "stale_stats": {"stats"},
    "index_hole": {"index"},
    "video_missing": {"frames"},
    "video_truncated": {"frames"},
    "rate_error": {"times"},
    "time_gap": {"times"},
}
# Faults that change what a camera shows.
SEEN = {"video_frozen", "video_black", "blur", "overexposed", "view_desync"}
REROWED = {"time_gap", "idle_head", "idle_middle", "idle_tail", "too_short"}


def test_the_table_of_faults_is_complete():
    table = """video_missing files defect, video_truncated camera_frames defect, video_frozen frozen_frames defect,
    video_black black_frames defect, blur blur risk, overexposed exposure risk, view_desync view_sync defect,
    state_frozen frozen_state defect, spike spike defect, nan non_finite defect, time_gap timestamps defect,
    rate_error rate defect, exact_duplicate duplicates defect, near_duplicate None defect,
    gripper_chatter gripper_chatter risk, lag lag risk, idle_head idle risk, idle_middle idle risk,
    idle_tail idle risk, too_short length defect, dead_joint dead_channel defect, empty_task task_text defect,
    placeholder_task task_text risk, wrong_pointer pointers defect, count_lie files defect,
    index_hole schema defect, stale_stats stats defect"""
    rows = {tuple(row.split()) for row in table.split(",")}
    assert {(f.name, str(f.check), str(f.kind)) for f in FAULTS.values()} == rows
    assert FAULTS["blur"].severity == 0.03 and FAULTS["overexposed"].severity == 0.3
    assert FAULTS["time_gap"].severity == 0.3 and FAULTS["rate_error"].severity == 0.1
    assert FAULTS["gripper_chatter"].severity == 8 and FAULTS["near_duplicate"].severity == 0.001


def test_every_fault_is_planted_and_at_most_one_an_episode(all_faults):
    planted = all_faults.truth["planted"]
    assert {p["fault"] for p in planted} == set(FAULTS)
    assert all_faults.truth["skipped"] == []
    touched = [p["episode"] if p["copy_of"] is None else p["copy_of"] for p in planted]
    assert len(touched) == len(set(touched)) == EPISODES
    for p in planted:
        fault = FAULTS[p["fault"]]
        assert (p["check"], p["kind"], p["severity"], p["unit"]) == (
            fault.check,
            str(fault.kind),
            fault.severity,
            fault.unit,
        )


def test_rows_lengths_bounds_and_numbers_agree(all_faults):
    after = all_faults.after
    fault = {p["episode"]: p["fault"] for p in all_faults.truth["planted"]}
    expected = 0
    for index, told in sorted(after.episodes.items()):
        lies = LIES.get(fault.get(index, ""), set())
        rows = told.rows
        if after.packed or "episode_index" not in lies:
            assert (rows["episode_index"] == index).all()
        count = len(rows["index"])
        assert ("length" in lies) == (told.length != count)
        if "index" not in lies:
            assert rows["index"][:, 0].tolist() == list(range(expected, expected + count))
        if told.bounds is not None:
            assert ("bounds" in lies) == (told.bounds != (expected, expected + count))
        assert rows["frame_index"][:, 0].tolist() == list(range(count))
        if "times" not in lies:
            assert rows["timestamp"][:, 0] == pytest.approx(np.arange(count) / 30, abs=1e-5)
        assert rows["next.done"][:, 0].tolist() == [False] * (count - 1) + [True]
        assert set(told.tasks) == {after.tasks[i] for i in np.unique(rows["task_index"])}
        expected += count
    info = after.info
    assert info["total_frames"] == expected
    assert info["total_episodes"] == len(after.episodes) == EPISODES + 2
    assert info["total_tasks"] == len(after.tasks) == len(all_faults.before.tasks) + 2
    assert info["splits"] == {"train": f"0:{EPISODES + 2}"}


def test_videos_have_a_frame_a_row(all_faults):
    after = all_faults.after
    fault = {p["episode"]: p for p in all_faults.truth["planted"]}
    for index, told in after.episodes.items():
        for camera in after.cameras:
            planted = fault.get(index, {"fault": "", "camera": None})
            if planted["camera"] == camera and "frames" in LIES.get(planted["fault"], set()):
                continue
            assert len(after.packets(index, camera)) == len(told.rows["index"]), (index, planted["fault"])


def test_what_no_fault_touches_keeps_its_values_and_packets(all_faults):
    before, after = all_faults.before, all_faults.after
    fault = {p["episode"]: p for p in all_faults.truth["planted"]}
    for index, told in before.episodes.items():
        name = fault[index]["fault"] if index in fault else ""
        if name not in REROWED:
            changed = {
                "index",
                *({"task_index"} if "task" in name else ()),
                *({"timestamp"} if name == "rate_error" else ()),
                *({"episode_index"} if name == "wrong_pointer" else ()),
                *({"observation.state", "action"} if FAULTS.get(name) in MOVED else ()),
            }
            for key in told.rows.keys() - changed:
                assert np.array_equal(told.rows[key], after.episodes[index].rows[key]), (name, key)
        for camera in before.cameras:
            if name in REROWED or (index in fault and fault[index]["camera"] == camera):
                continue
            assert before.packets(index, camera) == after.packets(index, camera), (name, camera)


MOVED = [FAULTS[n] for n in ("state_frozen", "spike", "nan", "gripper_chatter", "lag", "dead_joint")]


def test_declared_statistics_are_those_of_the_data(all_faults):
    after = all_faults.after
    fault = {p["episode"]: p for p in all_faults.truth["planted"]}
    features = after.info["features"]
    for index, told in after.episodes.items():
        name = fault[index]["fault"] if index in fault else ""
        for key, found in told.stats.items():
            if features[key]["dtype"] == "video" or (name == "wrong_pointer" and key == "episode_index"):
                continue
            true = _described(told.rows[key])
            if name == "stale_stats" and key == fault[index]["channel"]:
                assert np.abs(np.ravel(found["mean"]) - true["mean"]).max() > 0.1
                continue
            for stat in ("min", "max", "mean", "std"):
                assert np.ravel(found[stat]) == pytest.approx(true[stat], abs=1e-4, rel=1e-4), (name, key, stat)
            assert found["count"] == [len(told.rows[key])]
    for key, found in after.stats.items():
        if features[key]["dtype"] != "video":
            true = _described(np.concatenate([t.rows[key] for t in after.episodes.values()]))
            for stat in ("min", "max", "mean", "std"):
                assert np.ravel(found[stat]) == pytest.approx(true[stat], abs=1e-4, rel=1e-4), (key, stat)


def test_declared_statistics_of_changed_cameras_follow(all_faults):
    planted = all_faults.planted("video_black")[0]
    told = all_faults.after.episodes[planted["episode"]]
    frames = all_faults.after.frames(planted["episode"], planted["camera"]) / 255
    found = told.stats[planted["camera"]]
    assert np.ravel(found["mean"]) == pytest.approx(frames.mean(axis=(0, 1, 2)), abs=0.02)
    assert np.ravel(found["min"]) == pytest.approx([0, 0, 0])


def test_the_source_is_only_read(sample_v30, sample_v21, all_faults):
    for source in (sample_v30, sample_v21):
        folder = Folder(source)
        assert folder.info["total_episodes"] == EPISODES
        assert sum(len(t.rows["index"]) for t in folder.episodes.values()) == folder.info["total_frames"]


def test_files_that_need_not_change_keep_their_bytes(sample_v21, plant):
    found = plant(sample_v21, "spike", "blur", share=0.1)
    before, after = found.before.hashes(), found.after.hashes()
    assert before.keys() == after.keys()
    touched = {p["episode"]: p for p in found.truth["planted"]}
    expected = {"meta/episodes_stats.jsonl"}
    for index, p in touched.items():
        name = f"episode_{index:06d}"
        blurred = p["fault"] == "blur"
        expected.add(f"videos/chunk-000/{p['camera']}/{name}.mp4" if blurred else f"data/chunk-000/{name}.parquet")
    assert {name for name in before if before[name] != after[name]} == expected


def test_the_same_call_plants_the_same_and_a_larger_share_holds_a_smaller_one(sample_v30, plant):
    faults = ("spike", "nan", "lag", "dead_joint")
    first = plant(sample_v30, *faults, share=0.2)
    hashes, truth = first.after.hashes(), first.truth
    again = plant(sample_v30, *faults, share=0.2)
    assert (again.after.hashes(), again.truth) == (hashes, truth)
    larger = {p["episode"] for p in plant(sample_v30, *faults, share=0.5).truth["planted"]}
    smaller = {p["episode"] for p in truth["planted"]}
    assert smaller < larger and len(smaller) == 6 and len(larger) == 15
    other = plant(sample_v30, *faults, share=0.2, seed=7).truth
    assert {p["episode"] for p in other["planted"]} != smaller


def test_severity_is_a_factor_for_all_or_by_name(sample_v30, plant):
    found = plant(sample_v30, "time_gap", "idle_head", share=0.1, severity=2)
    assert {(p["fault"], p["severity"]) for p in found.truth["planted"]} == {("time_gap", 0.6), ("idle_head", 6.0)}
    found = plant(sample_v30, "time_gap", "spike", share=0.1, severity={"spike": 0.5})
    assert {(p["fault"], p["severity"]) for p in found.truth["planted"]} == {("time_gap", 0.3), ("spike", 0.25)}


def test_the_truth_file_says_what_was_returned(sample_v30, plant, tmp_path):
    found = plant(sample_v30, "spike", share=0.1)
    assert json.loads((tmp_path / "truth.json").read_text()) == found.truth
    assert set(found.truth) == {"schema", "corpus", "seed", "share", "faults", "planted", "skipped"}


def test_a_fault_without_a_place_is_told(sample_v30, plant, tmp_path):
    found = plant(sample_v30, "spike", "idle_middle", "video_frozen", share=0.05)
    assert len(found.truth["planted"]) == 2
    assert "raise the share" in found.truth["skipped"][0]["reason"]
    with pytest.raises(UsageError, match=r"nothing was planted; view_desync: .*fewer than two videos"):
        plant(_without_videos(sample_v30, tmp_path / "bare"), "view_desync")


def _without_videos(source, out):
    shutil.copytree(source, out)
    shutil.rmtree(out / "videos")
    return out


def test_requests_that_cannot_be_met(sample_v30, tmp_path):
    ok = {"truth": tmp_path / "t.json"}
    with pytest.raises(UnknownNameError, match="gremlin"):
        inject(sample_v30, tmp_path / "out", faults=["gremlin"], **ok)
    with pytest.raises(UsageError, match="share"):
        inject(sample_v30, tmp_path / "out", share=0, **ok)
    with pytest.raises(UsageError, match="severity is a factor"):
        inject(sample_v30, tmp_path / "out", severity=-1, **ok)
    with pytest.raises(UsageError, match="not among the faults"):
        inject(sample_v30, tmp_path / "out", faults=["nan"], severity={"spike": 2}, **ok)
    for inside in (sample_v30 / "t.json", tmp_path / "out" / "meta" / "t.json"):
        with pytest.raises(UsageError, match="lies inside"):
            inject(sample_v30, tmp_path / "out", truth=inside)
    with pytest.raises(UsageError, match="lies inside"):
        inject(sample_v30, sample_v30 / "copy", **ok)
    assert not (tmp_path / "out").exists() and not (tmp_path / "t.json").exists()


def _described(values: np.ndarray) -> dict[str, np.ndarray]:
    values = np.where(np.isfinite(values.astype(float)), values.astype(float), np.nan)
    return {
        "min": np.nanmin(values, axis=0),
        "max": np.nanmax(values, axis=0),
        "mean": np.nanmean(values, axis=0),
        "std": np.nanstd(values, axis=0),
    }
