"""Twelve errors of convention, planted into episodes of the sample, and the signals without which none can be seen.

The sample must have been made with `extra=("eef_pose", "object")`. Faults of other kinds are planted into bytes
(`gristmill.synth.faults`); these only exist between numbers and the card that explains them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gristmill import rotations
from gristmill.embodiment import Embodiment, Joint
from gristmill.episode import Channel, Episode
from gristmill.synth.arm_card import POSE_NAMES, sample_card

EXTRA = ("eef_pose", "object")
RATE_HZ = 30.0
# A position servo lags by its damping over its stiffness (2.8 over 40); a held command by half a period.
RESPONSE_S = 2.8 / 40 + 0.5 / RATE_HZ

STATE, ACTION = "observation.state", "action"
STATE_POSE, ACTION_POSE = "observation.state.eef_pose", "action.eef_pose"
CONTACT, OBJECT = "observation.contact_force", "observation.object_position"

Arrays = dict[str, np.ndarray]  # channel -> (t, d) float64

_GRIPPER = 5
_TICKS = 4096 / (2 * np.pi)


@dataclass(frozen=True, slots=True)
class Error:
    """One way in which numbers contradict their card.

    Attributes:
        check: the check that has to find it.
        spoil: changes the arrays in place.
        card: changes what the card says, for errors that are the card's.
        needs: channels without which nothing can be known.
    """

    check: str
    spoil: Callable[[Arrays], None]
    needs: tuple[str, ...]
    card: Callable[[Embodiment], Embodiment] = lambda card: card


def true_card() -> Embodiment:
    """What the numbers of the sample mean, with everything that can be verified."""
    return replace(sample_card(EXTRA), control_rate_hz=RATE_HZ, response_s=RESPONSE_S)


def plant(name: str, episode: Episode, card: Embodiment | None = None) -> Episode:
    """The episode with this error.

    Args:
        name: a key of `ERRORS`.
        episode: of the sample.
        card: what is claimed otherwise; by default `true_card()`.
    """
    error = ERRORS[name]
    arrays = {key: channel.values.astype(np.float64) for key, channel in episode.channels.items()}
    error.spoil(arrays)
    return _with(episode, arrays, error.card(card or true_card()))


def without(episode: Episode, keys: Sequence[str]) -> Episode:
    """The episode without some channels."""
    kept = {key: channel for key, channel in episode.channels.items() if key not in keys}
    return replace(episode, load_channels=lambda: kept)


def _with(episode: Episode, arrays: Arrays, card: Embodiment) -> Episode:
    made: dict[str, Channel] = {}
    for key, values in arrays.items():
        like = episode.channels[key]
        names = like.names if values.shape[1] == len(like.names) else _STEP_NAMES
        made[key] = Channel(key, like.role, values.astype(like.values.dtype), like.times_s, names)
    return replace(episode, embodiment=card, load_channels=lambda: made)


# -- what is spoiled ------------------------------------------------------------------------------


def _polarity(arrays: Arrays) -> None:
    for key in (STATE, ACTION):
        arrays[key][:, _GRIPPER] = 1 - arrays[key][:, _GRIPPER]


def _scaled_gripper(factor: float) -> Callable[[Arrays], None]:
    def spoil(arrays: Arrays) -> None:
        for key in (STATE, ACTION):
            arrays[key][:, _GRIPPER] *= factor

    return spoil


def _order(arrays: Arrays) -> None:
    for key in (STATE_POSE, ACTION_POSE):
        arrays[key][:, 3:] = np.roll(arrays[key][:, 3:], 1, axis=1)


def _norm(arrays: Arrays) -> None:
    arrays[STATE_POSE][:, 3:] *= 1.05


def _flip(arrays: Arrays) -> None:
    middle = len(arrays[STATE_POSE]) // 2
    arrays[STATE_POSE][middle:, 3:] *= -1


def _degrees(arrays: Arrays) -> None:
    for key in (STATE, ACTION):
        arrays[key][:, :_GRIPPER] = np.rad2deg(arrays[key][:, :_GRIPPER])


def _ticks(arrays: Arrays) -> None:
    for key in (STATE, ACTION):
        arrays[key][:, :_GRIPPER] = np.rint(arrays[key][:, :_GRIPPER] * _TICKS + 2048)


def _joint_steps(arrays: Arrays) -> None:
    arrays[ACTION][:, :_GRIPPER] -= arrays[STATE][:, :_GRIPPER]


def _pose_steps(arrays: Arrays) -> None:
    """Steps of the end effector from pose to commanded pose, in the frame of the base: position and axis-angle."""
    been, told = arrays[STATE_POSE], arrays[ACTION_POSE]
    start, end = (rotations.matrix_of_quaternion(p[:, 3:]) for p in (been, told))
    turned = rotations.axis_angle_of_matrix(rotations.relative(start, end))
    arrays[ACTION_POSE] = np.concatenate([told[:, :3] - been[:, :3], turned], axis=1)


def _own_steps(arrays: Arrays) -> None:
    """The same in the frame of the end effector."""
    been, told = arrays[STATE_POSE], arrays[ACTION_POSE]
    start, end = (rotations.matrix_of_quaternion(p[:, 3:]) for p in (been, told))
    turned = rotations.axis_angle_of_matrix(rotations.relative(start, end, "end_effector"))
    moved = np.einsum("tji,tj->ti", start, told[:, :3] - been[:, :3])
    arrays[ACTION_POSE] = np.concatenate([moved, turned], axis=1)


def _sign(arrays: Arrays) -> None:
    arrays[STATE][:, 2] *= -1


def _shift(arrays: Arrays) -> None:
    for key in (STATE, STATE_POSE):
        arrays[key][1:] = arrays[key][:-1].copy()


def _slow(arrays: Arrays) -> None:
    for key in (ACTION, ACTION_POSE):
        arrays[key] = arrays[key][np.arange(len(arrays[key])) // 3 * 3]


def _nothing(arrays: Arrays) -> None:
    """The numbers stay; it is the card that is wrong."""


# -- what is claimed ------------------------------------------------------------------------------


def _says_degrees(card: Embodiment) -> Embodiment:
    def in_degrees(joint: Joint) -> Joint:
        if joint.kind != "revolute" or joint.lower is None or joint.upper is None:
            return joint
        ends = {"lower": float(np.rad2deg(joint.lower)), "upper": float(np.rad2deg(joint.upper))}
        return replace(joint, unit="deg", **ends)

    return replace(card, joints=tuple(in_degrees(j) for j in card.joints))


_STEP_NAMES = (*POSE_NAMES[:3], "eef_rx", "eef_ry", "eef_rz")


def says_pose_steps(card: Embodiment, frame: str = "base") -> Embodiment:
    """A card of which actions are steps of the end effector, in this frame."""
    joints = (*card.joints, *(Joint(name=n, kind="other", unit="rad") for n in _STEP_NAMES[3:]))
    arm = replace(card.arms[0], action_rotation=_STEP_NAMES[3:], action_rotation_as="axis_angle")
    return replace(
        card,
        joints=joints,
        arms=(arm,),
        control_mode="eef_delta",
        action_frame=frame,  # type: ignore[arg-type]
        rotation_delta="compose",
        delta_from="state",
    )


def _says_joint_steps(card: Embodiment) -> Embodiment:
    return replace(card, control_mode="joint_delta", delta_from="state")


def _says_ticks(card: Embodiment) -> Embodiment:
    def in_ticks(joint: Joint) -> Joint:
        if joint.kind != "revolute":
            return joint
        return replace(joint, unit="tick", ticks_per_turn=4096.0, zero_tick=2048.0, lower=None, upper=None)

    return replace(card, joints=tuple(in_ticks(j) for j in card.joints))


def _says_grippers(closed: float, opened: float) -> Callable[[Embodiment], Embodiment]:
    def claim(card: Embodiment) -> Embodiment:
        joints = tuple(replace(j, lower=None, upper=None) if j.kind == "gripper" else j for j in card.joints)
        return replace(card, joints=joints, grippers=(replace(card.grippers[0], closed=closed, open=opened),))

    return claim


# Other conventions with the card that tells them truly: nothing may be alleged of these.
TRUE: Mapping[str, tuple[Callable[[Arrays], None], Callable[[Embodiment], Embodiment]]] = {
    "as recorded": (_nothing, lambda card: card),
    "gripper reversed": (_polarity, _says_grippers(1.0, 0.0)),
    "gripper in percent": (_scaled_gripper(100.0), _says_grippers(0.0, 100.0)),
    "gripper in metres": (_scaled_gripper(0.08), _says_grippers(0.0, 0.08)),
    "wxyz": (_order, lambda card: replace(card, quaternion_order="wxyz")),
    "degrees": (_degrees, _says_degrees),
    "ticks": (_ticks, _says_ticks),
    "joint steps": (_joint_steps, _says_joint_steps),
    "steps in the base": (_pose_steps, lambda card: says_pose_steps(card, "base")),
    "steps of the end effector": (_own_steps, lambda card: says_pose_steps(card, "end_effector")),
    "a lower rate": (_slow, lambda card: replace(card, control_rate_hz=10.0, response_s=None)),
}


def truly(name: str, episode: Episode) -> Episode:
    """The episode in another convention, with a card that says so (a key of `TRUE`)."""
    change, claim = TRUE[name]
    arrays = {key: channel.values.astype(np.float64) for key, channel in episode.channels.items()}
    change(arrays)
    return _with(episode, arrays, claim(true_card()))


JOINTS = (STATE,)
POSES = (STATE_POSE, ACTION_POSE)
ACTIONS = (ACTION, ACTION_POSE)
TOUCH = (CONTACT, OBJECT)

ERRORS: Mapping[str, Error] = {
    "gripper_polarity": Error("gripper_polarity", _polarity, TOUCH),
    "gripper_range": Error("gripper_range", _scaled_gripper(100.0), (STATE, ACTION)),
    "gripper_range_metres": Error("gripper_range", _scaled_gripper(0.08), TOUCH),
    "quaternion_order": Error("quaternion_order", _order, JOINTS),
    "quaternion_norm": Error("quaternion_norm", _norm, POSES),
    "quaternion_flip": Error("quaternion_flip", _flip, POSES),
    "degrees": Error("angle_unit", _degrees, JOINTS),
    "radians": Error("angle_unit", _nothing, POSES, _says_degrees),
    "motor_ticks": Error("motor_ticks", _ticks, JOINTS),
    "action_mode_steps": Error("action_mode", _joint_steps, JOINTS),
    "action_mode_places": Error("action_mode", _nothing, JOINTS, _says_joint_steps),
    "delta_frame": Error("delta_frame", _pose_steps, (STATE_POSE,), lambda c: says_pose_steps(c, "end_effector")),
    "joint_sign": Error("joint_sign", _sign, ACTIONS),
    "action_shift": Error("action_shift", _shift, ACTIONS),
    # Commands that are held are answered later, too; of that the card says nothing here.
    "control_rate": Error("control_rate", _slow, ACTIONS, lambda card: replace(card, response_s=None)),
}
