"""The report: one HTML page that holds everything it shows and asks nothing of the network.

The page is streamed into a file beside its place and swapped in when it is whole. Its policy allows
exactly the style and the scripts that it was built with, named by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gristmill.audit import Audit, Verdict
from gristmill.episode import Corpus
from gristmill.errors import GristmillError
from gristmill.finding import Kind
from gristmill.outputs import output
from gristmill.report import charts, figures, rows, wording
from gristmill.report.curation import Curation
from gristmill.report.details import Details, StoredTraces
from gristmill.report.distributions import distributions
from gristmill.report.escape import shown
from gristmill.report.survey import KINDS, VERDICTS, Survey, closer_look, stretch, survey

STYLES = ("base.css", "sections.css", "episodes.css")
SCRIPTS = ("page.js", "list.js")
NOT_CHECKED = 300  # lines; the rest is counted
ACCEPTED = 200
THRESHOLDS = 6  # of one check, when they differ from episode to episode


def write_report(
    audit: Audit,
    path: Path,
    *,
    corpus: Corpus | None = None,
    curation: Curation | None = None,
    settings: Mapping[str, Mapping[str, object]] | None = None,
    traces: StoredTraces | None = None,
    max_detailed: int = 200,
) -> None:
    """Write the audit as one self-contained HTML page.

    Args:
        audit: what was found.
        path: the file to write; it appears whole or not at all.
        corpus: gives signals and frames of the episodes shown in detail; without it the page has no
            timelines and no filmstrips.
        curation: what was kept, trimmed and dropped, when the corpus was curated.
        settings: thresholds in force, check -> name -> value, for the page's footer.
        traces: camera traces that were stored, by row of the corpus's table and camera key; None for some that
            were not. They are drawn next to what camera checks found; no frame is decoded for them.
        max_detailed: at most this many episodes are shown in detail, the worst ones and some of each check.

    Raises:
        GristmillError: the file cannot be written.
    """
    path = Path(path)
    found = survey(audit)
    chosen = closer_look(audit, found, max_detailed)
    worded = set(closer_look(audit, found, rows.WORDED))
    environment = _environment()
    block = environment.get_template("episode.html")
    with Details(audit, found, chosen, corpus, traces, lambda detail: block.render(d=detail)) as details:
        context = _context(audit, found, curation, settings or {})
        context |= {
            "details": details,
            "allowance": details.allowance,
            "chosen": set(chosen),
            "detailed": len(chosen),
            "with_signals": corpus is not None,
            "blocks": rows.blocks(audit, found, worded, set(chosen)),
        }
        _write(path, environment.get_template("page.html").generate(context))


def _context(
    audit: Audit, found: Survey, curation: Curation | None, settings: Mapping[str, Mapping[str, object]]
) -> dict[str, Any]:
    n = len(audit.index)
    good = {v: found.count(v) for v in Verdict}
    style, scripts = _assets()
    return {
        "audit": audit,
        "facts": audit.facts,
        "card": audit.embodiment,
        "found": found,
        "n": n,
        "time": figures.headline_time(float(found.duration_s.sum())),
        "sentence": wording.verdict_sentence(audit, found),
        "verdicts": [(v, good[v], found.total_s(v), wording.VERDICT_MEANS[v]) for v in Verdict],
        "bar": charts.stacked([(v.value, good[v]) for v in VERDICTS], _tally(good)),
        "uses": _uses(audit, found),
        "kinds": [(k, wording.KIND_MEANS[k]) for k in KINDS],
        "findings_of": {k: sum(g.findings for g in found.groups if g.kind is k) for k in KINDS},
        "distributions": distributions(audit, found),
        "not_checked": audit.not_checked[:NOT_CHECKED],
        "accepted": list(itertools.islice(sorted(audit.waived.items()), ACCEPTED)),
        "good_list": _listed(audit.good),
        "good_count": len(audit.good),
        "curation": curation,
        "settings": bool(settings),
        "thresholds": _thresholds(found, settings),
        "version": version("gristmill"),
        "style": style,
        "scripts": scripts,
        "policy": _policy(),
    }


def _tally(good: Mapping[Verdict, int]) -> str:
    return "Verdicts: " + ", ".join(f"{v.value} {figures.count(amount)}" for v, amount in good.items())


def _uses(audit: Audit, found: Survey) -> list[tuple[str, int, float]]:
    """For each use: how many episodes to keep or trim serve it, and their seconds."""
    result = []
    good = np.flatnonzero(found.verdict <= VERDICTS.index(Verdict.TRIM)).tolist()
    for use, name in wording.USES.items():
        serving = [row for row in good if use in audit.usable_for[row]]
        result.append((name, len(serving), float(found.duration_s[serving].sum())))
    return result


def _thresholds(found: Survey, settings: Mapping[str, Mapping[str, object]]) -> list[tuple[str, list[str]]]:
    """The settings in force, or else the thresholds that findings name; as text, by check."""
    if settings:
        return [(check, [f"{name} = {value}" for name, value in settings[check].items()]) for check in sorted(settings)]
    named: dict[str, set[tuple[float, str]]] = {}
    for group in found.groups:
        named.setdefault(group.check, set()).update(group.thresholds)
    return [
        (check, [figures.number(value, unit) for value, unit in sorted(values)[:THRESHOLDS]])
        for check, values in sorted(named.items())
        if values
    ]


def _listed(indices: list[int], step: int = 2000) -> Iterator[str]:
    """`0, 1, 2, ...` in pieces."""
    for start in range(0, len(indices), step):
        yield (", " if start else "") + ", ".join(map(str, indices[start : start + step]))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("gristmill.report", "templates"),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": figures.number,
        "count": figures.count,
        "duration": figures.duration,
        "spans": figures.spans,
        "title": wording.title,
        "about": wording.about,
        "without_place": wording.without_place,
        "strip": lambda group, n: charts.strip(group.bins, stretch(n), group.kind.value, _where(group)),
        "share": figures.share,
    }
    environment.globals |= {"Kind": Kind, "Verdict": Verdict}
    return environment


def _where(group: Any) -> str:
    return f"Where in the corpus the {figures.count(group.episodes, 'episode')} lie"


@cache
def _assets() -> tuple[Markup, tuple[Markup, ...]]:
    static = files("gristmill.report").joinpath("static")
    style = "\n".join(static.joinpath(name).read_text(encoding="utf-8") for name in STYLES)
    scripts = tuple(Markup(static.joinpath(name).read_text(encoding="utf-8")) for name in SCRIPTS)
    return Markup(style), scripts


@cache
def _policy() -> str:
    style, scripts = _assets()
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src {_hash(style)}",
            f"script-src {' '.join(_hash(s) for s in scripts)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _write(path: Path, pieces: Iterator[str]) -> None:
    try:
        with output(path) as out:
            out.writelines(piece.encode("utf-8") for piece in pieces)
    except OSError as error:
        raise GristmillError(f"{path}: the report cannot be written ({error.strerror or error})") from error
