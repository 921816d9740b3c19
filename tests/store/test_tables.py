"""One Lance table: batches in, newest rows out, rewritten whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gristmill.errors import StoreError
from gristmill.store.tables import Table, among, newest


def key(i: int) -> bytes:
    return i.to_bytes(16, "little")


def rows(numbers: list[int], value: float = 0.0, failed: bool = False) -> pa.Table:
    return pa.table(
        {
            "input": pa.array([key(i) for i in numbers], pa.binary(16)),
            "failed": pa.array([failed] * len(numbers)),
            "x": pa.array([value + i for i in numbers]),
            "l": pa.array([[float(i)] * 2 for i in numbers], pa.list_(pa.float64())),
        }
    )


def wanted(*numbers: int | None) -> pa.Array:
    return pa.array([None if i is None else key(i) for i in numbers], pa.binary(16))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "stages" / "spike" / "key.lance")


def test_newest_position_of_each_key() -> None:
    assert newest(wanted(1, 9, None, 2), wanted(1, 2, 1, 3)).to_pylist() == [2, None, None, 1]
    assert newest(wanted(1), wanted()).to_pylist() == [None]
    assert among(wanted(1, None, 4), wanted(4, 5)).tolist() == [False, False, True]


def test_a_table_that_was_never_written_is_empty(table: Table) -> None:
    assert len(table) == 0
    assert table.read() is None
    assert table.schema is None
    assert table.aligned(wanted(1)) is None
    assert len(table.keys(settled=True)) == 0


def test_rows_are_found_by_input_in_the_order_asked_and_the_newest_holds(table: Table) -> None:
    table.append(rows([1, 2, 3]), {"stage": "spike"})
    table.append(rows([2, 4], value=100.0))
    found = table.aligned(wanted(4, 1, 7, 2, 2), ["x", "l"])
    assert found is not None
    assert found["x"].to_pylist() == [104.0, 1.0, None, 102.0, 102.0]
    assert found["l"].to_pylist() == [[4.0, 4.0], [1.0, 1.0], None, [2.0, 2.0], [2.0, 2.0]]
    assert found["found"].to_pylist() == [True, True, False, True, True]
    assert table.aligned(wanted(7, 8)) is None
    assert Table(table.path).about == {"stage": "spike"}


def test_few_rows_of_many_are_read_alone(table: Table) -> None:
    table.append(rows(list(range(100))))
    table.append(rows([5], value=1000.0))
    found = table.aligned(wanted(70, 5, 200), ["x"])
    assert found is not None
    assert found["x"].to_pylist() == [70.0, 1005.0, None]


def test_failed_rows_are_not_settled(table: Table) -> None:
    table.append(rows([1, 2]))
    table.append(rows([3], failed=True))
    assert table.keys(settled=True).to_pylist() == [key(1), key(2)]
    assert len(table.keys()) == 3


def test_other_columns_under_the_same_key_are_refused(table: Table) -> None:
    table.append(rows([1]))
    with pytest.raises(StoreError, match="raise `version`"):
        table.append(rows([2]).drop_columns(["x"]))
    table.append(rows([2]).select(["x", "l", "failed", "input"]))  # their order does not matter
    assert len(table) == 2


def test_compaction_merges_pieces_and_frees_them(table: Table) -> None:
    for i in range(6):
        table.append(rows([i]))
    before = table.read()
    assert table.fragments == 6
    table.compact()
    assert table.fragments == 1
    assert table.read() == before
    assert len(list((table.path / "data").iterdir())) == 1
    assert Table(table.path).read() == before


def test_rewriting_leaves_rows_out_for_good(table: Table) -> None:
    table.append(rows([1, 2, 3]), {"stage": "spike"})
    table.append(rows([4, 5]))
    table.rewrite(np.array([True, False, True, False, True]))
    assert table.keys().to_pylist() == [key(1), key(3), key(5)]
    assert Table(table.path).keys().to_pylist() == [key(1), key(3), key(5)]
    assert Table(table.path).about == {"stage": "spike"}
    table.append(rows([6]))
    assert len(table) == 4


def test_a_reader_survives_a_compaction_meanwhile(table: Table) -> None:
    for i in range(4):
        table.append(rows([i]))
    reader = Table(table.path)
    assert reader.schema is not None  # opened at the old version
    table.compact()
    assert reader.keys().to_pylist() == [key(i) for i in range(4)]


def test_a_first_commit_that_was_cut_off_leaves_no_table(table: Table) -> None:
    (table.path / "data").mkdir(parents=True)
    (table.path / "data" / "half.lance").write_bytes(b"half")
    assert table.read() is None
    table.append(rows([1]))
    assert len(table) == 1
    assert not (table.path / "data" / "half.lance").exists()


def test_tidying_removes_files_of_writers_that_died(table: Table) -> None:
    table.append(rows([1]))
    stray = table.path / "data" / f"{'01' * 25}.lance"
    stray.write_bytes(b"half")
    table.tidy()
    assert not stray.exists()
    assert len(table) == 1


def test_a_dropped_table_is_gone_and_can_be_made_again(table: Table) -> None:
    table.append(rows([1]))
    table.drop()
    assert not table.path.exists()
    table.append(rows([2]))
    assert table.keys().to_pylist() == [key(2)]


def test_a_damaged_table_is_told_in_one_line(table: Table) -> None:
    table.append(rows([1]))
    for file in (table.path / "data").iterdir():
        file.write_bytes(b"nonsense")
    with pytest.raises(StoreError, match=r"reading failed: .*; if it fails again, move this folder away") as caught:
        Table(table.path).read()
    assert "\n" not in str(caught.value)
