"""An older layout is brought up to date, and a migration that was cut off goes on."""

from __future__ import annotations

import json
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from small_stores import inputs_of, stage_rows

from gristmill.errors import StoreError
from gristmill.store import Store, schema
from gristmill.store.tables import Table


def version_0(folder: Path) -> Path:
    """A store as version 0 wrote it: no `failed` in stage tables, no `unreadable` among the digests."""
    (folder / "stages" / "spike").mkdir(parents=True)
    (folder / "store.json").write_text(json.dumps({"schema": 0}))
    rows = pa.Table.from_batches([stage_rows(1, 2)]).drop_columns(["failed"])
    rows = rows.replace_schema_metadata({"gristmill": json.dumps({"stage": "spike", "key": "k", "parts": "values"})})
    lance.write_dataset(rows, str(folder / "stages" / "spike" / "k.lance"))
    lance.write_dataset(
        pa.table(
            {
                "corpus": ["c"],
                "index": pa.array([0], pa.int64()),
                "part": ["values"],
                "stamp": ["s"],
                "digest": pa.array([bytes(16)], pa.binary(16)),
            }
        ),
        str(folder / "digests.lance"),
    )
    return folder


def check_migrated(folder: Path) -> None:
    with Store.open(folder) as store:
        assert json.loads((folder / "store.json").read_text()) == {"schema": 1}
        assert store.have("spike", "k", inputs_of(1, 2, 3)).tolist() == [True, True, False]
        assert store.digests("c").to_pylist() == [
            {"corpus": "c", "index": 0, "part": "values", "stamp": "s", "digest": bytes(16), "unreadable": None}
        ]
        store.append("spike", "k", [stage_rows(3)])  # new rows go into the old table
        rows = store.read("spike", "k", inputs_of(1, 3), ["x", "failed", "events"])
        assert rows is not None
        assert rows["x"].to_pylist() == [1.0, 3.0]
        assert rows["failed"].to_pylist() == [None, False]
        assert rows["events"].to_pylist()[0][0]["strength"] == 1.0


def test_version_0_is_brought_up_to_date(tmp_path: Path) -> None:
    check_migrated(version_0(tmp_path / "s"))


def test_a_migration_that_was_cut_off_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = version_0(tmp_path / "s")
    add = schema._add_column
    done: list[Path] = []

    def dies_at_the_second(path: Path, field: pa.Field) -> None:
        if done:
            raise KeyboardInterrupt
        done.append(path)
        add(path, field)

    with monkeypatch.context() as patched:
        patched.setattr(schema, "_add_column", dies_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            Store.open(folder)
    assert json.loads((folder / "store.json").read_text()) == {"schema": 0}
    assert "failed" in (Table(folder / "stages" / "spike" / "k.lance").schema or pa.schema([])).names
    check_migrated(folder)


def test_a_reader_cannot_migrate(tmp_path: Path) -> None:
    folder = version_0(tmp_path / "s")
    with pytest.raises(StoreError, match=r"older schema \(0\); open it once for writing"):
        Store.open(folder, write=False)


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "one"}'])
def test_a_damaged_version_is_refused(tmp_path: Path, text: str) -> None:
    folder = version_0(tmp_path / "s")
    (folder / "store.json").write_text(text)
    with pytest.raises(StoreError, match=r"store\.json: .*restore this file from a backup"):
        Store.open(folder)
