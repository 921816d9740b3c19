"""Numbers for people: as many digits as mean something, with their unit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gristmill.finding import Span

MINUS = "\u2212"
TO = "\u2013"  # en dash, between the ends of a span
NOTHING = "\u2013"
THIN = "\u202f"  # narrow no-break space between a number and its unit


def number(value: float | None, unit: str = "", digits: int = 3) -> str:
    """Three significant digits, thousands grouped: `1,240`, `0.0312`, `4.1e-07`; an en dash for nothing."""
    if value is None or not math.isfinite(value):
        return NOTHING
    text = _plain(float(value), digits)
    return text if not unit else f"{text}{THIN}{unit}"


def end(value: float, extent: float, unit: str = "") -> str:
    """An axis's end: what is a thousandth of the axis away from zero is zero to the eye."""
    return number(0.0 if abs(value) < extent / 1000 else value, unit)


def count(value: int, singular: str = "", plural: str = "") -> str:
    """`1,204 episodes`, `1 episode`; the bare number without a noun."""
    text = f"{int(value):,}"
    if not singular:
        return text
    return f"{text} {singular if value == 1 else plural or singular + 's'}"


def duration(seconds: float) -> str:
    """`0.4 s`, `52 s`, `14 min 15 s`, `2 h 5 min`, `1,204 h`."""
    if not math.isfinite(seconds):
        return NOTHING
    if seconds < 59.5:
        return number(seconds, "s")
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}{THIN}min" + (f" {rest}{THIN}s" if rest and minutes < 20 else "")
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours < 20:
        return f"{hours}{THIN}h" + (f" {minutes}{THIN}min" if minutes else "")
    return f"{seconds / 3600:,.0f}{THIN}h"


def headline_time(seconds: float) -> tuple[str, str]:
    """A unit and a number for a headline: hours, or minutes where hours would begin with zeros."""
    hours = seconds / 3600
    if not hours >= 0.1:
        return "Minutes", number(seconds / 60, digits=2)
    return "Hours", number(hours, digits=2 if hours < 1 else 3)


def share(part: int, whole: int) -> str:
    """`12 %`; `<1 %` and `>99 %` where rounding would hide or complete something."""
    if whole == 0:
        return NOTHING
    percent = 100 * part / whole
    if 0 < percent < 1:
        return f"<1{THIN}%"
    if 99 < percent < 100:
        return f">99{THIN}%"
    return f"{percent:.0f}{THIN}%"


def at(seconds: float) -> str:
    """A point in time: hundredths, for a frame lasts a few of them."""
    if not math.isfinite(seconds):
        return NOTHING
    return _plain(round(seconds, 2), 4 if abs(seconds) < 100 else 5)


def spans(values: Sequence[Span], most: int = 3) -> str:
    """`2.1–3 s, 5.03 s and 4 more`."""
    if not values:
        return ""
    texts = [at(a) if b - a < 0.01 else f"{at(a)}{TO}{at(b)}" for a, b in values[:most]]
    more = f" and {len(values) - most:,} more" if len(values) > most else ""
    return f"{', '.join(texts)}{THIN}s{more}"


def _plain(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    sign = MINUS if value < 0 else ""
    size = abs(value)
    if size < 10.0**-digits or size >= 1e9:
        mantissa, exponent = f"{size:.{digits - 1}e}".split("e")
        return f"{sign}{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    decimals = max(0, digits - 1 - math.floor(math.log10(size)))
    text = f"{size:,.{decimals}f}"
    return sign + (text.rstrip("0").rstrip(".") if "." in text else text)
