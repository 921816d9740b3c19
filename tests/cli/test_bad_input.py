"""Bad input gets one clear line and the right exit status; nothing is touched and nothing is executed."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.cli import run


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(p.relative_to(folder)): (p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()
    }


@pytest.fixture
def corpus(sample_corpus: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sample_corpus, tmp_path / "arm"))


@pytest.fixture
def audit(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    def call(corpus: Path, *more: str) -> tuple[int, str, str]:
        status = run(["audit", str(corpus), "--store", str(tmp_path / "store"), *more])
        out, err = capfd.readouterr()
        return status, out, err

    return call


def one_line(err: str) -> str:
    lines = err.strip().splitlines()
    assert len(lines) == 1, err
    assert "Traceback" not in err
    return lines[0]


def edit_info(corpus: Path, **changes: object) -> None:
    path = corpus / "meta" / "info.json"
    info = json.loads(path.read_text())
    for key, value in changes.items():
        if value is None:
            del info[key]
        else:
            info[key] = value
    path.write_text(json.dumps(info))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe\x00", b"null", b'{"fps": 30}'])
def test_an_info_that_cannot_be_used_is_status_2(corpus: Path, audit, content: bytes) -> None:
    (corpus / "meta" / "info.json").write_bytes(content)
    before = listing(corpus)
    status, _, err = audit(corpus)
    assert status == 2
    assert "info.json" in one_line(err)
    assert listing(corpus) == before


@pytest.mark.parametrize("changes", [{"features": None}, {"features": []}, {"fps": 0}, {"fps": -3}, {"fps": "x"}])
def test_an_info_without_sense_is_status_2(corpus: Path, audit, changes: dict) -> None:
    edit_info(corpus, **changes)
    status, _, err = audit(corpus)
    assert status == 2
    assert "info.json" in one_line(err)


def test_no_episodes_is_status_2(corpus: Path, audit) -> None:
    for table in (corpus / "meta" / "episodes").rglob("*.parquet"):
        pq.write_table(pq.read_table(table).slice(0, 0), table)
    for table in (corpus / "data").rglob("*.parquet"):
        pq.write_table(pq.read_table(table).slice(0, 0), table)
    edit_info(corpus, total_episodes=0, total_frames=0)
    status, _, err = audit(corpus)
    assert status == 2
    one_line(err)


def test_a_folder_that_is_no_corpus_or_not_there_is_status_2(tmp_path: Path, audit) -> None:
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "empty", tmp_path / "absent"):
        status, _, err = audit(place)
        assert status == 2
        one_line(err)


@pytest.mark.parametrize("text", ["0:99", "24", "-30:", "5:5", "9:3", "x", "1,,2", "1:2:3"])
def test_a_selection_out_of_range_is_status_2(corpus: Path, audit, text: str) -> None:
    status, _, err = audit(corpus, f"--episodes={text}")
    assert status == 2
    assert "--episodes" in one_line(err)


@pytest.mark.parametrize(
    "template",
    [
        "../../outside/{chunk_index}.parquet",
        "/etc/{chunk_index}/passwd",
        "data/{chunk_index.__class__}/file.parquet",
        "data/../../x-{chunk_index}.parquet",
    ],
)
def test_a_template_that_leaves_the_corpus_is_status_2(corpus: Path, audit, template: str) -> None:
    edit_info(corpus, data_path=template)
    status, _, err = audit(corpus)
    assert status == 2
    one_line(err)


def test_a_link_that_leaves_the_corpus_is_status_2_and_nothing_is_read_there(
    corpus: Path, tmp_path: Path, audit
) -> None:
    data = next((corpus / "data").rglob("*.parquet"))
    outside = tmp_path / "outside.parquet"
    shutil.move(data, outside)
    data.symlink_to(outside)
    status, _, err = audit(corpus)
    assert status == 2
    assert "link" in one_line(err)


def test_arrays_that_would_unpickle_are_refused(corpus: Path, tmp_path: Path, audit) -> None:
    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "executed",))

    data = next((corpus / "data").rglob("*.parquet"))
    table = pq.read_table(data)
    column = pa.array([pickle.dumps(Bomb())] * len(table), pa.binary())
    pq.write_table(table.set_column(table.schema.get_field_index("action"), "action", column), data)
    status, _, _ = audit(corpus)
    assert status in (1, 2)
    assert not (tmp_path / "executed").exists()


def test_a_footerless_file_loses_its_episodes_and_no_other(corpus: Path, audit, tmp_path: Path) -> None:
    data = next((corpus / "data").rglob("*.parquet"))
    pq.write_table(pq.read_table(data), data, row_group_size=300)  # as a recorder flushes
    whole = data.read_bytes()
    data.write_bytes(whole[: int(len(whole) * 0.8)])
    out = tmp_path / "a.json"
    status, _, err = audit(corpus, "--json", str(out))
    assert status == 1, err
    found = json.loads(out.read_text())
    kept = [e for e in found["episodes"] if e["verdict"] in ("keep", "trim")]
    assert 0 < len(kept) < len(found["episodes"])
    assert any(f["check"] == "files" for f in [*found["corpus_findings"], *found["episodes"][-1]["findings"]])


def test_hostile_task_text_is_shown_escaped(corpus: Path, audit, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\x1b[31m\u202e"
    path = corpus / "meta" / "tasks.parquet"
    table = pq.read_table(path)
    tasks = pa.array([hostile, *table["task"].to_pylist()[1:]])
    pq.write_table(table.set_column(table.schema.get_field_index("task"), "task", tasks), path)
    page = tmp_path / "r.html"
    status, out, err = audit(corpus, "--report", str(page), "--all", "--json", str(tmp_path / "a.json"))
    assert status in (0, 1)
    assert "\x1b[31m" not in out + err
    assert "<script>alert(1)" not in page.read_text()


def test_a_read_only_corpus_is_audited_and_untouched(corpus: Path, audit) -> None:
    for path in corpus.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = listing(corpus)
    status, _, _ = audit(corpus)
    assert status == 0
    assert listing(corpus) == before
    for path in [corpus, *corpus.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_unknown_names_are_suggested(corpus: Path, tmp_path: Path, capfd) -> None:
    assert run(["explain", "spikes"]) == 2
    assert "spike" in one_line(capfd.readouterr().err)
    recipe = tmp_path / "r.toml"
    recipe.write_text("[checks.spik]\n")
    assert run(["audit", str(corpus), "--recipe", str(recipe), "--store", str(tmp_path / "s")]) == 2
    assert one_line(capfd.readouterr().err) == "gristmill: error: checks.spik: unknown check; did you mean 'spike'?"
    assert run(["audit", str(corpus), "--card", "so1000", "--store", str(tmp_path / "s")]) == 2
    assert "so100" in one_line(capfd.readouterr().err)
