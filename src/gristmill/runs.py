"""Runs: stretches of a mask that are true without a break."""

from __future__ import annotations

import numpy as np

from gristmill.types import Mask


def runs_of(mask: Mask, shortest: int = 1) -> list[tuple[int, int]]:
    """(start, stop) of every run of at least `shortest` true cells of a 1-D mask; stop is exclusive."""
    framed = np.zeros(len(mask) + 2, bool)
    framed[1:-1] = mask
    edges = (framed[1:] != framed[:-1]).nonzero()[0]
    starts, stops = edges[::2].tolist(), edges[1::2].tolist()
    return [(a, b) for a, b in zip(starts, stops, strict=True) if b - a >= shortest]


def widened(mask: Mask, before: int, after: int) -> Mask:
    """A 1-D mask whose every run begins `before` cells earlier and ends `after` cells later."""
    grown = np.zeros_like(mask)
    for start, stop in runs_of(mask):
        grown[max(0, start - before) : stop + after] = True
    return grown
