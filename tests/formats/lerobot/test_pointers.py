"""Windows in shared videos: overlaps and displacements are blamed on the episode that is wrong."""

from __future__ import annotations

from pathlib import Path

import made_datasets as made
import numpy as np
import pytest

from gristmill.finding import Kind
from gristmill.formats.lerobot.rows import shared_files
from gristmill.sources import open_path

FROM, TO = (f"videos/{made.TOP}/{end}_timestamp" for end in ("from", "to"))
FILE = f"videos/{made.TOP}/file_index"
LENGTHS = [20, 30, 25, 40, 22, 35]


def blamed(tmp_path: Path, change, lengths: list[int] = LENGTHS, episodes_a_file: int = 6) -> list[tuple]:
    root = made.make(tmp_path / "c", lengths=lengths, cameras=[made.TOP], episodes_a_file=episodes_a_file)
    made.edit_episodes(root, change)
    corpus = open_path(root)
    found = [i for e in corpus.episodes(range(len(lengths))) for i in e.issues]
    assert all(i.check == "pointers" and i.kind is Kind.DEFECT and i.camera == made.TOP for i in found)
    return sorted({(i.code, i.episode) for i in found})


def move(to_window_of: int, row: int):
    def change(rows: list[dict]) -> None:
        rows[row] |= {key: rows[to_window_of][key] for key in (FROM, TO, FILE)}

    return change


@pytest.mark.parametrize(("row", "other"), [(2, 3), (3, 2), (1, 4), (5, 0), (4, 5)])
def test_the_window_of_another_episode(tmp_path: Path, row: int, other: int) -> None:
    # A shorter window is also too short for the rows.
    found = blamed(tmp_path, move(other, row))
    assert {episode for _, episode in found} == {row}
    assert ("wrong_pointer", row) in found


def test_windows_that_all_begin_at_zero_are_all_wrong_but_the_first_is_not_spared(tmp_path: Path) -> None:
    def change(rows: list[dict]) -> None:
        for row in rows:
            row[FROM], row[TO] = 0.0, row["length"] / made.FPS

    assert len(blamed(tmp_path, change)) >= 5


def test_a_shift_by_a_second(tmp_path: Path) -> None:
    def change(rows: list[dict]) -> None:
        rows[2][FROM] += 1.0
        rows[2][TO] += 1.0

    assert blamed(tmp_path, change) == [("wrong_pointer", 2)]


def test_a_window_of_its_own_in_another_file_accuses_nobody(tmp_path: Path) -> None:
    """Tools that replace one episode's video write it to another file and leave a gap behind."""

    def change(rows: list[dict]) -> None:
        rows[1] |= {FILE: 1, FROM: 90.0, TO: 93.0}

    assert blamed(tmp_path, change, episodes_a_file=3) == []


def test_a_window_shorter_than_the_rows(tmp_path: Path) -> None:
    def change(rows: list[dict]) -> None:
        rows[3][FROM] += 1.0

    assert blamed(tmp_path, change) == [("window_short", 3)]


@pytest.mark.parametrize("value", [float("nan"), -3.0, None])
def test_no_window_at_all(tmp_path: Path, value: float | None) -> None:
    assert ("wrong_pointer", 1) in blamed(tmp_path, lambda rows: rows[1].update({FROM: value}))


def test_ends_that_drift_by_a_frame_accuse_nobody(tmp_path: Path) -> None:
    def change(rows: list[dict]) -> None:
        for n, row in enumerate(rows):
            row[FROM] += 0.02 * n
            row[TO] += 0.02 * n + 0.1

    assert blamed(tmp_path, change) == []


def test_an_order_of_its_own_accuses_nobody(tmp_path: Path) -> None:
    """Episodes may lie in a video in another order than in the table."""

    def change(rows: list[dict]) -> None:
        at = 0.0
        for row in reversed(rows):
            row[FROM], row[TO] = at, at + row["length"] / made.FPS
            at = row[TO]

    assert blamed(tmp_path, change) == []


def test_a_length_that_lies_is_no_matter_of_windows(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", lengths=LENGTHS, cameras=[made.TOP], episodes_a_file=6)
    made.edit_episodes(root, lambda rows: rows[2].update(length=90))
    corpus = open_path(root)
    assert [made.codes(e.issues) for e in corpus.episodes(range(6))] == [
        [("files", "count_lie", 2)] if e == 2 else [] for e in range(6)
    ]


def test_a_camera_without_columns_is_one_issue_of_the_corpus(tmp_path: Path) -> None:
    def change(rows: list[dict]) -> None:
        for row in rows:
            for key in [k for k in row if k.startswith("videos/")]:
                del row[key]

    root = made.make(tmp_path / "c", cameras=[made.TOP])
    made.edit_episodes(root, change)
    corpus = open_path(root)
    codes = made.codes(corpus.issues)
    assert ("pointers", "camera_without_pointers", None) in codes
    assert corpus.facts.cameras == {}
    assert all(e.issues == () for e in corpus.episodes(range(4)))


def test_windows_of_a_camera_without_files_accuse_nobody(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", lengths=LENGTHS, cameras=[made.TOP], episodes_a_file=6)
    made.edit_episodes(root, move(3, 2))
    (root / f"videos/{made.TOP}/chunk-000/file-000.mp4").unlink()
    corpus = open_path(root)
    assert made.codes(corpus.issues) == [("files", "camera_absent", None)]
    assert all(e.issues == () for e in corpus.episodes(range(6)))


def test_slices_of_a_shared_file_know_their_neighbours() -> None:
    ids = np.array([0, 0, 1, 0, -1], np.int32)
    start_s = np.array([0.0, 5.0, 0.0, 2.0, np.nan])
    slices = shared_files(["a", "a", "b", "a", ""], ids, start_s, start_s + 1)
    np.testing.assert_array_equal(slices.next_s, [2.0, np.nan, np.nan, 5.0, np.nan])
    assert slices.alone.tolist() == [False, False, True, False, False]


def test_cameras_are_cut_by_the_metadata(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", cameras=[made.TOP])
    cameras = [e.cameras[made.TOP] for e in open_path(root).episodes(range(4))]
    assert [c.start_s for c in cameras] == [0.0, 0.5, 0.0, 0.6]
    assert [c.stop_s for c in cameras] == [0.5, None, 0.6, None]
    assert [c.frames for c in cameras] == [5, 7, 6, 8]
    assert [str(c.path.relative_to(root)) for c in cameras] == [
        f"videos/{made.TOP}/chunk-000/file-{n:03d}.mp4" for n in (0, 0, 1, 1)
    ]
    assert [c.whole_file for c in cameras] == [False] * 4
    assert cameras[1].where == f"episode 1, camera {made.TOP}"


def test_the_cameras_file_is_independent_of_the_tables(tmp_path: Path) -> None:
    """One video file for all episodes, although the tables are two."""
    root = made.make(tmp_path / "c", cameras=[made.TOP])

    def change(rows: list[dict]) -> None:
        at = 0.0
        for row in rows:
            row[FILE], row[FROM], row[TO] = 0, at, at + row["length"] / made.FPS
            at = row[TO]

    made.edit_episodes(root, change)
    (root / f"videos/{made.TOP}/chunk-000/file-001.mp4").unlink()
    corpus = open_path(root)
    assert corpus.issues == ()
    cameras = [e.cameras[made.TOP] for e in corpus.episodes(range(4))]
    assert [c.path.name for c in cameras] == ["file-000.mp4"] * 4
    np.testing.assert_allclose([c.start_s for c in cameras], [0.0, 0.5, 1.2, 1.8])
