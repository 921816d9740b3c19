"""Snapshots: what the hashes cover, and that files which changed are refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from gristmill.errors import SnapshotError
from gristmill.kept import Fill
from gristmill.snapshot import EPISODES, SPANS, Snapshot


def _episode(index: int, **more) -> dict:
    return {
        "corpus": "a",
        "root": "/data/a",
        "rate_hz": 30.0,
        "episode_index": index,
        "episode_id": f"a/{index}",
        "length": 100,
        "verdict": "keep",
        "usable_for": ["low_dim"],
        "rules": [],
        "values_digest": f"v{index}",
        "task_digest": "t",
        "camera_digests": [{"camera": "top", "digest": f"p{index}"}, {"camera": "side", "digest": f"q{index}"}],
    } | more


def _span(index: int, **more) -> dict:
    return {
        "corpus": "a",
        "episode_index": index,
        "episode_id": f"a/{index}",
        "group": "so101",
        "start_frame": 0,
        "stop_frame": 100,
        "split": "train",
        "weight": 1.0,
        "fills": [],
        "cameras": ["top"],
        "reencode": [],
        "rules": [],
    } | more


def _snapshot(episodes=None, spans=None, **more) -> Snapshot:
    episodes = [_episode(0), _episode(1), _episode(2, verdict="drop")] if episodes is None else episodes
    spans = [_span(0), _span(1, start_frame=10)] if spans is None else spans
    given = {
        "episodes": pa.Table.from_pylist(episodes, schema=EPISODES),
        "spans": pa.Table.from_pylist(spans, schema=SPANS),
        "stats": {"so101": {"action": {"mean": np.array([1.5, np.nan]), "count": np.array([190])}}},
        "recipe": {"trim": {"keep_tail_s": 0.5}},
        "lineage": {"gristmill": "0.1.0", "cards": {"so101": "c"}, "waivers": []},
    }
    return Snapshot(**(given | more))


def test_round_trip(tmp_path) -> None:
    snapshot = _snapshot(spans=[_span(0, fills=[{"frame": 3, "missing": 2}]), _span(1, weight=0.5)])
    folder = snapshot.write(tmp_path)
    assert folder == tmp_path / snapshot.id
    assert sorted(p.name for p in folder.iterdir()) == [
        "episodes.parquet",
        "snapshot.json",
        "spans.parquet",
        "stats.json",
    ]
    back = Snapshot.read(folder)
    assert (back.data_hash, back.lineage_hash, back.id) == (snapshot.data_hash, snapshot.lineage_hash, snapshot.id)
    assert back.episodes.equals(snapshot.episodes)
    assert back.kept() == snapshot.kept()
    assert back.kept()[0].fills == (Fill(3, 2),)
    np.testing.assert_array_equal(back.stats["so101"]["action"]["mean"], [1.5, np.nan])
    assert back.recipe == snapshot.recipe
    assert back.roots == {"a": "/data/a"}
    assert back.rates_hz == {"a": 30.0}


def test_writing_again_changes_nothing(tmp_path) -> None:
    folder = _snapshot().write(tmp_path)
    before = {p: p.stat().st_mtime_ns for p in folder.iterdir()}
    assert _snapshot().write(tmp_path) == folder
    assert {p: p.stat().st_mtime_ns for p in folder.iterdir()} == before


@pytest.mark.parametrize(
    "change",
    [
        {"stop_frame": 99},
        {"start_frame": 1},
        {"split": "val"},
        {"weight": 2.0},
        {"fills": [{"frame": 1, "missing": 1}]},
        {"cameras": ["side"]},
        {"cameras": []},
        {"reencode": ["top"]},
    ],
)
def test_the_data_hash_covers_spans(change) -> None:
    assert _snapshot(spans=[_span(0, **change)]).data_hash != _snapshot(spans=[_span(0)]).data_hash


@pytest.mark.parametrize("change", [{"values_digest": "x"}, {"task_digest": "x"}, {"camera_digests": []}])
def test_the_data_hash_covers_contents(change) -> None:
    assert _snapshot(episodes=[_episode(0, **change), _episode(1)]).data_hash != _snapshot().data_hash


def test_the_data_hash_does_not_depend_on_places_numbers_and_order() -> None:
    moved = [
        _episode(7, corpus="b", root="/elsewhere", episode_id="b/7", values_digest="v1",
                 camera_digests=[{"camera": "side", "digest": "q1"}, {"camera": "top", "digest": "p1"}]),
        _episode(3, corpus="b", root="/elsewhere", episode_id="b/3", values_digest="v0",
                 camera_digests=[{"camera": "top", "digest": "p0"}, {"camera": "side", "digest": "other, not used"}]),
    ]  # fmt: skip
    spans = [
        _span(7, corpus="b", episode_id="b/7", start_frame=10, group="else", rules=["x"]),
        _span(3, corpus="b", episode_id="b/3"),
    ]
    assert _snapshot(episodes=moved, spans=spans).data_hash == _snapshot().data_hash


def test_the_lineage_hash_covers_how_it_came_about() -> None:
    base = _snapshot()
    assert _snapshot(recipe={"trim": {"keep_tail_s": 1.0}}).lineage_hash != base.lineage_hash
    assert _snapshot(lineage=dict(base.lineage) | {"waivers": ["a/0 spike"]}).lineage_hash != base.lineage_hash
    assert _snapshot(lineage=dict(reversed(base.lineage.items()))).lineage_hash == base.lineage_hash
    assert _snapshot(spans=[_span(0)]).lineage_hash == base.lineage_hash


def test_spans_come_in_the_order_of_their_splits() -> None:
    spans = [_span(0, split="test"), _span(0, split="val"), _span(1, split="train"), _span(0, split="train")]
    kept = _snapshot(spans=spans).kept()
    assert [(s.split, s.episode_index) for s in kept] == [("train", 1), ("train", 0), ("val", 0), ("test", 0)]


@pytest.mark.parametrize("name", ["episodes.parquet", "spans.parquet", "stats.json"])
def test_a_changed_file_is_refused(tmp_path, name) -> None:
    folder = _snapshot().write(tmp_path)
    other = replace(_snapshot(), spans=pa.Table.from_pylist([_span(0)], schema=SPANS), stats={}).write(tmp_path / "b")
    if name == "episodes.parquet":
        (folder / name).write_bytes((folder / name).read_bytes()[:-1])
    else:
        (folder / name).write_bytes((other / name).read_bytes())
    with pytest.raises(SnapshotError, match=name):
        Snapshot.read(folder)


def test_a_changed_recipe_is_refused(tmp_path) -> None:
    folder = _snapshot().write(tmp_path)
    head = json.loads((folder / "snapshot.json").read_text())
    head["recipe"]["trim"]["keep_tail_s"] = 9
    (folder / "snapshot.json").write_text(json.dumps(head))
    with pytest.raises(SnapshotError, match="hashes disagree"):
        Snapshot.read(folder)


def test_what_is_no_snapshot_is_refused(tmp_path) -> None:
    with pytest.raises(SnapshotError, match="no snapshot"):
        Snapshot.read(tmp_path)
    (tmp_path / "snapshot.json").write_text('{"format": 99}')
    with pytest.raises(SnapshotError, match="upgrade"):
        Snapshot.read(tmp_path)
    (tmp_path / "snapshot.json").write_text("[]")
    with pytest.raises(SnapshotError, match="upgrade"):
        Snapshot.read(tmp_path)


def test_wrong_columns_are_refused() -> None:
    with pytest.raises(SnapshotError, match="spans"):
        replace(_snapshot(), spans=pa.table({"x": [1]}))
