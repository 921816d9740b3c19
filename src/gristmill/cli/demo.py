"""`gristmill demo`: the whole way once, on a corpus that it generates and spoils itself."""

from __future__ import annotations

from pathlib import Path

import click

from gristmill.cli import _options


@click.command("demo", short_help="Generate a sample, plant faults, audit and curate it.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("demo"), show_default=True)
@click.option("--episodes", type=click.IntRange(min=20), default=80, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@_options.jobs
@_options.quiet
def command(out: Path, episodes: int, seed: int, jobs: int | None, quiet: bool) -> None:
    """Record a sample corpus, plant faults with known truth, audit it, and curate a clean dataset."""
    from gristmill import audit_json
    from gristmill.cli import _display
    from gristmill.cli._progress import progress_bar
    from gristmill.cli.curate import show
    from gristmill.pipeline import Project
    from gristmill.synth import generate, inject

    clean, spoilt, truth = out / "recorded", out / "sample", out / "truth.json"
    report, dataset, found = out / "report.html", out / "clean", out / "audit.json"
    with progress_bar(quiet) as progress:
        if not (clean / "meta" / "info.json").exists():
            generate(clean, episodes=episodes, seed=seed, jobs=jobs, progress=progress)
        if not (spoilt / "meta" / "info.json").exists():
            inject(clean, spoilt, share=0.4, seed=seed, truth=truth, progress=progress)
        project = Project.open(spoilt, store=out / "store")
        done = project.curate(dataset, overwrite=True, jobs=jobs, progress=progress)
        audit_json.write(done.audits[0], found)
        project.report(done.audits[0], report, curation=done.told(), progress=progress)
    _display.audit(done.audits[0], shown=8)
    click.echo()
    show(done, every=False)
    _planted(truth, found)
    click.echo(f"\nreport:  {report}\ndataset: {dataset}\n")
    click.echo(f"Next: open the report in a browser, or run `gristmill why 0 --store {out / 'store'}`.")


def _planted(truth: Path, found: Path) -> None:
    """How many of the planted faults the audit named."""
    import orjson

    from gristmill.synth.scoring import score

    planted = orjson.loads(truth.read_bytes())
    result = score(orjson.loads(found.read_bytes()), planted["planted"])
    hits = sum(t.hits for t in result.by_fault.values())
    total = sum(t.planted for t in result.by_fault.values())
    click.echo(
        f"\nOf {total} planted faults {hits} were named; "
        f"{len(result.clean_flagged)} of {result.episodes - total} untouched episodes were flagged."
    )
