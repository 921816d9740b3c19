"""`gristmill inject`: faults with ground truth, planted into a copy of a corpus."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli import _options


@click.command("inject", short_help="Plant faults with ground truth into a copy of a corpus.")
@click.argument("corpus", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the copy.")
@click.option("--faults", required=True, help="Comma-separated names, or `all`.")
@click.option("--severity", type=float, default=None, help="A factor on each fault's default severity.")
@click.option("--share", type=click.FloatRange(0, 1), default=0.3, show_default=True, help="Share of the episodes.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--truth", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File of the truth.")
@_options.quiet
def command(
    corpus: Path, out: Path, faults: str, severity: float | None, share: float, seed: int, truth: Path, quiet: bool
) -> None:
    """Copy CORPUS to --out with faults in some episodes; say in --truth which, where and how strong.

    The corpus is not touched, and the truth may not lie inside the copy.
    """
    from gristmill.cli._progress import progress_bar
    from gristmill.synth import inject

    names = None if faults == "all" else [name.strip() for name in faults.split(",") if name.strip()]
    with progress_bar(quiet) as progress:
        told = inject(
            corpus, out, faults=names, severity=severity, share=share, seed=seed, truth=truth, progress=progress
        )
    for entry in told["skipped"]:
        click.echo(f"not planted: {entry['fault']}: {entry['reason']}")
    click.echo(f"{len(told['planted'])} faults planted in {out}\ntruth: {truth}")
