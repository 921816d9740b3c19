"""SQL over what was measured, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from small_stores import state

from gristmill.errors import UsageError
from gristmill.store import Store

Measured = Callable[..., None]


def test_one_view_a_check_shows_every_episode_with_its_newest_row(store: Store, measured: Measured) -> None:
    measured("a", [1, 2, 3])
    measured("b", [3])  # a copy: both corpora show the row that they share
    rows = store.query("SELECT corpus, episode_index, episode_id, x, d FROM spike ORDER BY ALL").to_pylist()
    assert [(r["corpus"], r["episode_index"], r["x"]) for r in rows] == [
        ("a", 1, 1.0),
        ("a", 2, 2.0),
        ("a", 3, 3.0),
        ("b", 3, 3.0),
    ]
    assert rows[3]["episode_id"] == "b/000003"
    assert rows[0]["d"] == [1.0, 1.0]


def test_episodes_and_events(store: Store, measured: Measured) -> None:
    measured("a", [1, 2])
    measured("a", [1, 2], stage="lag", key="lag:1")
    found = store.query(
        "SELECT e.episode_id, length, count(*) AS n, max(strength) AS s FROM episodes e JOIN events USING (episode_id) "
        "GROUP BY ALL ORDER BY ALL"
    )
    assert [tuple(r.values()) for r in found.to_pylist()] == [("a/000001", 20, 2, 1.0), ("a/000002", 20, 2, 2.0)]
    assert store.query('SELECT DISTINCT "check" FROM events ORDER BY 1').to_pydict() == {"check": ["lag", "spike"]}
    digest = store.query("SELECT values_digest FROM Episodes WHERE episode_index = 1").to_pylist()
    assert digest == [{"values_digest": ("01" + "00" * 7) * 2}]


def test_tables_of_the_caller_go_before_views(store: Store, measured: Measured) -> None:
    measured("a", [1])
    own = {"findings": pa.table({"kind": ["defect", "risk"]}), "episodes": pa.table({"verdict": ["keep"]})}
    assert store.query("SELECT count(*) AS n FROM findings", own).to_pydict() == {"n": [2]}
    assert store.query("SELECT verdict FROM episodes", own).to_pydict() == {"verdict": ["keep"]}


def test_tables_can_be_listed_and_described(store: Store, measured: Measured) -> None:
    measured("a", [1])
    assert store.query("SHOW TABLES").to_pydict() == {"name": ["episodes", "events", "spike"]}
    described = store.query("DESCRIBE spike").to_pylist()
    assert [r["column_name"] for r in described] == ["corpus", "episode_index", "episode_id", "unknown", "x", "d"]
    assert "SCAN" in str(store.query("EXPLAIN SELECT * FROM spike").to_pylist())


def test_recordings_without_a_row_are_not_shown(store: Store, measured: Measured) -> None:
    measured("a", [1, 2])
    store.finish("a", "a", state(2, 9), {"spike": "spike:1"})
    assert store.query("SELECT episode_index FROM spike").to_pydict() == {"episode_index": [2]}
    assert store.query("SELECT count(*) AS n FROM episodes").to_pydict() == {"n": [2]}


def test_an_empty_store_can_be_asked(store: Store) -> None:
    assert store.query("SELECT * FROM episodes").num_rows == 0
    assert store.query("SELECT * FROM events").num_rows == 0


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT * FROM nowhere", "nowhere does not exist"),
        ("SELECT nothing FROM episodes", "nothing"),
        ("", "one statement, got 0"),
        ("SELECT 1; SELECT 2", "one statement, got 2"),
        ("CREATE TABLE t (a INTEGER)", "a SELECT is wanted, not CREATE"),
        ("DROP VIEW episodes", "a SELECT is wanted, not DROP"),
        ("INSERT INTO episodes VALUES (1)", "a SELECT is wanted, not INSERT"),
        ("SET enable_external_access = true", "a SELECT is wanted, not SET"),
        ("PRAGMA database_list", "a SELECT is wanted, not"),
        ("ATTACH '/tmp/other.db'", "a SELECT is wanted, not ATTACH"),
        ("INSTALL httpfs", "a SELECT is wanted, not LOAD"),
    ],
)
def test_what_is_wrong_or_does_more_than_read_is_one_line(store: Store, sql: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        store.query(sql)
    assert says.lower() in str(caught.value).lower()
    assert "\n" not in str(caught.value)


def test_files_and_python_variables_are_out_of_reach(store: Store, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    hidden = pa.table({"a": [1]})
    for sql in (
        f"SELECT * FROM read_csv('{secret}')",
        f"SELECT * FROM '{secret}'",
        f"SELECT * FROM read_text('{secret}')",
        f"SELECT * FROM glob('{tmp_path}/*')",
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        "SELECT * FROM hidden",
        "SELECT getenv('HOME')",
    ):
        with pytest.raises(UsageError):
            store.query(sql)
    assert not (tmp_path / "out.csv").exists()
    assert len(hidden) == 1
