"""An episode into canonical numbers: units, signs, zeros, polarity, quaternion order, steps, rate; and the way back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
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
from gristmill.harmonizing.relative import Relative
from gristmill.harmonizing.steps import Steps, trouble
from gristmill.runs import runs_of
from gristmill.types import FloatArray, Mask, TimesS

Actions = Literal["absolute", "base", "end_effector"]
# (t, J) joints of an arm in rad -> position of its end effector (t, 3) in metres and rotation (t, 3, 3), in its base.
# Where it has an attribute `continuous`, a bool for each of these joints, that tells which ones turn without end.
Kinematics = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

_PLACES = ("joint_position", "eef_position", "eef_pose")
_STEPS = ("joint_delta", "eef_delta")
_BACK = 1e-6  # share of a dimension's largest value up to which it came back
_SAME_RATE = 0.02  # clocks that agree within it have one rate
_SUMMED = "steps are added to the command before, and what follows a missing number has nothing to start from"
_BESIDE = "numbers that it belongs with are missing there, or their rotation has no length"
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
    values, holes = _all_held(channels, times_s, episode.rate_hz)
    state = Native("state", card, places(channels, card, "state"), _of(channels, values, "state"), len(times_s))
    action = Native("action", card, places(channels, card, "action"), _of(channels, values, "action"), len(times_s))
    action.steps = card.control_mode in _STEPS
    where = _with_poses(state.read(movable=True), card, kinematics)
    steps = Steps.of(card, where, state, action)
    targets = _with_poses(_targets(action, steps), card, kinematics, but=_posed(action) if action.steps else ())
    relative = Relative(actions, _continuous(card, kinematics), targets)
    acted = relative.steps(targets, where)
    action.why |= _no_start(targets, acted, action)
    near = {"state": state.rotations(), "action": action.rotations()}

    def back(states: Blocks, acted: Blocks) -> dict[str, FloatArray]:
        been = model_of(states, card)
        done = relative.targets(model_of(acted, card), been)
        if action.steps:
            done = steps.since(been).steps(done)
        return state.write(been, near["state"]) | action.write(done, near["action"])

    made = Harmonized(
        times_s=times_s,
        state=blocks_of(where, card),
        action=blocks_of(acted, card),
        actions=actions,
        unconverted=state.why | action.why,
        holes=holes,
        back=back,
    )
    residuals, lossy = _losses(made, channels, values, card)
    made = replace(made, residuals=residuals, lossy=lossy)
    return made if rate_hz is None else _at_rate(made, episode, rate_hz, relative, card, steps=action.steps)


def _of(channels: Mapping[str, Channel], values: Mapping[str, FloatArray], role: str) -> dict[str, FloatArray]:
    return {key: values[key] for key, c in channels.items() if c.role == role}


def _all_held(
    channels: Mapping[str, Channel], times_s: TimesS, rate_hz: float
) -> tuple[dict[str, FloatArray], dict[str, tuple[tuple[float, float], ...]]]:
    """(t, d) numbers of every channel at these times, and the spans in which one has no sample near enough."""
    values: dict[str, FloatArray] = {}
    holes: dict[str, tuple[tuple[float, float], ...]] = {}
    clock = Clock(times_s, rate_hz)
    for key, channel in channels.items():
        values[key], missing = _held(channel, times_s, rate_hz)
        spans = tuple(clock.span_s(start, stop) for start, stop in runs_of(missing, 1))
        holes |= {key: spans} if spans else {}
    return values, holes


def _held(channel: Channel, times_s: TimesS, rate_hz: float) -> tuple[FloatArray, Mask]:
    """(t, d) float64 at these times: the newest sample at or before each, the first one just before that.

    No sample is held for longer than `_HOLE` periods of its channel; what lies beyond is NaN, and in the mask (t,).
    """
    values = channel.values.astype(np.float64)
    if channel.times_s is times_s or np.array_equal(channel.times_s, times_s):
        return values, np.zeros(len(times_s), bool)
    if not len(values):
        return np.full((len(times_s), values.shape[1]), np.nan), np.ones(len(times_s), bool)
    newest = np.clip(np.searchsorted(channel.times_s, times_s, side="right") - 1, 0, len(values) - 1)
    longest_s = _HOLE * Clock(channel.times_s, rate_hz).period_s
    missing = ~(np.abs(times_s - channel.times_s[newest]) <= longest_s)
    held = values[newest]
    held[missing] = np.nan
    return held, missing


def _continuous(card: Embodiment, kinematics: Mapping[str, Kinematics] | None) -> frozenset[str]:
    """Joints that turn without end: by the card, or by the robot's model where the card gives them no limits."""
    found = {joint.name for joint in card.joints if joint.continuous}
    limited = {joint.name for joint in card.joints if joint.lower is not None or joint.upper is not None}
    for arm in card.arms:
        told = getattr((kinematics or {}).get(arm.name), "continuous", None)
        if told is not None:
            found |= {name for name, endless in zip(arm.joints, told, strict=True) if endless and name not in limited}
    return frozenset(found)


def _posed(action: Native) -> set[str]:
    """Arms of which the action holds numbers of a pose."""
    names = {arm.name: (*arm.position, *arm.rotation_of("action")[0]) for arm in action.card.arms}
    return {arm for arm, pose in names.items() if any(name in action.places.of for name in pose)}


