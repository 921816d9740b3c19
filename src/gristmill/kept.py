"""One kept stretch of an episode: which recorded frame stands behind each frame of the training set."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gristmill.types import IntArray, Mask


class Fill(NamedTuple):
    """An edit: `missing` steps after frame `frame` of the episode are filled with copies of that frame."""

    frame: int
    missing: int


class Kept(NamedTuple):
    """Frames `start` .. `stop` (exclusive) of one episode, with their edits."""

    corpus: str
    episode_index: int
    episode_id: str
    group: str  # stretches of one group share features, rate and robot: they make one dataset
    start: int
    stop: int
    split: str
    weight: float
    fills: tuple[Fill, ...]
    cameras: tuple[str, ...]  # that go along
    reencode: tuple[str, ...]  # those of them whose packets cannot be copied here
    rules: tuple[str, ...]  # that decided

    @property
    def rows(self) -> IntArray:
        """(t,) the episode's frame behind each frame of the training set, in the table and in its cameras alike.

        A filled step repeats one.
        """
        return filled(self.start, self.stop, self.fills)

    @property
    def observed(self) -> Mask:
        """(t,) false where a step was filled in."""
        rows = self.rows
        return np.concatenate([[True], rows[1:] != rows[:-1]])


def filled(start: int, stop: int, fills: tuple[Fill, ...]) -> IntArray:
    """(t,) frames `start` .. `stop`, those before a gap repeated."""
    frames = np.arange(start, stop)
    counts = np.ones(len(frames), dtype=np.int64)
    for fill in fills:
        counts[fill.frame - start] += fill.missing
    return np.repeat(frames, counts)
