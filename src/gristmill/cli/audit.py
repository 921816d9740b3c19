"""`gristmill audit`: what is wrong with a corpus, in seconds and without configuration."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

import click

from gristmill.cli import _options


@click.command("audit", short_help="Find what is wrong with a corpus.")
@click.argument("corpus")
@_options.measuring
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the audit as JSON; - prints it and nothing else.",
)
@click.option("--report", "report_path", type=click.Path(path_type=Path, dir_okay=False), help="Write one HTML page.")
@click.option("--recipe", type=click.Path(path_type=Path, dir_okay=False), help="Thresholds and rules from this file.")
@click.option(
    "--fail-on",
    type=click.Choice(["defect", "risk", "never"]),
    default="defect",
    show_default=True,
    help="Exit with 1 when a finding of this kind, or a worse one, was found.",
)
@click.option("--all", "every", is_flag=True, help="Print every finding, not the worst twenty.")
def command(
    corpus: str,
    store: Path | None,
    card: str | None,
    stated: dict[str, Any],
    cameras: Literal["all", "sample", "none"] | None,
    episodes: str | None,
    jobs: int | None,
    quiet: bool,
    json_path: Path | None,
    report_path: Path | None,
    recipe: Path | None,
    fail_on: str,
    every: bool,
) -> int:
    """Audit CORPUS: a recording or a folder of them, or a hub repository such as lerobot/pusht.

    Measures what was not measured before, judges everything, and prints what was found, worst first, what
    was not checked, and the list of good episodes.
    """
    from gristmill import audit_json, memory
    from gristmill.cli import _display
    from gristmill.cli._progress import progress_bar
    from gristmill.outputs import keep_outside
    from gristmill.pipeline import Project

    memory.frugal()
    project = Project.open(corpus, store=store, card=card, recipe=recipe, options=stated)
    piped = json_path is not None and str(json_path) == "-"
    for path in (json_path, report_path):
        if path is not None and not (path is json_path and piped):
            keep_outside(path, project.folders)
    with progress_bar(quiet) as progress:
        result = project.audit(cameras=cameras, episodes=episodes, jobs=jobs, progress=progress)
        if json_path is not None and not piped:
            audit_json.write(result, json_path)
        if report_path is not None:
            project.report(result, report_path, progress=progress)
    if piped:
        audit_json.stream(result, sys.stdout.buffer)
        return exit_status(result, fail_on)
    _display.audit(result, every=every)
    _display.effort(project.counters)
    for what, path in (("report", report_path), ("JSON", json_path)):
        if path is not None:
            click.echo(f"{what}: {path}")
    return exit_status(result, fail_on)


def exit_status(result, fail_on: str) -> int:
    """1 when a finding as bad as `fail_on` exists; 2 when nothing could be audited; else 0."""
    if len(result.index) and len(result.unreadable) == len(result.index):
        return 2
    kinds = {str(f.kind) for f in (*result.findings, *result.corpus_findings)}
    bad = {"defect": {"defect"}, "risk": {"defect", "risk"}, "never": set()}[fail_on]
    return 1 if kinds & bad else 0
