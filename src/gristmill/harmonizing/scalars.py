"""Numbers that convert one by one: joints by sign, zero and unit; grippers by what is closed and open."""

from __future__ import annotations

import numpy as np

from gristmill.embodiment import Embodiment, Joint
from gristmill.harmonizing.places import Place
from gristmill.types import FloatArray


def why_not(joint: Joint) -> str:
    """Why a joint's numbers have no meaning in the robot's model; "" when they have."""
    if joint.scale is None:
        need = {"tick": "ticks_per_turn", "percent": "lower_rad and upper_rad", "normalized": "lower_rad and upper_rad"}
        return f"the card gives its unit as {joint.unit}" + (
            f" without {need[joint.unit]}" if joint.unit in need else ""
        )
    if joint.kind == "prismatic" and joint.unit not in ("m", "mm"):
        return f"the card gives its unit as {joint.unit}, and a prismatic joint moves in m or mm"
    return "the card gives no zero_tick" if joint.zero is None else ""


def speed_why_not(joint: Joint, *, turning: bool) -> str:
    """Why a base's velocity has no meaning in m/s, or of turning in rad/s; "" when it has."""
    reason = why_not(joint)
    if not reason and turning == (joint.unit in ("m", "mm")):
        return f"the card gives its unit as {joint.unit}, which is no {'angle' if turning else 'length'} a second"
    if not reason and not turning and joint.unit not in ("m", "mm"):
        return f"the card gives its unit as {joint.unit}, which is no length a second"
    return reason


def joint_to_model(values: FloatArray, joint: Joint, *, step: bool = False) -> FloatArray:
    """Recorded numbers (t,) in the model's rad or m; of steps, which have no zero, when `step`."""
    assert joint.scale is not None and joint.zero is not None
    return joint.scale * (values if step else values - joint.zero)


def joint_from_model(values: FloatArray, joint: Joint, *, step: bool = False) -> FloatArray:
    """The inverse of `joint_to_model`."""
    assert joint.scale is not None and joint.zero is not None
    return values / joint.scale + (0.0 if step else joint.zero)


def gripper_why_not(place: Place, card: Embodiment) -> str:
    """Why a gripper's opening cannot be told; "" when it can."""
    return "" if card.gripper(place.joint.name) else "the card does not say at which values it is closed and open"


def opening(values: FloatArray, place: Place, card: Embodiment) -> FloatArray:
    """(t,) opening in [0, 1], 1 open; what lies beyond is clipped."""
    gripper = card.gripper(place.joint.name)
    assert gripper is not None
    return np.clip((values - gripper.closed) / (gripper.open - gripper.closed), 0.0, 1.0)


def from_opening(share: FloatArray, place: Place, card: Embodiment) -> FloatArray:
    """(t,) recorded numbers of an opening."""
    gripper = card.gripper(place.joint.name)
    assert gripper is not None
    return gripper.closed + share * (gripper.open - gripper.closed)
