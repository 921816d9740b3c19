"""When something is held or touched: from forces, efforts of the gripper, or an object that moves."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from gristmill.episode import Channel, Episode
from gristmill.types import FloatArray, Mask, TimesS

_FORCE = re.compile(r"contact|force|touch|tactile|wrench")
_EFFORT = re.compile(r"effort|torque|current|load")
_GRIPPER = re.compile(r"grip|finger|jaw|claw")
_OBJECT = re.compile(r"object|cube|block")
_NOISES = 8.0  # standard deviations of the sensor's noise that are contact
_SHARE = 0.1  # of the strongest contact, below which it is none
_REST = 0.2  # quantile of the magnitude that is taken for rest
_MOVES_M_S = 0.02
_BOTH_WAYS = 0.4  # of the stronger way's effort, from which on the other way counts
_HUGE = 1e12  # no sensor reaches it


class Contact(NamedTuple):
    """When there was contact, by which signal."""

    mask: Mask  # (t,)
    channel: str
    late: bool  # an object moves only after it was grasped; forces rise at once


def contact_of(episode: Episode, times_s: TimesS) -> Contact | None:
    """Contact at the times of the episode's motion, from the first channel that can tell it; None when none can."""
    if "contact" not in episode.derived:
        episode.derived["contact"] = _contact_of(episode, times_s)
    return episode.derived["contact"]


def _contact_of(episode: Episode, times_s: TimesS) -> Contact | None:
    others = [c for c in episode.channels.values() if c.role == "other" and len(c.values) > 1]
    for channel in others:
        if _FORCE.search(channel.key.casefold()):
            found = _from_force(channel, slice(None))
        elif _EFFORT.search(channel.key.casefold()):
            columns = [i for i, name in enumerate(channel.names) if _GRIPPER.search(name.casefold())]
            if not columns and not _GRIPPER.search(channel.key.casefold()):
                continue
            columns = columns or list(range(channel.values.shape[1]))
            found = _from_force(channel, columns) if _one_sided(channel.values[:, columns]) else None
        else:
            continue
        if found is not None:
            return Contact(_held(found, channel.times_s, times_s), channel.key, False)
    for channel in others:
        if _OBJECT.search(channel.key.casefold()) and channel.values.shape[1] >= 3:
            found = _from_motion(channel)
            if found is not None:
                return Contact(_held(found, channel.times_s, times_s), channel.key, True)
    return None


def edges(mask: Mask, shortest: int) -> tuple[list[int], list[int]]:
    """Samples where contact begins, and where it ends; contacts and gaps shorter than `shortest` do not count."""
    padded = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    runs = [[int(a), int(b)] for a, b in padded.reshape(-1, 2)]
    joined: list[list[int]] = []
    for run in runs:
        if joined and run[0] - joined[-1][1] < shortest:
            joined[-1][1] = run[1]
        else:
            joined.append(run)
    kept = [run for run in joined if run[1] - run[0] >= shortest]
    return [a for a, _ in kept if a > 0], [b for _, b in kept if b < len(mask)]


def _one_sided(efforts: np.ndarray) -> bool:
    """Whether a gripper's efforts (t, k) push one way only: one that also runs into its open stop tells no grasp."""
    values = np.asarray(efforts, np.float64)
    if not np.isfinite(values).all() or not np.abs(values).max(initial=0.0) < _HUGE:
        return False
    low, high = np.quantile(values - np.median(values, axis=0), (0.01, 0.99), axis=0)
    return bool((np.minimum(-low, high) <= _BOTH_WAYS * np.maximum(-low, high)).all())


def _from_force(channel: Channel, columns: list[int] | slice) -> Mask | None:
    """Samples whose magnitude, its rest removed, is beyond the sensor's own noise."""
    values = np.asarray(channel.values[:, columns], np.float64)
    if not np.isfinite(values).all() or not np.abs(values).max() < _HUGE:
        return None
    size = np.sqrt(np.sum(np.square(values), axis=1))
    rest = np.quantile(size, _REST)
    quiet = np.abs(np.diff(size))[size[1:] <= np.median(size)]
    noise = 1.05 * float(np.median(quiet)) if len(quiet) else 0.0  # of differences, to a standard deviation
    strongest = float(size.max() - rest)
    threshold = max(_NOISES * noise, _SHARE * strongest)
    return size - rest > threshold if strongest > 2 * threshold else None


def _from_motion(channel: Channel) -> Mask | None:
    """Samples at which an object moves."""
    place, times = np.asarray(channel.values[:, :3], np.float64), channel.times_s
    steps = np.diff(times)
    if not np.isfinite(place).all() or not (steps > 0).all() or not np.abs(place).max() < 1e6:
        return None
    speed = np.linalg.norm(np.diff(place, axis=0), axis=1) / steps
    moving = np.append(speed, 0) > _MOVES_M_S
    return moving if moving.any() else None


def _held(mask: Mask, own_s: FloatArray, times_s: TimesS) -> Mask:
    if own_s is times_s or np.array_equal(own_s, times_s):
        return mask
    return mask[np.clip(np.searchsorted(own_s, times_s, side="right") - 1, 0, len(mask) - 1)]
