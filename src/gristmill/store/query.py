"""SQL over what was measured: DuckDB on Arrow tables, shut off from files, network and settings.

Views:

    episodes    corpus, episode_index, episode_id, length, values_digest
    CHECK       corpus, episode_index, episode_id, the check's columns, unknown: one view a check
    events      check, corpus, episode_index, episode_id, start_s, end_s, strength, channel, camera, detail

They show each registered corpus as its last run left it: every episode with its newest row, two copies of a
recording both with the row that they share. Only tables that the statement names are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from gristmill.columns import EVENT, OWN, lanes_of
from gristmill.errors import UsageError
from gristmill.inputs import hexadecimal
from gristmill.store.corpora import INPUT, TRACES
from gristmill.store.tables import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from gristmill.store.store import Store

_EPISODE = pa.schema([("corpus", pa.string()), ("episode_index", pa.int64()), ("episode_id", pa.string())])
_EPISODES = pa.schema([*_EPISODE, ("length", pa.int64()), ("values_digest", pa.string())])
_EVENTS = pa.schema([("check", pa.string()), *_EPISODE, *EVENT])
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}


@dataclass(frozen=True)
class _View:
    schema: pa.Schema
    load: Callable[[], pa.Table]


def run(store: Store, sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
    """The result of one SELECT.

    Args:
        store: whose measurements.
        sql: the statement.
        tables: further tables by name; they go before views.

    Raises:
        UsageError: the statement is wrong, or does more than read.
    """
    import duckdb

    views = _views(store) | {name.lower(): _View(t.schema, lambda t=t: t) for name, t in tables.items()}
    with duckdb.connect(":memory:", config=_CONFIG) as connection:
        try:
            _only_reads(connection, sql)
            # A word of the statement that is a view's name mostly means the view; reading one too many does no harm.
            words = set(re.findall(r"\w+", sql.lower()))
            for name, view in views.items():
                connection.register(name, view.load() if name in words else view.schema.empty_table())
            return connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise UsageError(_line(error)) from None


def _only_reads(connection: DuckDBPyConnection, sql: str) -> None:
    import duckdb

    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise UsageError(f"query takes one statement, got {len(statements)}")
    kind = statements[0].type
    if kind not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
        raise UsageError(f"query only reads: a SELECT is wanted, not {kind.name}")


def _line(error: Exception) -> str:
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return f"query: {text}"


def _views(store: Store) -> dict[str, _View]:
    used: dict[str, list[tuple[str, Table]]] = {}
    for corpus, entry in sorted(store.corpora.entries().items()):
        for stage, key in sorted(entry["stages"].items()):
            table = store.table(stage, key)
            if table.schema is not None and table.about.get("parts") != TRACES:
                used.setdefault(stage, []).append((corpus, table))
    views = {
        stage: _View(_schema(holders), lambda holders=holders: _check(store, holders))
        for stage, holders in used.items()
    }
    views["episodes"] = _View(_EPISODES, lambda: _episodes(store))
    views["events"] = _View(_EVENTS, lambda: _events(store, used))
    return {name.lower(): view for name, view in views.items()}


def _schema(holders: list[tuple[str, Table]]) -> pa.Schema:
    schemas = [pa.schema([*_EPISODE, *shown]) for shown in (_shown(table) for _, table in holders)]
    return pa.unify_schemas([s.remove_metadata() for s in schemas], promote_options="permissive")


def _shown(table: Table) -> list[pa.Field]:
    hidden = {*OWN.names, *_EPISODE.names} - {"unknown"}
    return [field for field in table.schema or () if field.name not in hidden]


def _check(store: Store, holders: list[tuple[str, Table]]) -> pa.Table:
    found = [rows for corpus, table in holders for rows in _rows(store, corpus, table, [f.name for f in _shown(table)])]
    return pa.concat_tables(found, promote_options="permissive") if found else _schema(holders).empty_table()


def _rows(store: Store, corpus: str, table: Table, columns: list[str]) -> Iterator[pa.Table]:
    """The corpus's measured episodes with these columns; nothing when it has none."""
    state = store.corpora.state(corpus)
    column = INPUT + table.about.get("parts", "")
    if state is None or column not in state.schema.names:
        return
    rows = table.aligned(state[column].combine_chunks(), columns)
    if rows is None:
        return
    found = rows["found"]
    named = _named_episodes(corpus, state).filter(found)
    rows = rows.drop_columns(["found"]).filter(found)
    yield pa.Table.from_arrays([*named.columns, *rows.columns], names=[*named.column_names, *rows.column_names])


def _named_episodes(corpus: str, state: pa.Table) -> pa.Table:
    return pa.Table.from_arrays(
        [pa.repeat(pa.scalar(corpus), len(state)), state["index"], state["episode_id"]], schema=_EPISODE
    )


def _episodes(store: Store) -> pa.Table:
    tables = [_EPISODES.empty_table()]
    for corpus in sorted(store.corpora.entries()):
        state = store.corpora.state(corpus)
        if state is not None:
            digests = pa.array(hexadecimal(lanes_of(state["values"])))
            columns = [*_named_episodes(corpus, state).columns, state["length"], digests]
            tables.append(pa.Table.from_arrays(columns, schema=_EPISODES))
    return pa.concat_tables(tables)


def _events(store: Store, used: Mapping[str, list[tuple[str, Table]]]) -> pa.Table:
    tables = [_EVENTS.empty_table()]
    for stage, holders in used.items():
        for corpus, table in holders:
            for rows in _rows(store, corpus, table, ["events"]):
                tables.append(_flat(stage, rows.combine_chunks()))
    return pa.concat_tables(tables)


def _flat(stage: str, rows: pa.Table) -> pa.Table:
    events = rows["events"].chunk(0) if rows["events"].num_chunks else pa.array([], rows.schema.field("events").type)
    parents = pc.call_function("list_parent_indices", [events])
    flat = events.flatten()
    named = rows.select(_EPISODE.names).take(parents)
    check = pa.repeat(pa.scalar(stage), len(flat))
    return pa.Table.from_arrays([check, *named.columns, *(flat.field(f.name) for f in EVENT)], schema=_EVENTS)
