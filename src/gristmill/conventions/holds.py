"""How often commands really change."""

from __future__ import annotations

import numpy as np

from gristmill.types import Mask


def period_of_changes(repeats: Mask) -> tuple[int, float] | None:
    """Samples from one change of the commands to the next, and the share of changes that keep to it.

    Args:
        repeats: (t - 1,) where a command equals the one before.

    Returns:
        None when there are too few changes to tell.
    """
    apart = np.diff(np.flatnonzero(~repeats))
    if len(apart) < 20:
        return None
    usual = int(np.median(apart))
    return usual, float(np.mean(apart == usual))
