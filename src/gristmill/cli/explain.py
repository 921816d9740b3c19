"""`gristmill explain CHECK`: how a check works, its defaults, its source, and what to do about it."""

from __future__ import annotations

import inspect

import click


@click.command("explain", short_help="Explain a check: mechanism, defaults, source, fix.")
@click.argument("check")
def command(check: str) -> None:
    """Explain CHECK: what it asks and how, what it measures, its thresholds, where they come from, the fix."""
    from gristmill import plugins, recipe
    from gristmill.cli import _display

    cls = plugins.load("checks", check)
    out = _display.console()
    out.print(check, style="bold")
    out.print(inspect.cleandoc(cls.__doc__ or ""))
    out.print("\nWhat to do", style="bold")
    out.print(cls.fix)
    out.print("\nSource", style="bold")
    out.print(cls.source)
    parameters = recipe.thresholds(cls())
    if parameters:
        rows = [
            (name, default, "measuring: a change measures again" if measures else "threshold")
            for name, (_, default, measures) in parameters.items()
        ]
        out.print()
        out.print(_display.table([f"[checks.{check}]", ("default", "right"), "kind"], rows))
    if cls.columns:
        out.print()
        rows = [(c.name, c.unit, c.per, c.about) for c in cls.columns]
        out.print(_display.table(["measured", "unit", "per", "about"], rows))
