"""Arrow columns as arrays, against pyarrow's own conversion."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import made_datasets as made
import numpy as np
import pyarrow as pa
import pytest

from gristmill.errors import RecordingError
from gristmill.formats.lerobot.arrays import counts, items, numbers, valid, wide
from gristmill.formats.lerobot.columns import dense, patched

NUMBERS = [
    pa.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], pa.int64()),
    pa.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], pa.uint8()),
    pa.array([1.5, -2.0, float("nan"), 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0], pa.float32()),
    pa.array(np.arange(11, dtype=np.float16)),
    pa.array([True, False, True, True, False, False, True, False, True, True, False]),
    pa.array([1.0, None, 3.0, None, 5.0, 6.0, 7.0, 8.0, None, 10.0, 11.0], pa.float64()),
    pa.array([None] * 11, pa.float32()),
]


@pytest.mark.parametrize("array", NUMBERS, ids=lambda a: f"{a.type}-{a.null_count}")
@pytest.mark.parametrize(("start", "size"), [(0, 11), (3, 5), (8, 3), (9, 1), (4, 0)])
def test_numbers_of_any_slice_are_pyarrows(array: pa.Array, start: int, size: int) -> None:
    piece = array.slice(start, size)
    expected = piece.to_numpy(zero_copy_only=False)
    found = numbers(piece)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(valid(piece), piece.is_valid().to_numpy(zero_copy_only=False))


def test_whole_numbers_and_flags_with_empty_cells_become_floating() -> None:
    np.testing.assert_array_equal(numbers(pa.array([1, None, 3])), [1.0, np.nan, 3.0])
    np.testing.assert_array_equal(numbers(pa.array([True, None, False])), [1.0, np.nan, 0.0])


@pytest.mark.parametrize(
    "array",
    [
        pa.array([[1, 2], [3], [], [4, 5, 6], None, [7]]),
        pa.array([[1, 2], [3], [], [4, 5, 6]], pa.large_list(pa.int32())),
        pa.array([[1, 2], [3, 4], [5, 6], [7, 8]], pa.list_(pa.float32(), 2)),
        pa.array([[1, 2], None, [5, 6]], pa.list_(pa.float32(), 2)),
    ],
    ids=str,
)
def test_items_and_counts_of_any_slice_are_pyarrows(array: pa.Array) -> None:
    for start in range(len(array)):
        piece = array.slice(start)
        assert counts(piece).tolist() == [0 if row is None else len(row) for row in piece.to_pylist()]
        assert items(piece).to_pylist() == [v for row in piece.to_pylist() if row is not None for v in row]


def test_dense_takes_regular_rows_only() -> None:
    grid = pa.array([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
    found = dense(grid, 4)
    assert found is not None
    assert found.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert dense(grid, 3) is None
    assert dense(pa.array([[1.0, 2.0], [3.0]]), 2) is None
    assert dense(pa.array([[1.0], [2.0, 3.0, 4.0]]), 2) is None  # as many numbers as two regular rows
    assert dense(pa.array([[1.0, 2.0], None]), 2) is None
    assert dense(pa.array([1, None]), None) is None
    assert dense(pa.array([1.0, None]), None) is not None
    assert dense(pa.array([], pa.list_(pa.float32(), 3)), 3).shape == (0, 3)


def test_patched_fills_with_nan_and_refuses_ragged_rows() -> None:
    np.testing.assert_array_equal(
        patched(pa.array([[1.0, 2.0], None, [3.0, None]]), 2, "x"), [[1, 2], [np.nan, np.nan], [3, np.nan]]
    )
    np.testing.assert_array_equal(patched(pa.array([7, None]), None, "x"), [7, np.nan])
    np.testing.assert_array_equal(patched(pa.array([7, None]), 1, "x"), [[7], [np.nan]])
    nested = pa.array([[[1.0], [2.0]], None, [[3.0], [4.0]]])
    np.testing.assert_array_equal(patched(nested, 2, "x"), [[1, 2], [np.nan, np.nan], [3, 4]])
    for ragged in ([[1.0, 2.0], [3.0]], [[1.0], [2.0, 3.0, 4.0]], [[1.0, 2.0], []]):
        with pytest.raises(RecordingError, match="x: rows differ in length"):
            patched(pa.array(ragged), 2, "x")


def test_reading_loads_neither_pandas_nor_video(tmp_path: Path) -> None:
    made.make(tmp_path / "c", cameras=[made.TOP])
    code = (
        "import sys; from gristmill.sources import open_path\n"
        f"corpus = open_path({str(tmp_path / 'c')!r}); corpus.table; corpus.issues\n"
        "for episode in corpus.episodes(range(4)):\n"
        "    episode.channels, len(episode.cameras), episode.declared_stats['action']\n"
        "print([m for m in ('pandas', 'pyarrow.compute', 'av', 'numba', 'lance') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_signalling_nan_is_widened_in_silence() -> None:
    assert np.isnan(wide(np.array([0x7FA00000], np.uint32).view(np.float32))).all()
