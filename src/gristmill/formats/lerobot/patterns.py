"""What the columns of a damaged table should be: those of an intact one beside it, or else the declared features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from gristmill.formats.files import CorpusFiles
from gristmill.formats.lerobot.declaration import NUMBERS, Feature
from gristmill.formats.lerobot.salvage import Pattern

_STORED = {"image": pa.struct([("bytes", pa.binary()), ("path", pa.string())]), "string": pa.string()}


def pattern_of(files: CorpusFiles, features: Sequence[Feature], siblings: Iterable[str]) -> Pattern | None:
    """The pattern of a table of episodes' rows.

    Args:
        files: the corpus.
        features: all of them.
        siblings: tables that should have the same columns.
    """
    widths = {f.key: f.width for f in features}
    for sibling in siblings:
        if sibling and files.stamp(sibling) and (pattern := Pattern.of_file(files.path(sibling), widths)):
            return pattern
    stored = [f for f in features if f.dtype != "video" and 0 not in f.shape]
    if any(f.dtype not in NUMBERS and f.dtype not in _STORED for f in stored):
        return None
    return Pattern.of_schema(pa.schema([_field(f) for f in stored]), widths)


def _field(feature: Feature) -> pa.Field:
    """The column that LeRobot writes for a feature."""
    if feature.dtype in _STORED:
        return pa.field(feature.key, _STORED[feature.dtype])
    kind = pa.bool_() if feature.dtype == "bool" else pa.from_numpy_dtype(np.dtype(feature.dtype))
    if feature.shape == (1,):
        return pa.field(feature.key, kind)
    if len(feature.shape) == 1:
        return pa.field(feature.key, pa.list_(kind, feature.shape[0]))
    for _ in feature.shape:
        kind = pa.list_(kind)
    return pa.field(feature.key, kind)
