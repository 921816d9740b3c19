"""What nobody needs goes; what a corpus, a run, a snapshot or a tag needs stays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from small_stores import inputs_of, stage_rows, state

from gristmill.columns import keys
from gristmill.errors import UsageError
from gristmill.store import Store

Measured = Callable[..., None]


def have(store: Store, *numbers: int, stage: str = "spike", key: str = "spike:1") -> list[bool]:
    return store.have(stage, key, inputs_of(*numbers)).tolist()


def test_what_corpora_need_stays(store: Store, measured: Measured) -> None:
    measured("a", [1, 2])
    measured("b", [2, 3])
    assert store.gc(dry_run=True)[0].rows == 1  # the second row of 2
    store.gc()
    assert have(store, 1, 2, 3) == [True] * 3
    assert len(store.table("spike", "spike:1")) == 3
    assert store.gc() == []


def test_recordings_that_no_corpus_has_any_more_go(store: Store, measured: Measured) -> None:
    measured("a", [1, 2, 3, 4])
    store.finish("a", "a", state(2, 4), {"spike": "spike:1"})
    plan = store.gc(dry_run=True)
    assert [(r.what, r.rows) for r in plan] == [("stage spike, key spike:1", 2)]
    assert 0 < plan[0].bytes < store.table("spike", "spike:1").bytes
    assert have(store, 1, 2, 3, 4) == [True] * 4  # nothing went
    store.gc()
    assert have(store, 1, 2, 3, 4) == [False, True, False, True]


def test_a_key_that_is_not_used_any_more_goes_whole(store: Store, measured: Measured) -> None:
    measured("a", [1], key="spike:1")
    measured("a", [1], key="spike:2")
    path = store.table("spike", "spike:1").path
    assert [r.reason for r in store.gc()] == ["no corpus and no snapshot uses this key"]
    assert not path.exists()
    assert have(store, 1, key="spike:2") == [True]
    measured("a", [1], key="spike:1")  # it can be measured again
    assert have(store, 1) == [True]


def test_a_corpus_that_was_forgotten_lets_go(store: Store, measured: Measured) -> None:
    measured("a", [1, 2])
    measured("b", [2])
    store.forget_corpus("a")
    store.gc()
    assert have(store, 1, 2) == [False, True]


def test_everything_of_a_run_that_did_not_finish_stays(store: Store, measured: Measured) -> None:
    measured("a", [1])
    store.begin("a", "a", {"spike": "spike:1", "lag": "lag:1"})
    store.append("spike", "spike:1", [stage_rows(7)], about={"parts": "values"})
    store.append("lag", "lag:1", [stage_rows(7)], about={"parts": "values"})
    assert store.gc() == []
    assert have(store, 1, 7) == [True, True]


def test_what_a_snapshot_was_decided_from_stays(store: Store, measured: Measured) -> None:
    measured("a", [1, 2])
    store.put_snapshot_record({"id": "f00d", "corpora": ["a"]})
    store.tag("v1", "f00d")
    store.finish("a", "a", state(2), {"spike": "spike:2"})  # recordings went, and the check changed
    store.gc()
    assert have(store, 1, 2) == [True, True]
    store.forget_corpus("a")
    store.gc()
    assert have(store, 1, 2) == [True, True]
    with pytest.raises(UsageError, match="snapshot f00d is tagged v1; remove the tag first"):
        store.forget_snapshot("f00d")
    store.untag("v1")
    store.forget_snapshot("f00d")
    store.gc()
    assert have(store, 1, 2) == [False, False]
    assert not list((store.path / "pins").iterdir())


def test_traces_stay_with_their_footage(store: Store) -> None:
    store.append("traces", "traces:1", [stage_rows(1, 2, 3)], about={"parts": "camera"})
    cameras = state(0, 1).append_column("camera:top", keys(inputs_of(1, 3)))
    store.finish("a", "a", cameras, {"traces": "traces:1"})
    store.gc()
    assert have(store, 1, 2, 3, stage="traces", key="traces:1") == [True, False, True]
    store.finish("a", "a", state(0, 1), {"traces": "traces:1"})  # the corpus has no camera any more
    store.gc()
    assert len(store.table("traces", "traces:1")) == 0


def test_digests_that_were_read_anew_or_belong_to_nobody_go(store: Store, measured: Measured) -> None:
    measured("a", [1])

    def row(stamp: str, part: str = "values") -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict(
            {
                "index": [1],
                "part": [part],
                "stamp": [stamp],
                "digest": pa.array([bytes(16)], pa.binary(16)),
                "unreadable": pa.array([None], pa.string()),
            }
        )

    store.put_digests("a", [row("old"), row("old", "camera:top"), row("new")])
    store.put_digests("nobody", [row("x")])
    assert [(r.what, r.rows) for r in store.gc()] == [("digests of recordings", 2)]
    assert [(r["part"], r["stamp"]) for r in store.digests("a").to_pylist()] == [
        ("camera:top", "old"),
        ("values", "new"),
    ]
    store.put_digests("a", [row("newer")])  # the table is still good to write to
    assert len(store.digests("a")) == 3


def test_a_state_that_does_not_tell_keeps_everything(store: Store, measured: Measured) -> None:
    measured("a", [1, 2])
    store.finish("a", "a", state(1, parts="task"), {"spike": "spike:1"})
    assert store.gc() == []
    assert np.all(have(store, 1, 2))
