"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest

from gristmill.finding import Span
from gristmill.report import figures


def plain(text: str) -> str:
    return text.replace(figures.THIN, " ").replace(figures.MINUS, "-").replace(figures.TO, "-")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (0.5, "0.5"),
        (1 / 3, "0.333"),
        (0.03125, "0.0312"),
        (12.0, "12"),
        (12.345, "12.3"),
        (-1.5, "-1.5"),
        (999.4, "999"),
        (1240.4, "1,240"),
        (1234567, "1,234,567"),
        (0.0000412, "4.12e-5"),
        (5.9e-4, "5.9e-4"),
        (2.5e12, "2.5e12"),
        (math.nan, "-"),
        (math.inf, "-"),
        (None, "-"),
    ],
)
def test_three_digits_that_mean_something(value: float | None, text: str) -> None:
    assert plain(figures.number(value)) == text


def test_units_stand_behind_a_narrow_space() -> None:
    assert figures.number(0.55, "rad") == f"0.55{figures.THIN}rad"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0.4 s"),
        (52.04, "52 s"),
        (59.9, "1 min"),
        (855, "14 min 15 s"),
        (1500, "25 min"),
        (7500, "2 h 5 min"),
        (3600, "1 h"),
        (4334400, "1,204 h"),
        (math.nan, "-"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert plain(figures.duration(seconds)) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 10, "0 %"), (1, 1000, "<1 %"), (12, 100, "12 %"), (999, 1000, ">99 %"), (5, 5, "100 %"), (0, 0, "-")],
)
def test_shares_never_round_to_nothing_or_all(part: int, whole: int, text: str) -> None:
    assert plain(figures.share(part, whole)) == text


def test_spans() -> None:
    spans = [Span(2.1, 3.0), Span(5.0333, 5.0334), Span(7, 8.25), Span(9, 10), Span(11, 12)]
    assert plain(figures.spans(spans)) == "2.1-3, 5.03, 7-8.25 s and 2 more"
    assert figures.spans([]) == ""


def test_counts_agree_with_their_noun() -> None:
    assert figures.count(1, "episode") == "1 episode"
    assert figures.count(10_000, "episode") == "10,000 episodes"


def test_an_axis_ends_at_zero_where_the_eye_sees_zero() -> None:
    assert figures.end(5.47e-6, 0.55) == "0"
    assert figures.end(0.1, 0.55, "s") == f"0.1{figures.THIN}s"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, ("Minutes", "0")), (104, ("Minutes", "1.7")), (2565, ("Hours", "0.71")), (44640, ("Hours", "12.4"))],
)
def test_a_headline_does_not_begin_with_zeros(seconds: float, told: tuple[str, str]) -> None:
    assert figures.headline_time(seconds) == told
