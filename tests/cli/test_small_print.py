"""What scripts rely on: JSON on standard output, statuses of mistakes, closed streams."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import gristmill
from gristmill import audit_json
from gristmill.cli import run
from gristmill.store import Store


def test_json_on_standard_output_and_nothing_else(sample_corpus: Path, tmp_path: Path, capfdbinary) -> None:
    assert run(["audit", str(sample_corpus), "--store", str(tmp_path / "s"), "--json", "-", "-q"]) == 0
    content = json.loads(capfdbinary.readouterr().out)
    jsonschema.Draft202012Validator(audit_json.schema()).validate(content)


@pytest.mark.parametrize("command", ["sample", "inject"])
def test_a_negative_seed_is_a_mistake_of_usage(command: str, sample_corpus: Path, tmp_path: Path, capfd) -> None:
    place = [str(sample_corpus)] if command == "inject" else []
    more = ["--truth", str(tmp_path / "t.json")] if command == "inject" else []
    assert run([command, *place, "--out", str(tmp_path / "o"), "--seed", "-5", *more]) == 2
    assert "seed" in capfd.readouterr().err


def test_an_empty_selection_is_a_mistake_of_usage(sample_corpus: Path, tmp_path: Path, capfd) -> None:
    assert run(["audit", str(sample_corpus), "--store", str(tmp_path / "s"), "--episodes", ""]) == 2
    assert "--episodes" in capfd.readouterr().err


def test_a_store_in_use_is_status_2(sample_corpus: Path, tmp_path: Path, capfd) -> None:
    with Store.open(tmp_path / "s"):
        code = "import sys; from gristmill.cli import run; sys.exit(run(sys.argv[1:]))"
        command = [sys.executable, "-c", code, "audit", str(sample_corpus), "--store", str(tmp_path / "s"), "-q"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is writing to this store" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_closed_standard_output_is_no_fault(sample_corpus: Path, tmp_path: Path) -> None:
    code = "import sys; from gristmill.cli import run; sys.exit(run(sys.argv[1:]))"
    command = f'"{sys.executable}" -c "{code}" audit "{sample_corpus}" --store "{tmp_path / "s"}" -q >&-'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_snapshot_is_found_by_its_export(sample_corpus: Path, tmp_path: Path, capfd) -> None:
    project = gristmill.open(sample_corpus, store=tmp_path / "s")
    project.curate(tmp_path / "one")
    project.curate(tmp_path / "two", episodes="0:5")
    names = [str(tmp_path / "one"), str(tmp_path / "two"), "--store", str(tmp_path / "s")]
    assert run(["diff", *names]) == 1  # they differ
    out = capfd.readouterr().out
    assert "not selected, or gone" in out
    assert "recording is gone" not in out


def test_a_waiver_of_nothing_says_so(sample_corpus: Path, tmp_path: Path, capfd) -> None:
    place = ["--store", str(tmp_path / "s")]
    assert run(["audit", str(sample_corpus), *place, "--cameras", "none", "-q"]) == 0
    capfd.readouterr()
    assert run(["accept", "0", "spike", "--reason", "why not", *place]) == 0
    assert "note: spike finds nothing there now" in capfd.readouterr().out


def test_a_page_goes_into_a_file(sample_corpus: Path, tmp_path: Path, capfd, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["audit", str(sample_corpus), "--cameras", "none", "--report", "-", "-q"]) == 2
    assert "'-' is no file" in capfd.readouterr().err
    assert not (tmp_path / "-").exists()


def test_corpora_keep_the_names_that_people_gave_them(sample_corpus: Path, tmp_path: Path, capfd) -> None:
    place = ["--store", str(tmp_path / "s")]
    corpus = Path(shutil.copytree(sample_corpus, tmp_path / "ロボット é"))
    assert run(["audit", str(corpus), *place, "--cameras", "none", "-q"]) == 0
    assert run(["why", "ロボット_é/000003", *place]) == 0
    assert "ロボット_é/000003" in capfd.readouterr().out
