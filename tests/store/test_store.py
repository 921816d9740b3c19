"""Opening, locking, reading without a lock, running out of disk."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from small_stores import inputs_of, stage_rows

from gristmill.errors import StoreError, UsageError
from gristmill.store import Store

ENV = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}


def test_rows_are_kept_between_openings(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.append("spike", "spike:1:0:ab", [stage_rows(1, 2), stage_rows(3)], about={"parts": "values"})
    with Store.open(tmp_path / "s") as store:
        assert store.have("spike", "spike:1:0:ab", inputs_of(3, 4, 1)).tolist() == [True, False, True]
        assert not store.have("spike", "spike:2:0:ab", inputs_of(1, 2)).any()
        rows = store.read("spike", "spike:1:0:ab", inputs_of(2, 9), ["x", "events"])
        assert rows is not None
        assert rows["x"].to_pylist() == [2.0, None]
        assert rows["events"][0].as_py()[0]["strength"] == 2.0
        table = store.table("spike", "spike:1:0:ab")
        assert dict(table.about) == {"stage": "spike", "key": "spike:1:0:ab", "parts": "values"}


def test_inputs_that_mean_nothing_find_nothing(store: Store) -> None:
    store.append("spike", "k", [stage_rows(1, 2)])
    rows = store.read("spike", "k", inputs_of(1, 2), ["x"], valid=np.array([False, True]))
    assert rows is not None
    assert rows["x"].to_pylist() == [None, 2.0]


def test_names_of_stages_stay_inside_the_store(store: Store) -> None:
    store.append("../../out", "a/../b:c", [stage_rows(1)])
    assert store.have("../../out", "a/../b:c", inputs_of(1)).all()
    assert [t.about["stage"] for t in store.stages()] == ["../../out"]
    assert all(store.path in t.path.resolve().parents for t in store.stages())


def test_digests_of_one_corpus(store: Store) -> None:
    def rows(*index: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict(
            {
                "index": list(index),
                "part": ["values"] * len(index),
                "stamp": ["s"] * len(index),
                "digest": pa.array([bytes(16)] * len(index), pa.binary(16)),
                "unreadable": pa.array([None] * len(index), pa.string()),
            }
        )

    assert len(store.digests("it's")) == 0
    store.put_digests("it's", [rows(0, 1), rows(1)])
    store.put_digests("other", [rows(7)])
    assert store.digests("it's")["index"].to_pylist() == [0, 1, 1]
    assert len(store.digests("none")) == 0


def test_a_second_writer_is_told_who_writes(store: Store) -> None:
    with pytest.raises(StoreError, match=f"process {os.getpid()} on .* is writing to this store; wait for it"):
        Store.open(store.path)


def test_another_process_is_kept_out_until_this_one_closes(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from gristmill.store import Store; Store.open(Path(sys.argv[1])).close()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "s")]
    with Store.open(tmp_path / "s"):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert f"StoreBusyError: {tmp_path / 's'}: process {os.getpid()} on" in done.stderr
    assert subprocess.run(command, check=False).returncode == 0


def test_a_writer_that_died_is_no_obstacle_and_its_leftovers_go(tmp_path: Path) -> None:
    code = textwrap.dedent(
        """
        import os, sys
        from pathlib import Path
        from gristmill.store import Store
        from small_stores import stage_rows
        store = Store.open(Path(sys.argv[1]))
        store.append("spike", "k", [stage_rows(1)])
        (store.path / ".partial-corpora.json").write_text("{")
        (store.path / "stages" / "half" / "k.lance" / "data").mkdir(parents=True)
        (store.table("spike", "k").path / "data" / ("01" * 25 + ".lance")).write_bytes(b"half")
        os.kill(os.getpid(), 9)
        """
    )
    folder = tmp_path / "s"
    done = subprocess.run([sys.executable, "-c", code, str(folder)], check=False, env=ENV)
    assert done.returncode == -9
    assert (folder / "writer.json").exists()
    with Store.open(folder) as store:
        assert store.have("spike", "k", inputs_of(1)).all()
        assert not (folder / ".partial-corpora.json").exists()
        assert not (folder / "stages" / "half" / "k.lance").exists()
        assert len(list((store.table("spike", "k").path / "data").iterdir())) == 1
    assert not (folder / "writer.json").exists()


def test_readers_need_no_lock_and_change_nothing(store: Store) -> None:
    store.append("spike", "k", [stage_rows(1)])
    before = sorted(p for p in store.path.rglob("*"))
    reader = Store.open(store.path, create=False, write=False)
    assert reader.have("spike", "k", inputs_of(1)).all()
    assert not reader.writable
    for change in (
        lambda: reader.append("spike", "k", [stage_rows(2)]),
        lambda: reader.corpus_key("nobody/knows"),
        lambda: reader.waive("corpus/000001", "spike", "fine"),
        lambda: reader.gc(),
    ):
        with pytest.raises(StoreError, match="opened for reading only"):
            change()
    reader.close()
    assert sorted(p for p in store.path.rglob("*")) == before


def test_a_store_on_read_only_media_can_be_read(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.append("spike", "k", [stage_rows(1, 2)], about={"parts": "values"})
    # Permissions do not stop root, so this is a mount that is read-only for everybody, in a namespace of its own.
    code = (
        "from pathlib import Path; from gristmill.store import Store; from small_stores import inputs_of; "
        f"s = Store.open(Path({str(tmp_path / 's')!r}), create=False, write=False); "
        "print(s.read('spike', 'k', inputs_of(2))['x'].to_pylist())\n"
        f"try: Path({str(tmp_path / 's' / 'x')!r}).touch()\n"
        "except OSError as error: print(error.strerror)"
    )
    mount = (
        f'mount --bind {tmp_path} {tmp_path} && mount -o remount,ro,bind {tmp_path} && exec {sys.executable} -c "$0"'
    )
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c", mount, code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=ENV)
    assert done.stdout.splitlines() == ["[2.0]", "Read-only file system"], done.stderr


def test_there_is_nothing_to_read_before_something_was_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no store; audit a corpus first"):
        Store.open(tmp_path / "s", write=False)
    with pytest.raises(UsageError, match="there is no store"):
        Store.open(tmp_path / "s", create=False)
    assert not (tmp_path / "s").exists()


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"holds 'notes\.txt' but no store"):
        Store.open(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_a_store_newer_than_the_program_is_refused(store: Store) -> None:
    path = store.path
    store.close()
    (path / "store.json").write_text(json.dumps({"schema": 99}))
    for write in (True, False):
        with pytest.raises(StoreError, match="schema 99, this program knows up to 1; update gristmill"):
            Store.open(path, write=write)


def test_a_full_disk_is_told_in_one_line_and_what_was_there_stays(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    with Store.open(folder) as store:
        store.append("spike", "k", [stage_rows(*range(50))])
    code = textwrap.dedent(
        """
        import resource, sys
        from pathlib import Path
        from gristmill.errors import StoreError
        from gristmill.store import Store
        from small_stores import stage_rows
        with Store.open(Path(sys.argv[1])) as store:
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
            try:
                store.append("spike", "k", [stage_rows(*range(1000, 9000))])
            except StoreError as error:
                print(error)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True, env=ENV
    )
    assert done.stdout.count("\n") == 1
    assert "the disk is full; free some space and run again, what was measured before is kept" in done.stdout
    assert (folder / "writer.json").exists()  # so that the next writer tidies up
    with Store.open(folder) as store:
        table = store.table("spike", "k")
        assert len(table) == 50
        assert len(list((table.path / "data").iterdir())) == 1
        store.append("spike", "k", [stage_rows(1000)])
        assert len(table) == 51


