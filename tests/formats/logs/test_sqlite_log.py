"""rosbag2's SQLite files: against `rosbags`, compressed messages, damage, and files that are none."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import made_logs as made
import pytest
import zstandard
from rosbags.rosbag2 import Reader

from gristmill.errors import CorpusError
from gristmill.formats.logs.finding import open_log, places
from gristmill.formats.logs.sqlite_log import SqliteLog
from gristmill.formats.logs.stream import Log, LogDamageError


def found_in(log: Log) -> list[tuple[str, int, bytes]]:
    return [(topic, m.log_ns, bytes(m.data)) for topic in log.topics for m in log.read(log.entries(topic))]


def test_all_messages_are_found(tmp_path: Path) -> None:
    folder = made.write_db3(tmp_path / "bag", made.arm_log(0))
    with Reader(folder) as reader:
        truth = [(c.topic, t, bytes(data)) for c, t, data in reader.messages()]
    log = open_log(*_only(folder))
    assert sorted(found_in(log)) == sorted(truth)
    assert log.topics["/joint_states"].format.schema_encoding == "ros2msg"


def test_real_recordings_agree_with_plain_sql_and_with_rosbags(real_data: Path) -> None:
    paths = sorted((real_data / "rosbag2").rglob("*.db3"))
    assert len(paths) == 15
    by_rosbags = 0
    for path in paths:
        with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as db:
            rows = "SELECT name, timestamp, data FROM messages JOIN topics ON topics.id = topic_id"
            truth = sorted(db.execute(rows).fetchall())
        db.close()
        assert sorted(found_in(SqliteLog(path))) == truth, path
        if path.parent.name in ("cdr_test", "bag_with_topics_and_service_events"):
            with Reader(path.parent) as reader:
                assert sorted((c.topic, t, bytes(data)) for c, t, data in reader.messages()) == truth
            by_rosbags += len(truth)
    assert by_rosbags == 7 + 10


def test_messages_that_are_compressed_by_themselves(tmp_path: Path) -> None:
    folder = made.write_db3(tmp_path / "bag", made.arm_log(0))
    plain = found_in(open_log(*_only(folder)))
    file = next(folder.glob("*.db3"))
    with sqlite3.connect(file) as db:
        pack = zstandard.ZstdCompressor().compress
        for row, data in db.execute("SELECT id, data FROM messages").fetchall():
            db.execute("UPDATE messages SET data = ? WHERE id = ?", (pack(data), row))
    db.close()
    text = (folder / "metadata.yaml").read_text()
    text = text.replace("compression_format: ''", "compression_format: zstd")
    text = text.replace("compression_mode: ''", "compression_mode: MESSAGE")
    assert "MESSAGE" in text and "zstd" in text
    (folder / "metadata.yaml").write_text(text)
    assert found_in(open_log(*_only(folder))) == plain


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db3"
    path.write_bytes(b"SQLite format 3\0" + bytes(500))
    with pytest.raises(CorpusError, match=r"a\.db3"):
        SqliteLog(path)
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE notes (x)")
    db.close()
    with pytest.raises(CorpusError, match="without the tables topics and messages"):
        SqliteLog(path)


def test_a_view_in_place_of_the_messages_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "a.db3"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE topics (id, name, type, serialization_format)")
        db.execute(
            "CREATE VIEW messages AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
            "SELECT id, 1 AS topic_id, id AS timestamp, x'00' AS data FROM n"
        )
    db.close()
    with pytest.raises(CorpusError, match="without the tables"):
        SqliteLog(path)


def test_a_cut_off_file_gives_what_its_whole_pages_hold(tmp_path: Path) -> None:
    folder = made.write_db3(tmp_path / "bag", made.arm_log(0, frames=400))
    path = shutil.copy(next(folder.glob("*.db3")), tmp_path / "cut.db3")
    whole = SqliteLog(Path(path))
    data = Path(path).read_bytes()
    outcomes = set()
    for share in (0.02, 0.3, 0.6, 0.9):
        Path(path).write_bytes(data[: int(len(data) * share)])
        try:
            log = SqliteLog(Path(path))
            found = found_in(log)
        except (CorpusError, LogDamageError) as error:
            assert "\n" not in str(error)
            outcomes.add("error")
            continue
        assert log.losses and set(found) <= set(found_in(whole)) | set(found)
        outcomes.add("part")
    assert outcomes <= {"error", "part"} and outcomes


def test_a_journal_that_holds_messages_is_told(tmp_path: Path) -> None:
    folder = made.write_db3(tmp_path / "bag", made.arm_log(0))
    file = next(folder.glob("*.db3"))
    file.with_name(f"{file.name}-wal").write_bytes(b"7" * 100)
    (loss,) = open_log(*_only(folder)).losses
    assert loss.code == "log_truncated" and "was not closed" in loss.message


def test_nothing_is_written_beside_the_file(tmp_path: Path) -> None:
    folder = made.write_db3(tmp_path / "bag", made.arm_log(0))
    before = sorted(p.name for p in folder.iterdir())
    found_in(open_log(*_only(folder)))
    assert sorted(p.name for p in folder.iterdir()) == before


def _only(folder: Path):
    files, found = places(folder, "sqlite3")
    (place,) = found
    return files, place


def test_names_that_are_no_text_are_told(tmp_path: Path) -> None:
    folder = made.write_db3(tmp_path / "bag", made.arm_log(0))
    path = next(folder.glob("*.db3"))
    data = path.read_bytes()
    at = data.index(b"CREATE TABLE topics")
    path.write_bytes(data[: at + 13] + b"\x8b\xff(" + data[at + 16 :])
    with pytest.raises(CorpusError, match="no readable SQLite file"):
        SqliteLog(path)
