"""`gristmill status`: what the store holds, and what is owed."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli import _options


@click.command("status", short_help="Show what is measured and what is owed.")
@click.argument("corpora", nargs=-1)
@_options.store
@click.option("--recipe", type=click.Path(path_type=Path, dir_okay=False), help="Checks and parameters from this file.")
@_options.as_json
def command(corpora: tuple[str, ...], store: Path | None, recipe: Path | None, as_json: bool) -> None:
    """Show each corpus of the store, or CORPORA: how many measurements an audit would have to make."""
    from dataclasses import asdict

    import orjson

    from gristmill.cli import _display
    from gristmill.pipeline import Project

    project = Project.known(*corpora, store=store, recipe=recipe)
    owed = project.status()
    if as_json:
        click.echo(orjson.dumps([asdict(o) | {"total": o.total} for o in owed], option=orjson.OPT_INDENT_2))
        return
    out = _display.console()
    out.print(f"store: {project.store}")
    rows = [(o.corpus, o.episodes, o.total or "nothing", _worst(o.by_check), o.root) for o in owed]
    out.print(_display.table(["corpus", ("episodes", "right"), ("owed", "right"), "most of it", "at"], rows))


def _worst(by_check: dict[str, int]) -> str:
    most = sorted((n, name) for name, n in by_check.items() if n)[::-1][:3]
    return ", ".join(f"{name} {n}" for n, name in most)
