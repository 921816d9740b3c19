"""Statistics over episodes that a few bad episodes cannot move; NaN is not known and does not count."""

from __future__ import annotations

import numpy as np

from gristmill.types import FloatArray, IntArray

# Makes the median absolute deviation of normally distributed values their standard deviation.
NORMAL = 1.4826


def known(columns: FloatArray) -> IntArray:
    """Number of values along the first axis that are not NaN."""
    return np.count_nonzero(~np.isnan(columns), axis=0)


def quantile(columns: FloatArray, share: float) -> FloatArray:
    """Order statistic nearest to `share` along the first axis; NaN where nothing is known.

    Args:
        columns: (n,) or (n, d).
        share: 0 is the smallest value, 0.5 the (lower) median, 1 the largest.
    """
    columns = np.asarray(columns, np.float64)
    if not len(columns):
        return np.full(columns.shape[1:], np.nan)
    ordered = np.sort(columns, axis=0)  # NaN last
    rank = np.floor(share * np.maximum(known(columns) - 1, 0) + 0.5 - 1e-9).astype(np.intp)
    return np.take_along_axis(ordered, rank[None], axis=0)[0]


def median(columns: FloatArray) -> FloatArray:
    """Median along the first axis (the lower one of two); NaN where nothing is known."""
    return quantile(columns, 0.5)


def deviation(columns: FloatArray, centre: FloatArray | None = None) -> FloatArray:
    """Standard deviation along the first axis, from the median absolute deviation."""
    centre = median(columns) if centre is None else centre
    return NORMAL * median(np.abs(np.asarray(columns, np.float64) - centre))


def resistant_line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Slope and intercept of a line through the medians of the outer thirds (Tukey 1977); slope 0 if it has none.

    Args:
        x: (n,) without NaN.
        y: (n,) without NaN; n > 0.
    """
    order = np.argsort(x, kind="stable")
    third = max(1, len(x) // 3)
    left, right = order[:third], order[-third:]
    width = float(median(x[right]) - median(x[left]))
    slope = float(median(y[right]) - median(y[left])) / width if width > 0 else 0.0
    return slope, float(median(y - slope * x))
