"""Statistics that a corpus declares, held against those that its values give."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gristmill.episode import Dim
from gristmill.types import FloatArray, Mask

STATISTICS = ("min", "max", "mean", "std")

# Range that a dimension is given at least: a share of its magnitude, for rounding in float32, and a little more.
_OF_MAGNITUDE = 1e-3
_LEAST = 1e-9

_NOTHING: Mapping[str, np.ndarray] = {}

_MARK = '{"statistic":'


class Disagreement(NamedTuple):
    """The worst statistic of one feature."""

    feature: str
    statistic: str
    dimension: str  # its name or number, "" for the feature as a whole
    declared: float | None  # None when there is no number
    actual: float | None
    share: float  # |declared - actual| over the dimension's range; 1 when it cannot be compared
    others: int  # how many more values of the feature disagree

    @property
    def detail(self) -> str:
        """What an event keeps beside feature and share."""
        told = self._asdict()
        del told["feature"], told["share"]
        return json.dumps({"statistic": told.pop("statistic")} | told, separators=(",", ":"))

    @classmethod
    def read(cls, feature: str | None, share: float, detail: str) -> Disagreement | None:
        """The inverse of `detail`; None when the text is something else."""
        if not detail.startswith(_MARK):
            return None
        return cls(feature=feature or "", share=share, **json.loads(detail))


def disagreements(
    declared: Mapping[str, Mapping[str, np.ndarray]], dims: tuple[Dim, ...], actual: FloatArray, noticed: float
) -> list[Disagreement]:
    """Declared statistics that differ from the actual ones, at most one of each feature and sort.

    Args:
        declared: feature -> statistic -> values, of any shape with as many elements as dimensions.
        dims: the D dimensions.
        actual: (4, D) in the order of `STATISTICS`; NaN where it is not known, which is not compared.
        noticed: share of a dimension's range up to which nothing is said.
    """
    stated, found = _aligned(declared, dims, actual)
    low, high = actual[0], actual[1]
    reach = high - low
    reach *= noticed
    # Mostly all agree so well that no floor of the scale is asked for; false for NaN.
    off = np.subtract(stated, actual)
    if np.maximum.reduce(np.abs(off, out=off) - reach, axis=None, initial=-1.0) <= 0:
        return found
    scale = high - low + _OF_MAGNITUDE * np.maximum(np.abs(low), np.abs(high)) + _LEAST
    with np.errstate(over="ignore"):  # a declared number may be absurd
        share = np.abs(stated - actual) / scale
    if share.max() <= noticed:  # false for NaN, too
        return found
    share[np.isnan(share)] = 0
    share[_given(declared, dims, actual.shape) & ~np.isfinite(stated)] = np.inf
    for feature, place in _features(dims):
        part = share[:, place]
        if part.max() > noticed:
            found.append(_worst(feature, part, place.start, stated, actual, dims, int((part > noticed).sum())))
    return found


def _aligned(
    declared: Mapping[str, Mapping[str, np.ndarray]], dims: tuple[Dim, ...], actual: FloatArray
) -> tuple[FloatArray, list[Disagreement]]:
    """Declared values in the places of the actual ones, and those that do not fit."""
    features = _features(dims)
    of_features = [declared.get(feature, _NOTHING) for feature, _ in features]
    found = [of_feature.get(statistic) for statistic in STATISTICS for of_feature in of_features]
    places = [place for _, place in features] * len(STATISTICS)
    fitting = [v for v, place in zip(found, places, strict=True) if v is not None and _fits(v, place)]
    if found and len(fitting) == len(found):
        return np.concatenate(fitting, axis=None).astype(np.float64, copy=False).reshape(actual.shape), []
    stated = actual.copy()  # what is not declared disagrees with nothing
    misshapen: list[Disagreement] = []
    for (feature, place), of_feature in zip(features, of_features, strict=True):
        for row, statistic in enumerate(STATISTICS):
            values = of_feature.get(statistic)
            if values is None:
                continue
            if _fits(values, place):
                stated[row, place] = values.reshape(-1)
            else:
                misshapen.append(Disagreement(feature, statistic, "", None, None, 1.0, 0))
    return stated, misshapen


def _given(declared: Mapping[str, Mapping[str, np.ndarray]], dims: tuple[Dim, ...], shape: tuple[int, ...]) -> Mask:
    """The places in which something is declared."""
    given = np.zeros(shape, bool)
    for feature, place in _features(dims):
        of_feature = declared.get(feature, {})
        for row, statistic in enumerate(STATISTICS):
            values = of_feature.get(statistic)
            given[row, place] = values is not None and _fits(values, place)
    return given


def _fits(values: np.ndarray, place: slice) -> bool:
    return values.size == place.stop - place.start and values.dtype.kind in "biuf"


def _worst(
    feature: str,
    part: FloatArray,
    start: int,
    stated: FloatArray,
    actual: FloatArray,
    dims: Sequence[Dim],
    count: int,
) -> Disagreement:
    row, column = divmod(int(part.argmax()), part.shape[1])
    at, share = start + column, float(part[row, column])
    finite = np.isfinite(share)
    return Disagreement(
        feature=feature,
        statistic=STATISTICS[row],
        dimension=dims[at].name or str(dims[at].index),
        declared=float(stated[row, at]) if finite else None,
        actual=float(actual[row, at]) if finite else None,
        share=share if finite else 1.0,
        others=count - 1,
    )


@lru_cache(maxsize=64)
def _features(dims: tuple[Dim, ...]) -> tuple[tuple[str, slice], ...]:
    """Each feature and its columns; dimensions of one feature stand together."""
    keys = [d.channel for d in dims]
    return tuple((key, slice(keys.index(key), keys.index(key) + keys.count(key))) for key in dict.fromkeys(keys))


def pooled(count: FloatArray, moments: Callable[[str], FloatArray]) -> FloatArray:
    """Statistics of all episodes together, from the moments of each.

    Args:
        count: (n,) samples of each episode.
        moments: gives (n, D) of each episode: the smallest value for "low", the largest for "high", the "mean", and
            for "squares" the sum of squared deviations from it. Asked for one by one, since a large corpus has much.

    Returns:
        (4, D) in the order of `STATISTICS`; NaN where an episode's moments are not known.

    Chan, Golub and LeVeque, "Algorithms for computing the sample variance" (1983), pairwise update.
    """
    low, high = moments("low").min(axis=0), moments("high").max(axis=0)
    total = count.sum()
    mean = moments("mean")
    centre = np.einsum("n,nd->d", count, mean) / total
    apart = mean - centre
    spread = (moments("squares").sum(axis=0) + np.einsum("n,nd,nd->d", count, apart, apart)) / total
    return np.stack([low, high, centre, np.sqrt(spread)])
