"""Tables read in order and in slices, whatever their row groups, and damaged ones up to the damage."""

from __future__ import annotations

from pathlib import Path

import made_datasets as made
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.errors import RecordingError
from gristmill.formats.lerobot import slices
from gristmill.formats.lerobot.columns import ColumnPlan
from gristmill.formats.lerobot.slices import RowReader, is_regular, settle
from gristmill.formats.lerobot.tables import Run, Table


def written(path: Path, rows_a_group: int | None, lengths: tuple[int, ...] = (300, 200, 500, 24)) -> pa.Table:
    parts = [made.rows(e, n, 0) for e, n in enumerate(lengths)]
    table = pa.concat_tables(parts)
    made.write_table(path, table, rows_a_group)
    return table


PLANS = (ColumnPlan("observation.state", 0, 3), ColumnPlan("episode_index", 4, None))


@pytest.mark.parametrize("rows_a_group", [None, 1, 7, 100, 300])
def test_slices_in_any_order_are_those_of_the_table(
    tmp_path: Path, rows_a_group: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "BATCH_ROWS", 64)
    table = written(tmp_path / "t.parquet", rows_a_group)
    expected = np.stack(table.column("observation.state").to_numpy())
    reader = RowReader(Table(tmp_path / "t.parquet", "t"), PLANS)
    rng = np.random.default_rng(0)
    wanted = [(0, 1), (0, 1024), (1023, 1024), (60, 70), (63, 65), (64, 128)]
    wanted += [tuple(sorted(rng.choice(1025, 2, replace=False))) for _ in range(30)]
    for start, stop in wanted:
        found = reader.read(int(start), int(stop))
        np.testing.assert_array_equal(found["observation.state"], expected[start:stop])
        assert len(found["episode_index"]) == stop - start


@pytest.mark.parametrize("rows_a_group", [None, 7, 300])
def test_runs(tmp_path: Path, rows_a_group: int | None) -> None:
    written(tmp_path / "t.parquet", rows_a_group)
    runs = Table(tmp_path / "t.parquet", "t").runs()
    assert runs == {0: [Run(0, 300)], 1: [Run(300, 500)], 2: [Run(500, 1000)], 3: [Run(1000, 1024)]}


def test_runs_that_come_again(tmp_path: Path) -> None:
    made.write_table(tmp_path / "t.parquet", pa.table({"episode_index": [5, 5, 2, 5, 7, 7]}), 2)
    assert Table(tmp_path / "t.parquet", "t").runs() == {5: [Run(0, 2), Run(3, 4)], 2: [Run(2, 3)], 7: [Run(4, 6)]}


@pytest.mark.parametrize("column", [{"episode_index": [1.5, 2.5]}, {"episode_index": ["a"]}, {"other": [1]}])
def test_runs_need_whole_numbers(tmp_path: Path, column: dict) -> None:
    made.write_table(tmp_path / "t.parquet", pa.table(column))
    with pytest.raises(RecordingError, match="t has no integer column episode_index"):
        Table(tmp_path / "t.parquet", "t").runs()


def test_rows_before_a_broken_page_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table = written(path, 256)
    column = pq.ParquetFile(path).metadata.row_group(2).column(0)
    data = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    data[start : start + column.total_compressed_size] = bytes(column.total_compressed_size)
    path.write_bytes(data)
    reader = RowReader(Table(path, "t"), PLANS)
    expected = np.stack(table.column("observation.state").to_numpy())
    np.testing.assert_array_equal(reader.read(0, 300)["observation.state"], expected[:300])
    for start, stop in ((600, 610), (500, 520), (600, 610)):
        with pytest.raises(RecordingError, match="t cannot be read"):
            reader.read(start, stop)
    np.testing.assert_array_equal(reader.read(800, 1024)["observation.state"], expected[800:])
    np.testing.assert_array_equal(reader.read(10, 20)["observation.state"], expected[10:20])


def test_runs_leave_out_what_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    written(path, 256)
    names = [pq.ParquetFile(path).metadata.row_group(1).column(i).path_in_schema for i in range(7)]
    column = pq.ParquetFile(path).metadata.row_group(1).column(names.index("episode_index"))
    data = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    data[start : start + column.total_compressed_size] = bytes(column.total_compressed_size)
    path.write_bytes(data)
    # Rows 256 to 511 are not known: those of episodes 0, 1 and the first of 2.
    assert Table(path, "t").runs() == {0: [Run(0, 256)], 2: [Run(512, 1000)], 3: [Run(1000, 1024)]}


def test_irregular_rows_are_settled_by_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "BATCH_ROWS", 64)
    lists = [[float(i), float(i)] for i in range(300)]
    lists[70] = None  # type: ignore[call-overload]
    lists[200] = [1.0]
    made.write_table(tmp_path / "t.parquet", pa.table({"x": pa.array(lists, pa.list_(pa.float32()))}))
    reader = RowReader(Table(tmp_path / "t.parquet", "t"), [ColumnPlan("x", 0, 2)])
    regular = reader.read(10, 70)["x"]
    assert is_regular(regular, 2)
    assert settle(regular, 2, "x").dtype == np.float32
    patched = reader.read(50, 140)["x"]
    assert not is_regular(patched, 2)
    values = settle(patched, 2, "x")
    assert np.isnan(values[20]).all()
    assert np.isfinite(np.delete(values, 20, 0)).all()
    with pytest.raises(RecordingError, match="differ in length"):
        settle(reader.read(190, 250)["x"], 2, "x")


def test_large_cells_come_a_few_at_a_time(tmp_path: Path) -> None:
    cells = [{"bytes": bytes([i % 256]) * 10, "path": None} for i in range(100)]
    made.write_table(tmp_path / "t.parquet", pa.table({"image": cells}), 40)
    table = Table(tmp_path / "t.parquet", "t")
    assert [c["bytes"][0] for c in table.cells("image", 35, 90)] == list(range(35, 90))
    assert table.rows_of(["image"], 35, 90).column("image").to_pylist() == cells[35:90]


def test_one_batch_stands_in_memory_not_the_file(tmp_path: Path) -> None:
    """A file of one row group, 24 MB of numbers that do not compress, is read in a few MB."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(500_000, 12)).astype(np.float32)
    table = pa.table({"x": made.fixed(values), "episode_index": np.arange(500_000) // 200})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=500_000, use_dictionary=False)
    del table
    reader = RowReader(Table(tmp_path / "t.parquet", "t"), [ColumnPlan("x", 0, 12)])
    pool = pa.default_memory_pool()
    before, most = pool.bytes_allocated(), 0
    for start in range(0, 500_000, 10_000):
        part = reader.read(start, start + 200)["x"]
        np.testing.assert_array_equal(part, values[start : start + 200])
        most = max(most, pool.bytes_allocated() - before)
    assert most < 8 << 20
