"""The type of a channel's values, from the types that its numbers have in messages.

Whole numbers and flags stay what they are where a channel consists of them, because their averages are no values. A
channel that mixes takes float64, and remembers which of its dimensions hold nothing else. JSON does not tell whole
numbers from others, many writers leave out the fraction of 1.0, so its numbers are floating in any case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

WHOLE = "whole"  # whole numbers and flags, in a floating column


def seen_type(dtypes: Iterable[np.dtype], *, lacking: bool, json: bool) -> str:
    """The type of one dimension: a numpy name, or "whole".

    Args:
        dtypes: its types in the messages that hold it.
        lacking: whether some messages do not hold it; a whole number has no NaN to say so.
        json: whether they are JSON.
    """
    kinds = {np.dtype(d) for d in dtypes}
    if not all(d.kind in "iub" for d in kinds):
        return "float32" if kinds == {np.dtype(np.float32)} else "float64"
    if len({d.kind == "b" for d in kinds}) == 1:
        found = np.result_type(*kinds)
        if not lacking and found.kind in ("b" if json else "iub"):
            return found.name
    return WHOLE


def channel_type(dims: Sequence[Sequence[str]]) -> tuple[str, tuple[bool, ...]]:
    """The type of a channel's values, and which dimensions hold whole numbers in floating columns.

    Args:
        dims: for each dimension, its types in the logs that were looked at, as `seen_type` gives them.
    """
    types = {t for dim in dims for t in dim}
    if types <= {"bool"} and types:
        return "bool", ()
    if types and all(t.startswith(("int", "uint")) for t in types):
        found = np.result_type(*map(np.dtype, types))
        if found.kind != "f":  # int64 and uint64 have no whole type in common
            return found.name, ()
    if types == {"float32"}:
        return "float32", ()
    return "float64", tuple(bool(dim) and all(not t.startswith("float") for t in dim) for dim in dims)
