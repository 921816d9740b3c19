"""Statistics against numpy on the same rows, given whole."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill import statistics
from gristmill.statistics import QUANTILES, RunningStatistics, describe


def _reference(values: np.ndarray) -> dict[str, np.ndarray]:
    rows = values.reshape(len(values), -1).astype(np.float64)
    clean = [column[np.isfinite(column)] for column in rows.T]
    found = {
        "min": [c.min() for c in clean],
        "max": [c.max() for c in clean],
        "mean": [c.mean() for c in clean],
        "std": [c.std() for c in clean],
    }
    found |= {name: [np.quantile(c, q) for c in clean] for name, q in QUANTILES.items()}
    return {k: np.array(v) for k, v in found.items()} | {"count": np.array([len(values)])}


def _check(found: dict[str, np.ndarray], values: np.ndarray) -> None:
    wanted = _reference(values)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-10, atol=1e-12, err_msg=name)


def test_describe_by_hand() -> None:
    found = describe({"x": np.array([[1.0], [2.0], [3.0], [10.0]])})["x"]
    assert found["min"] == 1
    assert found["max"] == 10
    assert found["mean"] == 4
    assert found["std"] == pytest.approx(np.sqrt((9 + 4 + 1 + 36) / 4))
    assert found["q50"] == 2.5
    assert found["q90"] == pytest.approx(3 + 0.7 * 7)  # position 0.9 * 3 = 2.7
    assert found["count"].tolist() == [4]


def test_running_equals_whole(tmp_path) -> None:
    rng = np.random.default_rng(3)
    parts = [rng.normal(1e3, 1e-2, (n, 3)).astype(np.float32) for n in (1, 7, 100, 13)]
    flags = [rng.random(n) > 0.5 for n in (1, 7, 100, 13)]
    running = RunningStatistics(tmp_path)
    for part, flag in zip(parts, flags, strict=True):
        own = running.add({"x": part, "flag": flag})
        _check(own["x"], part)
    found = running.finish()
    _check(found["x"], np.concatenate(parts))
    _check(found["flag"], np.concatenate(flags).astype(float))
    assert not list(tmp_path.iterdir())


def test_values_that_are_not_finite_are_left_out(tmp_path) -> None:
    values = np.array([[1.0, np.nan], [np.inf, np.nan], [3.0, np.nan], [np.nan, 4.0], [8.0, 2.0]])
    running = RunningStatistics(tmp_path)
    running.add({"x": values[:3]})
    running.add({"x": values[3:]})
    _check(running.finish()["x"], values)


def test_nothing_finite_is_nan(tmp_path) -> None:
    running = RunningStatistics(tmp_path)
    running.add({"x": np.full((4, 1), np.nan)})
    found = running.finish()["x"]
    assert np.isnan([found[k][0] for k in ("min", "max", "mean", "std", *QUANTILES)]).all()
    assert found["count"].tolist() == [4]


def test_quantiles_in_pieces_of_dimensions(tmp_path, monkeypatch) -> None:
    values = np.random.default_rng(0).normal(size=(500, 7)).astype(np.float32)
    monkeypatch.setattr(statistics, "_GATHER_BYTES", 500 * 4 * 2)  # two dimensions at a time, by memory map
    running = RunningStatistics(tmp_path)
    for at in range(0, 500, 50):
        running.add({"x": values[at : at + 50]})
    _check(running.finish()["x"], values)


def test_wide_integers_stay_exact(tmp_path) -> None:
    values = np.array([[2**40 + 1], [2**40 + 3]])
    running = RunningStatistics(tmp_path)
    running.add({"x": values})
    found = running.finish()["x"]
    assert found["min"] == 2**40 + 1
    assert found["q50"] == 2**40 + 2
