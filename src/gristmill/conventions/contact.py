"""When something is held or touched: from forces, efforts of the gripper, or an object that moves."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from gristmill.episode import Channel, Episode
from gristmill.types import FloatArray, Mask, TimesS

_FORCE = re.compile(r"contact|force|touch|tactile|wrench")
_EFFORT = re.compile(r"effort|torque|currents?$|(?<!pay)loads?$")  # "current_width" is none
_TURNS = re.compile(r"force|wrench")  # vectors that turn with the hand
_GRIPPER = re.compile(r"grip|finger|jaw|claw")
_OBJECT = re.compile(r"object|cube|block")
_NOISES = 8.0  # standard deviations of the sensor's noise that are contact
_SHARE = 0.1  # of the strongest contact, below which it is none
_REST_S = 0.5  # at the beginning, from which rest is taken, as in `gristmill.grasping`
_FEWEST = 3  # samples for it
_MOVES_M_S = 0.02
_BOTH_WAYS = 0.4  # of the stronger way's effort, from which on the other way counts
_HUGE = 1e12  # no sensor reaches it


class Contact(NamedTuple):
    """When there was contact, by which signal."""

    mask: Mask  # (t,)
    channel: str
    late: bool  # an object moves only after it was grasped; forces rise at once
    unsigned: bool = False  # an effort that does not tell which way it pushes: at a stop it strains as in a grasp


def contact_of(episode: Episode, times_s: TimesS) -> Contact | None:
    """Contact at the times of the episode's motion, from the first channel that can tell it; None when none can."""
    if "contact" not in episode.derived:
        episode.derived["contact"] = _contact_of(episode, times_s)
    return episode.derived["contact"]


def _contact_of(episode: Episode, times_s: TimesS) -> Contact | None:
    others = [c for c in episode.channels.values() if c.role == "other" and len(c.values) > 1]
    for channel in others:
        key, unsigned = channel.key.casefold(), False
        if _FORCE.search(key):
            found = _from_force(channel, channel.values)
        elif _EFFORT.search(key):
            columns = [i for i, name in enumerate(channel.names) if _GRIPPER.search(name.casefold())]
            if not columns and not _GRIPPER.search(key):
                continue
            values = channel.values[:, columns] if columns else channel.values
            found = _from_force(channel, values) if _one_sided(values) else None
            unsigned = found is not None and float(values.min()) >= 0
        else:
            continue
        if found is not None:
            return Contact(_held(found, channel.times_s, times_s), channel.key, False, unsigned)
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


def _from_force(channel: Channel, recorded: np.ndarray) -> Mask | None:
    """Samples whose force (t, k) is away from rest, beyond the sensor's own noise.

    Rest is what the sensor says while the episode begins, axis by axis: it may have a bias, or carry a tool, and
    contact may then take weight off it. That weight turns with the hand, so of forces in space only what changes their
    size counts. A recording that begins in contact seems to be touched when it is let go: where the force falls and
    stays so to the end, or that of a sensor that knows no less than nothing falls at all, nothing is told.
    """
    values = np.asarray(recorded, np.float64)
    if not np.isfinite(values).all() or not np.abs(values).max() < _HUGE:
        return None
    start = max(_FEWEST, int(np.searchsorted(channel.times_s, channel.times_s[0] + _REST_S)))
    rest = np.median(values[:start], axis=0)
    size, usual = np.linalg.norm(values, axis=1), float(np.linalg.norm(rest))
    if _TURNS.search(channel.key.casefold()) and values.shape[1] in (3, 6):
        away = np.abs(size - usual)
    else:
        away = np.linalg.norm(values - rest, axis=1)
    quiet = np.abs(np.diff(away))[away[1:] <= np.median(away)]
    noise = 1.05 * float(np.median(quiet)) if len(quiet) else 0.0  # of differences, to a standard deviation
    level = float(np.median(away[:start]))
    strongest = float(away.max()) - level
    threshold = max(_NOISES * noise, _SHARE * strongest)
    if not strongest > 2 * threshold:
        return None
    found = away - level > threshold
    falls = np.median(size[found]) < usual
    return None if falls and (values.min() >= 0 or found[-start:].mean() > 0.5) else found


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
