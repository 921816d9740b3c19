"""Signals as paths: read back, they are the signals; no peak is lost; gaps stay gaps."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gristmill.report import envelope
from gristmill.report.envelope import COLUMNS, HIGH, WIDE, Frame


def points(path: str) -> list[list[tuple[float, float]]]:
    """An independent reading of a path: its pieces as lists of absolute points."""
    pieces: list[list[tuple[float, float]]] = []
    for command, body in re.findall(r"([Mlhz])([^Mlhz]*)", path):
        numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", body)]
        if command == "M":
            pieces.append([(numbers[0], numbers[1])])
        elif command == "l":
            for dx, dy in zip(numbers[::2], numbers[1::2], strict=True):
                x, y = pieces[-1][-1]
                pieces[-1].append((x + dx, y + dy))
        elif command == "h":
            x, y = pieces[-1][-1]
            pieces[-1].append((x + numbers[0], y))
    return pieces


def test_a_short_signal_comes_back_to_half_a_coordinate() -> None:
    times = np.arange(200) / 30
    values = np.sin(times * 3) * 2 - 1
    frame = Frame(0, 200 / 30, -4, 2)
    (piece,) = points(envelope.path(times, values, frame))
    x, y = np.array(piece).T
    assert np.allclose(x / WIDE * 200 / 30, times, atol=0.51 * (200 / 30) / WIDE)
    assert np.allclose(2 - y / HIGH * 6, values, atol=0.51 * 6 / HIGH)


def test_one_sample_among_many_keeps_its_peak() -> None:
    values = np.zeros(100_000)
    values[54_321] = 1.0
    times = np.arange(100_000) / 100
    (piece,) = points(envelope.path(times, values, Frame(0, 1000, 0, 1)))
    highest = min(piece, key=lambda point: point[1])
    assert highest[1] == 0
    assert abs(highest[0] / WIDE * 1000 - 543.21) <= 1000 / COLUMNS
    assert len(piece) <= 2 * COLUMNS


def test_a_long_signal_is_the_lowest_and_highest_of_each_column() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=6_000)
    times = (np.arange(6_000) + 0.5) / 100  # ten samples a column, none on an edge
    frame = Frame(0, 60, -5, 5)
    (piece,) = points(envelope.path(times, values, frame))
    half = len(piece) // 2
    upper = np.array(piece[:half])[:, 1]
    lower = np.array(piece[half:][::-1])[:, 1]
    columns = values.reshape(COLUMNS, 10)
    # Columns are widened to touch their neighbours, so they hold at least their own extremes.
    assert (upper <= (5 - columns.max(1)) / 10 * HIGH + 0.51).all()
    assert (lower >= (5 - columns.min(1)) / 10 * HIGH - 0.51).all()
    assert upper.min() == pytest.approx((5 - values.max()) / 10 * HIGH, abs=0.51)


def test_missing_values_and_gaps_in_time_interrupt_the_line() -> None:
    values = np.ones(60)
    values[10:13] = np.nan
    times = np.arange(60) / 30
    times[40:] += 1.0
    pieces = points(envelope.path(times, values, Frame(0, 3, 0, 2)))
    assert [len(piece) for piece in pieces] == [10, 27, 20]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("time_s", [np.inf, -np.inf, np.nan])
def test_times_that_are_none_interrupt_the_line(time_s: float) -> None:
    times_s = np.arange(10) / 10
    times_s[4:6] = time_s
    frame = Frame(0.0, 1.0, 0.0, 10.0)
    assert [len(piece) for piece in points(envelope.path(times_s, np.arange(10.0), frame))] == [4, 4]


def test_a_lone_sample_can_be_seen() -> None:
    values = np.array([np.nan, 1.0, np.nan])
    assert envelope.path(np.arange(3) / 3, values, Frame(0, 1, 0, 2)) == "M399 100h2"


@pytest.mark.parametrize("values", [np.empty(0), np.full(5, np.nan), np.array([np.inf, -np.inf])])
def test_nothing_finite_is_no_line(values: np.ndarray) -> None:
    assert envelope.path(np.arange(len(values)) / 30, values, Frame(0, 1, 0, 1)) == ""
    assert envelope.limits(values) is None


def test_a_constant_lies_in_the_middle() -> None:
    low, high = envelope.limits(np.full(10, 3.0)) or (0, 0)
    assert (low + high) / 2 == pytest.approx(3.0)
    assert low < 3.0 < high
