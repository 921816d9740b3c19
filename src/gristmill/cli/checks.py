"""`gristmill checks`: every question that an audit asks."""

from __future__ import annotations

import click

from gristmill.cli import _options


@click.command("checks", short_help="List every check and what it needs.")
@_options.as_json
def command(as_json: bool) -> None:
    """List all checks: what each asks, and what it reads."""
    import orjson

    from gristmill import plugins
    from gristmill.cli import _display

    rows = []
    for name in plugins.names("checks"):
        check = plugins.load("checks", name)
        reads = [part for part in check.reads.__slots__ if getattr(check.reads, part)]
        rows.append({"check": name, "asks": question(check), "reads": reads})
    if as_json:
        click.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2))
        return
    _display.console().print(
        _display.table(["check", "asks", "reads"], [(r["check"], r["asks"], ", ".join(r["reads"])) for r in rows])
    )


def question(check: type) -> str:
    """The first line of a check's docstring."""
    return (check.__doc__ or "").strip().splitlines()[0]
