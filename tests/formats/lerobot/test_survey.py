"""What is wrong with a corpus's files as a whole."""

from __future__ import annotations

from pathlib import Path

import made_datasets as made
import numpy as np
import pyarrow as pa
import pytest

from gristmill.finding import Issue, Kind
from gristmill.sources import open_path

VIDEO = f"videos/{made.TOP}/chunk-000/file-000.mp4"


def issues(root: Path) -> list[Issue]:
    """All issues of a corpus whose episodes have none of their own."""
    corpus = open_path(root)
    assert [made.codes(e.issues) for e in corpus.episodes(range(len(corpus.table)))] == [[]] * len(corpus.table)
    return list(corpus.issues)


def only(root: Path) -> Issue:
    (found,) = issues(root)
    return found


@pytest.mark.parametrize("name", ["data/chunk-000/file-007.parquet", "data/chunk-009/._file-000.parquet"])
def test_a_stray_table_is_read_by_lerobot_and_so_a_defect(tmp_path: Path, name: str) -> None:
    root = made.make(tmp_path / "c")
    made.write_table(root / name, made.rows(9, 3, 26))
    found = only(root)
    assert (found.check, found.code, found.kind, found.subject) == ("files", "stray_file", Kind.DEFECT, name)


def test_a_table_that_no_loader_looks_at_is_only_told(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c")
    made.write_table(root / "data/kept/deep/old.parquet", made.rows(9, 3, 26))
    assert (only(root).code, only(root).kind) == ("orphan_file", Kind.TRAIT)


def test_in_older_versions_every_table_below_data_is_read(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1")
    made.write_table(root / "data/kept/deep/old.parquet", made.rows(9, 3, 26))
    assert only(root).code == "stray_file"


def test_orphaned_videos(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", cameras=[made.TOP])
    for n in range(5, 10):
        (root / f"videos/{made.TOP}/chunk-000/file-{n:03d}.mp4").write_bytes(b"x")
    found = only(root)
    assert (found.code, found.kind, found.measured) == ("orphan_file", Kind.TRAIT, 5)
    assert "and 2 more files" in found.message


def test_rows_of_an_episode_that_nobody_knows(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c")
    made.edit_table(root / "data/chunk-000/file-001.parquet", lambda t: pa.concat_tables([t, made.rows(9, 3, 26)]))
    found = only(root)
    assert (found.code, found.kind) == ("rows_without_episode", Kind.DEFECT)
    assert "episode 9" in found.message


def test_many_episodes_in_a_file_are_no_mismatch(tmp_path: Path) -> None:
    assert issues(made.make(tmp_path / "c", lengths=[4] * 30, episodes_a_file=10, cameras=[made.TOP])) == []


@pytest.mark.parametrize("version", ["v2.0", "v3.0"])
def test_templates_that_lead_nowhere_while_the_files_are_in_the_usual_place(tmp_path: Path, version: str) -> None:
    root = made.make(tmp_path / "c", version, cameras=[made.TOP])
    field = "file_index" if version == "v3.0" else "episode_index"
    made.edit_info(root, data_path=f"data/part-{{{field}}}.parquet", video_path=f"videos/{{video_key}}/{{{field}}}.mp4")
    found = issues(root)
    assert [(i.check, i.code, i.kind) for i in found] == [("files", "path_template", Kind.DEFECT)] * 2
    assert "data/part-0.parquet" in found[0].message


def test_templates_of_another_layout_are_followed(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", cameras=[made.TOP])
    for n in range(2):
        (root / f"data/chunk-000/file-00{n}.parquet").rename(root / f"data/chunk-000/part{n}.parquet")
    made.edit_info(root, data_path="data/chunk-{chunk_index:03d}/part{file_index}.parquet")
    assert issues(root) == []


def test_files_out_of_order(tmp_path: Path) -> None:
    """LeRobot numbers rows in path order, so the episodes of the later rows must not lie in the earlier file."""
    root = made.make(tmp_path / "c")
    first, second = (root / made.DATA_V3.format(n) for n in (0, 1))
    first.rename(root / "kept")
    second.rename(first)
    (root / "kept").rename(second)

    def swap(rows: list[dict]) -> None:
        for row in rows:
            row["data/file_index"] = 1 - row["data/file_index"]

    made.edit_episodes(root, swap)
    found = only(root)
    assert (found.check, found.code) == ("pointers", "file_order")


def test_a_camera_without_any_video_is_one_risk_of_the_corpus(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1", cameras=[made.TOP, "observation.images.wrist"])
    for path in (root / "videos").rglob("*wrist/*.mp4"):
        path.unlink()
    made.edit_info(root, total_videos=4)
    found = only(root)
    assert (found.code, found.kind, found.camera) == ("camera_absent", Kind.RISK, "observation.images.wrist")
    corpus = open_path(root)
    assert list(corpus.facts.cameras) == [made.TOP]
    assert list(corpus.table.camera_stamps) == [made.TOP]
    assert list(next(iter(corpus.episodes([0]))).cameras) == [made.TOP]


@pytest.mark.parametrize(("content", "code"), [(None, "video_missing"), (b"", "video_truncated")])
@pytest.mark.parametrize("version", ["v2.0", "v2.1", "v3.0"])
def test_one_missing_video_harms_its_episode_only(
    tmp_path: Path, version: str, content: bytes | None, code: str
) -> None:
    root = made.make(tmp_path / "c", version, cameras=[made.TOP], episodes_a_file=1)
    name = (
        VIDEO.replace("000.mp4", "002.mp4") if version == "v3.0" else f"videos/chunk-000/{made.TOP}/episode_000002.mp4"
    )
    (root / name).unlink() if content is None else (root / name).write_bytes(content)
    if version != "v3.0" and content is None:
        made.edit_info(root, total_videos=3)
    corpus = open_path(root)
    assert corpus.issues == ()
    episodes = list(corpus.episodes(range(4)))
    assert [made.codes(e.issues) for e in episodes] == [[], [], [("files", code, 2)], []]
    (issue,) = episodes[2].issues
    assert (issue.kind, issue.camera, issue.subject) == (Kind.DEFECT, made.TOP, name)
    np.testing.assert_array_equal(episodes[2].channels["observation.state"].values, made.state(2, 6))
    stamps = corpus.table.camera_stamps[made.TOP]
    assert [bool(s) for s in stamps] == [True, True, content is not None, True]


def test_totals_and_splits(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1", cameras=[made.TOP])
    made.edit_info(
        root,
        total_frames=27,
        total_videos=9,
        total_chunks=4,
        total_tasks=5,
        splits={"train": "0:3", "val": "3:9"},
    )
    assert {(i.code, i.kind) for i in issues(root)} == {
        ("total_frames", Kind.RISK),
        ("total_videos", Kind.TRAIT),
        ("total_chunks", Kind.TRAIT),
        ("total_tasks", Kind.TRAIT),
        ("splits", Kind.TRAIT),
    }
    made.edit_info(root, total_episodes=7)
    assert ("files", "total_episodes", None) in made.codes(issues(root))


@pytest.mark.parametrize("splits", [[], {"train": 5}, {"train": "all"}, {"train": "3:1"}])
def test_splits_of_any_form_are_told_not_fatal(tmp_path: Path, splits: object) -> None:
    root = made.make(tmp_path / "c")
    made.edit_info(root, splits=splits)
    assert (only(root).code, only(root).kind) == ("splits", Kind.TRAIT)


@pytest.mark.parametrize("key", ["total_frames", "total_episodes", "total_tasks", "robot_type"])
def test_decorations_of_a_wrong_type_are_told_not_fatal(tmp_path: Path, key: str) -> None:
    root = made.make(tmp_path / "c")
    made.edit_info(root, **{key: [1, {"deep": []}]})
    assert len(issues(root)) <= 1


def test_a_version_that_is_missing_is_guessed_from_the_layout(tmp_path: Path) -> None:
    for version in ("v2.0", "v2.1", "v3.0"):
        root = made.make(tmp_path / version, version)
        made.edit_info(root, codebase_version=None)
        assert only(root).code == "codebase_version"
        assert open_path(root).facts.format == f"lerobot {version}"


def test_files_that_other_tools_left_are_passed_on(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c")
    made.write_json(root / "meta/modality.json", {"state": {}})
    made.write_json(root / "meta/extra/notes.json", {})
    made.edit_info(root, custom={"site": "lab 3"})
    corpus = open_path(root)
    assert list(corpus.side_files) == ["meta/extra/notes.json", "meta/modality.json"]
    assert corpus.facts.info["custom"] == {"site": "lab 3"}
    assert corpus.issues == ()


def test_a_pipe_in_the_place_of_a_table_is_not_opened(tmp_path: Path) -> None:
    import os

    root = made.make(tmp_path / "c", "v2.1")
    path = root / "data/chunk-000/episode_000001.parquet"
    path.unlink()
    os.mkfifo(path)
    corpus = open_path(root)
    assert [bool(made.codes(e.issues)) for e in corpus.episodes(range(4))] == [False, True, False, False]
