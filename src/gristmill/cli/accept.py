"""`gristmill accept EPISODE CHECK --reason`: overrule a check for one episode."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli import _options


@click.command("accept", short_help="Accept what a check finds in an episode; the waiver persists.")
@click.argument("episode")
@click.argument("check")
@click.argument("corpora", nargs=-1)
@click.option("--reason", help="Why this is fine. It enters the lineage of every snapshot.")
@click.option("--revoke", is_flag=True, help="Take an earlier waiver back.")
@_options.store
def command(
    episode: str, check: str, corpora: tuple[str, ...], reason: str | None, revoke: bool, store: Path | None
) -> None:
    """Accept what CHECK finds in EPISODE (an id such as corpus/000012, or a number).

    The waiver holds while the recording's values stay as they are.
    """
    from gristmill.errors import UsageError
    from gristmill.pipeline import Project
    from gristmill.visible import visible

    project = Project.known(*corpora, store=store)
    if revoke:
        done = project.revoke(episode, check)
        click.echo(visible(f"{done}: {check} counts again"))
        return
    if not reason or not reason.strip():
        raise UsageError("a waiver needs --reason TEXT: say why this finding is acceptable")
    before = project.why(episode)
    done = project.accept(episode, check, reason)
    click.echo(visible(f"{done}: {check} is accepted: {reason}"))
    if check not in before.waived and not any(f.check == check for f in before.findings):
        click.echo(f"note: {check} finds nothing there now; the waiver waits until it does")