def _with_poses(
    model: Model, card: Embodiment, kinematics: Mapping[str, Kinematics] | None, but: Collection[str] = ()
) -> Model:
    """Poses by forward kinematics for arms that have none, where all their joints are known; none for arms in `but`."""
    for arm in card.arms:
        pose = model.poses.get(arm.name, Pose(None, None))
        forward = (kinematics or {}).get(arm.name)
        if arm.name in but or forward is None or pose.position_m is not None or pose.rotation is not None:
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
        if want.position_m is not None and got.position_m is None:
            why = reason or _no_position(steps, arm.name)
            action.why |= {p.label: why for p in action.places.all(arm.position) or []}
        if (want.rotation is not None or arm.name in read.differences) and got.rotation is None:
            rotation = action.places.all(arm.rotation_of("action")[0]) or []
            action.why |= {p.label: reason or _no_rotation(card) for p in rotation}
    return made


def _no_position(steps: Steps, arm: str) -> str:
    """Why a step of a position leads nowhere."""
    if steps.state.poses.get(arm, Pose(None, None)).position_m is None:
        return "it is a step, and the state's pose does not say from where"
    if steps.card.delta_from == "command":
        return "it is a step in the end effector's frame, and how that is turned after the command before is not known"
    return "it is a step in the end effector's frame, and the state does not say how that is turned"


def _no_rotation(card: Embodiment) -> str:
    if card.rotation_delta == "unknown":
        return "the card does not say how steps of a rotation are meant (rotation_delta)"
    return "it is a step of a rotation, and the state holds none of the form that it needs"


def _no_start(targets: Model, acted: Model, action: Native) -> dict[str, str]:
    """Labels of what has a target, but no state that a step could lead from."""
    lost = [name for name in targets.joints if name not in acted.joints]
    for arm in action.card.arms:
        target, step = targets.poses.get(arm.name, Pose(None, None)), acted.poses.get(arm.name, Pose(None, None))
        lost += arm.position if target.position_m is not None and step.position_m is None else ()
        lost += arm.rotation_of("action")[0] if target.rotation is not None and step.rotation is None else ()
    why = "the state does not say from where a step would lead to it"
    return {action.places.of[name].label: why for name in lost if name in action.places.of}


def _losses(
    made: Harmonized, channels: Mapping[str, Channel], values: Mapping[str, FloatArray], card: Embodiment
) -> tuple[dict[str, float], dict[str, str]]:
    """What does not come back: label -> largest difference, and why."""
    residuals: dict[str, float] = {}
    lossy: dict[str, str] = {}
    restored = made.restore()
    for key, channel in channels.items():
        known = np.isfinite(values[key])
        gone = known & ~np.isfinite(restored[key])
        both = known & ~gone
        off = np.abs(np.subtract(restored[key], values[key], where=both, out=np.zeros(known.shape))).max(0, initial=0.0)
        largest = np.abs(values[key]).max(axis=0, initial=0.0, where=known)
        for column, joint in enumerate(card.match(channel.names)):
            label = Dim(key, column, channel.names[column], channel.role).label
            if label in made.unconverted:
                continue
            count = int(gone[:, column].sum())
            if count:
                residuals[label] = np.inf
                summed = channel.role == "action" and card.control_mode in _STEPS and card.delta_from == "command"
                lossy[label] = f"{count} of {len(gone)} samples do not come back: {_SUMMED if summed else _BESIDE}"
            elif off[column] > _BACK * max(float(largest[column]), 1.0):
                residuals[label] = float(off[column])
                lossy[label] = _why_lossy(joint.name if joint else "", card)
    return residuals, lossy


def _why_lossy(joint: str, card: Embodiment) -> str:
    gripper = card.gripper(joint)
    if gripper is not None:
        said = "as the card says" if gripper.clips else "which the card does not say (clips)"
        return f"values beyond {gripper.closed:g} (closed) and {gripper.open:g} (open) are clipped, {said}"
    return "a rotation has several numbers of this form, or was not of unit length; one of them comes back"


def _at_rate(
    made: Harmonized, episode: Episode, rate_hz: float, relative: Relative, card: Embodiment, *, steps: bool
) -> Harmonized:
    """The newest sample at each tick of another clock; of steps, the last one given before the next tick."""
    clock = Clock(made.times_s, episode.rate_hz)
    own = 1 / clock.period_s
    if not rate_hz > 0 or rate_hz > own * (1 + _SAME_RATE):
        raise UsageError(
            f"{episode.id} was recorded at {own:g} Hz and cannot be held at {rate_hz:g} Hz; resample it first "
            "([resample] in the recipe)"
        )
    for channel, spans in made.holes.items():
        raise UsageError(
            f"{episode.id}: {channel} has no sample from {spans[0][0]:.3g} s to {spans[0][1]:.3g} s, over which none "
            "can be held; resample it first ([resample] in the recipe)"
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
    absolute = _taken(blocks_of(relative.recorded, card), acted)
    action = blocks_of(relative.steps(model_of(absolute, card), model_of(held_state, card)), card)
    return replace(made, times_s=ticks, state=held_state, action=action, back=None)


def _newest(times_s: TimesS, ticks: FloatArray) -> np.ndarray:
    slack = 1e-6  # a tick that falls on a sample, but for rounding, sees it
    return np.clip(np.searchsorted(times_s, ticks + slack, side="right") - 1, 0, max(len(times_s) - 1, 0))


def _taken(blocks: Blocks, samples: np.ndarray) -> dict[str, Block]:
    return {key: Block(b.names, b.values[samples], b.mask) for key, b in blocks.items()}
