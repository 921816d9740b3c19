"""Logs, definitions and messages made to be endless, enormous or nonsense: each is refused in one line, and at once."""

from __future__ import annotations

import sqlite3
import tracemalloc
from pathlib import Path

import made_logs as made
import numpy as np
import pytest

from gristmill.errors import CorpusError
from gristmill.formats.files import CorpusFiles
from gristmill.formats.logs.bag_log import BagLog
from gristmill.formats.logs.decoding import UndecodableError, decoder_for, stamps_ns
from gristmill.formats.logs.looking import look
from gristmill.formats.logs.metadata import read_metadata
from gristmill.formats.logs.pictures import picture_of, pixels
from gristmill.formats.logs.ros_bytes import Group, MessageError
from gristmill.formats.logs.sqlite_log import SqliteLog
from gristmill.formats.logs.stream import Format, LogDamageError

JSON = Format(type="foxglove.RawImage", encoding="json", schema_encoding="jsonschema", schema=b"")


def defined(definition: str) -> Format:
    return Format(type="a/B", encoding="ros1", schema_encoding="ros1msg", schema=definition.encode())


def message(text: str) -> Group:
    return decoder_for(JSON).one(memoryview(text.encode()))


# -- definitions and messages ------------------------------------------------------------------------------


def test_empty_messages_nested_in_one_another_come_to_an_end() -> None:
    """1 kB of definition: 19 levels of 4 fields each are 4^19 fields, and not one byte of a message."""
    text = "".join(f"L1 f{j}\n" for j in range(4))
    for level in range(1, 20):
        inner = "".join(f"L{level + 1} f{j}\n" for j in range(4)) if level < 19 else ""
        text += f"{'=' * 20}\nMSG: a/L{level}\n{inner}"
    with pytest.raises(MessageError, match="more than 20000 fields"):
        decoder_for(defined(text)).one(memoryview(bytes(4)))


def test_an_array_whose_length_is_a_book_is_no_field() -> None:
    with pytest.raises(UndecodableError, match="a line that is no field"):
        decoder_for(defined(f"float64[{'9' * 5000}] x"))


@pytest.mark.parametrize("inner", ["{}", "1", '"x"', "[1, {}]"])
def test_json_that_is_nested_without_end_is_refused(inner: str) -> None:
    assert message('{"a": [[[[{"b": 2}]]]]}').numbers["a[0][0][0][0].b"].item() == 2
    with pytest.raises(MessageError, match="nested more than 24 deep"):
        message('{"a":' + "[" * 600 + inner + "]" * 600 + "}")


@pytest.mark.parametrize("height", ["1e308", "-5", "1e400", "70000", "0"])
def test_sizes_that_no_picture_has_are_refused(height: str) -> None:
    said = '{"height": %s, "width": 2, "step": 6, "encoding": "rgb8", "data": "AAAAAAAA"}'
    assert pixels(JSON, message(said % "1")).shape == (1, 2, 3)
    try:
        group = message(said % height)
    except MessageError as error:
        assert "JSON" in str(error)  # 1e400 is no number in the first place
        return
    with pytest.raises(MessageError, match="does not fit into"):
        pixels(JSON, group)
    if height != "0":
        with pytest.raises(MessageError, match=r"height of .* does not fit"):
            picture_of(JSON, group)


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ('{"sec": 1700000000, "nsec": 5}', 1_700_000_000_000_000_005),
        ('{"sec": 9199999999, "nsec": 999999999}', 9_199_999_999_999_999_999),
        ('{"sec": 1e30, "nsec": 0}', 0),
        ('{"sec": 18446744073709551615, "nsec": 0}', 0),
        ('{"sec": 1, "nsec": 1e19}', 0),
        ('{"sec": -1e30, "nsec": [1]}', 0),
        ('{"sec": [null], "nsec": [1]}', 0),
    ],
)
def test_seconds_that_no_clock_shows_are_no_time(stamp: str, expected: int, recwarn: pytest.WarningsRecorder) -> None:
    found = stamps_ns(message(f'{{"timestamp": {stamp}}}'))
    assert found is not None and found.dtype == np.int64
    assert found.tolist() == [expected]
    assert not recwarn.list


