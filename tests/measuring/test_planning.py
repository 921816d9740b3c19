"""What is owed, and how it is cut into pieces of work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_corpus import Late, Light, MadeCorpus, Means, Words, episodes_spec, write_spec

from gristmill.engine.plan import DECIDE, KNOWN, OWED, SETTLED, UNKNOWN, UNWANTED
from gristmill.measuring import ledger_of, planning, run_measures
from gristmill.store import Store

CHECKS: dict[str, Any] = {"means": Means(), "words": Words(), "light": Light()}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def made(tmp_path: Path, episodes: list[dict[str, Any]], **more: Any) -> MadeCorpus:
    return MadeCorpus(write_spec(tmp_path / "spec.json", episodes, **more))


def find(store: Store, corpus: MadeCorpus, checks: dict[str, Any] = CHECKS, **more: Any) -> planning.Owed:
    return planning.find(store, corpus, checks, **({"cameras": "all", "rows": None} | more))


def cut(store: Store, corpus: MadeCorpus, found: planning.Owed, jobs: int) -> list[list[int]]:
    return [work.rows.tolist() for work in planning.works(store, ledger_of(store, corpus), found, jobs)]


def test_what_depends_on_content_is_decided_when_it_is_read(store: Store, tmp_path: Path) -> None:
    corpus = made(tmp_path, episodes_spec(3), cameras=True)
    found = find(store, corpus)
    assert [stage.name for stage in found.stages] == ["means", "words", "light"]
    # The task's text is known, and one episode stands for all that share it.
    assert found.owed.tolist() == [[DECIDE, OWED, DECIDE], [DECIDE, SETTLED, DECIDE], [DECIDE, SETTLED, DECIDE]]
    (work,) = planning.works(store, ledger_of(store, corpus), found, 1)
    assert set(work.states["values"].tolist()) == {UNKNOWN}
    found = find(store, corpus, cameras="none")
    assert found.owed[:, 2].tolist() == [SETTLED] * 3
    (work,) = planning.works(store, ledger_of(store, corpus), found, 1)
    assert {s for part, states in work.states.items() if part != "values" for s in states.tolist()} == {UNWANTED}


def test_known_content_is_decided_at_once(store: Store, tmp_path: Path) -> None:
    corpus = made(tmp_path, episodes_spec(3), cameras=True)
    run_measures(store, corpus, {"words": Words(), "light": Light()})
    found = find(store, corpus)
    assert found.owed.tolist() == [[OWED, SETTLED, SETTLED]] * 3
    assert found.known, "earlier inputs are handed in"
    (work,) = planning.works(store, ledger_of(store, corpus), found, 1)
    assert set(work.states["values"].tolist()) == {KNOWN}


def test_checks_that_know_the_same_inputs_share_the_set(store: Store, tmp_path: Path) -> None:
    corpus = made(tmp_path, episodes_spec(4))
    checks = {"means": Means(), "again": Means(scale=2.0), "late": Late()}
    run_measures(store, corpus, checks)
    found = find(store, corpus, checks)
    assert [stage.known for stage in found.stages] == [0, 0, 1]
    assert len(found.known) == 2


def test_one_process_gets_one_work(store: Store, tmp_path: Path) -> None:
    corpus = made(tmp_path, episodes_spec(50))
    assert cut(store, corpus, find(store, corpus), 1) == [list(range(50))]


def test_pieces_end_where_files_end(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = [{**e, "stamp": f"data/file-{e['index'] // 15:03d}.parquet:{e['index']}"} for e in episodes_spec(60)]
    corpus = made(tmp_path, episodes)
    found = find(store, corpus)
    an_episode = float(found.cost_s[0])
    monkeypatch.setattr(planning, "_PIECE_S", (20.5 * an_episode, 20.5 * an_episode))
    assert [piece[-1] for piece in cut(store, corpus, found, 2)] == [14, 29, 44, 59]
    # A file that is longer than a piece is cut anyway.
    monkeypatch.setattr(planning, "_PIECE_S", (6.5 * an_episode, 6.5 * an_episode))
    pieces = cut(store, corpus, found, 2)
    assert [row for piece in pieces for row in piece] == list(range(60))
    assert max(map(len, pieces)) == 7


def test_stored_traces_travel_with_few_episodes_at_once(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = made(tmp_path, episodes_spec(9), cameras=True)
    run_measures(store, corpus, CHECKS)
    monkeypatch.setattr(planning, "_TRACED_ROWS", 4)
    checks = {**CHECKS, "light": Light(gain=3.0)}
    found = find(store, corpus, checks)
    works = list(planning.works(store, ledger_of(store, corpus), found, 1))
    assert [len(work) for work in works] == [4, 4, 1]
    assert [work.traces.num_rows for work in works if work.traces is not None] == [4, 4, 1]


def test_a_run_of_other_checks_keeps_what_earlier_ones_measured(store: Store, tmp_path: Path) -> None:
    corpus = made(tmp_path, episodes_spec(3))
    run_measures(store, corpus, {"means": Means()})
    run_measures(store, corpus, {"words": Words()})
    assert store.gc() == []
    state = store.corpora.state("made")
    assert state is not None
    assert {name for name in state.schema.names if name.startswith("in:")} == {
        "in:task+layout+length",
        "in:values+layout+length",
    }


def test_a_sample_has_a_least_size(store: Store, tmp_path: Path) -> None:
    corpus = made(tmp_path, episodes_spec(15), cameras=True)
    assert find(store, corpus, cameras="sample").wanted.all()
    many = made(tmp_path, episodes_spec(1000, frames=1), cameras=True)
    wanted = find(store, many, cameras="sample").wanted
    assert wanted.sum() == 50
    few = find(store, many, cameras="sample", rows=np.arange(30)).wanted
    assert few.sum() == 20
