"""What the name of a dimension says of it: a joint's angle, a number of a pose, or nothing that can be relied on."""

from __future__ import annotations

import re
from typing import Literal

from gristmill.embodiment import plain_name

Said = Literal["joint", "coordinate", "angle", "nothing"]

_COORDINATE = re.compile(r"(left|right|eef|ee|tcp|tool|pos|position|robot\d)*(pos|position)?[xyz]")
_ANGLE = re.compile(r"(left|right|eef|ee|tcp|tool)*(roll|pitch|yaw|r[xyz]|rot[xyz])")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Words of quantities that are no position, and of positions that are no angle.
_ELSE = re.compile(
    "vel|velocity|velocities|speeds?|qvel|dq|qd|acc|accel|accelerations?|qacc|ddq|torques?|tau|efforts?|forces?|wrench|"
    "currents?|voltage|power|load|temp|temperature|stiffness|damping|gain|error|time|timestamp|stamp|"
    "height|width|depth|distance|length|radius"
)
_AXIS = re.compile("[xyzw]|q[xyzw]")
_SLIDING = re.compile("lift|slide|slider|rail|linear|prismatic|elevator|column|extension|telescope|gantry")
_LIMB = re.compile("shoulder|elbow|wrist|forearm|upperarm|waist|ankle|knee")
_LIMB_WORD = re.compile("hip|neck")
# Parts of a robot that turn in some robots and move on in others, so that only an angle's name makes them joints.
_PART = re.compile("base|torso|trunk|chest|body|head|arm|leg|foot")
_TURN = re.compile("roll|pitch|yaw")
_TURNING = re.compile("joint|servo|swivel")
_TURNING_WORD = re.compile("pan|tilt|flex|axis")
_NUMBERED = re.compile(r"(left|right|l|r)?[jq]\d+")


def said_by(name: str, channel: str = "") -> Said:
    """What a dimension is by its name, and by its channel's where that tells a quantity; "nothing" when in doubt.

    A lift or a rail slides, though it may be called a joint; a shoulder's lift turns. Motors that are only counted
    may be anything: recorders call pixels so.
    """
    plain, words = plain_name(name), _words(name)
    if _any(_ELSE, _words(channel)):
        return "nothing"
    if _COORDINATE.fullmatch(plain):
        return "coordinate"
    if _ANGLE.fullmatch(plain):
        return "angle"
    if _any(_ELSE, words) or _any(_AXIS, words):
        return "nothing"
    if _LIMB.search(plain) or _any(_LIMB_WORD, words):
        return "joint"
    if _any(_TURN, words):
        return "joint" if _any(_PART, words) else "angle"
    if _any(_SLIDING, words):
        return "nothing"
    if _TURNING.search(plain) or _any(_TURNING_WORD, words) or _NUMBERED.fullmatch(plain):
        return "joint"
    return "nothing"


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _any(pattern: re.Pattern[str], words: list[str]) -> bool:
    return any(pattern.fullmatch(word) for word in words)
