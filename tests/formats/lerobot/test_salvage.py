"""Parquet files whose end is gone: complete row groups come back, bit for bit."""

from __future__ import annotations

from pathlib import Path

import made_datasets as made
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import RecordingError
from gristmill.finding import Kind
from gristmill.formats.lerobot.compact import MalformedError, Reader, encode
from gristmill.formats.lerobot.salvage import Pattern, recover
from gristmill.sources import open_path

WIDTHS = {"observation.state": 3, "action": 3}
LENGTHS = (50, 70, 60, 80)


def table(rows: int = 400) -> pa.Table:
    return made.rows(3, rows, 100)


@pytest.mark.parametrize("compression", ["snappy", "zstd", "gzip", "none", "brotli", "lz4"])
@pytest.mark.parametrize("page", ["1.0", "2.0"])
def test_all_complete_row_groups_come_back(tmp_path: Path, compression: str, page: str) -> None:
    whole, path = tmp_path / "whole.parquet", tmp_path / "cut.parquet"
    pq.write_table(table(), whole, row_group_size=100, compression=compression, data_page_version=page)
    third = pq.ParquetFile(whole).metadata.row_group(3).column(0)
    start = third.dictionary_page_offset or third.data_page_offset
    for size, rows in ((len(whole.read_bytes()) - 8, 400), (start + 300, 300), (start - 1, 200)):
        path.write_bytes(whole.read_bytes()[:size])
        for pattern in (Pattern.of_file(whole, WIDTHS), Pattern.of_schema(table().schema, WIDTHS)):
            source = recover(path, pattern)
            assert source is not None
            assert pq.read_table(source).equals(table().slice(0, rows))


def test_columns_of_many_pages_and_without_dictionaries(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rng = np.random.default_rng(0)
    written = made.with_column(table(3000), "action", made.fixed(rng.normal(size=(3000, 3)).astype(np.float32)))
    written = made.with_column(written, "flag", np.arange(3000) % 2 == 0)
    written = made.with_column(written, "note", [f"row {i}" for i in range(3000)])
    pq.write_table(written, path, row_group_size=1500, data_page_size=1024, use_dictionary=["observation.state"])
    pattern = Pattern.of_file(path, WIDTHS)
    made.cut(path, -8)
    source = recover(path, pattern)
    assert source is not None
    assert pq.read_table(source).equals(written)


def test_nothing_comes_back_of_what_is_no_table(tmp_path: Path) -> None:
    pattern = Pattern.of_schema(table().schema, WIDTHS)
    path = tmp_path / "x.parquet"
    for data in (b"", b"PAR1", b"PAR1" + bytes(1000), bytes(range(256)) * 40, b"PAR1" + bytes(range(256)) * 40):
        path.write_bytes(data)
        assert recover(path, pattern) is None
    assert recover(tmp_path / "absent", pattern) is None
    assert recover(path, None) is None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_anywhere_never_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("damage") / "t.parquet"
    pq.write_table(table(120), path, row_group_size=40)
    content = bytearray(path.read_bytes()[:-8])
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(4, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    source = recover(path, Pattern.of_schema(table().schema, WIDTHS))
    if source is not None:
        try:
            pq.read_table(source)
        except (pa.ArrowException, OSError):
            return


@given(st.binary(max_size=200))
def test_any_bytes_are_a_struct_or_malformed(data: bytes) -> None:
    try:
        found = Reader(data).struct()
    except MalformedError:
        return
    assert Reader(encode(found)).struct() == found


def test_footers_survive_reading_and_writing(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(table(), path, row_group_size=100)
    data = path.read_bytes()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    assert encode(Reader(footer).struct()) == footer


def test_a_crash_in_a_packed_corpus_loses_only_the_episodes_behind_the_cut(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", lengths=LENGTHS, episodes_a_file=4, rows_a_group=60)
    path = root / made.DATA_V3.format(0)
    group = pq.ParquetFile(path).metadata.row_group(3).column(0)
    made.cut(path, group.dictionary_page_offset + 10)  # 180 rows: episodes 0, 1 and 2
    corpus = open_path(root)
    (told,) = corpus.issues
    assert (told.code, told.kind) == ("footer_missing", Kind.DEFECT)
    assert "180 complete rows" in told.message
    episodes = list(corpus.episodes(range(4)))
    assert [made.codes(e.issues) for e in episodes] == [[], [], [], [("files", "footer_missing", 3)]]
    for episode in episodes[:3]:
        expected = made.state(episode.index, LENGTHS[episode.index])
        np.testing.assert_array_equal(episode.channels["observation.state"].values, expected)
    with pytest.raises(RecordingError, match="cut off"):
        episodes[3].channels  # noqa: B018


def test_an_episode_cut_in_its_middle_is_lost(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", lengths=LENGTHS, episodes_a_file=4, rows_a_group=60)
    path = root / made.DATA_V3.format(0)
    group = pq.ParquetFile(path).metadata.row_group(2).column(0)
    made.cut(path, group.dictionary_page_offset + 10)  # 120 rows: 0 and 1 end there
    episodes = list(open_path(root).episodes(range(4)))
    assert [bool(e.issues) for e in episodes] == [False, False, True, True]
    made.make(tmp_path / "d", lengths=LENGTHS, episodes_a_file=4, rows_a_group=50)
    path = tmp_path / "d" / made.DATA_V3.format(0)
    group = pq.ParquetFile(path).metadata.row_group(2).column(0)
    made.cut(path, group.dictionary_page_offset + 10)  # 100 rows: 50 of episode 1's 70
    episodes = list(open_path(tmp_path / "d").episodes(range(4)))
    assert [made.codes(e.issues)[:1] for e in episodes] == [[]] + [[("files", "footer_missing", e)] for e in (1, 2, 3)]


def test_a_single_episodes_table_without_footer_is_recovered_and_a_risk(tmp_path: Path) -> None:
    root = made.make(tmp_path / "c", "v2.1", lengths=LENGTHS)
    made.cut(root / "data/chunk-000/episode_000001.parquet", -20)
    made.cut(root / "data/chunk-000/episode_000002.parquet", 0.4)
    episodes = list(open_path(root).episodes(range(4)))
    assert [made.codes(e.issues) for e in episodes] == [
        [],
        [("files", "footer_missing", 1)],
        [("files", "data_unreadable", 2)],
        [],
    ]
    assert episodes[1].issues[0].kind is Kind.RISK
    np.testing.assert_array_equal(episodes[1].channels["observation.state"].values, made.state(1, 70))
