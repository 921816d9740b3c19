"""Rows and states for small stores; also imported by processes that tests start."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from gristmill.check import Column, Measured
from gristmill.columns import batch_of, keys
from gristmill.finding import Event
from gristmill.inputs import Lanes

COLUMNS = (Column("x"), Column("d", per="dim"))


def inputs_of(*numbers: int) -> Lanes:
    """Inputs that are told apart by one number."""
    return np.array([[n, n] for n in numbers], np.uint64)


def stage_rows(*numbers: int, value: float = 0.0) -> pa.RecordBatch:
    """A row an input, with one event each."""
    measured = [
        Measured({"x": value + n, "d": [float(n), 1.0]}, [Event(0.0, 1.0, float(n), "action[0]")]) for n in numbers
    ]
    ids = pa.array([f"corpus/{n:06d}" for n in numbers])
    return batch_of(COLUMNS, keys(inputs_of(*numbers)), ids, measured)


def state(*numbers: int, corpus: str = "corpus", parts: str = "values") -> pa.Table:
    """A corpus's state whose episodes have these numbers as index and input."""
    return pa.table(
        {
            "index": pa.array(list(numbers), pa.int64()),
            "episode_id": pa.array([f"{corpus}/{n:06d}" for n in numbers]),
            "length": pa.array([20] * len(numbers), pa.int64()),
            "values": keys(inputs_of(*numbers)),
            f"in:{parts}": keys(inputs_of(*numbers)),
        }
    )