# -- containers --------------------------------------------------------------------------------------------


def test_a_chunk_that_lies_beyond_all_files_is_looked_for_by_scanning(tmp_path: Path) -> None:
    path = made.write_bag(tmp_path / "a.bag", made.arm_log(0, frames=5))
    data = path.read_bytes()
    at = data.index(b"chunk_pos=") + len(b"chunk_pos=")
    path.write_bytes(data[:at] + b"\xff" * 8 + data[at + 8 :])
    log = BagLog(path)
    assert [loss.code for loss in log.losses] == ["log_unclosed"]  # as without any index
    assert log.topics["/joint_states"].count == 5


def database(path: Path, topics: str, messages: str, *rows: str) -> Path:
    db = sqlite3.connect(path)
    for statement in (topics, messages, *rows):
        db.execute(statement)
    db.commit()
    db.close()
    return path


TOPICS = "CREATE TABLE topics(id, name, type, serialization_format)"
MESSAGES = "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, data)"
ONE_TOPIC = "INSERT INTO topics VALUES(1, '/x', 'std_msgs/msg/String', 'cdr')"


@pytest.mark.parametrize("number", ["'abc'", "NULL", "1.5", "x'00'"])
def test_a_topic_whose_id_is_no_number_is_told(tmp_path: Path, number: str) -> None:
    row = f"INSERT INTO topics VALUES({number}, '/x', 'std_msgs/msg/String', 'cdr')"
    path = database(tmp_path / "a.db3", TOPICS, MESSAGES, row)
    with pytest.raises(CorpusError, match=r"a\.db3: topic '/x' has no number as its id"):
        SqliteLog(path)


@pytest.mark.parametrize(
    ("topics", "messages"),
    [
        (TOPICS, "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, data AS (zeroblob(900000000)))"),
        (TOPICS, "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, data AS (zeroblob(9)) STORED)"),
        ("CREATE TABLE topics(id, name, type, serialization_format AS (hex(zeroblob(99999999))))", MESSAGES),
        (TOPICS, "CREATE  virtual TABLE messages USING rtree(id, topic_id, timestamp)"),
    ],
)
def test_tables_that_compute_what_they_hold_are_refused(tmp_path: Path, topics: str, messages: str) -> None:
    path = database(tmp_path / "a.db3", topics, messages)
    with pytest.raises(CorpusError, match=r"a\.db3: its table (topics|messages) is not stored but computed"):
        SqliteLog(path)


def test_a_message_larger_than_any_block_is_not_read(tmp_path: Path) -> None:
    path = database(
        tmp_path / "a.db3", TOPICS, MESSAGES, ONE_TOPIC, "INSERT INTO messages VALUES(1, 1, 5, zeroblob(300000000))"
    )
    tracemalloc.start()
    try:
        log = SqliteLog(path)
        with pytest.raises(LogDamageError, match="too big"):
            list(log.read(log.entries("/x")))
        assert look(log)["/x"].sort == "unreadable"
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    [
        "a: !!bool foo",
        'a: !!int ""',
        "a: !!timestamp foo",
        "a: !!set [1]",
        "a: !!null [1]",
        "a: 2001-99-99",
        "a: " + "[" * 1200,
        "a: " + "9" * 5000,
        "<<: 3",
        "a: \x01",
    ],
    ids=range(10),
)
def test_metadata_on_which_the_yaml_library_stumbles_is_not_valid(tmp_path: Path, text: str) -> None:
    (tmp_path / "metadata.yaml").write_text(text)
    with pytest.raises(CorpusError, match=r"metadata\.yaml: not valid YAML") as caught:
        read_metadata(CorpusFiles(tmp_path), "metadata.yaml")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
