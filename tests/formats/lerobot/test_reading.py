"""Episodes against their metadata: each contradiction is told of its episode, and the others are left alone."""

from __future__ import annotations

from pathlib import Path

import made_datasets as made
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from gristmill.episode import Episode
from gristmill.errors import CorpusError, RecordingError
from gristmill.finding import Kind
from gristmill.sources import open_path

DATA_0, DATA_1 = (made.DATA_V3.format(n) for n in (0, 1))
SINGLE = "data/chunk-000/episode_{:06d}.parquet"


def read(root: Path) -> list[Episode]:
    corpus = open_path(root)
    return list(corpus.episodes(range(len(corpus.table))))


def only_issue(root: Path, at: int) -> tuple[str, str, str]:
    """The one issue of the whole corpus, which is episode `at`'s: its check, code and message."""
    corpus = open_path(root)
    episodes = list(corpus.episodes(range(len(corpus.table))))
    assert [made.codes(e.issues) for i, e in enumerate(episodes) if i != at] == [[]] * (len(episodes) - 1)
    (issue,) = episodes[at].issues
    assert issue.episode == episodes[at].index
    assert issue.message.startswith(f"episode {issue.episode}: ")
    return issue.check, issue.code, issue.message


def values_hold(episodes: list[Episode], lengths: tuple[int, ...] = (5, 7, 6, 8)) -> None:
    for episode in episodes:
        expected = made.state(episode.index, lengths[episode.index])
        np.testing.assert_array_equal(episode.channels["observation.state"].values, expected)


