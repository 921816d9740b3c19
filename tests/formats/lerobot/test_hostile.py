"""Metadata changed at random: it opens, or fails in one line; nothing else happens."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import made_datasets as made
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gristmill.errors import CorpusError, RecordingError
from gristmill.sources import open_path

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FUZZ = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def survives(root: Path) -> None:
    try:
        corpus = open_path(root)
        table = corpus.table
        assert len(table.values_stamp) == len(table.meta_digest) == len(table)
        for issue in corpus.issues:
            assert "\n" not in issue.message
        for episode in corpus.episodes(range(len(table))):
            try:
                assert all(len(c.values) == len(episode.times_s) for c in episode.channels.values())
            except RecordingError as error:
                assert "\n" not in str(error)
            {k: dict(v) for k, v in episode.declared_stats.items()}
    except CorpusError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 500


@pytest.fixture(params=["v2.1", "v3.0"])
def sound(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return made.make(tmp_path / "sound", request.param, lengths=(3, 4), cameras=[made.TOP])


def places(value: Any, at: tuple = ()) -> list[tuple]:
    """The paths of all values in a document."""
    found = [at]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        found += places(part, (*at, key))
    return found


def changed(document: Any, at: tuple, new: Any) -> Any:
    if not at:
        return new
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[at[0]] = changed(copy[at[0]], at[1:], new)
    return copy


@FUZZ
@given(st.data())
def test_info(sound: Path, data: st.DataObject) -> None:
    root = sound.parent / "changed"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(sound, root)
    path = root / "meta/info.json"
    info = json.loads(path.read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        info = changed(info, data.draw(st.sampled_from(places(info))), data.draw(JSON))
    path.write_text(json.dumps(info))
    survives(root)


@FUZZ
@given(data=st.data())
@pytest.mark.parametrize("name", ["episodes.jsonl", "tasks.jsonl", "episodes_stats.jsonl"])
def test_lines(tmp_path: Path, name: str, data: st.DataObject) -> None:
    root = tmp_path / "c"
    shutil.rmtree(root, ignore_errors=True)
    path = made.make(root, "v2.1", lengths=(3, 4)) / "meta" / name
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    at = data.draw(st.sampled_from(places(lines)[1:]))
    lines = changed(lines, at, data.draw(JSON))
    made.write_lines(path, lines)
    survives(root)


@FUZZ
@given(data=st.data())
def test_columns_of_the_table_of_episodes(tmp_path: Path, data: st.DataObject) -> None:
    root = tmp_path / "c"
    shutil.rmtree(root, ignore_errors=True)
    path = made.make(root, lengths=(3, 4), cameras=[made.TOP]) / "meta/episodes/chunk-000/file-000.parquet"
    table = pq.read_table(path)
    name = data.draw(st.sampled_from(table.column_names))
    kind = data.draw(
        st.sampled_from(
            [
                st.integers(-(2**62), 2**62) | st.none(),
                st.floats() | st.none(),
                st.text(max_size=5) | st.none(),
                st.lists(st.text(max_size=5), max_size=3) | st.none(),
                st.lists(st.floats(), max_size=3) | st.none(),
                st.booleans() | st.none(),
            ]
        )
    )
    values = pa.array(data.draw(st.lists(kind, min_size=2, max_size=2)))
    made.write_table(path, made.with_column(table, name, values))
    survives(root)


@FUZZ
@given(data=st.data())
def test_bytes_of_any_table(tmp_path: Path, data: st.DataObject) -> None:
    root = tmp_path / "c"
    shutil.rmtree(root, ignore_errors=True)
    made.make(root, lengths=(30, 40), rows_a_group=20)
    name = data.draw(
        st.sampled_from([made.DATA_V3.format(0), "meta/tasks.parquet", "meta/episodes/chunk-000/file-000.parquet"])
    )
    content = bytearray((root / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (root / name).write_bytes(content)
    survives(root)
