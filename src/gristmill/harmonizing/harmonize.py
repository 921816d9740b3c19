"""An episode into canonical numbers: units, signs, zeros, polarity, quaternion order, steps, rate; and the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from gristmill.clock import Clock
from gristmill.embodiment import Embodiment
from gristmill.episode import Channel, Dim, Episode
from gristmill.errors import UsageError
from gristmill.harmonizing.harmonized import Block, Blocks, Harmonized
from gristmill.harmonizing.model import Model, blocks_of, model_of
from gristmill.harmonizing.native import Native
from gristmill.harmonizing.places import places
from gristmill.harmonizing.poses import Pose
from gristmill.harmonizing.steps import Steps, trouble
from gristmill.types import FloatArray, TimesS

Actions = Literal["absolute", "base", "end_effector"]
# (t, J) joints of an arm in rad -> position of its end effector (t, 3) in metres and rotation (t, 3, 3), in its base.
Kinematics = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

_PLACES = ("joint_position", "eef_position", "eef_pose")
_STEPS = ("joint_delta", "eef_delta")
_BACK = 1e-6  # share of a dimension's largest value up to which it came back
_SAME_RATE = 0.02  # clocks that agree within it have one rate
_HOLE = 1.5  # periods; a longer interval is a hole, and holding over it would invent samples


def harmonize(
    episode: Episode,
    card: Embodiment | None = None,
    *,
    actions: Actions = "absolute",
    rate_hz: float | None = None,
    kinematics: Mapping[str, Kinematics] | None = None,
) -> Harmonized:
    """An episode in the canonical space.

    Args:
        episode: the recording.
        card: what its numbers mean; by default its own card.
        actions: targets ("absolute"), or steps from the state in the frame of the base or of the end effector.
        rate_hz: another control rate, at most the recorded one; the newest sample is held.
        kinematics: arm -> forward kinematics, for arms whose recordings hold joints but no pose. The joint positions
            are kept beside the pose, so nothing needs to be inverted on the way back.

    Raises:
        RecordingError: the recording cannot be read.
        UsageError: the rate cannot be had by holding samples.
    """
    if actions not in ("absolute", "base", "end_effector"):
        raise UsageError(f"actions are absolute, base or end_effector, not {actions!r}")
    card = card or episode.embodiment
    channels = {k: c for k, c in episode.channels.items() if c.role in ("state", "action")}
    times_s = next((c.times_s for c in channels.values()), episode.times_s)
    values = {k: _held(c, times_s) for k, c in channels.items()}
    state = Native("state", card, places(channels, card, "state"), _of(channels, values, "state"), len(times_s))
    action = Native("action", card, places(channels, card, "action"), _of(channels, values, "action"), len(times_s))
    action.steps = card.control_mode in _STEPS
    where = _with_poses(state.read(movable=True), card, kinematics)
    steps = Steps.of(card, where, state, action)
    targets = _with_poses(_targets(action, steps), card, None if action.steps else kinematics)
    signs = {"state": state.signs(), "action": action.signs()}

    def back(states: Blocks, acted: Blocks) -> dict[str, FloatArray]:
        been, done = model_of(states, card), _absolute(model_of(acted, card), model_of(states, card), actions)
        if action.steps:
            done = _from_states(steps, been).steps(done)
        return state.write(been, signs["state"]) | action.write(done, signs["action"])

    made = Harmonized(
        times_s=times_s,
        state=blocks_of(where, card),
        action=blocks_of(_relative(targets, where, actions), card),
        actions=actions,
        unconverted=state.why | action.why,
        back=back,
    )
    residuals, lossy = _losses(made, channels, values, card)
    made = replace(made, residuals=residuals, lossy=lossy)
    return made if rate_hz is None else _at_rate(made, episode, rate_hz, targets, card, steps=action.steps)


def _from_states(steps: Steps, state: Model) -> Steps:
    """The same steps from other states."""
    return Steps(steps.card, state, steps.numbers, steps.forms)


def _of(channels: Mapping[str, Channel], values: Mapping[str, FloatArray], role: str) -> dict[str, FloatArray]:
    return {key: values[key] for key, c in channels.items() if c.role == role}


def _held(channel: Channel, times_s: TimesS) -> FloatArray:
    """(t, d) float64 at these times: the newest sample at or before each, the first one before that."""
    values = channel.values.astype(np.float64)
    if channel.times_s is times_s or np.array_equal(channel.times_s, times_s):
        return values
    if not len(values):
        return np.full((len(times_s), values.shape[1]), np.nan)
    newest = np.searchsorted(channel.times_s, times_s, side="right") - 1
    return values[np.clip(newest, 0, len(values) - 1)]


def _with_poses(model: Model, card: Embodiment, kinematics: Mapping[str, Kinematics] | None) -> Model:
    """Poses by forward kinematics for arms that have none, where all their joints are known."""
    for arm in card.arms:
        pose = model.poses.get(arm.name, Pose(None, None))
        forward = (kinematics or {}).get(arm.name)
        if forward is None or pose.position_m is not None or pose.rotation is not None:
            continue
        if arm.joints and all(name in model.joints for name in arm.joints):
            model.poses[arm.name] = Pose(*forward(np.stack([model.joints[name] for name in arm.joints], axis=1)))
    return model


def _targets(action: Native, steps: Steps) -> Model:
    """The action's targets; what it cannot say of them is told in `action.why`."""
    card = action.card
    if not action.steps:
        return action.read(movable=card.control_mode in _PLACES)
    reason = trouble(card)
    read = action.read(movable=True)
    unmoved = Model(read.frames, openings=read.openings, others=read.others)
    made = unmoved if reason else steps.targets(read)
    for name in read.joints:
        if name not in made.joints:
            label = action.places.of[name].label
            action.why[label] = reason or "it is a step, and the state does not say from where"
    for arm in card.arms:
        got, want = made.poses.get(arm.name, Pose(None, None)), read.poses.get(arm.name, Pose(None, None))
        rotation = action.places.all(arm.rotation_of("action")[0]) or []
        if want.position_m is not None and got.position_m is None:
            why = reason or "it is a step, and the state's pose does not say from where"
            action.why |= {p.label: why for p in action.places.all(arm.position) or []}
        if want.rotation is not None and got.rotation is None:
            action.why |= {p.label: reason or _no_rotation(card) for p in rotation}
    return made


