"""How much later one signal shows what another shows: correlation at every delay, and the most likely one.

Source: Knapp and Carter, "The generalized correlation method for estimation of time delay", IEEE Transactions
on Acoustics, Speech, and Signal Processing, 1976. How far to trust a delay: the Cramer-Rao bound from the curvature of
the likelihood at its peak (Kay, Fundamentals of Statistical Signal Processing, 1993), and the likelihood ratio against
another delay (Wilks, Annals of Mathematical Statistics 9, 1938).
"""

from __future__ import annotations

import numpy as np

from gristmill.types import FloatArray, IntArray


def correlations(late: FloatArray, early: FloatArray, reach: int) -> FloatArray:
    """(2 reach + 1,) correlation of `late` at t + d with `early` at t, for d from -reach to reach samples.

    Each over all samples that overlap at that delay, since how a motion begins and ends tells most. Both
    signals are (t,) with t > reach; a constant one correlates with nothing.
    """
    n = len(late)
    late, early = late - late.mean(), early - early.mean()
    delays = np.arange(-reach, reach + 1)
    first, last = np.maximum(delays, 0), n + np.minimum(delays, 0)  # the overlap, in samples of `late`
    count = last - first
    products = np.correlate(np.pad(late, reach), early, "valid")
    late_sum, late_power = _sums(late, first, last), _sums(late**2, first, last)
    early_sum, early_power = _sums(early, first - delays, last - delays), _sums(early**2, first - delays, last - delays)
    power = np.maximum(late_power - late_sum**2 / count, 0) * np.maximum(early_power - early_sum**2 / count, 0)
    products -= late_sum * early_sum / count
    return np.divide(products, np.sqrt(power), out=np.zeros(len(delays)), where=power > 1e-12)


def likelihood(correlation: FloatArray) -> FloatArray:
    """Twice the log-likelihood a sample of each delay, up to a constant, for signals in Gaussian noise; they add up."""
    return -np.log(1 - np.clip(correlation, 0, 0.999) ** 2)


def independent(a: FloatArray, b: FloatArray, longest: int) -> float:
    """How many independent samples as much is known of the correlation of two series (t,) as their own t, at most t.

    Smooth signals repeat in every sample what the one before said. On the safe side for delays, of which the fast parts
    of a signal tell more. Source: Bartlett, "Some aspects of the
    time-correlation problem in regard to tests of significance", J. Royal Statistical Society 98, 1935.

    Args:
        a: (t,) one series.
        b: (t,) the other one.
        longest: samples beyond which the series no longer resemble themselves.
    """
    n = len(a)
    longest = min(longest, n - 1)
    both = _resemblance(a, longest) * _resemblance(b, longest) * (1 - np.arange(1, longest + 1) / n)
    return n / max(1.0, 1 + 2 * float(both.sum()))


def deviation(curve: FloatArray, at: int) -> float:
    """Standard deviation in samples of a delay whose likelihood peaks at `at`: infinite where it has no peak.

    Args:
        curve: `likelihood` times independent samples, which is twice the logarithm of the likelihood.
        at: position of its peak.
    """
    if not 0 < at < len(curve) - 1:
        return np.inf
    bend = float(2 * curve[at] - curve[at - 1] - curve[at + 1])
    return (2 / bend) ** 0.5 if bend > 0 else np.inf


def through(a: FloatArray, b: FloatArray) -> FloatArray:
    """(2 reach + 1,) likelihood of each delay of `a` behind `b`, from that of each behind a third signal."""
    sums = a[:, None] + b[None, :]
    reach = len(a) // 2
    return np.array([sums.diagonal(-d).max() for d in range(-reach, reach + 1)])


def best(curve: FloatArray) -> tuple[float, int]:
    """The delay in samples where a curve over -reach .. reach is largest, and its position in the curve.

    Between samples by a parabola; NaN at the ends of the range, where the true peak may lie outside.
    """
    at, reach = int(curve.argmax()), len(curve) // 2
    if not 0 < at < len(curve) - 1:
        return np.nan, at
    before, peak, after = (float(x) for x in curve[at - 1 : at + 2])
    bend = before - 2 * peak + after
    return at - reach + (0.5 * (before - after) / bend if bend < 0 else 0.0), at


def _resemblance(values: FloatArray, longest: int) -> FloatArray:
    """(longest,) autocorrelation of a series at delays of 1, 2, ... samples."""
    values = values - values.mean()
    products = np.correlate(np.pad(values, (0, longest)), values, "valid")
    return products[1:] / products[0] if products[0] > 0 else np.zeros(longest)


def _sums(values: FloatArray, first: IntArray, last: IntArray) -> FloatArray:
    """Sums of values[first:last] for many pairs."""
    running = np.concatenate([[0.0], np.cumsum(values)])
    return running[last] - running[first]
