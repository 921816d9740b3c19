"""Nothing is written into recordings, and nothing that is wrong everywhere passes as clean."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gristmill
from gristmill.audit import Verdict
from gristmill.cli import run
from gristmill.errors import UsageError


@pytest.fixture
def corpus(sample_corpus: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sample_corpus, tmp_path / "arm"))


def change(corpus: Path, column: str, edit) -> None:
    """Change one list column of the data, in place."""
    path = next((corpus / "data").rglob("*.parquet"))
    table = pq.read_table(path)
    values = np.stack(table[column].to_pylist()).astype(np.float32)
    edit(values, np.array(table["episode_index"]), np.array(table["frame_index"]))
    column_type = table.schema.field(column).type
    made = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1]).cast(column_type)
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, made), path, row_group_size=2000)


def test_what_is_not_finite_everywhere_is_not_exported_as_clean(corpus: Path, tmp_path: Path) -> None:
    change(corpus, "action", lambda values, episode, frame: values.fill(np.nan))
    project = gristmill.open(corpus, store=tmp_path / "s")
    assert set(project.audit().verdict) == {Verdict.QUARANTINE}
    with pytest.raises(UsageError, match="no episode is left"):
        project.curate(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_declared_rate_that_is_wrong_everywhere_is_not_exported_as_right(corpus: Path, tmp_path: Path) -> None:
    path = corpus / "meta" / "info.json"
    info = json.loads(path.read_text())
    path.write_text(json.dumps(info | {"fps": 60}))
    project = gristmill.open(corpus, store=tmp_path / "s")
    assert set(project.audit().verdict) == {Verdict.QUARANTINE}


def test_trimming_bad_samples_leaves_none_of_them(corpus: Path, tmp_path: Path) -> None:
    bad = (5, 30, 55, 80, 105)

    def spoil(values, episode, frame):
        values[(episode == 3) & np.isin(frame, bad), 0] = np.nan

    change(corpus, "observation.state", spoil)
    recipe = tmp_path / "r.toml"
    recipe.write_text('[gate.rules]\nnon_finite = "trim"\n[trim]\nmin_kept_s = 0.5\n')
    done = gristmill.open(corpus, store=tmp_path / "s", recipe=recipe).curate()
    assert done.snapshot is not None
    kept = [range(s.start, s.stop) for s in done.snapshot.kept() if s.episode_index == 3]
    assert kept
    assert not any(frame in span for span in kept for frame in bad)


@pytest.mark.parametrize("name", ["meta/info.json", "new.json", "data/chunk-000/file-000.parquet"])
def test_no_output_goes_into_a_corpus(corpus: Path, tmp_path: Path, name: str) -> None:
    target = corpus / name
    before = target.read_bytes() if target.exists() else None
    store = ["--store", str(tmp_path / "s")]
    for command in (
        ["audit", str(corpus), "--json", str(target), *store],
        ["audit", str(corpus), "--report", str(target), *store],
        ["audit", str(corpus), "--store", str(target)],
        ["curate", str(corpus), "--format", "index", "--out", str(target), "--overwrite", *store],
        ["curate", str(corpus), "--out", str(tmp_path / "o"), "--report", str(target), *store],
    ):
        assert run(command) == 2, command
        assert (target.read_bytes() if target.exists() else None) == before


def test_a_pipe_is_written_to_and_not_replaced(corpus: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert (
            run(["audit", str(corpus), "--episodes", "0:2", "--json", str(pipe), "--store", str(tmp_path / "s")]) == 0
        )
        assert json.loads(os.read(reader, 1 << 20))["schema"] == 1
        assert pipe.is_fifo()
    finally:
        os.close(reader)


def test_metadata_that_is_a_pipe_does_not_hang(corpus: Path, tmp_path: Path) -> None:
    info = corpus / "meta" / "info.json"
    info.unlink()
    os.mkfifo(info)
    assert run(["audit", str(corpus), "--store", str(tmp_path / "s")]) == 2


def test_a_mistyped_path_is_not_remembered(corpus: Path, tmp_path: Path, monkeypatch, capfd) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    store = ["--store", str(tmp_path / "s")]
    assert run(["audit", str(corpus), *store]) == 0
    assert run(["audit", "dat/monday", *store]) == 2
    assert run(["why", "0", *store]) == 0
    assert run(["status", *store]) == 0
    assert "monday" not in capfd.readouterr().out


def test_columns_of_one_name_stay_apart(corpus: Path, tmp_path: Path, capfd) -> None:
    store = ["--store", str(tmp_path / "s")]
    run(["audit", str(corpus), *store])
    capfd.readouterr()
    assert run(["query", "select 'a' as x, 'b' as x, 'c' as y", "--format", "csv", *store]) == 0
    assert capfd.readouterr().out.split() == ["x,x,y", "a,b,c"]


def test_only_exports_of_snapshots_are_overwritten(corpus: Path, tmp_path: Path) -> None:
    sample = Path(shutil.copytree(corpus, tmp_path / "another"))
    project = gristmill.open(corpus, store=tmp_path / "s")
    with pytest.raises(UsageError):
        project.curate(sample, overwrite=True)
    project.curate(tmp_path / "out")
    project.curate(tmp_path / "out", overwrite=True)


def test_asking_before_anything_was_audited_is_a_wrong_request(tmp_path: Path, capfd) -> None:
    for command in (["status"], ["log"], ["why", "0"], ["query", "select 1"], ["diff", "a", "b"], ["gc"]):
        assert run([*command, "--store", str(tmp_path / "none")]) == 2, command
    assert "audit a corpus first" in capfd.readouterr().err
