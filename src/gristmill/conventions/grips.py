"""Which way a gripper moves when contact begins and ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gristmill.conventions.contact import Contact, edges
from gristmill.runs import runs_of
from gristmill.types import FloatArray, Mask

_BEFORE_S = 0.6  # within which a gripper closes on what it grasps
_LATE_S = 1.2  # the same before an object begins to move: the hand waits until the fingers are shut
_SHORTEST_S = 0.1
_LARGE = 0.2  # share of its travel by which a gripper moves when it closes or opens
_STOP = 0.05  # share of its range within which a gripper stands at one of its ends


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


def grips(
    values: FloatArray,
    contact: Contact,
    closed: float,
    opened: float,
    period_s: float,
    least: float | None = None,
) -> Grips:
    """Changes of a gripper (t,) around the beginnings and ends of contact.

    Args:
        values: the gripper's positions as recorded.
        contact: when there was contact.
        closed: the value that is said to be closed.
        opened: the value that is said to be open.
        period_s: seconds a sample.
        least: change that is large enough, in the gripper's unit; by default a fifth of how far these values go.
    """
    values = np.asarray(values, np.float64)
    if contact.unsigned:
        contact = contact._replace(mask=_off_the_stops(contact.mask, values, closed, opened))
    reach = max(1, round((_LATE_S if contact.late else _BEFORE_S) / period_s))
    begins, ends = edges(contact.mask, max(2, round(_SHORTEST_S / period_s)))
    towards = np.sign(opened - closed)
    changes = [towards * (values[max(b - reach, 0)] - values[b]) for b in begins]
    changes += [towards * (values[min(e + reach, len(values) - 1)] - values[e - 1]) for e in ends]
    if least is None:
        least = _LARGE * float(np.ptp(values)) if len(values) else 0.0
    large = np.array([c for c in changes if abs(c) > least], np.float64)
    if not len(large):
        return Grips(np.nan, 0.0, 0)
    return Grips(float(large.sum() / np.abs(large).sum()), float(np.abs(large).max()), len(large))


def _off_the_stops(mask: Mask, values: FloatArray, closed: float, opened: float) -> Mask:
    """Contact without the runs in which the gripper stands at an end of its range, where it strains against itself."""
    mask, near = mask.copy(), _STOP * abs(opened - closed)
    for start, stop in runs_of(mask, 1):
        at = float(np.median(values[start:stop]))
        if min(abs(at - closed), abs(at - opened)) <= near:
            mask[start:stop] = False
    return mask