def _no_rotation(card: Embodiment) -> str:
    if card.rotation_delta == "unknown":
        return "the card does not say how steps of a rotation are meant (rotation_delta)"
    return "it is a step of a rotation, and the state holds none of the form that it needs"


def _relative(targets: Model, where: Model, actions: str) -> Model:
    """Targets as steps from the state, in one frame; as they are when they shall be absolute."""
    if actions == "absolute":
        return targets
    made = Model(targets.frames, openings=targets.openings, others=targets.others)
    made.joints.update({n: v - where.joints[n] for n, v in targets.joints.items() if n in where.joints})
    for name, pose in targets.poses.items():
        made.poses[name] = pose.step_from(where.poses.get(name, Pose(None, None)), actions)
    return made


def _absolute(acted: Model, been: Model, actions: str) -> Model:
    """The inverse of `_relative`."""
    if actions == "absolute":
        return acted
    made = Model(acted.frames, openings=acted.openings, others=acted.others)
    made.joints.update({n: v + been.joints[n] for n, v in acted.joints.items() if n in been.joints})
    for name, step in acted.poses.items():
        made.poses[name] = been.poses.get(name, Pose(None, None)).after(step, actions)
    return made


def _losses(
    made: Harmonized, channels: Mapping[str, Channel], values: Mapping[str, FloatArray], card: Embodiment
) -> tuple[dict[str, float], dict[str, str]]:
    """What does not come back: label -> largest difference, and why."""
    residuals: dict[str, float] = {}
    lossy: dict[str, str] = {}
    restored = made.restore()
    for key, channel in channels.items():
        known = np.isfinite(values[key])
        off = np.where(known, np.abs(restored[key] - values[key]), 0.0)
        largest = np.where(known, np.abs(values[key]), 0.0).max(axis=0, initial=0.0)
        for column, joint in enumerate(card.match(channel.names)):
            label = Dim(key, column, channel.names[column], channel.role).label
            worst = float(np.nan_to_num(off[:, column]).max(initial=0.0))
            if label not in made.unconverted and worst > _BACK * max(float(largest[column]), 1.0):
                residuals[label] = worst
                lossy[label] = _why_lossy(joint.name if joint else "", card)
    return residuals, lossy


def _why_lossy(joint: str, card: Embodiment) -> str:
    gripper = card.gripper(joint)
    if gripper is not None:
        said = "as the card says" if gripper.clips else "which the card does not say (clips)"
        return f"values beyond {gripper.closed:g} (closed) and {gripper.open:g} (open) are clipped, {said}"
    return "a rotation has several numbers of this form, or was not of unit length; one of them comes back"


def _at_rate(
    made: Harmonized, episode: Episode, rate_hz: float, targets: Model, card: Embodiment, *, steps: bool
) -> Harmonized:
    """The newest sample at each tick of another clock; of steps, the last one given before the next tick."""
    clock = Clock(made.times_s, episode.rate_hz)
    own = 1 / clock.period_s
    if not rate_hz > 0 or rate_hz > own * (1 + _SAME_RATE):
        raise UsageError(
            f"{episode.id} was recorded at {own:g} Hz and cannot be held at {rate_hz:g} Hz; resample it first "
            "([resample] in the recipe)"
        )
    if abs(rate_hz - own) <= _SAME_RATE * own and clock.regular:
        return made
    if len(clock.ordered_s) and not (clock.ordered_s[0] > 0 and clock.ordered_s[-1] <= _HOLE * clock.period_s):
        raise UsageError(
            f"{episode.id} has holes in its clock, over which no sample can be held; resample it first "
            "([resample] in the recipe)"
        )
    first, last = (float(made.times_s[0]), float(made.times_s[-1])) if len(made.times_s) else (0.0, -1.0)
    ticks = first + np.arange(int(np.floor((last - first) * rate_hz + 1e-6)) + 1 if last >= first else 0) / rate_hz
    now = _newest(made.times_s, ticks)
    acted = _newest(made.times_s, ticks + 1 / rate_hz - 0.5 * clock.period_s) if steps else now
    held_state = _taken(made.state, now)
    absolute = _taken(blocks_of(targets, card), acted)
    action = absolute
    if made.actions != "absolute":
        action = blocks_of(_relative(model_of(absolute, card), model_of(held_state, card), made.actions), card)
    return replace(made, times_s=ticks, state=held_state, action=action, back=None)


def _newest(times_s: TimesS, ticks: FloatArray) -> np.ndarray:
    slack = 1e-6  # a tick that falls on a sample, but for rounding, sees it
    return np.clip(np.searchsorted(times_s, ticks + slack, side="right") - 1, 0, max(len(times_s) - 1, 0))


def _taken(blocks: Blocks, samples: np.ndarray) -> dict[str, Block]:
    return {key: Block(b.names, b.values[samples], b.mask) for key, b in blocks.items()}
