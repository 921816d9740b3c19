"""Declared statistics: of the corpus and of single episodes, whatever their form."""

from __future__ import annotations

from pathlib import Path

import made_datasets as made
import numpy as np
import pyarrow as pa
import pytest

from gristmill.finding import Kind
from gristmill.formats.lerobot import stats_columns
from gristmill.sources import open_path

EPISODES = "meta/episodes/chunk-000/file-000.parquet"


def corpus_issue(root: Path) -> tuple[str, Kind, str | None]:
    (issue,) = open_path(root).issues
    assert issue.check == "stats"
    return issue.code, issue.kind, issue.channel


def test_missing_statistics(tmp_path: Path) -> None:
    for version, name in (("v3.0", "stats.json"), ("v2.0", "stats.json"), ("v2.1", "episodes_stats.jsonl")):
        root = made.make(tmp_path / version, version)
        (root / "meta" / name).unlink()
        assert corpus_issue(root) == ("stats_missing", Kind.RISK, None)


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"action": [1]}', '{"action": {"mean": "high"}}'])
def test_statistics_that_cannot_be_read(tmp_path: Path, content: str) -> None:
    root = made.make(tmp_path / "c")
    (root / "meta/stats.json").write_text(content)
    issues = [i for i in open_path(root).issues if i.kind is Kind.DEFECT]
    assert [i.code for i in issues] == ["stats_unreadable"]


def test_statistics_that_are_not_finite(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c")
    zeros = {name: [0.0] * 3 for name in made.STATISTICS}
    stats = {"observation.state": zeros, "action": zeros | {"std": [0.0, float("nan"), 1.0], "max": [1, None, 2]}}
    made.write_json(root / "meta/stats.json", stats)
    assert corpus_issue(root) == ("stats_not_finite", Kind.DEFECT, "action")
    declared = open_path(root).facts.declared_stats["action"]
    np.testing.assert_array_equal(declared["max"], [1, np.nan, 2])


def test_statistics_of_a_feature_that_are_absent(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c")
    made.write_json(root / "meta/stats.json", {"action": {"mean": [0, 0, 0]}})
    assert corpus_issue(root) == ("stats_absent", Kind.RISK, "observation.state")


def test_lines_of_single_episodes(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1")
    path = root / "meta/episodes_stats.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    lines[1] = '{"stats": {"action": {"mean": [1, 2, 3]}}, "episode_index": 1}\n'  # in another order of keys
    lines[2] = '{"episode_index": 2, "stats": \n'
    path.write_text("".join(lines[::-1][:-1]))
    episodes = list(open_path(root).episodes([3, 2, 1, 0]))
    assert [made.codes(e.issues) for e in episodes] == [
        [],
        [("stats", "stats_absent", 2)],
        [],
        [("stats", "stats_absent", 0)],
    ]
    assert episodes[2].declared_stats["action"]["mean"].tolist() == [1, 2, 3]
    assert not episodes[1].declared_stats
    np.testing.assert_allclose(episodes[0].declared_stats["action"]["min"], made.state(3, 8)[0] + 0.5)


@pytest.mark.parametrize("rows_a_group", [None, 3, 1])
def test_columns_of_single_episodes_in_any_order(
    tmp_path: Path, rows_a_group: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats_columns, "_BLOCK_ROWS", 4)
    lengths = [5 + n % 4 for n in range(30)]
    root = made.make(tmp_path / "c", lengths=lengths, episodes_a_file=30)
    path = root / EPISODES
    made.edit_table(path, lambda t: t.append_column("stats/front/mean", pa.array([[[[0.5]], [[0.25]]]] * 30)))
    made.edit_table(path, lambda t: t.append_column("stats/speed/max", pa.array([float(n) for n in range(30)])))
    table = pa.parquet.read_table(path)
    made.write_table(root / "meta/episodes/chunk-000/file-001.parquet", table.slice(20), rows_a_group)
    made.write_table(path, table.slice(0, 20), rows_a_group)
    corpus = open_path(root)
    order = [0, 1, 29, 3, 19, 20, 2, 11, 11, 10]
    for row, episode in zip(order, corpus.episodes(order), strict=True):
        expected = made.state(row, lengths[row]).astype(np.float64)
        np.testing.assert_allclose(episode.declared_stats["observation.state"]["max"], expected.max(0))
        assert episode.declared_stats["front"]["mean"].shape == (2, 1, 1)
        assert float(episode.declared_stats["speed"]["max"]) == row
        assert episode.declared_stats["action"]["count"].tolist() == [lengths[row]]
        assert set(episode.declared_stats) == {"observation.state", "action", "front", "speed"}


def test_cells_that_are_empty_or_of_another_shape(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c")

    def change(rows: list[dict]) -> None:
        rows[1]["stats/action/mean"] = None
        rows[2]["stats/action/mean"] = [1.0]

    made.edit_episodes(root, change)
    found = [e.declared_stats["action"] for e in open_path(root).episodes(range(4))]
    assert ["mean" in f for f in found] == [True, False, True, True]
    assert found[2]["mean"].tolist() == [1.0]
    assert found[3]["mean"].shape == (3,)


@pytest.mark.parametrize("rows_a_group", [None, 1, 7, 300])
def test_digests_do_not_depend_on_row_groups_or_files(tmp_path: Path, rows_a_group: int | None) -> None:
    lengths = [5 + n % 4 for n in range(90)]
    root = made.make(tmp_path / "c", lengths=lengths, episodes_a_file=90)
    before = open_path(root).table.meta_digest
    table = pa.parquet.read_table(root / EPISODES)
    made.write_table(root / EPISODES, table.slice(0, 40), rows_a_group)
    made.write_table(root / "meta/episodes/chunk-000/file-001.parquet", table.slice(40), rows_a_group)
    assert open_path(root).table.meta_digest == before
    assert len(set(before)) == 90


def test_many_small_groups_are_digested_by_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As recorders write them; a copy of the group is the same, a changed one is not."""
    monkeypatch.setattr(stats_columns, "_MANY_GROUPS", 5)
    lengths = [5 + n % 4 for n in range(30)]
    root = made.make(tmp_path / "c", lengths=lengths, episodes_a_file=30)
    table = pa.parquet.read_table(root / EPISODES)
    made.write_table(root / EPISODES, table, 5)
    before = open_path(root).table.meta_digest
    assert len(set(before)) == 30

    def change(rows: list[dict]) -> None:
        rows[7]["stats/action/mean"][0] += 1e-9

    made.edit_episodes(root, change)
    made.write_table(root / EPISODES, pa.parquet.read_table(root / EPISODES), 5)
    after = open_path(root).table.meta_digest
    assert [n for n in range(30) if after[n] != before[n]] == [5, 6, 7, 8, 9]