def test_rows_are_found_by_their_column_when_the_pointer_is_another_episodes(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", episodes_a_file=4)

    def swap(rows: list[dict]) -> None:
        rows[2] |= {"dataset_from_index": 0, "dataset_to_index": 5}

    made.edit_episodes(root, swap)
    check, code, message = only_issue(root, 2)
    assert (check, code) == ("pointers", "wrong_pointer")
    assert "dataset_from_index is 0" in message
    assert "begin at 12" in message
    values_hold(read(root))


def test_a_wrong_end_is_told_when_the_length_is_right(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c")
    made.edit_episodes(root, lambda rows: rows[1].update(dataset_to_index=40))
    assert only_issue(root, 1)[:2] == ("pointers", "wrong_pointer")


def test_all_pointers_shifted_are_one_issue_of_the_corpus(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", lengths=[5] * 12, episodes_a_file=12)

    def shift(rows: list[dict]) -> None:
        for row in rows:
            row["dataset_from_index"] += 100
            row["dataset_to_index"] += 100

    made.edit_episodes(root, shift)
    corpus = open_path(root)
    assert ("pointers", "wrong_pointer", None) in made.codes(corpus.issues)
    # With the rows' own numbers, 100 off the pointers, that is not every episode's own trouble.
    for episode in corpus.episodes(range(12)):
        assert [i for i in episode.issues if i.check == "pointers"] == []


def test_an_episode_in_another_file_is_found(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c")
    made.edit_episodes(root, lambda rows: rows[3].update({"data/file_index": 0}))
    check, code, message = only_issue(root, 3)
    assert (check, code) == ("pointers", "wrong_pointer")
    assert DATA_0 in message
    assert DATA_1 in message
    values_hold(read(root))


def test_a_pointer_to_a_file_that_does_not_exist_is_a_pointer_issue_when_the_rows_are_elsewhere(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c")
    made.edit_episodes(root, lambda rows: rows[0].update({"data/file_index": 9, "data/chunk_index": 3}))
    assert only_issue(root, 0)[:2] == ("pointers", "wrong_pointer")
    values_hold(read(root))


def test_a_missing_table_harms_its_episodes_only(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c")
    (root / DATA_1).unlink()
    corpus = open_path(root)
    episodes = list(corpus.episodes(range(4)))
    assert [made.codes(e.issues) for e in episodes] == [
        [],
        [],
        [("files", "data_missing", 2)],
        [("files", "data_missing", 3)],
    ]
    assert corpus.table.values_stamp[2:] == ["", ""]
    values_hold(episodes[:2])
    with pytest.raises(RecordingError, match=r"episode 2: .*file-001\.parquet is missing"):
        episodes[2].channels  # noqa: B018
    with pytest.raises(RecordingError, match="episode 3"):
        episodes[3].index_columns  # noqa: B018


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not a table at all", b"PAR1" + bytes(100) + b"PAR1"])
def test_a_table_that_is_none_harms_its_episode_only(tmp_path: Path, content: bytes) -> None:
    root = made.make(tmp_path / "c", "v2.1")
    (root / SINGLE.format(2)).write_bytes(content)
    assert only_issue(root, 2)[:2] == ("files", "data_unreadable")
    episodes = read(root)
    values_hold(episodes[:2] + episodes[3:])
    with pytest.raises(RecordingError, match="episode 2"):
        episodes[2].channels  # noqa: B018


@pytest.mark.parametrize("version", ["v2.0", "v3.0"])
def test_a_length_that_lies_is_told_of_its_episode(tmp_path: Path, version: str) -> None:
    root = made.make(tmp_path / "c", version)
    if version == "v3.0":
        made.edit_episodes(root, lambda rows: rows[1].update(length=14))
    else:
        lines = [{"episode_index": e, "tasks": [made.TASKS[e % 2]], "length": n} for e, n in enumerate((5, 14, 6, 8))]
        made.write_lines(root / "meta/episodes.jsonl", lines)
    corpus = open_path(root)
    assert only_issue(root, 1)[:2] == ("files", "count_lie")
    (issue,) = next(iter(corpus.episodes([1]))).issues
    assert (issue.measured, issue.threshold, issue.unit) == (7, 14, "frames")
    assert made.codes(corpus.issues) == [("files", "total_frames", None)]
    episode = next(iter(corpus.episodes([1])))
    assert (episode.length, episode.frames) == (14, 7)


@pytest.mark.parametrize("length", [-5, 2**40, "7", None, 7.5])
def test_a_length_that_no_episode_has(tmp_path: Path, length: object) -> None:
    root = made.make(tmp_path / "c", "v2.1")
    lines = [{"episode_index": e, "tasks": [made.TASKS[e % 2]], "length": n} for e, n in enumerate((5, 7, 6, 8))]
    lines[2]["length"] = length
    made.write_lines(root / "meta/episodes.jsonl", lines)
    corpus = open_path(root)
    assert corpus.table.length.tolist() == [5, 7, 0, 8]
    episodes = list(corpus.episodes(range(4)))
    assert {i.code for i in episodes[2].issues} == {"count_lie"}
    values_hold(episodes)


@pytest.mark.parametrize(
    ("column", "change", "at"),
    [("index", lambda v: v[3:].__iadd__(3), 3), ("frame_index", lambda v: v[2:].__iadd__(1), 2)],
)
def test_holes_in_running_numbers(tmp_path: Path, column: str, change, at: int) -> None:
    root = made.make(tmp_path / "c", "v2.1")

    def with_hole(table: pa.Table) -> pa.Table:
        values = table.column(column).to_numpy().copy()
        change(values)
        return made.with_column(table, column, values)

    made.edit_table(root / SINGLE.format(1), with_hole)
    check, code, message = only_issue(root, 1)
    assert (check, code) == ("schema", "index_hole")
    assert f"row {at}" in message
    values_hold(read(root))


def test_an_index_that_begins_elsewhere_is_told_against_the_pointer(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v3.0", episodes_a_file=1)
    made.edit_table(root / DATA_1, lambda t: made.with_column(t, "index", t.column("index").to_numpy() + 40))
    assert only_issue(root, 1)[:2] == ("schema", "index_hole")


def test_an_index_that_restarts_everywhere_is_one_issue_of_the_corpus(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1")
    for e in range(4):
        made.edit_table(root / SINGLE.format(e), lambda t: made.with_column(t, "index", t.column("frame_index")))
    corpus = open_path(root)
    assert made.codes(corpus.issues) == [("schema", "index_restarts", None)]
    assert corpus.issues[0].message.startswith("all 3 episodes that were looked at, of 4, share this: episode 1: ")
    assert all(e.issues == () for e in corpus.episodes(range(4)))


def test_a_file_that_holds_another_episode(tmp_path: Path) -> None:
    """The rows of episode 1's file say that they are those of 2."""
    root = made.make(tmp_path / "c", "v2.1")
    made.edit_table(root / SINGLE.format(1), lambda t: made.with_column(t, "episode_index", [2] * 7))
    check, code, message = only_issue(root, 1)
    assert (check, code) == ("pointers", "wrong_pointer")
    assert "holds episode 2" in message
    values_hold(read(root))


def test_two_files_that_were_swapped(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1")
    one, two = (root / SINGLE.format(e) for e in (1, 2))
    kept = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(kept)
    episodes = read(root)
    assert [made.codes(e.issues) for e in episodes] == [
        [],
        [("pointers", "wrong_pointer", 1)],
        [("pointers", "wrong_pointer", 2)],
        [],
    ]
    values_hold(episodes)


def test_files_that_were_never_renumbered_are_one_issue_of_the_corpus(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1")
    for e, (number, n) in enumerate(zip((29, 30, 59, 82), (5, 7, 6, 8), strict=True)):
        values = [number] * n
        made.edit_table(root / SINGLE.format(e), lambda t, v=values: made.with_column(t, "episode_index", v))
    corpus = open_path(root)
    assert made.codes(corpus.issues) == [("pointers", "wrong_pointer", None)]
    episodes = list(corpus.episodes(range(4)))
    assert all(e.issues == () for e in episodes)
    values_hold(episodes)


def test_rows_that_stand_apart(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v3.0", episodes_a_file=4)

    def split(table: pa.Table) -> pa.Table:
        return pa.concat_tables([table.slice(0, 9), table.slice(12), table.slice(9, 3)])

    made.edit_table(root / DATA_0, split)
    episode = read(root)[1]
    assert ("schema", "rows_apart", 1) in made.codes(episode.issues)
    assert ("files", "count_lie", 1) in made.codes(episode.issues)
    np.testing.assert_array_equal(episode.channels["observation.state"].values, made.state(1, 7)[:4])


def test_tasks_are_looked_up_by_number_not_by_row(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v3.0")
    made.write_table(root / "meta/tasks.parquet", pa.table({"task_index": [1, 0], "task": made.TASKS[::-1]}))
    corpus = open_path(root)
    assert made.codes(corpus.issues) == [("schema", "tasks_order", None)]
    assert all(e.issues == () for e in corpus.episodes(range(4)))


def test_a_task_that_the_rows_contradict(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1")
    made.edit_table(root / SINGLE.format(3), lambda t: made.with_column(t, "task_index", [0] * 8))
    check, code, message = only_issue(root, 3)
    assert (check, code) == ("schema", "task_mismatch")
    assert "'pick the cube'" in message
    assert "'open the drawer'" in message


def test_a_task_number_without_a_text(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1")
    made.edit_table(root / SINGLE.format(3), lambda t: made.with_column(t, "task_index", [1] * 7 + [9]))
    assert only_issue(root, 3)[:2] == ("schema", "unknown_task")


def test_text_that_is_not_utf8_is_shown_replaced(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1")
    path = root / "meta/episodes.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"pick", b"pi\xffk")
    path.write_bytes(b"".join(lines))
    episodes = read(root)
    assert episodes[2].tasks == ("pi\ufffdk the cube",)
    assert ("schema", "not_utf8", 2) in made.codes(episodes[2].issues)
    assert [e.issues for e in episodes[:2]] == [(), ()]


def test_text_that_is_not_utf8_in_a_table(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v3.0")

    def spoil(table: pa.Table) -> pa.Table:
        texts = [[b"pick the cube"], [b"op\xffn"], [b"pick the cube"], [b"open the drawer"]]
        flat = pa.array([t for row in texts for t in row], pa.binary()).view(pa.string())
        return made.with_column(table, "tasks", pa.ListArray.from_arrays(pa.array(range(5), pa.int32()), flat))

    made.edit_table(root / "meta/episodes/chunk-000/file-000.parquet", spoil)
    episodes = read(root)
    assert episodes[1].tasks == ("op\ufffdn",)
    assert ("schema", "not_utf8", 1) in made.codes(episodes[1].issues)
    assert episodes[0].tasks == ("pick the cube",)


def test_a_line_that_is_no_json_loses_its_episode_only(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1")
    path = root / "meta/episodes.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], '{"episode_index": 1, "tas\n', *lines[2:]]))
    corpus = open_path(root)
    assert corpus.table.index.tolist() == [0, 2, 3]
    assert {i.code for i in corpus.issues} >= {"episode_line", "total_episodes", "episode_numbers"}
    values_hold(list(corpus.episodes(range(3))))


def test_an_episode_that_is_described_twice(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v3.0")
    made.edit_episodes(root, lambda rows: rows.append(dict(rows[1]) | {"length": 3}))
    corpus = open_path(root)
    assert corpus.table.index.tolist() == [0, 1, 2, 3]
    assert ("schema", "episode_twice", 1) in made.codes(corpus.issues)
    values_hold(list(corpus.episodes(range(4))))


def test_holes_in_episode_numbers_are_told_of_the_corpus(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v3.0")
    made.edit_episodes(root, lambda rows: rows.pop(1))
    corpus = open_path(root)
    codes = made.codes(corpus.issues)
    assert ("schema", "episode_numbers", None) in codes
    assert ("files", "rows_without_episode", None) in codes
    values_hold(list(corpus.episodes(range(3))))


class TestColumns:
    """Columns that are not as declared."""

    def add(self, root: Path, declared: dict | None, make, key: str = "extra") -> Path:
        if declared is not None:
            made.edit_feature(root, key, **declared)
        for n in (0, 1):
            made.edit_table(root / made.DATA_V3.format(n), lambda t: made.with_column(t, key, make(t)))
        return root

    def test_numbers_of_all_sorts_become_channels(self, tmp_path: Path) -> None:
        root = made.make(tmp_path / "c")
        self.add(root, {"dtype": "bool", "shape": [1]}, lambda t: [i == 0 for i in range(len(t))], "next.done")
        self.add(root, {"dtype": "float32", "shape": [1]}, lambda t: np.full(len(t), 0.5, np.float32), "next.reward")
        self.add(root, {"dtype": "bool", "shape": [1]}, lambda t: [True] * len(t), "success")
        self.add(root, {"dtype": "uint8", "shape": [2]}, lambda t: made.fixed(np.full((len(t), 2), 7, np.uint8)), "u")
        self.add(root, {"dtype": "float64", "shape": [2, 2]}, lambda t: [[[1.0, 2.0], [3.0, 4.0]]] * len(t), "grid")
        wrist = made.fixed(np.ones((12, 1), np.float32)), made.fixed(np.ones((14, 1), np.float32))
        self.add(root, {"dtype": "float32", "shape": [1]}, lambda t: wrist[len(t) == 14], "action.wrist")
        corpus = open_path(root)
        episode = next(iter(corpus.episodes([0])))
        channels = episode.channels
        assert {k: (c.role, c.values.shape, str(c.values.dtype)) for k, c in channels.items()} == {
            "observation.state": ("state", (5, 3), "float32"),
            "action": ("action", (5, 3), "float32"),
            "next.done": ("done", (5, 1), "bool"),
            "next.reward": ("reward", (5, 1), "float32"),
            "success": ("success", (5, 1), "bool"),
            "u": ("other", (5, 2), "uint8"),
            "grid": ("other", (5, 4), "float64"),
            "action.wrist": ("action", (5, 1), "float32"),
        }
        assert channels["grid"].values.tolist()[4] == [1, 2, 3, 4]
        assert channels["next.done"].values[:, 0].tolist() == [True] + [False] * 4
        # A shape of one is stored as plain numbers; a list of one fails in LeRobot.
        assert ("schema", "list_of_one", None) in made.codes(corpus.issues)
        assert [d.channel for d in corpus.facts.dims][-1] == "action.wrist"

    def test_what_is_no_number_is_named_with_its_reason(self, tmp_path: Path) -> None:
        root = made.make(tmp_path / "c")
        self.add(root, {"dtype": "string", "shape": [1]}, lambda t: ["hm"] * len(t), "note")
        self.add(root, {"dtype": "language", "shape": [1]}, lambda t: [["a", "b"]] * len(t), "language_events")
        self.add(root, {"dtype": "audio", "shape": [1]}, lambda t: [b"x"] * len(t), "microphone")
        self.add(root, {"dtype": "float32", "shape": [1]}, lambda t: np.ones(len(t), np.float32), "observation.tactile")
        made.edit_feature(root, "observation.depth", dtype="video", shape=[32, 48, 1])
        made.edit_feature(root, "front", dtype="video", shape=[32, 48, 3], info={"video.is_depth_map": True})
        corpus = open_path(root)
        unread = corpus.facts.unread
        assert unread.keys() == {
            "note",
            "language_events",
            "microphone",
            "observation.tactile",
            "observation.depth",
            "front",
        }
        assert "depth" in unread["front"]
        assert "audio" in unread["microphone"]
        assert list(next(iter(corpus.episodes([0]))).channels) == ["observation.state", "action", "observation.tactile"]
        raw = corpus.raw_columns(1, ["note", "language_events"])
        assert raw.num_rows == 7
        assert raw.column("language_events").to_pylist() == [["a", "b"]] * 7
        with pytest.raises(RecordingError, match="no column missing"):
            corpus.raw_columns(1, ["missing"])

    def test_numbers_declared_as_text(self, tmp_path: Path) -> None:
        root = made.make(tmp_path / "c")
        made.edit_feature(root, "action", dtype="string", shape=[1])
        corpus = open_path(root)
        (issue,) = [i for i in corpus.issues if i.check == "schema"]
        assert (issue.code, issue.channel, issue.kind) == ("text", "action", Kind.RISK)
        assert "action" in corpus.facts.unread

    def test_a_declared_column_that_is_absent(self, tmp_path: Path) -> None:
        root = made.make(tmp_path / "c")
        made.edit_feature(root, "observation.state.extra", dtype="float32", shape=[4])
        corpus = open_path(root)
        (issue,) = [i for i in corpus.issues if i.check == "schema"]
        assert (issue.code, issue.channel, issue.kind) == ("column_absent", "observation.state.extra", Kind.DEFECT)
        assert len(corpus.facts.dims) == len(next(iter(corpus.episodes([0]))).dims) == 6

    def test_a_column_that_is_not_declared(self, tmp_path: Path) -> None:
        root = self.add(made.make(tmp_path / "c"), None, lambda t: [1] * len(t), "__index_level_0__")
        corpus = open_path(root)
        assert made.codes(corpus.issues) == [("schema", "column_undeclared", None)]
        assert "extra" not in next(iter(corpus.episodes([0]))).channels

    def test_a_column_missing_from_one_file_is_told_of_its_episodes(self, tmp_path: Path) -> None:
        root = made.make(tmp_path / "c")
        made.edit_table(root / DATA_1, lambda t: t.drop_columns(["action"]))
        episodes = read(root)
        assert [made.codes(e.issues) for e in episodes] == [
            [],
            [],
            [("schema", "column_absent", 2)],
            [("schema", "column_absent", 3)],
        ]
        assert episodes[2].issues[0].subject == DATA_1
        assert list(episodes[3].channels) == ["observation.state"]

    def test_a_width_that_is_not_the_declared_one(self, tmp_path: Path) -> None:
        root = made.make(tmp_path / "c")
        made.edit_feature(root, "action", shape=[4], names=["a", "b", "c", "d"])
        corpus = open_path(root)
        (issue,) = corpus.issues
        assert (issue.code, issue.channel) == ("shape", "action")
        episode = next(iter(corpus.episodes([0])))
        assert episode.channels["action"].values.shape == (5, 3)
        assert episode.channels["action"].names == ("", "", "")
        assert episode.dims == corpus.facts.dims

    def test_another_type_than_declared_keeps_the_stored_one(self, tmp_path: Path) -> None:
        root = made.make(tmp_path / "c")
        made.edit_feature(root, "action", dtype="float64")
        corpus = open_path(root)
        assert [(i.code, i.kind) for i in corpus.issues] == [("dtype", Kind.RISK)]
        assert next(iter(corpus.episodes([0]))).channels["action"].values.dtype == np.float32

    def test_text_where_numbers_are_declared(self, tmp_path: Path) -> None:
        root = self.add(made.make(tmp_path / "c"), {"dtype": "float32", "shape": [1]}, lambda t: ["x"] * len(t))
        corpus = open_path(root)
        assert made.codes(corpus.issues) == [("schema", "type", None)]
        assert "extra" not in next(iter(corpus.episodes([0]))).channels

    def test_a_zero_length_feature_leaves_the_others_alone(self, tmp_path: Path) -> None:
        root = made.make(tmp_path / "c")
        made.edit_feature(root, "nothing", dtype="float32", shape=[0])
        corpus = open_path(root)
        (issue,) = [i for i in corpus.issues if i.code == "zero_length"]
        assert (issue.kind, issue.channel) == (Kind.DEFECT, "nothing")
        assert "nothing" in corpus.facts.unread
        values_hold(list(corpus.episodes(range(4))))

    def test_names_that_do_not_fit(self, tmp_path: Path) -> None:
        root = made.make(tmp_path / "c")
        made.edit_feature(root, "action", names=["one"])
        corpus = open_path(root)
        assert [(i.code, i.channel) for i in corpus.issues] == [("names", "action")]
        assert next(iter(corpus.episodes([0]))).channels["action"].names == ("", "", "")

    def test_a_key_with_a_slash(self, tmp_path: Path) -> None:
        root = self.add(
            made.make(tmp_path / "c"),
            {"dtype": "float32", "shape": [1]},
            lambda t: np.ones(len(t), np.float32),
            "arm/tip",
        )
        assert made.codes(open_path(root).issues) == [("schema", "feature_key", None)]

    def test_empty_and_ragged_cells_are_told_of_their_episode(self, tmp_path: Path) -> None:
        root = made.make(tmp_path / "c", episodes_a_file=4)

        def cells(table: pa.Table) -> pa.Table:
            lists = table.column("action").to_pylist()
            lists[6] = None  # in episode 1
            lists[13] = [1.0]  # in episode 2
            return made.with_column(table, "action", pa.array(lists, pa.list_(pa.float32())))

        made.edit_table(root / DATA_0, cells)
        episodes = read(root)
        assert [made.codes(e.issues) for e in episodes] == [
            [],
            [("schema", "cells", 1)],
            [("schema", "cells", 2)],
            [],
        ]
        patched = episodes[1].channels["action"].values
        assert np.isnan(patched[1]).all()
        np.testing.assert_array_equal(np.delete(patched, 1, 0), np.delete(made.state(1, 7) + np.float32(0.5), 1, 0))
        assert list(episodes[2].channels) == ["observation.state"]
        np.testing.assert_array_equal(episodes[3].channels["action"].values, made.state(3, 8) + np.float32(0.5))
        assert episodes[3].channels["action"].values.dtype == np.float32

    def test_without_timestamps_frames_are_evenly_spaced(self, tmp_path: Path) -> None:
        root = made.make(tmp_path / "c", "v2.1")
        for e in range(4):
            made.edit_table(root / SINGLE.format(e), lambda t: t.drop_columns(["timestamp"]))
        corpus = open_path(root)
        assert made.codes(corpus.issues) == [("schema", "column_absent", None)]
        episode = next(iter(corpus.episodes([0])))
        np.testing.assert_allclose(episode.times_s, np.arange(5) / 10)

    def test_without_an_episode_column_a_file_of_its_own_still_tells(self, tmp_path: Path) -> None:
        root = made.make(tmp_path / "c", "v2.1")
        made.edit_table(root / SINGLE.format(1), lambda t: t.drop_columns(["episode_index"]))
        episodes = read(root)
        assert ("schema", "episode_index", 1) in made.codes(episodes[1].issues)
        values_hold(episodes)


def test_a_column_of_a_longer_name_does_not_disturb(tmp_path: Path) -> None:
    """Arrow selects columns by the beginning of dotted names."""
    root = made.make(tmp_path / "c")
    made.edit_feature(root, "action.gripper", dtype="float32", shape=[1])
    for n in (0, 1):
        path = root / made.DATA_V3.format(n)
        made.edit_table(path, lambda t: made.with_column(t, "action.gripper", np.ones(len(t), np.float32)))
    corpus = open_path(root)
    assert made.codes(corpus.issues) == [("stats", "stats_absent", None)]
    values_hold(list(corpus.episodes(range(4))))


def test_episodes_in_any_order_and_again(tmp_path: Path) -> None:
    lengths = tuple(5 + e % 7 for e in range(40))
    corpus = open_path(made.make(tmp_path / "c", lengths=lengths, episodes_a_file=9, rows_a_group=16))
    rows = [0, 39, 38, 3, 3, 4, 20, 21, 22, 9, 8, 0]
    episodes = list(corpus.episodes(rows))
    assert [e.index for e in episodes] == rows
    values_hold(episodes, lengths)


def test_a_part_of_the_table_of_episodes_that_is_broken_is_rebuilt_from_the_data(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", cameras=[made.TOP])
    path = root / "meta/episodes/chunk-000/file-000.parquet"
    table = pa.parquet.read_table(path)
    made.write_table(path, table.slice(0, 3))
    (root / "meta/episodes/chunk-000/file-001.parquet").write_bytes(b"PAR1 cut off")
    corpus = open_path(root)
    assert made.codes(corpus.issues) == [("files", "episodes_rebuilt", None), ("files", "episodes_unreadable", None)]
    assert corpus.table.length.tolist() == [5, 7, 6, 8]
    assert corpus.table.tasks[3] == (made.TASKS[1],)
    episodes = list(corpus.episodes(range(4)))
    values_hold(episodes)
    # Only the table said where the last one lies in the video.
    assert [made.codes(e.issues) for e in episodes] == [[], [], [], [("pointers", "wrong_pointer", 3)]]


def test_what_a_crash_of_a_recorder_leaves_is_read(tmp_path: Path) -> None:
    """Neither the data nor the table of episodes has a footer."""
    lengths = (50, 70, 60, 80)
    root = made.make(tmp_path / "c", lengths=lengths, cameras=[made.TOP], episodes_a_file=4)
    made.write_table(root / DATA_0, pa.concat_tables([made.rows(e, n, 0, e % 2) for e, n in enumerate(lengths)]), 10)
    made.cut(root / DATA_0, 0.8)
    made.cut(root / "meta/episodes/chunk-000/file-000.parquet", 0.8)
    corpus = open_path(root)
    codes = {code for _, code, _ in made.codes(corpus.issues)}
    assert codes >= {"episodes_unreadable", "episodes_rebuilt", "footer_missing", "camera_without_pointers"}
    episodes = list(corpus.episodes(range(3)))
    values_hold(episodes, lengths)
    assert [e.tasks for e in episodes] == [(made.TASKS[e % 2],) for e in range(3)]
    assert corpus.facts.cameras == {}


def test_a_table_of_episodes_that_nothing_can_replace_is_an_error(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", episodes_a_file=4)
    made.cut(root / DATA_0, 10)
    made.cut(root / "meta/episodes/chunk-000/file-000.parquet", 0.8)
    with pytest.raises(CorpusError, match="meta/episodes holds no episode"):
        open_path(root)
