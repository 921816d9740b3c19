"""`gristmill log`: the snapshots that were made, newest first."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli import _options


@click.command("log", short_help="List snapshots with their hashes, newest first.")
@_options.store
@_options.as_json
def command(store: Path | None, as_json: bool) -> None:
    """List every snapshot: when it was made, what it holds, its two hashes and its tags."""
    import time

    import orjson

    from gristmill.cli import _display
    from gristmill.pipeline import snapshots

    records = snapshots.log(store)
    if as_json:
        click.echo(orjson.dumps(records, option=orjson.OPT_INDENT_2))
        return
    if not records:
        click.echo("No snapshot yet: `gristmill curate CORPUS --out DIR` makes one.")
        return
    rows = [
        (
            r["id"],
            time.strftime("%Y-%m-%d %H:%M", time.localtime(r["made"])),
            ", ".join(r["corpora"]),
            r["spans"],
            r["frames"],
            r["data_hash"][:12],
            r["lineage_hash"][:12],
            " ".join(r["tags"]),
        )
        for r in records
    ]
    columns = ["snapshot", "made", "corpora", ("episodes", "right"), ("frames", "right"), "data", "lineage", "tags"]
    _display.console().print(_display.table(columns, rows))
