"""`gristmill gc`: remove what nothing needs any more."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli import _options


@click.command("gc", short_help="Remove old measurements, never what a snapshot or tag needs.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and its size; remove nothing.")
@_options.store
def command(dry_run: bool, store: Path | None) -> None:
    """Remove measurements of older versions, of recordings that are gone, and leftovers of killed runs."""
    from gristmill.cli import _display
    from gristmill.pipeline import snapshots

    removals = snapshots.gc(store, dry_run=dry_run)
    if not removals:
        click.echo("Nothing to remove.")
        return
    rows = [(r.what, r.rows, f"{r.bytes / 1e6:.2f}") for r in removals]
    _display.console().print(_display.table(["what", ("rows", "right"), ("MB", "right")], rows))
    click.echo("A dry run: nothing was removed." if dry_run else "Removed.")
