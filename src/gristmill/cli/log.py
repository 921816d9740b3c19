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
    from gristmill.visible import visible

    records = snapshots.log(store)
    if as_json:
        click.echo(orjson.dumps(records, option=orjson.OPT_INDENT_2))
        return
    if not records:
        click.echo("No snapshot yet: `gristmill curate CORPUS --out DIR` makes one.")
        return
    out = _display.console()
    for r in records:
        tags = f" ({', '.join(r['tags'])})" if r["tags"] else ""
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(r["made"]))
        out.print(visible(f"snapshot {r['id']}{tags}"), style="bold")
        out.print(f"  made     {made}")
        out.print(visible(f"  corpora  {', '.join(r['corpora'])}"))
        out.print(f"  holds    {r['spans']} of {r['episodes']} episodes, {r['frames']} frames")
        out.print(f"  data     {r['data_hash']}")
        out.print(f"  lineage  {r['lineage_hash']}")
        if r["out"]:
            out.print(visible(f"  out      {r['out']}"))
        out.print()
