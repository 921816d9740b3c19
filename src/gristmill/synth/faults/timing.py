"""Faults of time: rows missing, a false rate, standing still, an episode that ended as it began."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gristmill.finding import Kind
from gristmill.synth.edit.columns import numbers
from gristmill.synth.edit.draft import Draft, Touch
from gristmill.synth.faults.fault import CannotHostError, Fault, Mark, Plant, frames_of, span_of
from gristmill.synth.faults.places import any_stretch
from gristmill.synth.faults.signals import Signals

_EASE_S = 0.25  # in which the arm comes to rest and sets off again
_SENSOR_NOISE = 1.5  # grey levels


def time_gap(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """Rows and frames are missing; the timestamps of the others stay true."""
    _needs_timestamps(draft)
    gap = frames_of(severity, draft.rate_hz)
    first = any_stretch(draft, rng, gap)
    times_s = draft.times_s
    kept = np.concatenate([np.arange(first), np.arange(first + gap, len(draft))])
    draft.retime(kept.astype(np.float64), keep_times=True)
    return Mark(span_s=(float(times_s[first - 1]), float(times_s[first + gap])))


def rate_error(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """The timestamps are true, and the rate that they show is not the declared one."""
    _needs_timestamps(draft)
    times_s = numbers(draft.rows, "timestamp").astype(np.float64)
    factor = 1 / (1 + severity) if rng.random() < 0.5 else 1 / max(1 - severity, 0.05)
    draft.set("timestamp", times_s[:1] + (times_s - times_s[:1]) * factor)
    return Mark()


def idle(place: Callable[[Draft, Signals], float]) -> Plant:
    """Standing still for a while, begun at `place` (a row), with the arm slowing down before and setting off after."""

    def plant(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
        still = frames_of(severity, draft.rate_hz)
        at = place(draft, signals)
        positions, first = _pause(len(draft), at, still, round(_EASE_S * draft.rate_hz))
        moving = np.concatenate([[True], np.diff(positions) > 0])
        moving[first : first + still] = False
        draft.retime(positions, blend=[k for k in signals.keys if signals.floating[k]])
        if signals.keys:
            values = signals.values(draft)
            warped = positions != np.round(positions)
            values[warped] = signals.snapped(values)[warped]
            values[~moving] += signals.flicker(rng, (int((~moving).sum()), values.shape[1]))
            signals.put(draft, values)
        noise = np.random.default_rng(rng.integers(2**63))
        for reel in draft.reels.values():
            reel.touch = _repeats_with_noise(np.diff(reel.order, prepend=-1) == 0, noise)
        return Mark(span_s=span_of(draft, first, first + still))

    return plant


def too_short(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """The recording was stopped as soon as it had begun."""
    count = max(2, frames_of(severity, draft.rate_hz))
    if count >= len(draft):
        raise CannotHostError(f"the episode lasts {len(draft) / draft.rate_hz:.1f} s itself")
    draft.retime(np.arange(count, dtype=np.float64))
    return Mark()


def _at_head(draft: Draft, signals: Signals) -> float:
    return 0.0


def _at_tail(draft: Draft, signals: Signals) -> float:
    return len(draft) - 1.0


def _in_the_middle(draft: Draft, signals: Signals) -> float:
    """The slowest moment of the middle half at which no gripper moves."""
    first, stop = len(draft) // 4, len(draft) - len(draft) // 4
    if stop - first < 4:
        raise CannotHostError(
            f"the episode of {len(draft) / draft.rate_hz:.1f} s is too short for a pause in its middle"
        )
    roles = [r for r in ("state", "action") if signals.of_role(r)]
    motion = np.sum([signals.motion(draft, r) for r in roles], axis=0) if roles else np.zeros(len(draft))
    window = np.ones(max(1, round(0.2 * draft.rate_hz)))
    motion = np.convolve(motion, window / len(window), "same")
    busy = _gripper_moves(draft, signals)[first:stop]
    if busy.all():
        raise CannotHostError("the gripper moves all through the middle")
    return float(first + np.argmin(np.where(busy, np.inf, motion[first:stop])))


def _gripper_moves(draft: Draft, signals: Signals) -> np.ndarray:
    """(t,) whether a gripper moves within half a second."""
    near = np.zeros(len(draft), bool)
    values, reach = signals.values(draft), max(1, round(0.5 * draft.rate_hz))
    for i in range(len(signals.dims)):
        if signals.is_gripper(i) and signals.span[i] > 0:
            moved = np.abs(values[reach:, i] - values[:-reach, i]) > 0.1 * signals.span[i]
            for shift in range(reach + 1):
                near[shift : shift + len(moved)] |= moved
    return near


def _pause(count: int, at: float, still: int, ease: int) -> tuple[np.ndarray, int]:
    """Places among `count` old rows with a pause of `still` rows at `at`, and the number of its first row.

    Slowing down takes twice as many rows as the stretch had: the speed falls evenly from what it was to nothing.
    """
    before, after = min(ease, int(at)), min(ease, int(count - 1 - at))
    down = np.arange(1, 2 * before + 1) / (2 * before) if before else np.zeros(0)
    up = np.arange(1, 2 * after + 1) / (2 * after) if after else np.zeros(0)
    head = np.arange(int(at) - before + 1) if before else np.arange(int(at) + 1)
    slow = int(at) - before + before * down * (2 - down)
    quick = int(at) + after * up**2
    tail = np.arange(int(at) + after + 1, count)
    positions = np.concatenate([head, slow, np.full(still, float(int(at))), quick, tail])
    return positions.astype(np.float64), len(head) + len(slow)


def _repeats_with_noise(repeated: np.ndarray, rng: np.random.Generator) -> Touch:
    """Frames that repeat the one before are seen through a noisy sensor, as a still camera's are."""

    def touch(number: int, picture: np.ndarray) -> np.ndarray:
        if not repeated[number]:
            return picture
        noise = rng.normal(0, _SENSOR_NOISE, picture.shape)
        return np.clip(np.round(picture + noise), 0, 255).astype(np.uint8)

    return touch


def _needs_timestamps(draft: Draft) -> None:
    if "timestamp" not in draft.rows.column_names:
        raise CannotHostError("no timestamps are recorded")


def _idle(where: str, place: Callable[[Draft, Signals], float]) -> Fault:
    return Fault(
        name=f"idle_{where}",
        check="idle",
        kind=Kind.RISK,
        severity=3.0,
        unit="s",
        about=f"how long the robot stands still {'in the' if where == 'middle' else 'at the'} {where}",
        plant=idle(place),
    )


FAULTS = (
    Fault(
        name="time_gap",
        check="timestamps",
        kind=Kind.DEFECT,
        severity=0.3,
        unit="s",
        about="how much time is missing between two rows",
        plant=time_gap,
    ),
    Fault(
        name="rate_error",
        check="rate",
        kind=Kind.DEFECT,
        severity=0.1,
        unit="share of the rate",
        about="by how much the true rate differs from the declared one",
        plant=rate_error,
    ),
    _idle("head", _at_head),
    _idle("middle", _in_the_middle),
    _idle("tail", _at_tail),
    Fault(
        name="too_short",
        check="length",
        kind=Kind.DEFECT,
        severity=0.4,
        unit="s",
        about="what is left of the episode",
        plant=too_short,
    ),
)
