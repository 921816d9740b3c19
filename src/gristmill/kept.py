"""One kept stretch of an episode: which recorded frame stands behind each frame of the training set."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gristmill.types import IntArray, Mask, TimesS


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
        """(t,) the episode's frame behind each frame of the training set; a filled step repeats one."""
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


def camera_frames(rows: IntArray, times_s: TimesS, rate_hz: float, camera_length: int) -> IntArray:
    """(t,) the camera's frame for each frame of the training set.

    Args:
        rows: (t,) the episode's frame behind each one, as from `filled`.
        times_s: (n,) times of all frames of the episode.
        rate_hz: declared rate.
        camera_length: frames that the camera really has.

    Frames are paired by number. Only when steps are missing from the table and the camera has them all, its
    frames are paired by time; then a filled step shows what the camera saw.
    """
    steps = np.rint((times_s - times_s[0]) * rate_hz)
    if not np.isfinite(steps).all() or camera_length <= len(times_s) or steps[-1] >= camera_length:
        return rows
    if (np.diff(steps) < 1).any():
        return rows
    at = np.arange(len(rows))
    observed = np.concatenate([[True], rows[1:] != rows[:-1]])
    since_observed = at - np.maximum.accumulate(np.where(observed, at, 0))
    return steps.astype(np.int64)[rows] + since_observed
