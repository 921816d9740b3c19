"""`gristmill embody`: drafts the embodiment card of a corpus, for a person to correct."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gristmill.cli import _options


@click.command("embody", short_help="Draft an embodiment card from a corpus, with its evidence.")
@click.argument("corpus")
@_options.stated
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write it here. Default: print it.")
@click.option("--episodes", type=click.IntRange(min=1), default=40, show_default=True, help="Read at most so many.")
def command(corpus: str, stated: dict[str, Any], out: Path | None, episodes: int) -> None:
    """Draft a card of CORPUS as TOML: names, ranges, guessed units, grippers, rate and actions, with the reasons.

    Correct it, then use it: gristmill audit CORPUS --card card.toml. An existing file is never overwritten.
    """
    from gristmill.errors import UsageError
    from gristmill.outputs import keep_outside, output
    from gristmill.pipeline.embodying import embody

    if out is not None:
        keep_outside(out, [corpus] if Path(corpus).exists() else [])
        if out.exists():
            raise UsageError(f"{out}: exists already and may hold corrections; name another file, or remove it first")
    text = embody(corpus, episodes=episodes, options=stated)
    if out is None:
        click.echo(text, nl=False)
        return
    with output(out) as file:
        file.write(text.encode())
    click.echo(f"draft: {out}\nCorrect it, then run: gristmill audit {corpus} --card {out}")
