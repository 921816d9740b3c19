"""`gristmill inspect`: what a file or folder is, by its content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gristmill.cli import _options

if TYPE_CHECKING:
    from gristmill.pipeline.inspecting import Inspection

_TASKS = 10  # texts that are worth showing


@click.command("inspect", short_help="Tell what a file or folder is, and what its topics would become.")
@click.argument("corpus", metavar="PATH")
@_options.stated
@_options.as_json
def command(corpus: str, stated: dict[str, Any], as_json: bool) -> None:
    """Tell what PATH is by its content: format, episodes, channels, cameras, and what has to be stated first.

    Of a log: its topics with types, rates and gaps, what each would become, and the options that say otherwise.
    """
    from gristmill.pipeline.inspecting import inspect

    found = inspect(corpus, stated)
    if as_json:
        import orjson

        click.echo(orjson.dumps(found.as_dict(), option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY))
        return
    show(found)


def show(found: Inspection) -> None:
    """Print what was found."""
    from gristmill.cli import _display
    from gristmill.visible import visible

    out = _display.console()
    out.print(visible(f"{found.path}: {found.format or found.source}"), style="bold")
    if found.proposal is not None:
        for line in found.proposal.lines():
            out.print(visible(line))
    if found.needs:
        out.print(visible(f"needs: {found.needs}"), style="yellow")
    else:
        card = "none that ships; inferred" if found.card_inferred else found.card
        robot = found.robot_type or "unnamed"
        episodes = "1 episode" if found.episodes == 1 else f"{found.episodes} episodes"
        out.print(visible(f"{episodes}, {found.frames} frames at {found.rate_hz:g} Hz; robot {robot}, card {card}"))
    if found.channels:
        rows = [(c["key"], c["role"], c["width"], ", ".join(map(str, c["names"]))) for c in found.channels]
        out.print(_display.table(["channel", "role", ("width", "right"), "names"], rows))
    if found.cameras:
        rows = [(c["key"], f"{c['width']} x {c['height']}", c["codec"] or "-") for c in found.cameras]
        out.print(_display.table(["camera", "size", "codec"], rows))
    for title, texts in (("tasks", found.tasks[:_TASKS]), ("trouble", found.issues)):
        for text in texts:
            out.print(visible(f"{title}: {text}"))
    for key, why in found.unread.items():
        out.print(visible(f"not read: {key} ({why})"))
    for name, what in found.options.items():
        out.print(visible(f"option {name}: {what}"))
