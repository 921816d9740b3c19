"""Metadata that LeRobot needs and that is not there, or makes no sense."""

from __future__ import annotations

from pathlib import Path

import made_datasets as made
import numpy as np
import pyarrow as pa
import pytest

from gristmill.finding import Issue, Kind
from gristmill.sources import open_path

EPISODES = "meta/episodes/chunk-000/file-000.parquet"


def read(root: Path) -> tuple[list[Issue], list[Issue]]:
    """The issues of the corpus, and those of all its episodes, whose values must be as they were made."""
    corpus = open_path(root)
    single: list[Issue] = []
    for e, episode in enumerate(corpus.episodes(range(len(corpus.table)))):
        np.testing.assert_array_equal(
            episode.channels["action"].values, made.state(e, (5, 7, 6, 8)[e]) + np.float32(0.5)
        )
        single.extend(episode.issues)
    return list(corpus.issues), single


# What LeRobot 0.4 (v3.0) and 0.3 (v2.1) read while they open a dataset is a defect.
@pytest.mark.parametrize(
    ("version", "key", "kind"),
    [
        ("v3.0", "total_episodes", Kind.DEFECT),
        ("v3.0", "total_frames", Kind.DEFECT),
        ("v3.0", "total_tasks", Kind.RISK),
        ("v3.0", "chunks_size", Kind.RISK),
        ("v3.0", "data_path", Kind.RISK),
        ("v3.0", "video_path", Kind.DEFECT),
        ("v3.0", "robot_type", Kind.RISK),
        ("v2.1", "total_episodes", Kind.DEFECT),
        ("v2.1", "total_frames", Kind.RISK),
        ("v2.1", "total_tasks", Kind.RISK),
        ("v2.1", "chunks_size", Kind.DEFECT),
        ("v2.1", "data_path", Kind.DEFECT),
        ("v2.1", "video_path", Kind.DEFECT),
    ],
)
@pytest.mark.parametrize("null", [False, True])
def test_keys_that_lerobot_needs(tmp_path: Path, version: str, key: str, kind: Kind, null: bool) -> None:
    root = made.make(tmp_path / "c", version, cameras=[made.TOP])
    made.edit_info(root, **{key: None})
    if null and key != "robot_type":  # which may be null
        path = root / "meta/info.json"
        path.write_text(path.read_text()[:-1] + f', "{key}": null}}')
    (found,), single = read(root)
    assert single == []
    assert (found.check, found.code, found.kind, found.subject) == ("schema", f"no_{key}", kind, "meta/info.json")
    assert f"has no {key}" in found.message or f"{key} is null" in found.message


@pytest.mark.parametrize("version", ["v2.0", "v3.0"])
def test_without_videos_no_video_path_is_needed(tmp_path: Path, version: str) -> None:
    root = made.make(tmp_path / "c", version)
    made.edit_info(root, video_path=None)
    assert read(root) == ([], [])


@pytest.mark.parametrize("key", ["total_episodes", "total_frames", "total_tasks"])
@pytest.mark.parametrize("value", ["x", 4.0, True, [4]])
def test_totals_that_are_no_numbers(tmp_path: Path, key: str, value: object) -> None:
    root = made.make(tmp_path / "c")
    made.edit_info(root, **{key: value})
    (found,), _ = read(root)
    assert (found.check, found.code) == ("schema", f"no_{key}")
    assert "not a whole number" in found.message


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("dataset_from_index", Kind.DEFECT),
        ("dataset_to_index", Kind.DEFECT),
        ("data/chunk_index", Kind.RISK),
        ("data/file_index", Kind.RISK),
        (f"videos/{made.TOP}/to_timestamp", Kind.RISK),
    ],
)
def test_absent_columns_of_the_episodes_table_are_told_once(tmp_path: Path, name: str, kind: Kind) -> None:
    root = made.make(tmp_path / "c", cameras=[made.TOP])
    made.edit_table(root / EPISODES, lambda t: t.drop_columns([name]))
    (found,), single = read(root)
    assert (found.check, found.code, found.kind) == ("pointers", "column_absent", kind)
    assert f"has no column {name}" in found.message
    assert single == []


@pytest.mark.parametrize("part", ["chunk_index", "file_index", "from_timestamp"])
def test_a_camera_whose_frames_cannot_be_found_is_left_out(tmp_path: Path, part: str) -> None:
    root = made.make(tmp_path / "c", cameras=[made.TOP])
    made.edit_table(root / EPISODES, lambda t: t.drop_columns([f"videos/{made.TOP}/{part}"]))
    (found,), single = read(root)
    assert (found.check, found.code, found.camera) == ("pointers", "camera_without_pointers", made.TOP)
    assert f"has no videos/{made.TOP}/{part};" in found.message
    assert single == []
    facts = open_path(root).facts
    assert list(facts.cameras) == []
    assert made.TOP in facts.unread


