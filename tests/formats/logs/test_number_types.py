"""Types of channels from the types of their numbers in messages."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.formats.logs.number_types import WHOLE, channel_type, seen_type


@pytest.mark.parametrize(
    ("dtypes", "lacking", "json", "found"),
    [
        (["bool"], False, False, "bool"),
        (["bool"], True, False, WHOLE),  # a flag has no NaN
        (["uint8", "uint8"], False, False, "uint8"),
        (["int64"], False, True, WHOLE),  # JSON writes 1 for 1.0
        (["bool"], False, True, "bool"),
        (["bool", "int64"], False, False, WHOLE),
        (["int64", "float64"], False, True, "float64"),
        (["float32"], True, False, "float32"),
        (["float32", "float64"], False, False, "float64"),
    ],
)
def test_a_dimension(dtypes: list[str], lacking: bool, json: bool, found: str) -> None:
    assert seen_type([np.dtype(d) for d in dtypes], lacking=lacking, json=json) == found


@pytest.mark.parametrize(
    ("dims", "found"),
    [
        ([["bool"], ["bool"]], ("bool", ())),
        ([["uint8"], ["int32"]], ("int32", ())),
        ([["int64"], ["uint64"]], ("float64", (True, True))),
        ([["float32"], ["float32", "float32"]], ("float32", ())),
        ([["float64"], ["int32"], ["bool", WHOLE]], ("float64", (False, True, True))),
        ([["int32", "float64"]], ("float64", (False,))),
        ([[]], ("float64", (False,))),
    ],
)
def test_a_channel(dims: list[list[str]], found: tuple) -> None:
    assert channel_type(dims) == found
