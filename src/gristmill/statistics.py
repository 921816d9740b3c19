"""Statistics of exactly the rows that were given, piece by piece, in bounded memory.

Minimum, maximum, mean, standard deviation (population) and quantiles with linear interpolation between
order statistics. Moments are merged with the update of Chan, Golub and LeVeque (1979); quantiles are never
merged, but taken from all values, which are spooled to disk and read back a few dimensions at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np

from gristmill.types import FloatArray, IntArray

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}

# Feature -> statistic -> (d,) float64; "count" is (1,) int64.
Described: TypeAlias = dict[str, dict[str, np.ndarray]]

_GATHER_BYTES = 64 << 20  # values held at once while taking quantiles


def describe(columns: Mapping[str, np.ndarray]) -> Described:
    """Statistics of a few columns, each (t, d) or (t,), t >= 1.

    NaN and infinities are left out; a dimension without any finite value gets NaN.
    """
    matrix, slices = _stack(columns)
    return _by_column(_matrix_statistics(matrix), slices, matrix.shape[1])


class RunningStatistics:
    """Statistics over rows that arrive episode by episode.

    Args:
        scratch: a folder for the spooled values, about as large as the values themselves.
    """

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._spools: dict[str, _Spool] = {}
        self._moments = _Moments()
        self._slices: dict[str, slice] = {}

    def add(self, columns: Mapping[str, np.ndarray]) -> Described:
        """Take in the rows of one episode, each column (t, d) or (t,); returns their own statistics.

        Raises:
            ValueError: other columns, or other widths, than before.
        """
        matrix, slices = _stack(columns)
        if self._moments.rows and slices != self._slices:
            raise ValueError(f"columns {list(slices)} do not continue {list(self._slices)}")
        self._slices = slices
        stats = _matrix_statistics(matrix)
        self._moments.add(stats, matrix)
        for key, values in columns.items():
            if key not in self._spools:
                self._spools[key] = _Spool(self._scratch / f"{len(self._spools)}.values", values)
            self._spools[key].add(values)
        return _by_column(stats, slices, matrix.shape[1])

    def finish(self) -> Described:
        """The statistics of all rows so far; the spooled values are removed."""
        result = _by_column(self._moments.result(), self._slices, self._moments.rows)
        for key, spool in self._spools.items():
            result[key] |= spool.quantiles()
        self.close()
        return result

    def close(self) -> None:
        """Remove the spooled values; harmless when repeated."""
        for spool in self._spools.values():
            spool.remove()
        self._spools.clear()


class _Moments:
    """Extremes, mean and summed squares of many dimensions, merged episode by episode."""

    def __init__(self) -> None:
        self.rows = 0
        self._finite: FloatArray = np.zeros(1)  # values that count, in each dimension
        self._mean: FloatArray = np.zeros(1)
        self._squares: FloatArray = np.zeros(1)
        self._low: FloatArray = np.array([np.inf])
        self._high: FloatArray = np.array([-np.inf])

    def add(self, stats: Mapping[str, np.ndarray], matrix: FloatArray) -> None:
        """Merge the statistics of a (d, t) matrix."""
        n = np.isfinite(matrix).sum(axis=1).astype(np.float64)
        mean, std = np.where(n > 0, stats["mean"], 0.0), np.where(n > 0, stats["std"], 0.0)
        total = self._finite + n
        share = n / np.maximum(total, 1.0)
        delta = mean - self._mean
        self._squares = self._squares + std**2 * n + delta**2 * self._finite * share
        self._mean = self._mean + delta * share
        self._low = np.fmin(self._low, stats["min"])
        self._high = np.fmax(self._high, stats["max"])
        self._finite = total
        self.rows += matrix.shape[1]

    def result(self) -> dict[str, np.ndarray]:
        """Statistics of each dimension; NaN where nothing was finite."""
        empty = self._finite == 0
        found = {
            "min": self._low,
            "max": self._high,
            "mean": self._mean,
            "std": np.sqrt(self._squares / np.maximum(self._finite, 1.0)),
        }
        return {name: np.where(empty, np.nan, values) for name, values in found.items()}


class _Spool:
    """All values of one column in a file, for exact quantiles without holding them."""

    def __init__(self, path: Path, like: np.ndarray) -> None:
        self._path = path
        self._dtype = like.dtype if like.dtype.kind in "biuf" and like.dtype.itemsize <= 4 else np.dtype(np.float64)
        self._dims = int(np.prod(like.shape[1:]))
        self._file: BinaryIO = path.open("wb", buffering=1 << 18)

    def add(self, values: np.ndarray) -> None:
        self._file.write(np.ascontiguousarray(values, dtype=self._dtype).tobytes())

    def quantiles(self) -> dict[str, np.ndarray]:
        self._file.flush()
        table = np.fromfile if self._path.stat().st_size <= _GATHER_BYTES else np.memmap
        rows = table(self._path, dtype=self._dtype).reshape(-1, self._dims)
        step = max(1, _GATHER_BYTES // max(1, len(rows) * self._dtype.itemsize))
        found = [_quantiles(np.ascontiguousarray(rows[:, a : a + step].T)) for a in range(0, self._dims, step)]
        return dict(zip(QUANTILES, np.concatenate(found, axis=1), strict=True))

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
        self._file.close()


def _by_column(stats: Mapping[str, np.ndarray], slices: Mapping[str, slice], rows: int) -> Described:
    count = np.array([rows])
    return {
        key: {name: values[part] for name, values in stats.items()} | {"count": count} for key, part in slices.items()
    }


def _stack(columns: Mapping[str, np.ndarray]) -> tuple[FloatArray, dict[str, slice]]:
    """All columns as one contiguous (dimensions, t) matrix, and where each one lies in it."""
    slices: dict[str, slice] = {}
    parts, at = [], 0
    for key, values in columns.items():
        part = values.reshape(len(values), -1)
        slices[key] = slice(at, at + part.shape[1])
        at += part.shape[1]
        parts.append(part)
    rows = len(parts[0]) if parts else 0
    matrix = np.empty((at, rows))
    for part, place in zip(parts, slices.values(), strict=True):
        matrix[place] = part.T
    return matrix, slices


def _matrix_statistics(matrix: FloatArray) -> dict[str, np.ndarray]:
    """Statistics of each row of a (d, t) matrix."""
    if not np.isfinite(matrix).all():
        rows = [_matrix_statistics(row[np.isfinite(row)][None]) for row in matrix]
        return {name: np.concatenate([r[name] for r in rows]) for name in rows[0]}
    if matrix.shape[1] == 0:
        return {name: np.full(len(matrix), np.nan) for name in ("min", "max", "mean", "std", *QUANTILES)}
    ordered = np.sort(matrix, axis=1)
    mean = matrix.mean(axis=1)
    deviation = matrix - mean[:, None]
    stats = {
        "min": ordered[:, 0],
        "max": ordered[:, -1],
        "mean": mean,
        "std": np.sqrt(np.einsum("dt,dt->d", deviation, deviation) / matrix.shape[1]),
    }
    return stats | dict(zip(QUANTILES, _interpolate(ordered), strict=True))


def _quantiles(matrix: np.ndarray) -> FloatArray:
    """(quantiles, d) of each row of a (d, n) matrix; NaN and infinities are left out."""
    if matrix.dtype.kind == "f" and not np.isfinite(matrix).all():
        return np.stack([_quantiles_of(row[np.isfinite(row)]) for row in matrix], axis=1)
    # One row at a time: partitioning holds a second copy of what it works on.
    return np.stack([_quantiles_of(row) for row in matrix], axis=1)


def _quantiles_of(row: np.ndarray) -> FloatArray:
    if not len(row):
        return np.full(len(QUANTILES), np.nan)
    lower, upper = _order_statistics(len(row))
    row.partition(np.unique(np.concatenate([lower, upper])))
    return _interpolate(row[None])[:, 0]


def _order_statistics(n: int) -> tuple[IntArray, IntArray]:
    position = np.array(list(QUANTILES.values())) * (n - 1)
    lower = np.floor(position).astype(np.int64)
    return lower, np.minimum(lower + 1, n - 1)


def _interpolate(ordered: np.ndarray) -> FloatArray:
    """(quantiles, d) from a (d, n) matrix whose needed order statistics stand in their places."""
    n = ordered.shape[1]
    lower, upper = _order_statistics(n)
    weight = np.array(list(QUANTILES.values())) * (n - 1) - lower
    low, high = ordered[:, lower].astype(np.float64), ordered[:, upper].astype(np.float64)
    return (low + (high - low) * weight).T
