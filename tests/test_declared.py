"""Declared statistics held against actual ones."""

from __future__ import annotations

import numpy as np

from gristmill.declared import STATISTICS, Disagreement, disagreements, pooled
from gristmill.episode import Dim


def test_pooling_agrees_with_numpy():
    rng = np.random.default_rng(0)
    parts = [rng.normal(rng.normal(0, 5), 2, (n, 3)) for n in (3, 40, 7, 200)]
    count = np.array([float(len(p)) for p in parts])
    moments = [
        np.stack([f(p) for p in parts])
        for f in (
            lambda p: p.min(axis=0),
            lambda p: p.max(axis=0),
            lambda p: p.mean(axis=0),
            lambda p: p.var(axis=0) * len(p),
        )
    ]
    whole = np.concatenate(parts)
    expected = np.stack([whole.min(axis=0), whole.max(axis=0), whole.mean(axis=0), whole.std(axis=0)])
    assert np.allclose(
        pooled(count, dict(zip(("low", "high", "mean", "squares"), moments, strict=True)).__getitem__),
        expected,
        rtol=1e-12,
    )


def test_one_disagreement_a_feature_survives_storing():
    dims = tuple(Dim("action", i, n, "action") for i, n in enumerate(("a", "")))
    actual = np.array([[0, 0], [1, 1], [0.5, 0.5], [0.1, 0.1]])
    stated = {"action": {s: row.copy() for s, row in zip(STATISTICS, actual, strict=True)}}
    assert disagreements(stated, dims, actual, 1e-4) == []
    stated["action"]["mean"][1] = 0.9
    stated["action"]["min"][0] = -0.1
    (found,) = disagreements(stated, dims, actual, 1e-4)
    assert (found.statistic, found.dimension, found.declared, found.others) == ("mean", "1", 0.9, 1)
    assert Disagreement.read("action", found.share, found.detail) == found
    assert Disagreement.read("action", 1.0, '{"code":"x"}') is None


def test_what_is_not_declared_or_not_known_disagrees_with_nothing():
    dims = (Dim("a", 0, "", "state"), Dim("b", 0, "", "action"))
    actual = np.array([[0, np.nan], [1, np.nan], [0.5, np.nan], [0.1, np.nan]])
    stated = {"a": {"mean": np.array([0.5])}, "b": {"max": np.array([5.0])}, "c": {"mean": np.array([9.0])}}
    assert disagreements(stated, dims, actual, 1e-4) == []
    stated["b"]["max"] = np.array([np.inf])
    (found,) = disagreements(stated, dims, actual, 1e-4)
    assert (found.feature, found.statistic, found.dimension, found.declared) == ("b", "max", "0", None)


def test_absurd_numbers_warn_of_nothing():
    dims = (Dim("a", 0, "", "state"),)
    (found,) = disagreements({"a": {"min": np.array([-1.7e308])}}, dims, np.zeros((4, 1)), 1e-4)
    assert found.declared is None
    assert found.share == 1.0
