"""Histograms, strips and the bar of verdicts."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gristmill.report import charts
from gristmill.report.charts import BARS, HEIGHT


def heights(svg: str, name: str) -> dict[int, float]:
    """Bar -> height, read from the drawn path."""
    path = re.search(rf'class="{name}" d="([^"]*)"', svg)
    assert path
    return {int(float(x)): float(h) for x, h in re.findall(r"M([\d.]+) 100v-([\d.]+)", path[1])}


def test_bars_are_the_counts() -> None:
    values = np.concatenate([np.full(40, 0.0), np.full(10, 1.0), np.full(20, 36.0)])
    marked = np.zeros(70, dtype=bool)
    marked[:4] = True
    chart = charts.histogram(values, marked, "s", "length")
    # 36 bars of width 1: 0 falls in the first, 1 in the second, the largest value in the last.
    assert heights(str(chart.svg), "all") == {0: 100, 1: 25, BARS - 1: 50}
    assert heights(str(chart.svg), "marked") == {0: 10}
    assert (chart.low, chart.high, chart.known, chart.unknown) == ("0\u202fs", "36\u202fs", 70, 0)


def test_an_outlier_does_not_squeeze_the_rest() -> None:
    values = np.concatenate([np.linspace(1, 2, 1000), [1e6]])
    chart = charts.histogram(values, np.zeros(1001, dtype=bool), "", "x")
    assert chart.high.startswith("≥ 2")
    drawn = heights(str(chart.svg), "all")
    assert len(drawn) > BARS - 4
    assert list(heights(str(chart.svg), "far")) == [BARS - 1]


@pytest.mark.parametrize("values", [[], [np.nan, np.nan]])
def test_nothing_known_is_no_chart(values: list[float]) -> None:
    chart = charts.histogram(np.array(values), np.zeros(len(values), dtype=bool), "", "x")
    assert chart.svg is None
    assert chart.unknown == len(values)
    assert not chart.constant


def test_a_constant_is_told_not_drawn() -> None:
    chart = charts.histogram(np.array([30.0, 30.0, np.nan]), np.zeros(3, dtype=bool), "Hz", "rate")
    assert chart.constant
    assert chart.svg is None
    assert chart.median == "30\u202fHz"


@pytest.mark.parametrize("values", [[-1e99, 1e99], [5e-324, 1e-300]])
def test_extreme_ranges_still_draw(values: list[float]) -> None:
    chart = charts.histogram(np.array(values), np.zeros(2, dtype=bool), "", "x")
    assert "nan" not in str(chart.svg)


def test_a_strip_shows_where() -> None:
    svg = str(charts.strip(np.array([0, 2, 0, 4]), 4, "defect", "Where"))
    assert re.findall(r"M(\d+) 100v-(\d+)", svg) == [("1", "50"), ("3", str(HEIGHT))]
    assert 'aria-label="Where"' in svg


def test_parts_of_the_bar_fill_it_and_none_vanishes() -> None:
    svg = str(charts.stacked([("keep", 9_999), ("trim", 0), ("drop", 1)], "Verdicts"))
    parts = [
        (name, float(x), float(w)) for name, x, w in re.findall(r'class="(\w+)" x="([\d.]+)%" width="([\d.]+)%', svg)
    ]
    assert [name for name, _, _ in parts] == ["keep", "drop"]
    assert sum(w for _, _, w in parts) == pytest.approx(100, abs=0.01)
    assert parts[1][2] > 0.3


def test_rounding_errors_are_not_drawn() -> None:
    chart = charts.histogram(np.array([9.99999, 10.0, 10.00001]), np.zeros(3, dtype=bool), "Hz", "rate")
    assert chart.constant