def test_a_table_without_episode_numbers_is_rebuilt_from_the_data(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", cameras=[made.TOP])
    made.edit_table(root / EPISODES, lambda t: t.drop_columns(["episode_index"]))
    found, single = read(root)
    assert made.codes(found) == [
        ("files", "episodes_rebuilt", None),
        ("files", "episodes_unreadable", None),
        ("pointers", "camera_without_pointers", None),
    ]
    assert single == []


def null_lengths(table: pa.Table) -> pa.Table:
    return made.with_column(table, "length", pa.array([None, -1, 2**62, 8], pa.int64()))


def test_lengths_that_no_episode_has_are_told_as_they_are(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c")
    made.edit_table(root / EPISODES, null_lengths)
    single = [i for i in read(root)[1] if i.code == "count_lie"]
    assert [i.message.split("gives ")[1] for i in single] == [
        "no length",
        "the length -1, which no episode has",
        f"the length {2**62}, which no episode has",
    ]


def test_lengths_in_lines_that_no_episode_has(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1")
    lines = [{"episode_index": e, "tasks": [made.TASKS[e % 2]]} for e in range(4)]
    for line, length in zip(lines, [None, "x", 2**62, 8], strict=True):
        line["length"] = length
    made.write_lines(root / "meta/episodes.jsonl", lines)
    single = [i for i in read(root)[1] if i.code == "count_lie"]
    assert [i.message.split("gives ")[1] for i in single] == [
        "no length",
        "the length 'x', which no episode has",
        f"the length {2**62}, which no episode has",
    ]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("end", ["from_timestamp", "to_timestamp"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e308, -1e308])
def test_windows_that_are_no_times(tmp_path: Path, end: str, value: float) -> None:
    root = made.make(tmp_path / "c", cameras=[made.TOP])

    def lie(rows: list[dict]) -> None:
        rows[1][f"videos/{made.TOP}/{end}"] = value

    made.edit_episodes(root, lie)
    found, single = read(root)
    assert found == []
    harmless = end == "to_timestamp" and not value < 0  # the reader never uses it
    assert made.codes(single) == ([] if harmless else [("pointers", "wrong_pointer", 1)])


@pytest.mark.parametrize("info", ["x", 5, ["a"], True])
def test_what_is_said_of_a_camera_may_be_of_any_type(tmp_path: Path, info: object) -> None:
    root = made.make(tmp_path / "c", cameras=[made.TOP])
    made.edit_feature(root, made.TOP, info=info)
    (found,), _ = read(root)
    assert (found.check, found.code, found.kind, found.channel) == ("schema", "feature_info", Kind.RISK, made.TOP)


def test_half_a_character_is_replaced_and_told(tmp_path: Path) -> None:
    """JSON may escape half of a surrogate pair, which no text can hold."""
    root = made.make(tmp_path / "c", "v2.1")
    for name in ("meta/tasks.jsonl", "meta/episodes.jsonl"):
        path = root / name
        path.write_text(path.read_text().replace("pick the cube", "pick \\ud800 the \\ud83d\\ude00"))
    corpus = open_path(root)
    assert made.codes(corpus.issues) == [("schema", "not_utf8", None)]
    assert corpus.facts.tasks[0] == "pick \ufffd the \U0001f600"
    episodes = list(corpus.episodes(range(4)))
    assert episodes[0].tasks == ("pick \ufffd the \U0001f600",)
    assert made.codes(episodes[0].issues) == [("schema", "not_utf8", 0)]
    assert episodes[1].issues == ()


@pytest.mark.parametrize("text", [b'"robot_type": "a\\ud800"', b'"robot_type": "a\xff"'])
def test_info_that_is_no_text_is_told(tmp_path: Path, text: bytes) -> None:
    root = made.make(tmp_path / "c")
    path = root / "meta/info.json"
    path.write_bytes(path.read_bytes().replace(b'"robot_type": "made"', text))
    corpus = open_path(root)
    assert [(i.code, i.kind) for i in corpus.issues] == [("not_utf8", Kind.DEFECT)]
    assert corpus.facts.robot_type == "a\ufffd"


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
@pytest.mark.parametrize("key", ["observation.images.side", "observation.state"])
def test_images_that_no_table_holds_are_like_an_absent_camera(tmp_path: Path, version: str, key: str) -> None:
    root = made.make(tmp_path / "c", version)
    made.edit_feature(root, key, dtype="image", shape=[32, 48, 3])
    (found,), single = read(root)
    assert (found.check, found.kind, found.camera) == ("schema", Kind.DEFECT, key)
    assert found.code == ("image" if key == "observation.state" else "column_absent")
    assert single == []
    facts = open_path(root).facts
    assert key not in facts.cameras
    assert key in facts.unread
