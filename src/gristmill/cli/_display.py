"""How commands print: tables that fit a terminal, plain text when piped, hostile text made visible."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import click

from gristmill.audit import Audit, Verdict
from gristmill.finding import Finding, Kind
from gristmill.visible import visible

STYLE = {Kind.DEFECT: "bold red", Kind.RISK: "yellow", Kind.TRAIT: "cyan"}
_PIPED_WIDTH = 200  # columns, where there is no terminal to ask
_OF_ONE_CHECK = 3  # sentences of one check that are worth reading; the rest is counted
_NAMED = 12  # episodes named in a row
_RUN = 6  # consecutive numbers that are worth a range
_ORDER = {Kind.DEFECT: 0, Kind.RISK: 1, Kind.TRAIT: 2}


def console() -> Any:
    """A console that drops colours when piped and wraps only on a terminal."""
    from rich.console import Console

    piped = not sys.stdout.isatty()
    return Console(highlight=False, soft_wrap=piped, markup=False, width=_PIPED_WIDTH if piped else None)


def table(columns: Sequence[str | tuple[str, str]], rows: Iterable[Sequence[Any]], title: str | None = None) -> Any:
    """A table whose cells are escaped; a column given as (name, "right") is right-aligned."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False, show_edge=False)
    for column in columns:
        name, justify = column if isinstance(column, tuple) else (column, "left")
        made.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        made.add_row(*(c if isinstance(c, Text) else Text(visible(str(c))) for c in row))
    return made


def styled(kind: Kind) -> Any:
    """The kind's name in its colour."""
    from rich.text import Text

    return Text(str(kind), style=STYLE[kind])


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def ranges(indices: Sequence[int]) -> str:
    """`[*range(0, 30), 31, 35]`: Python that is ready to paste as `episodes=`, short for long runs."""
    parts: list[str] = []
    at = 0
    while at < len(indices):
        stop = at
        while stop < len(indices) and indices[stop] - indices[at] == stop - at:
            stop += 1
        if stop - at >= _RUN:
            parts.append(f"*range({indices[at]}, {indices[stop - 1] + 1})")
        else:
            parts += map(str, indices[at:stop])
        at = stop
    return "[" + ", ".join(parts) + "]"


def audit(result: Audit, *, every: bool = False, shown: int = 20) -> None:
    """The table of checks, the worst findings as sentences, what was not checked, and the good list."""
    out = console()
    facts = result.facts
    total = len(result.index)
    seconds = float(result.length.sum()) / facts.rate_hz
    card = f"card {result.embodiment.key}" + (" (inferred)" if result.embodiment.inferred else "")
    out.print(
        visible(
            f"{facts.key}: {total} episodes, {int(result.length.sum())} frames, {duration(seconds)}, "
            f"{facts.format}, {card}"
        ),
        style="bold",
    )
    findings = [*result.corpus_findings, *result.findings]
    if findings:
        out.print(table(["kind", "check", ("episodes", "right"), "worst"], _by_check(result)))
        _sentences(out, result, every, shown)
    else:
        out.print("\nNothing was found.")
    _not_checked(out, result)
    _verdict(out, result)


def effort(counters: Any) -> None:
    """What this run had to measure; what it did not was known from an earlier one."""
    measured = sum(counters.measured.values())
    click.echo(
        f"\nMeasured now: {measured} measurements, {counters.read} episodes read, {counters.decoded} frames decoded."
    )
    for check, problem in sorted(counters.problems.items()):
        click.echo(
            f"gristmill: check {check} went wrong on {counters.failed[check]} episodes ({visible(problem)}); "
            "they count as not checked. This is a fault of Gristmill.",
            err=True,
        )


def _by_check(result: Audit) -> list[list[Any]]:
    groups: dict[tuple[Kind, str], list[Finding]] = {}
    for f in (*result.corpus_findings, *result.findings):
        groups.setdefault((f.kind, f.check), []).append(f)
    rows = []
    for (kind, check), members in sorted(
        groups.items(), key=lambda g: (_ORDER[g[0][0]], -len({f.row for f in g[1]}), g[0][1])
    ):
        episodes = {f.row for f in members if f.row is not None}
        worst = max(members, key=lambda f: abs((f.measured or 0) / (f.threshold or 1)))
        rows.append([styled(kind), check, len(episodes) if episodes else "corpus", _measure(worst)])
    return rows


def _measure(f: Finding) -> str:
    if f.measured is None:
        return ""
    against = "" if f.threshold is None else f" against {f.threshold:.4g}"
    return f"{f.measured:.4g}{against} {f.unit}".rstrip()


def _sentences(out: Any, result: Audit, every: bool, shown: int) -> None:
    """The worst findings as sentences, a few of each check, with what to do after the last of them."""
    from rich.text import Text

    ordered = sorted((*result.corpus_findings, *result.findings), key=lambda f: _ORDER[f.kind])
    groups: dict[tuple[Kind, str, str], list[Finding]] = {}
    for f in ordered:
        groups.setdefault((f.kind, f.check, f.fix), []).append(f)
    printed = 0
    for (kind, check, fix), members in groups.items():
        said = members if every else members[: min(_OF_ONE_CHECK, shown - printed)]
        for f in said:
            line = Text("\n")
            line.append(str(kind), style=STYLE[kind])
            line.append(f" {check}: {visible(f.message)}")
            out.print(line, end="")
        if said:
            rest = members[len(said) :]
            if rest:
                out.print(f"\n    and {len(rest)} more like it{_episodes(result, rest)}", end="")
            out.print(Text(f"\n    -> {visible(fix)}", style="dim"), end="")
        printed += len(said)
    out.print()
    if printed < len(ordered):
        out.print("\n--all prints every finding; --json and --report hold them too.")


def _episodes(result: Audit, findings: Sequence[Finding]) -> str:
    """`, in episodes 3, 7, 9, ...`: where some findings are."""
    numbers = list(dict.fromkeys(int(result.index[f.row]) for f in findings if f.row is not None))
    if not numbers:
        return ""
    more = ", ..." if len(numbers) > _NAMED else ""
    return ", in episodes " + ", ".join(map(str, numbers[:_NAMED])) + more


def _not_checked(out: Any, result: Audit) -> None:
    if not result.not_checked:
        return
    out.print("\nNot checked", style="bold")
    alike: dict[tuple[str, str], list[str]] = {}
    for item in result.not_checked:
        alike.setdefault((item.scope, item.reason), []).append(item.check)
    for (scope, reason), checks in alike.items():
        out.print(visible(f"  {', '.join(checks)}: {scope}: {reason}"))


def _verdict(out: Any, result: Audit) -> None:
    counts = Counter(result.verdict)
    words = ", ".join(f"{counts[v]} {v}" for v in Verdict if counts[v])
    vision = sum("vision" in uses for uses in result.usable_for)
    low_dim = sum("low_dim" in uses for uses in result.usable_for)
    out.print(f"\nVerdict: {words or 'no episodes'}", style="bold")
    if result.facts.cameras:
        out.print(f"Usable for policies on joint data: {low_dim} episodes; for policies on images: {vision}.")
    else:
        out.print(f"Usable for policies on joint data: {low_dim} episodes; there are no cameras.")
    for (episode, check), reason in sorted(result.lapsed.items()):
        text = f"note: {episode} has changed since {check} was accepted ({reason}); it counts again"
        out.print(visible(text), style="yellow")
    out.print(f"\nepisodes={ranges(result.good)}")
