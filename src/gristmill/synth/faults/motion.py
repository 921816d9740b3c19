"""Faults of states and actions: values that stop, jump, vanish, flutter or come late."""

from __future__ import annotations

import numpy as np

from gristmill.finding import Kind
from gristmill.synth.edit.draft import Draft
from gristmill.synth.faults.fault import CannotHostError, Fault, Mark, frames_of, span_of
from gristmill.synth.faults.places import any_stretch, moving_stretch
from gristmill.synth.faults.signals import Signals

_MOVES = 0.2  # of its range in the corpus that a joint covers in an episode in which its death is noticed
_CHATTER_S = 2.0
_CHATTER_DEPTH = 0.4  # of the gripper's range, from one end of a swing to the other
_FOLLOW_S = 0.07  # by which a gripper's state trails its command


def state_frozen(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """The driver repeats its last message while commands go on."""
    frames = frames_of(severity, draft.rate_hz)
    first = moving_stretch(draft, signals, rng, frames, "action" if signals.of_role("action") else "state")
    values = signals.values(draft)
    states = signals.of_role("state")
    if not states:
        raise CannotHostError("the corpus records no state")
    values[first : first + frames, states] = values[first, states]
    signals.put(draft, values)
    return Mark(channel=signals.dims[states[0]].channel, span_s=span_of(draft, first, first + frames))


def spike(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """One sample of one joint is far off: 0.5 rad where the card says rad, else 25 % of the joint's range."""
    joint = _moving_joint(draft, signals, rng, least=0.0)
    known = signals.joints[joint]
    unit = known.unit if known is not None else "unknown"
    share = severity / 0.5 * 0.25
    size = {"rad": severity, "deg": np.rad2deg(severity)}.get(unit, share * float(signals.span[joint]))
    at = any_stretch(draft, rng, 1)
    values = signals.values(draft)
    # Away from the nearer end of the range, so that the spike could be a reading of this joint.
    upwards = values[at, joint] < (signals.low[joint] + signals.high[joint]) / 2
    values[at, joint] += size if upwards else -size
    signals.put(draft, values)
    return Mark(channel=signals.dims[joint].label, span_s=span_of(draft, at, at + 1))


def nan(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """A few samples of one channel were not written."""
    able = [i for i in signals.of_role("state") if signals.floating[signals.dims[i].channel]]
    if not able:
        raise CannotHostError("no state is stored as floating-point numbers, and integers hold no NaN")
    joint, count = int(rng.choice(able)), max(1, round(severity))
    at = any_stretch(draft, rng, count)
    values = signals.values(draft)
    values[at : at + count, joint] = np.nan
    signals.put(draft, values)
    return Mark(channel=signals.dims[joint].label, span_s=span_of(draft, at, at + count))


def gripper_chatter(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """The gripper opens and closes again and again: `severity` reversals within two seconds."""
    grippers = [i for i in range(len(signals.dims)) if signals.is_gripper(i) and signals.span[i] > 0]
    if not grippers:
        raise CannotHostError("no dimension is known to be a gripper")
    name = signals.dims[int(rng.choice(grippers))].name
    frames, reversals = frames_of(_CHATTER_S, draft.rate_hz), max(2, round(severity))
    if frames < 2 * (reversals + 2):
        raise CannotHostError(f"{reversals} reversals in {_CHATTER_S:g} s are too fast for {draft.rate_hz:g} Hz")
    first = any_stretch(draft, rng, frames)
    values = signals.values(draft)
    for i in grippers:
        if signals.dims[i].name != name:
            continue
        delay = frames_of(_FOLLOW_S, draft.rate_hz) if signals.dims[i].role == "state" else 0
        part = values[first : first + frames, i]
        depth = _CHATTER_DEPTH * signals.span[i] / 2
        # Around where the gripper comes from and goes to, but so that there is room on both sides.
        middle = np.clip(np.linspace(part[0], part[-1], frames), signals.low[i] + depth, signals.high[i] - depth)
        phase = np.clip((np.arange(frames) - delay) / (frames - 1 - delay), 0, 1)
        wave = np.sin(np.pi * (reversals + 2) * phase)
        # The first and the last half wave lead from the recorded motion into the chatter and back.
        blend = np.clip(np.minimum(phase, 1 - phase) * (reversals + 2), 0, 1)
        values[first : first + frames, i] = part * (1 - blend) + (middle + depth * wave) * blend
    chattering = [i for i in grippers if signals.dims[i].name == name]
    snapped = signals.snapped(values)
    values[:, chattering] = snapped[:, chattering]
    signals.put(draft, values)
    commanded = [i for i in chattering if signals.dims[i].role == "action"]
    label = signals.dims[(commanded or chattering)[0]].label
    return Mark(channel=label, span_s=span_of(draft, first, first + frames))


def lag(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """The states of the whole episode are stamped late against its actions."""
    states, frames = signals.of_role("state"), frames_of(severity, draft.rate_hz)
    if not states or not signals.of_role("action"):
        raise CannotHostError("a lag needs states and actions")
    if len(draft) < 4 * frames:
        raise CannotHostError(
            f"the episode of {len(draft) / draft.rate_hz:.1f} s is too short for a lag of {severity:g} s"
        )
    values = signals.values(draft)
    late = np.concatenate([np.repeat(values[:1], frames, axis=0), values[:-frames]])
    late[: frames - 1] += signals.flicker(rng, (frames - 1, values.shape[1]))
    values[:, states] = late[:, states]
    signals.put(draft, values)
    return Mark()


def dead_joint(draft: Draft, signals: Signals, rng: np.random.Generator, severity: float) -> Mark:
    """One joint's reading stays the same all through this episode; its commands do not."""
    joint = _moving_joint(draft, signals, rng, least=_MOVES)
    values = signals.values(draft)
    values[:, joint] = values[0, joint]
    signals.put(draft, values)
    return Mark(channel=signals.dims[joint].label)


def _moving_joint(draft: Draft, signals: Signals, rng: np.random.Generator, least: float) -> int:
    """A state that is no gripper and moves in the corpus, and covers `least` of its range in this episode."""
    values = signals.values(draft)
    covered = np.nanmax(values, axis=0) - np.nanmin(values, axis=0)
    able = [
        i
        for i in signals.of_role("state")
        if signals.span[i] > 20 * signals.step[i] > 0
        and covered[i] > least * signals.span[i]
        and not signals.is_gripper(i)
    ]
    if not able:
        raise CannotHostError("no joint moves enough in this episode")
    return int(rng.choice(able))


FAULTS = (
    Fault(
        name="state_frozen",
        check="frozen_state",
        kind=Kind.DEFECT,
        severity=1.0,
        unit="s",
        about="for how long the state repeats itself while the action moves",
        plant=state_frozen,
    ),
    Fault(
        name="spike",
        check="spike",
        kind=Kind.DEFECT,
        severity=0.5,
        unit="rad",
        about="how far one sample is off; where no unit is known, 0.5 stands for 25 % of the range",
        plant=spike,
    ),
    Fault(
        name="nan",
        check="non_finite",
        kind=Kind.DEFECT,
        severity=3,
        unit="samples",
        about="samples of one channel that are NaN",
        plant=nan,
    ),
    Fault(
        name="gripper_chatter",
        check="gripper_chatter",
        kind=Kind.RISK,
        severity=8,
        unit="reversals",
        about="reversals of the gripper within 2 s",
        plant=gripper_chatter,
    ),
    Fault(
        name="lag",
        check="lag",
        kind=Kind.RISK,
        severity=0.2,
        unit="s",
        about="by how much the state comes later than in the rest of the corpus",
        plant=lag,
    ),
    Fault(
        name="dead_joint",
        check="dead_channel",
        kind=Kind.DEFECT,
        severity=1,
        unit="joints",
        about="one joint that is constant in this episode only",
        plant=dead_joint,
        scales=False,
    ),
)
