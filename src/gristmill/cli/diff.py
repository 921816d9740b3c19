"""`gristmill diff`: which episodes entered, left or changed between two snapshots, and by which rule."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli import _options


@click.command("diff", short_help="Compare two snapshots, episode by episode.")
@click.argument("before")
@click.argument("after")
@_options.store
@_options.as_json
def command(before: str, after: str, store: Path | None, as_json: bool) -> int:
    """Compare snapshots BEFORE and AFTER, each named by tag, id or folder.

    Exit status 1 when the frames differ, as with diff(1).
    """
    from dataclasses import asdict

    import orjson

    from gristmill.cli import _display
    from gristmill.pipeline import snapshots

    found = snapshots.diff(before, after, store)
    if as_json:
        click.echo(orjson.dumps(asdict(found), option=orjson.OPT_INDENT_2))
        return 0 if found.same_data else 1
    out = _display.console()
    if found.same_data:
        out.print("The same frames.")
    else:
        rows = [(c.change, c.episode_id, c.what, ", ".join(c.rules)) for c in found.episodes]
        out.print(_display.table(["", "episode", "what", "decided by"], rows))
    for title, changes in (("Recipe", found.recipe), ("Lineage", found.lineage)):
        if changes:
            out.print(f"\n{title}", style="bold")
            out.print(_display.table(["key", "before", "after"], changes))
    return 0 if found.same_data else 1
