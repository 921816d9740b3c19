"""`gristmill curate`: from recordings to a clean, versioned training set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from gristmill.cli import _options

if TYPE_CHECKING:
    from gristmill.pipeline.curating import Curation


@click.command("curate", short_help="Decide what stays, freeze a snapshot and export it.")
@click.argument("corpora", nargs=-1, required=True)
@click.option("--out", type=click.Path(path_type=Path), help="Folder (or file, for --format index) to write.")
@click.option("--dry-run", is_flag=True, help="Say what would happen and why, episode by episode; write nothing.")
@click.option("--format", "format_", type=click.Choice(["lerobot", "index"]), default="lerobot", show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace an earlier export at --out.")
@click.option("--recipe", type=click.Path(path_type=Path, dir_okay=False), help="Rules and thresholds from this file.")
@click.option("--report", "report_path", type=click.Path(path_type=Path, dir_okay=False), help="Write one HTML page.")
@click.option("--tag", help="A name for the snapshot.")
@_options.as_json
@_options.measuring
def command(
    corpora: tuple[str, ...],
    out: Path | None,
    dry_run: bool,
    format_: str,
    overwrite: bool,
    recipe: Path | None,
    report_path: Path | None,
    tag: str | None,
    as_json: bool,
    store: Path | None,
    card: str | None,
    stated: dict[str, Any],
    cameras: Literal["all", "sample", "none"] | None,
    episodes: str | None,
    jobs: int | None,
    quiet: bool,
) -> None:
    """Audit CORPORA (folders, hub repositories, or one recipe.toml), then select, freeze and export.

    Exact copies go, defects are set aside, idle starts are trimmed at keyframes. The recordings are not
    touched; the dataset appears whole at --out, or not at all.
    """
    from gristmill import memory
    from gristmill.cli._progress import progress_bar
    from gristmill.errors import UsageError
    from gristmill.outputs import keep_outside
    from gristmill.pipeline import Project

    if out is None and not dry_run:
        raise UsageError("say where the dataset goes with --out DIR, or see what would happen with --dry-run")
    memory.frugal()
    project = Project.open(*corpora, store=store, card=card, recipe=recipe, options=stated)
    if report_path is not None:
        keep_outside(report_path, project.folders)
    with progress_bar(quiet) as progress:
        done = project.curate(
            out,
            dry_run=dry_run,
            format=format_,
            overwrite=overwrite,
            cameras=cameras,
            episodes=episodes,
            jobs=jobs,
            tag=tag,
            progress=progress,
        )
        if report_path is not None:
            for at, audit in enumerate(done.audits):
                path = report_path if len(done.audits) == 1 else _numbered(report_path, audit.facts.key)
                project.report(audit, path, curation=done.told(at), progress=progress)
    if as_json:
        _print_json(done)
    else:
        show(done, every=dry_run)
        if report_path is not None:
            click.echo(f"report: {report_path}")


def show(done: Curation, *, every: bool) -> None:
    """What was decided, episode by episode when `every`, and what came of it."""
    from gristmill.cli import _display
    from gristmill.pipeline.curating import rows_by_verdict
    from gristmill.visible import visible

    out = _display.console()
    rows = [row for plan in done.plans for row in _decisions(plan) if every or row[1] != "keep" or row[3]]
    if rows:
        out.print(_display.table(["episode", "verdict", "stays", "decided by"], rows))
    for audit in done.audits:
        for finding in audit.corpus_findings:
            if finding.kind == "defect":
                out.print(visible(f"{audit.facts.key}: {finding.check}: {finding.message}"), style="bold red")
                out.print(visible(f"    -> {finding.fix}"))
    for note in done.notes:
        out.print(visible(f"note: {note}"))
    counts = rows_by_verdict(done.plans)
    out.print("\n" + ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n), style="bold")
    if done.snapshot is None:
        out.print("A dry run: nothing was written.")
        return
    snapshot = done.snapshot
    frames = sum(s.stop - s.start for s in snapshot.kept())
    out.print(f"snapshot {snapshot.id}: {snapshot.spans.num_rows} episodes, {frames} frames")
    out.print(f"  data {snapshot.data_hash[:16]}, lineage {snapshot.lineage_hash[:16]}, in {done.folder}")
    if done.export is not None:
        for dataset in done.export.datasets:
            out.print(visible(f"dataset: {dataset.path} ({dataset.episodes} episodes, {dataset.frames} frames)"))
        if done.export.copied_frames or done.export.encoded_frames:
            out.print(f"  video: {done.export.copied_frames} frames copied, {done.export.encoded_frames} encoded anew")
        for note in done.export.notes:
            out.print(visible(f"  note: {note}"))


def _decisions(plan: Any) -> list[tuple[str, str, str, str]]:
    rows = []
    seen = any("vision" in d.usable_for for d in plan.decisions)
    for at, decision in enumerate(plan.decisions):
        stays = " + ".join(f"{a}-{b}" for a, b in decision.stretches)
        if decision.stretches and tuple(decision.stretches[0]) == (0, int(plan.length[at])):
            stays = "all"
        if stays and seen and "vision" not in decision.usable_for:
            stays += ", without cameras"
        rows.append((plan.ids[at], str(decision.verdict), stays, ", ".join(decision.rules)))
    return rows


def _numbered(path: Path, key: str) -> Path:
    """One report a corpus."""
    safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in key)
    return path.with_name(f"{path.stem}-{safe}{path.suffix}")


def _print_json(done: Curation) -> None:
    import orjson

    snapshot = done.snapshot
    content = {
        "episodes": [
            {
                "episode_id": plan.ids[at],
                "episode_index": int(plan.index[at]),
                "verdict": str(decision.verdict),
                "usable_for": list(decision.usable_for),
                "spans": [[a, b] for a, b in decision.stretches],
                "rules": list(decision.rules),
            }
            for plan in done.plans
            for at, decision in enumerate(plan.decisions)
        ],
        "notes": list(done.notes),
        "snapshot": None
        if snapshot is None
        else {
            "id": snapshot.id,
            "data_hash": snapshot.data_hash,
            "lineage_hash": snapshot.lineage_hash,
            "folder": str(done.folder),
        },
        "datasets": []
        if done.export is None
        else [{"path": str(d.path), "episodes": d.episodes, "frames": d.frames} for d in done.export.datasets],
    }
    click.echo(orjson.dumps(content, option=orjson.OPT_INDENT_2))
