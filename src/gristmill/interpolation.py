"""Values between samples: linear, along the shortest rotation, held, or the nearest one. Arrays only.

Every function takes samples at strictly ascending times; `ordered` makes them so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gristmill.types import FloatArray, IntArray, TimesS

# Below this angle in rad, a rotation and the straight line between its ends differ by less than rounding.
_SMALL = 1e-6


class Neighbours(NamedTuple):
    """Which of m samples lie around each of n instants.

    Attributes:
        before: (n,) the newest sample at or before each instant; the first one where there is none.
        after: (n,) the next one at or after it; the last one where there is none.
        since_s: (n,) seconds since `before`, infinite where there is none.
        until_s: (n,) seconds until `after`, infinite where there is none.
    """

    before: IntArray
    after: IntArray
    since_s: FloatArray
    until_s: FloatArray

    @property
    def share(self) -> FloatArray:
        """(n,) weight of `after`: 0 at `before`, 1 at `after`; 0 or 1 where only one of them exists."""
        inside = np.isfinite(self.since_s) & np.isfinite(self.until_s)
        span_s = np.where(inside, self.since_s + self.until_s, 1.0)
        share = np.where(inside, self.since_s, 0.0) / np.where(span_s > 0, span_s, 1.0)
        return np.where(inside, share, np.where(np.isfinite(self.since_s), 0.0, 1.0))

    @property
    def nearest(self) -> IntArray:
        """(n,) the nearer of the two, the earlier one when they are equally near."""
        return np.where(self.since_s <= self.until_s, self.before, self.after)

    @property
    def distance_s(self) -> FloatArray:
        """(n,) seconds to `nearest`."""
        return np.minimum(self.since_s, self.until_s)


def ordered(times_s: TimesS) -> IntArray:
    """Positions of the samples in strictly ascending time; of equal times the last one, none that is not finite."""
    finite = np.flatnonzero(np.isfinite(times_s))
    order = finite[np.argsort(times_s[finite], kind="stable")]
    if not len(order):
        return order
    return order[np.append(np.diff(times_s[order]) > 0, True)]


def neighbours(times_s: TimesS, instants_s: TimesS, same_s: float) -> Neighbours:
    """The samples around each instant.

    Args:
        times_s: (m,) strictly ascending, m > 0.
        instants_s: (n,).
        same_s: times that differ by no more are the same instant.
    """
    last = len(times_s) - 1
    after = np.searchsorted(times_s, instants_s - same_s)
    # Of several samples within `same_s`, the nearest one.
    following = np.minimum(after + 1, last)
    nearer = np.abs(times_s[following] - instants_s) < np.abs(times_s[np.minimum(after, last)] - instants_s)
    after = np.where((after < last) & nearer & (times_s[following] <= instants_s + same_s), following, after)
    at = (after <= last) & (times_s[np.minimum(after, last)] <= instants_s + same_s)
    before = np.where(at, after, after - 1)
    since_s = np.where(before >= 0, instants_s - times_s[np.maximum(before, 0)], np.inf)
    until_s = np.where(after <= last, times_s[np.minimum(after, last)] - instants_s, np.inf)
    return Neighbours(
        before=np.maximum(before, 0),
        after=np.minimum(after, last),
        since_s=np.where(at, 0.0, since_s),
        until_s=np.where(at, 0.0, until_s),
    )


def linear(values: FloatArray, around: Neighbours) -> FloatArray:
    """(n, d) on the line between neighbours, never outside of the two; at a sample, the sample itself."""
    share = around.share[:, None]
    a, b = values[around.before], values[around.after]
    with np.errstate(invalid="ignore", over="ignore"):  # recorded infinities, and differences beyond the largest number
        between = np.clip(a * (1 - share) + b * share, np.minimum(a, b), np.maximum(a, b))
    return np.where(share == 0, a, np.where(share == 1, b, between))


def wrapped(values: FloatArray, around: Neighbours, period: float) -> FloatArray:
    """(n, d) like `linear`, along the shorter way around a circle of this period.

    Results lie where the samples do: in [0, period) when no sample is negative, else in [-period/2, period/2).
    """
    share = around.share[:, None]
    a, b = values[around.before], values[around.after]
    with np.errstate(invalid="ignore"):
        step = np.mod(b - a + period / 2, period) - period / 2
        between = a + share * step
        low = np.where(np.nanmin(values, axis=0, initial=0.0) < 0, -period / 2, 0.0)
        between = np.mod(between - low, period) + low
    return np.where(share == 0, a, np.where(share == 1, b, between))


def continuous(quaternions: FloatArray) -> FloatArray:
    """(m, 4) the same rotations with signs such that neighbours are less than half a turn apart; the first one stays.

    A sample that is not finite, or zero, neither flips nor is flipped over.
    """
    known = np.flatnonzero(np.isfinite(quaternions).all(axis=1) & (np.abs(quaternions).max(axis=1, initial=0) > 0))
    if len(known) < 2:
        return quaternions
    towards = np.einsum("ij,ij->i", quaternions[known[1:]], quaternions[known[:-1]])
    out = quaternions.copy()
    out[known[1:]] *= np.cumprod(np.where(towards < 0, -1.0, 1.0))[:, None]
    return out


def slerp(quaternions: FloatArray, around: Neighbours) -> FloatArray:
    """(n, 4) unit quaternions on the great arc between neighbours; at a sample, the sample itself.

    The order of the components does not matter. Signs are made `continuous` first.

    Source: Shoemake, "Animating rotation with quaternion curves", SIGGRAPH 1985; the angle by Kahan's two-argument
    arctangent, which is exact for small and for large ones.
    """
    samples = continuous(quaternions)
    with np.errstate(invalid="ignore", divide="ignore"):
        units = samples / np.linalg.norm(samples, axis=1, keepdims=True)
        a, b = units[around.before], units[around.after]
        apart = np.linalg.norm(a - b, axis=1, keepdims=True)
        angle = 2 * np.arctan2(apart, np.linalg.norm(a + b, axis=1, keepdims=True))
        share = around.share[:, None]
        small = angle < _SMALL
        sine = np.where(small, 1.0, np.sin(angle))
        left = np.where(small, 1 - share, np.sin((1 - share) * angle) / sine)
        right = np.where(small, share, np.sin(share * angle) / sine)
        between = left * a + right * b
        between /= np.linalg.norm(between, axis=1, keepdims=True)
    return np.where(share == 0, samples[around.before], np.where(share == 1, samples[around.after], between))
