"""The generated corpora: layouts, content, and the same bytes whatever the number of processes."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest

from gristmill.errors import UnknownNameError, UsageError
from gristmill.synth import generate
from gristmill.synth.expert import OPERATORS, SENTENCES, STATIONS

from .conftest import EPISODES, Folder


def test_everything_is_there(sample_v30):
    folder = Folder(sample_v30)
    info = folder.info
    assert (info["codebase_version"], info["robot_type"], info["fps"]) == ("v3.0", "gristmill_arm", 30)
    assert info["total_episodes"] == len(folder.episodes) == EPISODES
    assert folder.cameras == ["observation.images.front", "observation.images.wrist"]
    assert info["gristmill_sample"] == {
        "seed": 5,
        "tasks": ["reach", "lift", "pick_place"],
        "operators": list(OPERATORS),
        "stations": list(STATIONS),
    }
    known = {s for sentences in SENTENCES.values() for s in sentences}
    assert set(folder.tasks.values()) <= known and len(folder.tasks) > 3
    for told in folder.episodes.values():
        rows = told.rows
        assert rows["observation.state"].shape == rows["action"].shape == (told.length, 6)
        assert rows["observation.contact_force"].shape == (told.length, 2)
        assert rows["next.done"][:, 0].tolist() == [False] * (told.length - 1) + [True]
        assert len(set(rows["operator_index"][:, 0])) == len(set(rows["station_index"][:, 0])) == 1
        assert told.tasks == [folder.tasks[rows["task_index"][0, 0]]]
    assert {t.rows["operator_index"][0, 0] for t in folder.episodes.values()} == {0, 1, 2, 3}


@pytest.mark.parametrize("version", ["v3.0", "v2.1"])
def test_each_camera_has_a_frame_a_row(request, version):
    folder = Folder(request.getfixturevalue("sample_v30" if version == "v3.0" else "sample_v21"))
    for camera in folder.cameras:
        assert folder.frames(7, camera).shape == (folder.episodes[7].length, 64, 64, 3)
        for index, told in folder.episodes.items():
            assert len(folder.packets(index, camera)) == told.length
    assert folder.info["features"]["observation.images.front"]["info"]["video.codec"] == "h264"


def test_the_number_of_processes_and_episodes_changes_nothing(tmp_path):
    small: dict[str, Any] = {"seed": 9, "size_px": 64, "cameras": 1}
    one = Folder(generate(tmp_path / "one", episodes=2, jobs=1, **small))
    two = Folder(generate(tmp_path / "two", episodes=6, jobs=2, **small))
    for index in range(2):
        a, b = one.episodes[index], two.episodes[index]
        assert a.tasks == b.tasks
        for key in a.rows.keys() - {"task_index"}:
            assert np.array_equal(a.rows[key], b.rows[key]), key
        assert one.packets(index, one.cameras[0]) == two.packets(index, two.cameras[0])


def test_both_layouts_hold_the_same_episodes(tmp_path):
    new = Folder(generate(tmp_path / "new", episodes=3, seed=4, video=False))
    old = Folder(generate(tmp_path / "old", episodes=3, seed=4, video=False, version="v2.1"))
    assert old.info["codebase_version"] == "v2.1" and old.info["total_chunks"] == 1
    for index in range(3):
        a, b = new.episodes[index], old.episodes[index]
        assert all(np.array_equal(a.rows[k], b.rows[k]) for k in a.rows)
        for key, found in b.stats.items():
            assert np.ravel(found["mean"]) == pytest.approx(np.ravel(a.stats[key]["mean"]))


def test_another_seed_is_another_corpus(tmp_path):
    a = Folder(generate(tmp_path / "a", episodes=2, seed=0, video=False))
    b = Folder(generate(tmp_path / "b", episodes=2, seed=1, video=False))
    assert not np.array_equal(a.episodes[0].rows["action"][:50], b.episodes[0].rows["action"][:50])


def test_one_task_only_and_progress(tmp_path):
    seen = []
    root = generate(
        tmp_path / "x", episodes=4, tasks=["lift"], video=False, rate_hz=15, progress=lambda *told: seen.append(told)
    )
    folder = Folder(root)
    assert set(folder.tasks.values()) <= set(SENTENCES["lift"])
    assert folder.info["fps"] == 15 and folder.info["video_path"] is None
    assert seen == [("record", i, 4) for i in range(1, 5)]


def test_state_corpora_are_made_fast(tmp_path):
    start = time.perf_counter()
    root = generate(tmp_path / "many", episodes=200, video=False, jobs=1)
    assert 200 / (time.perf_counter() - start) > 20  # 80 on an idle core
    assert json.loads((root / "meta/info.json").read_text())["total_episodes"] == 200


def test_what_cannot_be_asked_for(tmp_path):
    with pytest.raises(UnknownNameError, match="juggle"):
        generate(tmp_path / "x", tasks=["juggle"])
    with pytest.raises(UsageError, match="at least one episode"):
        generate(tmp_path / "x", episodes=0)
    with pytest.raises(UsageError, match="1 to 3 cameras"):
        generate(tmp_path / "x", cameras=4)
    with pytest.raises(UsageError, match="2 to 200 Hz"):
        generate(tmp_path / "x", rate_hz=0)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(UsageError, match="not empty"):
        generate(tmp_path / "full", episodes=1, video=False)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("version", ["v3.0", "v2.1"])
def test_extra_channels_change_no_other(tmp_path, version):
    options: dict[str, Any] = {"episodes": 3, "seed": 4, "video": False, "jobs": 1, "version": version}
    plain = Folder(generate(tmp_path / "plain", **options))
    posed = Folder(generate(tmp_path / "posed", extra=("eef_pose", "object"), **options))
    added = {"observation.state.eef_pose", "action.eef_pose", "observation.object_position"}
    for index, told in plain.episodes.items():
        rows = posed.episodes[index].rows
        assert rows.keys() - told.rows.keys() == added
        for key, values in told.rows.items():
            assert (rows[key] == values).all()
        assert np.linalg.norm(rows["observation.state.eef_pose"][:, 3:], axis=1) == pytest.approx(1, abs=1e-6)
    with pytest.raises(UnknownNameError, match="no 'eef'; known"):
        generate(tmp_path / "none", extra=("eef",))
