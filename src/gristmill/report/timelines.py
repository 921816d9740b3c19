"""Timelines of one episode: the signals that findings name, on a shared time axis, with the flagged spans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from gristmill.embodiment import Embodiment
from gristmill.episode import Episode
from gristmill.finding import Finding
from gristmill.report import envelope, figures
from gristmill.report.envelope import HIGH, WIDE, Frame
from gristmill.report.signals import Signal, signals
from gristmill.visible import visible

SPANS = 40  # of one finding in one plot
FARTHEST = 4.0  # times the promised length that the time axis may reach
LANES = 3
LANE = 12  # pixels
APART = 7.0  # percent of a plot's width that a mark with its number takes on a phone


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """A drawn signal and the words around it."""

    name: str
    of: str
    unit: str
    action_label: str
    low: str
    high: str
    flagged: bool
    svg: Markup


def timelines(episode: Episode, findings: Sequence[Finding], card: Embodiment) -> list[Timeline]:
    """Plots of one episode; `findings` are numbered from 1 in the order given.

    Raises:
        RecordingError: the episode's channels cannot be read.
    """
    end_s = extent_s(episode)
    return [_draw(signal, findings, end_s) for signal in signals(episode, findings, card) if len(signal.values)]


def extent_s(episode: Episode) -> float:
    """Where the time axis ends: the last frame's time and one period, or what the metadata promises."""
    period_s = 1 / episode.rate_hz if episode.rate_hz > 0 else 0.0
    promised_s = max(1, episode.length) * period_s
    times = episode.times_s
    fine = times[np.isfinite(times)]
    last_s = float(fine.max()) + period_s if len(fine) else 0.0
    # One absurd time must not squeeze everything else into a pixel.
    return max(min(last_s, FARTHEST * promised_s) if promised_s else last_s, promised_s, 1e-3)


def axis(end_s: float) -> Markup:
    """The time axis below the plots: a handful of round seconds."""
    ticks = _ticks(end_s)
    texts = []
    for i, tick in enumerate(ticks):
        x = 100 * tick / end_s
        anchor = "start" if x < 2 else "end" if x > 97 else "middle"
        text = figures.at(tick) + (f"{figures.THIN}s" if i == len(ticks) - 1 else "")
        texts.append(Markup('<text x="{:.2f}%" y="13" text-anchor="{}">{}</text>').format(x, anchor, text))
    return Markup('<svg class="axis" aria-hidden="true">{}</svg>').format(Markup("").join(texts))


def _ticks(end_s: float) -> list[float]:
    step = 10 ** np.floor(np.log10(end_s / 5))
    step *= next(m for m in (1, 2, 5, 10) if end_s / (step * m) <= 6)
    return [float(t) for t in np.arange(0, end_s * (1 + 1e-9), step)]


def _draw(signal: Signal, findings: Sequence[Finding], end_s: float) -> Timeline:
    drawn = [signal.values] + ([signal.action] if signal.action is not None else [])
    bounds = envelope.limits(*drawn)
    low, high = bounds or (0.0, 1.0)
    frame = Frame(0.0, end_s, low, high)
    closed = "band" if len(signal.values) > 1.5 * envelope.COLUMNS else "line"
    paths = [
        Markup('<path class="{} {}" d="{}"/>').format(what, closed, envelope.path(signal.times_s, values, frame))
        for what, values in (("action", signal.action), ("signal", signal.values))
        if values is not None
    ]
    known = np.concatenate([d[np.isfinite(d)] for d in drawn])
    lowest = figures.number(float(known.min())) if len(known) else figures.NOTHING
    highest = figures.number(float(known.max())) if len(known) else figures.NOTHING
    shown = [(number, findings[number - 1]) for number in signal.marks]
    rects, lanes, marks = _spans(shown, frame)
    title = [
        f"{signal.name} of {signal.of} from 0 to {figures.at(end_s)} s, between {lowest} and {highest} {signal.unit}",
        *(f"finding {number} at {figures.spans(finding.spans_s)}" for number, finding in shown if finding.spans_s),
    ]
    grid = "".join(f"M{WIDE * t / end_s:.1f} 0v{HIGH}" for t in _ticks(end_s))
    svg = Markup(
        '<div class="plot" role="img" aria-label="{}"><svg class="marks lanes-{}" aria-hidden="true">{}</svg>'
        '<svg class="body" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-hidden="true">'
        '<path class="grid" d="{}"/>{}{}</svg></div>'
    ).format(visible("; ".join(title)), lanes, marks, WIDE, HIGH, grid, rects, Markup("").join(paths))
    return Timeline(
        name=signal.name,
        of=signal.of,
        unit=signal.unit,
        action_label=signal.action_label,
        low=lowest,
        high=highest,
        flagged=bool(rects),
        svg=svg,
    )


def _spans(shown: list[tuple[int, Finding]], frame: Frame) -> tuple[Markup, int, Markup]:
    """Flagged spans as rectangles; the lanes that their numbers need above the plot, and the numbers."""
    rects, places = [], []
    for number, finding in shown:
        kind = finding.kind.value
        for start_s, end_s in finding.spans_s[:SPANS]:
            if not (math.isfinite(start_s) and math.isfinite(end_s)):
                continue
            x, right = np.clip(frame.x(np.array([start_s, max(start_s, end_s)])), 0, WIDE).tolist()
            rects.append(
                Markup('<rect class="span {}" x="{:.1f}" width="{:.1f}" height="{}"/>').format(kind, x, right - x, HIGH)
            )
            places.append((50 * (x + right) / WIDE, number, kind))
    lanes, marks = _marks(places)
    return Markup("").join(rects), lanes, marks


def _marks(places: list[tuple[float, int, str]]) -> tuple[int, Markup]:
    """The numbers above a plot, in up to `LANES` lanes, so that near ones do not cover each other.

    Args:
        places: (x in percent, number of the finding, its kind).
    """
    ends = [-math.inf] * LANES
    marks, used = [], 1
    for x, number, kind in sorted(places):
        lane = next((i for i, end in enumerate(ends) if x - end >= APART), None)
        if lane is None:
            continue  # the coloured span itself remains
        ends[lane] = x
        used = max(used, lane + 1)
        marks.append(
            Markup(
                '<svg class="mark {}" x="{:.2f}%" y="{}" aria-hidden="true">{}<text y="9" x="7">{}</text></svg>'
            ).format(kind, x, lane * LANE, SHAPES[kind], number)
        )
    return used, Markup("").join(marks)


# Severity is never told by colour alone: a diamond, a triangle, a ring.
SHAPES = {
    "defect": Markup('<path d="M0 0 5 5 0 10-5 5z"/>'),
    "risk": Markup('<path d="M0 0 5.5 10h-11z"/>'),
    "trait": Markup('<circle cy="5" r="4"/>'),
}
