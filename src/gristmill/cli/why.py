"""`gristmill why EPISODE`: everything known of one episode."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli import _options


@click.command("why", short_help="Tell everything known of one episode, and which rule decided.")
@click.argument("episode")
@click.argument("corpora", nargs=-1)
@_options.store
@click.option("--recipe", type=click.Path(path_type=Path, dir_okay=False), help="Rules and thresholds from this file.")
@_options.as_json
def command(episode: str, corpora: tuple[str, ...], store: Path | None, recipe: Path | None, as_json: bool) -> None:
    """Tell why EPISODE is treated as it is: findings, rules, waivers, measurements, snapshots.

    EPISODE is an id such as corpus/000012, or a number when the store knows one corpus.
    """
    from gristmill.cli import _display
    from gristmill.pipeline import Project
    from gristmill.visible import visible

    story = Project.known(*corpora, store=store, recipe=recipe).why(episode)
    if as_json:
        from dataclasses import asdict

        import orjson

        click.echo(orjson.dumps(asdict(story), option=orjson.OPT_INDENT_2))
        return
    out = _display.console()
    out.print(visible(f"{story.episode_id}: {story.length} frames, {story.duration_s:.1f} s"), style="bold")
    for task in story.tasks:
        out.print(visible(f"task: {task!r}"))
    uses = " and ".join({"low_dim": "joint data", "vision": "images"}[u] for u in story.usable_for) or "nothing"
    out.print(f"verdict: {story.verdict}, usable for {uses}")
    for reason in story.reasons:
        out.print(visible(f"  by {reason}"))
    for finding in story.findings:
        out.print()
        out.print(visible(f"{finding.kind} {finding.check}: {finding.message}"), style=_display.STYLE[finding.kind])
        out.print(visible(f"    -> {finding.fix}"))
    if not story.findings:
        out.print("No finding in what was measured." if story.owed else "No finding.")
    if story.owed:
        some = ", ".join(story.owed[:6]) + (f" and {len(story.owed) - 6} more" if len(story.owed) > 6 else "")
        out.print(f"Not measured yet: {some}; gristmill audit does.", style="yellow")
    for check, reason in story.waived.items():
        out.print(visible(f"accepted: {check}: {reason}"))
    for check, reason in story.lapsed.items():
        out.print(visible(f"accepted before its values changed, and no more: {check}: {reason}"))
    if story.places:
        out.print()
        rows = [
            (p.snapshot, " ".join(p.tags), p.verdict, " + ".join(f"{a}-{b}" for a, b in p.spans), ", ".join(p.rules))
            for p in story.places
        ]
        out.print(_display.table(["snapshot", "tags", "verdict", "frames", "decided by"], rows))
    out.print()
    out.print(
        _display.table(
            ["measured", ("value", "right")], [(k, "-" if v != v else f"{v:.4g}") for k, v in story.metrics.items()]
        )
    )
    out.print()
    out.print(_display.table(["content", "digest"], list(story.digests.items())))
