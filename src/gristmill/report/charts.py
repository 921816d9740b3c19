"""Small charts as inline SVG: histograms, strips over the corpus, the bar of verdicts.

Shapes lie in a stretched inner viewport, texts beside it in HTML: so a chart fills any width, a phone's
too, and its texts keep their size. Colours come from classes; a content security policy forbids `style`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from gristmill.report import figures
from gristmill.report.envelope import drawable
from gristmill.types import FloatArray, IntArray, Mask
from gristmill.visible import visible

BARS = 36
HEIGHT = 100  # of the inner viewport; the page's style sets the real height
# One bar alone may hold what lies far out, so that a few outliers do not squeeze all others into one bar.
FAR = 3.0


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """A drawn distribution and the words around it. `svg` is None where there is nothing to draw."""

    svg: Markup | None
    low: str
    high: str
    median: str
    known: int
    unknown: int
    constant: bool


def histogram(values: FloatArray, marked: Mask, unit: str, name: str, figure_of: str = "episodes") -> Histogram:
    """Distribution of `values` (n,), with the part that `marked` (n,) selects drawn darker.

    Values that are not finite are counted, not drawn. Those beyond `FAR` times the spread of the inner
    98 % share the outermost bar, which is hatched, and the label there says "or more".
    """
    values = drawable(values)
    fine = np.isfinite(values)
    known = values[fine]
    if not len(known):
        return Histogram(
            svg=None,
            low=figures.NOTHING,
            high=figures.NOTHING,
            median=figures.NOTHING,
            known=0,
            unknown=len(values),
            constant=False,
        )
    least, most = float(known.min()), float(known.max())
    median = float(np.median(known))
    text = figures.number(median, unit)
    # Bars of differences that no label could tell apart would draw rounding errors.
    if figures.number(least) == figures.number(most):
        return Histogram(
            svg=None, low=text, high=text, median=text, known=len(known), unknown=int((~fine).sum()), constant=True
        )
    p1, p99 = (float(q) for q in np.quantile(known, (0.01, 0.99)))
    spread = p99 - p1
    low = p1 - spread / 20 if spread > 0 and least < p1 - FAR * spread else least
    high = p99 + spread / 20 if spread > 0 and most > p99 + FAR * spread else most
    # A span below the floating-point resolution of the values cannot be cut into bars.
    place = np.clip((known - low) / max(high - low, np.finfo(float).tiny) * BARS, 0, BARS - 1).astype(np.int64)
    every = np.bincount(place, minlength=BARS)
    dark = np.bincount(place[marked[fine]], minlength=BARS)
    title = (
        f"Histogram of {name} over {figures.count(len(known))} {figure_of}: from {figures.number(least, unit)} "
        f"to {figures.number(most, unit)}, median {text}; {figures.count(int(dark.sum()))} are not kept"
    )
    return Histogram(
        svg=_bars(every, dark, (median - low) / (high - low), (low > least, high < most), title),
        low=("≤ " if low > least else "") + figures.end(low, high - low, unit),
        high=("≥ " if high < most else "") + figures.end(high, high - low, unit),
        median=text,
        known=len(known),
        unknown=int((~fine).sum()),
        constant=False,
    )


def strip(bins: IntArray, width: int, kind: str, label: str) -> Markup:
    """Where in the corpus the flagged episodes lie: one bar a stretch, as high as the share flagged in it.

    Args:
        bins: flagged episodes in each stretch.
        width: episodes in a stretch.
        kind: class of the strip's colour.
        label: what a screen reader says.
    """
    m = len(bins)
    parts = []
    for x in np.flatnonzero(bins):
        high = max(24, round(HEIGHT * int(bins[x]) / width))
        parts.append(f"M{x} {HEIGHT}v-{high}h1v{high}z")
    return Markup(
        '<svg class="strip {}" role="img" aria-label="{}" viewBox="0 0 {} {}" preserveAspectRatio="none">'
        '<path class="ground" d="M0 {}h{}v-6h-{}z"/><path d="{}"/></svg>'
    ).format(kind, label, m, HEIGHT, HEIGHT, m, m, "".join(parts))


def stacked(parts: Sequence[tuple[str, int]], label: str) -> Markup:
    """One bar divided by (class, amount); even a tiny part stays visible."""
    whole = sum(amount for _, amount in parts)
    shares = [(name, max(0.004, amount / whole)) for name, amount in parts if amount]
    scale = 1 / sum(s for _, s in shares) if shares else 1.0
    rects, x = [], 0.0
    for name, fraction in shares:
        width = fraction * scale * 100
        rects.append(Markup('<rect class="{}" x="{:.3f}%" width="{:.3f}%" height="100%"/>').format(name, x, width))
        x += width
    return Markup('<svg class="stacked" role="img" aria-label="{}">{}</svg>').format(label, Markup("").join(rects))


def _bars(every: IntArray, dark: IntArray, median: float, clipped: tuple[bool, bool], title: str) -> Markup:
    top = int(every.max())
    light, inner, far = [], [], []
    for i, (total, part) in enumerate(zip(every.tolist(), dark.tolist(), strict=True)):
        if not total:
            continue
        # A bar of one episode among thousands must not vanish.
        high = max(2.0, HEIGHT * total / top)
        outside = (clipped[0] and i == 0) or (clipped[1] and i == BARS - 1)
        (far if outside else light).append(f"M{i + 0.06:.2f} {HEIGHT}v-{high:.1f}h.88v{high:.1f}z")
        if part:
            inner.append(f"M{i + 0.06:.2f} {HEIGHT}v-{max(2.0, high * part / total):.1f}h.88V{HEIGHT}z")
    return Markup(
        '<svg class="hist" role="img" aria-label="{}"><svg viewBox="0 0 {} {}" preserveAspectRatio="none">'
        '<path class="all" d="{}"/><path class="far" d="{}"/><path class="marked" d="{}"/></svg>'
        '<line class="median" x1="{:.2f}%" x2="{:.2f}%" y1="0" y2="100%"/></svg>'
    ).format(visible(title), BARS, HEIGHT, "".join(light), "".join(far), "".join(inner), 100 * median, 100 * median)
