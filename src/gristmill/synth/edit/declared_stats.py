"""Statistics that metadata declares, brought up to date where data changed; their keys and nesting stay.

NaN and infinities are left out, as a recorder does that guards its statistics.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gristmill.formats.lerobot.image_statistics import PixelHistogram
from gristmill.statistics import QUANTILES, describe

# Feature -> statistic -> nested lists, as in episodes_stats.jsonl and stats.json.
Declared = dict[str, dict[str, Any]]

_AGREES = 1e-3  # of the range: what counts as the statistics of these very values
_PLACES = ("min", "max", "mean", *QUANTILES)  # statistics that move along when values do


def of_values(declared: Mapping[str, Any], values: np.ndarray) -> dict[str, Any]:
    """The declared statistics of a feature, computed anew from its values (t, d)."""
    found = describe({"": values})[""]
    fresh = dict(declared)
    for name, old in declared.items():
        quantile = re.fullmatch(r"q(\d{2,3})", name)
        if name == "count":
            fresh[name] = _like(old, np.array([len(values)]))
        elif name in found:
            fresh[name] = _like(old, found[name])
        elif quantile:
            share = int(quantile[1]) / 10 ** len(quantile[1])
            fresh[name] = _like(old, np.nanquantile(values.astype(np.float64), share, axis=0))
    return fresh


def of_pictures(declared: Mapping[str, Any], seen: PixelHistogram) -> dict[str, Any]:
    """The declared statistics of a camera, from the pictures that were written; `count` stays what it counted."""
    found = seen.statistics()
    return {k: _like(old, found[k]) if k in found and k != "count" else old for k, old in declared.items()}


def shifted(declared: Mapping[str, Any], by: np.ndarray) -> dict[str, Any]:
    """Statistics as if every value (d,) had been larger by `by`."""
    return {k: _like(old, np.ravel(old) + by) if k in _PLACES else old for k, old in declared.items()}


def describes(declared: Mapping[str, Any], values: np.ndarray) -> bool:
    """Whether these are the statistics of these values (t, d): extremes, mean and deviation agree."""
    found = describe({"": values})[""]
    span = np.maximum(found["max"] - found["min"], 1e-12)
    for name in ("min", "max", "mean", "std"):
        if name in declared:
            old = np.ravel(declared[name]).astype(np.float64)
            if old.shape != span.shape or not (np.abs(old - found[name]) <= _AGREES * span).all():
                return False
    return True


def merged(parts: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Extremes, mean and deviation over episodes, from each one's own; weighted by `count`."""
    n = np.array([float(np.ravel(p["count"])[0]) for p in parts])[:, None]
    means = np.array([np.ravel(p["mean"]) for p in parts])
    mean = (means * n).sum(axis=0) / n.sum()
    spread = (np.array([np.ravel(p["std"]) for p in parts]) ** 2 + (means - mean) ** 2) * n
    return {
        "min": np.min([np.ravel(p["min"]) for p in parts], axis=0),
        "max": np.max([np.ravel(p["max"]) for p in parts], axis=0),
        "mean": mean,
        "std": np.sqrt(spread.sum(axis=0) / n.sum()),
        "count": np.array([int(n.sum())]),
    }


def of_merged(declared: Mapping[str, Any], before: Sequence[Mapping], after: Sequence[Mapping]) -> dict[str, Any]:
    """A camera's statistics over the corpus, brought up to date if they were its episodes' merged ones."""
    needed = {"min", "max", "mean", "std", "count"}
    if not before or not after or any(not needed <= p.keys() for p in (declared, *before, *after)):
        return dict(declared)
    old, new = merged(before), merged(after)
    if any(not np.allclose(np.ravel(declared[k]), old[k], rtol=0, atol=_AGREES) for k in needed - {"count"}):
        return dict(declared)
    return {k: _like(v, new[k]) if k in new else v for k, v in declared.items()}


def _like(old: Any, values: np.ndarray) -> Any:
    """Values in the nesting and the kind of number of the old ones."""
    shape = np.shape(old)
    kind = np.asarray(old).dtype
    values = np.asarray(values)
    if np.prod(shape) != values.size:
        return old
    if kind.kind in "iub" and np.isfinite(values).all() and (values == np.round(values)).all():
        values = values.astype(kind)
    return values.reshape(shape).tolist()
