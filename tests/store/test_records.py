"""Waivers, snapshots and tags."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gristmill.errors import UnknownNameError, UsageError
from gristmill.store import Store


def test_waivers_persist_by_episode_and_check(store: Store) -> None:
    store.waive("pusht/000003", "spike", "  the arm was pushed on purpose ")
    store.waive("pusht/000003", "idle", "first")
    store.waive("pusht/000003", "idle", "second thought")
    store.waive("lerobot/pusht/000003", "spike", "another corpus")
    path = store.path
    store.close()
    with Store.open(path) as again:
        assert again.waivers("pusht") == {
            ("pusht/000003", "idle"): "second thought",
            ("pusht/000003", "spike"): "the arm was pushed on purpose",
        }
        assert again.unwaive("pusht/000003", "spike")
        assert not again.unwaive("pusht/000003", "spike")
        assert list(again.waivers("pusht")) == [("pusht/000003", "idle")]


def test_a_waiver_is_for_the_recording_that_was_looked_at(store: Store) -> None:
    store.waive("c/000001", "spike", "seen", values_digest="aa")
    store.waive("c/000002", "spike", "seen")  # nobody knew its digest
    now = {"c/000001": "bb", "c/000002": "cc"}
    assert list(store.waivers("c", now)) == [("c/000002", "spike")]
    assert len(store.waivers("c", {"c/000001": "aa"})) == 2
    assert len(store.waivers("c")) == 2


def test_a_waiver_needs_a_reason(store: Store) -> None:
    with pytest.raises(UsageError, match="needs a reason"):
        store.waive("c/000001", "spike", " ")


def test_snapshots_are_listed_oldest_first_with_their_tags(store: Store, measured: Callable[..., None]) -> None:
    measured("a", [1])
    store.put_snapshot_record({"id": "aa11", "data_hash": "d1", "corpora": ["a"], "spans": 3})
    store.put_snapshot_record({"id": "aa22", "data_hash": "d2", "corpora": []})
    store.tag("v1", "aa11")
    store.tag("best", "aa11")
    first, second = store.snapshots()
    assert (first["id"], first["spans"], first["tags"]) == ("aa11", 3, ["best", "v1"])
    assert first["stages"] == {"a": {"spike": "spike:1"}}
    assert isinstance(first["made"], int)
    assert second["tags"] == []


def test_a_snapshot_is_found_by_tag_and_by_the_beginning_of_its_id(store: Store) -> None:
    for name in ("aa11", "aa22", "bb"):
        store.put_snapshot_record({"id": name})
    store.tag("v1", "bb")
    assert store.snapshot("v1")["id"] == "bb"
    assert store.snapshot("aa1")["id"] == "aa11"
    assert store.snapshot("bb")["id"] == "bb"
    for name in ("aa", "", "cc", "v2"):
        with pytest.raises(UnknownNameError):
            store.snapshot(name)


def test_a_tag_moves_and_can_be_taken_away(store: Store) -> None:
    store.put_snapshot_record({"id": "aa"})
    store.put_snapshot_record({"id": "bb"})
    store.tag("v1", "aa")
    store.tag("v1", "bb")
    assert [s["tags"] for s in store.snapshots()] == [[], ["v1"]]
    store.untag("v1")
    assert [s["tags"] for s in store.snapshots()] == [[], []]
    with pytest.raises(UnknownNameError, match="known"):
        store.untag("v1")
    with pytest.raises(UsageError, match="cannot be a tag"):
        store.tag("a b", "aa")
    with pytest.raises(UnknownNameError):
        store.tag("v1", "cc")


def test_the_same_snapshot_again_replaces_its_record(store: Store) -> None:
    store.put_snapshot_record({"id": "aa", "out": "here"})
    store.put_snapshot_record({"id": "aa", "out": "there"})
    assert [s["out"] for s in store.snapshots()] == ["there"]