def test_small_files_survive_a_full_disk_too(store: Store) -> None:
    store.waive("corpus/000001", "spike", "seen")
    before = (store.path / "waivers.json").read_text()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limit[1]))
    try:
        with pytest.raises(StoreError, match="the disk is full"):
            store.waive("corpus/000002", "spike", "a reason that needs more room than there is")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert (store.path / "waivers.json").read_text() == before
    assert not list(store.path.glob(".partial-*"))


def test_compaction_happens_above_a_threshold(store: Store) -> None:
    for i in range(30):
        store.append("spike", "k", [stage_rows(i)])
    store.append("lag", "k", [stage_rows(1)])
    assert store.compact() == 1
    assert store.table("spike", "k").fragments == 1
    assert store.have("spike", "k", inputs_of(*range(30))).all()


def test_corpora_get_short_stable_unique_names(store: Store, tmp_path: Path, measured: Callable[..., None]) -> None:
    first, second = tmp_path / "a" / "pusht", tmp_path / "b" / "pusht"
    for folder in (first, second):
        folder.mkdir(parents=True)
    assert store.corpus_key(first) == "pusht"
    assert store.corpus_key(second) == "pusht-2"
    assert store.corpus_key(first / ".." / "pusht") == "pusht"
    assert store.corpus_key("lerobot/pusht") == "lerobot/pusht"
    assert store.corpus_key(tmp_path / "\x1b[31m red") == "__31m_red"
    first.rename(tmp_path / "a" / "gone")
    moved = tmp_path / "c" / "pusht"
    moved.mkdir(parents=True)
    assert store.corpus_key(moved) == "pusht"
