"""Which way a gripper moves when contact begins and ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gristmill.conventions.contact import Contact, edges
from gristmill.types import FloatArray

_BEFORE_S = 0.6  # within which a gripper closes on what it grasps
_LATE_S = 1.2  # the same before an object begins to move: the hand waits until the fingers are shut
_SHORTEST_S = 0.1


class Grips(NamedTuple):
    """How a gripper moved around contacts.

    Attributes:
        closing: sum of changes towards closed before contact and towards open after it, in units of `size`: 1 when
            all of them are as they should be, -1 when all are the other way round; NaN when none was large enough.
        size: largest of the changes, in the gripper's unit.
        count: contacts' beginnings and ends with a change.
    """

    closing: float
    size: float
    count: int


def grips(values: FloatArray, contact: Contact, closed: float, opened: float, period_s: float) -> Grips:
    """Changes of a gripper (t,) around the beginnings and ends of contact.

    Args:
        values: the gripper's positions as recorded.
        contact: when there was contact.
        closed: the value that is said to be closed.
        opened: the value that is said to be open.
        period_s: seconds a sample.
    """
    values = np.asarray(values, np.float64)
    reach = max(1, round((_LATE_S if contact.late else _BEFORE_S) / period_s))
    begins, ends = edges(contact.mask, max(2, round(_SHORTEST_S / period_s)))
    towards = np.sign(opened - closed)
    changes = [towards * (values[max(b - reach, 0)] - values[b]) for b in begins]
    changes += [towards * (values[min(e + reach, len(values) - 1)] - values[e - 1]) for e in ends]
    span = float(np.ptp(values)) if len(values) else 0.0
    large = np.array([c for c in changes if abs(c) > 0.2 * span], np.float64)
    if not len(large):
        return Grips(np.nan, 0.0, 0)
    return Grips(float(large.sum() / np.abs(large).sum()), float(np.abs(large).max()), len(large))
