"""`gristmill query SQL`: the manifest in SQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gristmill.cli import _options

if TYPE_CHECKING:
    import pyarrow as pa


@click.command("query", short_help="Ask the manifest in SQL.")
@click.argument("sql")
@click.argument("corpora", nargs=-1)
@_options.store
@click.option("--recipe", type=click.Path(path_type=Path, dir_okay=False), help="Thresholds from this file.")
@click.option("--format", "format_", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
def command(sql: str, corpora: tuple[str, ...], store: Path | None, recipe: Path | None, format_: str) -> None:
    """Run one SELECT over `episodes`, `findings`, `events` and one view a check, with DuckDB's SQL.

    It can read nothing else: neither files nor the network.

    \b
    gristmill query 'select "check", count(*) from findings group by 1 order by 2 desc'
    gristmill query "select episode_index, roughness from roughness order by 2 desc limit 5"
    """  # noqa: D301
    from gristmill.cli import _display
    from gristmill.pipeline import Project

    found = Project.known(*corpora, store=store, recipe=recipe).query(sql)
    if format_ == "json":
        import orjson

        click.echo(orjson.dumps(found.to_pylist(), option=orjson.OPT_INDENT_2, default=str))
    elif format_ == "csv":
        import csv
        import sys

        writer = csv.writer(sys.stdout)
        writer.writerow(found.schema.names)
        writer.writerows(_rows(found))
    else:
        rows = [[_cell(v) for v in row] for row in _rows(found)]
        _display.console().print(_display.table(found.schema.names, rows))


def _rows(found: pa.Table) -> Iterator[tuple[Any, ...]]:
    """By position: two columns may have one name."""
    return zip(*(column.to_pylist() for column in found.columns), strict=True)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
