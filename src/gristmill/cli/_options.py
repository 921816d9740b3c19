"""Options that several commands share, so that they read and behave alike."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

F = Callable[..., Any]

store = click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    envvar="GRISTMILL_STORE",
    help="Where measurements and decisions are kept. Default: .gristmill in this folder, "
    "or your data folder when this folder is a corpus.",
)
card = click.option("--card", default=None, help="Embodiment card: a TOML file, or the name of one that ships.")
cameras = click.option(
    "--cameras",
    type=click.Choice(["all", "sample", "none"]),
    default=None,
    help="Decode every video, a sample of the episodes, or none. Default: all.",
)
episodes = click.option(
    "--episodes", default=None, metavar="A:B", help="Only these, such as 0:50, 3,7,10:20 or -5: (the last five)."
)
stated = click.option(
    "--option",
    "stated",
    multiple=True,
    metavar="KEY=VALUE",
    callback=lambda ctx, param, texts: dict(_pair(text) for text in texts),
    help="What the format leaves unsaid, such as --option rate_hz=10; `gristmill inspect` says what is needed.",
)
jobs = click.option("--jobs", type=click.IntRange(min=1), default=None, help="Processes. Default: one a core.")
quiet = click.option("--quiet", "-q", is_flag=True, help="No progress bar.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in reading order."""

    def apply(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return apply


def _pair(text: str) -> tuple[str, Any]:
    """KEY=VALUE; the value is TOML's, or plain text."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise click.BadParameter(f"{text!r} is not KEY=VALUE")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value


measuring = together(store, card, stated, cameras, episodes, jobs, quiet)
