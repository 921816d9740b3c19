"""Which recordings are exact copies of earlier ones: the first stays, later ones go.

It comes first of all decisions, so that thresholds and weights do not count copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gristmill.types import IntArray

RULE = "exact_duplicates"


def first_copies(values: Sequence[str], cameras: Mapping[str, Sequence[str]]) -> IntArray:
    """The row of the first copy of each recording, or -1 where it is the first of its kind.

    Args:
        values: (n,) digest of each recording's low-dimensional values, "" where it is not known.
        cameras: camera -> (n,) digests of its packets, "" where not known.

    Two recordings are copies when their values are equal and no camera that both have tells them apart: a
    simulator may render one trajectory twice. Rows may come from several corpora, one after the other.
    """
    found = np.full(len(values), -1, dtype=np.int64)
    firsts: dict[str, list[int]] = {}
    for row, digest in enumerate(values):
        if not digest:
            continue
        earlier = firsts.setdefault(digest, [])
        for other in earlier:
            if all(not c[row] or not c[other] or c[row] == c[other] for c in cameras.values()):
                found[row] = other
                break
        else:
            earlier.append(row)
    return found
