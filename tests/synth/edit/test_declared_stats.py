"""Declared statistics keep their keys and nesting; their numbers are worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.formats.lerobot.image_statistics import PixelHistogram
from gristmill.synth.edit import declared_stats

VALUES = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0], [np.nan, 1.0]])


def test_only_declared_statistics_are_computed_anew():
    fresh = declared_stats.of_values({"min": [9.0, 9.0], "mean": [9.0, 9.0], "count": [7], "note": "x"}, VALUES)
    assert fresh == {"min": [0.0, 1.0], "mean": [2.0, 1.0], "count": [4], "note": "x"}


def test_quantiles_of_any_name():
    values = np.arange(101.0)[:, None]
    fresh = declared_stats.of_values({"q01": [0.0], "q05": [0.0], "q999": [0.0]}, values)
    assert fresh["q01"] == [1.0] and fresh["q05"] == [5.0] and fresh["q999"] == pytest.approx([99.9])


def test_kinds_of_numbers_stay():
    fresh = declared_stats.of_values({"min": [False], "max": [False], "mean": [0.0]}, np.array([[False], [True]]))
    assert fresh == {"min": [False], "max": [True], "mean": [0.5]}
    assert isinstance(declared_stats.of_values({"max": [3]}, np.array([[5], [4]]))["max"][0], int)


def test_moving_along():
    found = declared_stats.shifted(
        {"min": [1], "mean": [2.5], "std": [1.0], "q50": [2.0], "count": [9]}, np.array([10])
    )
    assert found == {"min": [11], "mean": [12.5], "std": [1.0], "q50": [12.0], "count": [9]}


def test_statistics_of_other_values_are_recognized():
    declared = declared_stats.of_values({"min": [0.0, 0.0], "max": [0.0, 0.0], "mean": [0.0, 0.0]}, VALUES)
    assert declared_stats.describes(declared, VALUES)
    assert not declared_stats.describes(declared, VALUES * 1.01)
    assert not declared_stats.describes({"mean": [0.0]}, VALUES)


def test_a_corpus_is_its_episodes_together():
    a, b = np.array([[0.0], [2.0]]), np.array([[4.0], [4.0], [10.0], [6.0]])
    names = {"min": [0.0], "max": [0.0], "mean": [0.0], "std": [0.0], "count": [0]}
    parts = [declared_stats.of_values(names, v) for v in (a, b)]
    whole = np.concatenate([a, b])
    found = declared_stats.merged(parts)
    assert found["mean"] == pytest.approx(whole.mean()) and found["std"] == pytest.approx(whole.std())
    assert (found["min"], found["max"], found["count"]) == (0, 10, 6)


def test_a_camera_whose_statistics_were_others_is_left_alone():
    part = {k: [[[0.5]]] * 3 for k in ("min", "max", "mean", "std")} | {"count": [10]}
    darker = part | {"min": [[[0.0]]] * 3}
    assert declared_stats.of_merged(part, [part, part], [part, darker])["min"] == [[[0.0]]] * 3
    other = part | {"mean": [[[0.7]]] * 3}
    assert declared_stats.of_merged(other, [part, part], [part, darker]) == other


def test_pictures_keep_their_count_and_nesting():
    seen = PixelHistogram()
    seen.add(np.full((2, 4, 4, 3), 51, np.uint8))
    fresh = declared_stats.of_pictures({"mean": [[[0.0]], [[0.0]], [[0.0]]], "count": [100]}, seen)
    assert fresh["count"] == [100] and np.ravel(fresh["mean"]) == pytest.approx([0.2] * 3)
