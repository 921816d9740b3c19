"""`gristmill sample`: a corpus to try things on, recorded from a small simulation."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli import _options


@click.command("sample", short_help="Generate a sample LeRobot corpus from a small simulation.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write.")
@click.option("--episodes", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--task", "tasks", multiple=True, help="reach, lift or pick_place; repeat for several. Default: all.")
@click.option("--size-px", type=int, default=64, show_default=True, help="Height and width of the pictures.")
@click.option("--no-video", is_flag=True, help="Joint data only: twenty times faster.")
@click.option("--version", type=click.Choice(["v3.0", "v2.1"]), default="v3.0", show_default=True)
@_options.jobs
@click.option("--overwrite", is_flag=True, help="Replace a dataset that Gristmill wrote.")
@_options.quiet
def command(
    out: Path,
    episodes: int,
    seed: int,
    tasks: tuple[str, ...],
    size_px: int,
    no_video: bool,
    version: str,
    jobs: int | None,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Record a simulated arm that reaches for, lifts and moves a cube, as a LeRobot dataset.

    The same seed gives the same episodes. Needs MuJoCo: install the extra `synth`.
    """
    from gristmill.cli._progress import progress_bar
    from gristmill.synth.sample import TASKS, generate

    with progress_bar(quiet) as progress:
        generate(
            out,
            episodes=episodes,
            seed=seed,
            size_px=size_px,
            video=not no_video,
            version=version,  # type: ignore[arg-type]
            jobs=jobs,
            overwrite=overwrite,
            progress=progress,
            tasks=tasks or TASKS,
        )
    click.echo(f"{episodes} episodes: {out}")
