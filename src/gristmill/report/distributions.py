"""Which distributions the page draws, under which names, and which measurements are told in words."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from gristmill.audit import Audit, Verdict
from gristmill.report import charts, wording
from gristmill.report.survey import VERDICTS, Survey

DRAWN = 18  # before the rest is folded away
# Unit suffixes of column names, longest first: "speed_rad_s" is in radians a second.
_UNITS = {
    "_rad_s3": "rad/s³", "_rad_s2": "rad/s²", "_rad_s": "rad/s", "_m_s": "m/s", "_hz": "Hz", "_ms": "ms",
    "_rad": "rad", "_s": "s", "_px": "px", "_m": "m",
}  # fmt: skip
_FIRST = ("rate", "roughness", "smoothness", "idle", "jitter", "lag")


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """One measurement over all episodes."""

    title: str  # the check, as people call it
    column: str  # what of it was measured
    check: str
    about: str
    chart: charts.Histogram


@dataclass(frozen=True, kw_only=True)
class Distributions:
    """What is drawn at once, what is folded away, and what is the same or unknown everywhere."""

    first: list[Distribution]
    more: list[Distribution]
    constant: list[Distribution]
    unknown: list[Distribution]


def distributions(audit: Audit, found: Survey) -> Distributions:
    """Episode length, then every metric; drawn where it varies.

    A metric of one camera is named `check.column[camera]`.
    """
    left_out = found.verdict >= VERDICTS.index(Verdict.QUARANTINE)
    length = Distribution(
        title="Episode length",
        column="from metadata",
        check="",
        about="Declared frames over the declared rate.",
        chart=charts.histogram(found.duration_s, left_out, "s", "episode length"),
    )
    every = [length]
    for key in sorted(audit.metrics, key=_rank):
        check, _, name = key.partition(".")
        name, _, camera = name.removesuffix("]").partition("[")
        about, unit = wording.column(check, name)
        words, guessed = _split(name or check)
        unit = unit or guessed
        values = np.asarray(audit.metrics[key], dtype=np.float64)
        if any(np.allclose(values, drawn, rtol=1e-3, equal_nan=True) for drawn in (audit.length, found.duration_s)):
            continue  # the length again
        title = wording.title(check)
        words = ", ".join(part for part in ("" if words == title.lower() else words, camera) if part)
        chart = charts.histogram(values, left_out, unit, f"{title.lower()} {words}".strip())
        every.append(Distribution(title=title, column=words, check=check, about=about, chart=chart))
    drawn = [d for d in every if d.chart.svg is not None]
    return Distributions(
        first=drawn[:DRAWN],
        more=drawn[DRAWN:],
        constant=[d for d in every if d.chart.constant],
        unknown=[d for d in every if not d.chart.known],
    )


def _rank(key: str) -> tuple[int, str]:
    check = key.partition(".")[0]
    return (_FIRST.index(check) if check in _FIRST else len(_FIRST), key)


def _split(name: str) -> tuple[str, str]:
    for suffix, unit in _UNITS.items():
        if name.endswith(suffix) and name != suffix[1:]:
            return _words(name[: -len(suffix)]), unit
    return _words(name), ""


def _words(name: str) -> str:
    return re.sub(r"[_.]+", " ", name).strip()
