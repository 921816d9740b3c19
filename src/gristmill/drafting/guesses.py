"""Guesses from evidence, each with its reason. Where the numbers allow two readings, none is chosen."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from gristmill import robust
from gristmill.conventions.chains import misfit
from gristmill.drafting.evidence import Evidence
from gristmill.drafting.names import Said, said_by
from gristmill.embodiment import ControlMode, JointKind, Unit, plain_name

_UNIT_LENGTH = 0.02  # largest error of the length of what is taken for a quaternion
_FULL_TURN_RAD = 1.05 * 2 * np.pi
_TICKS = 400.0
_SHARE = 1.05  # largest number of a calibrated range that ends at -1 and 1, and a bit
_HOLDS = 0.85
# The rule of the check `quaternion_order`: misfits that mean nothing, that decide, and that are an explanation.
_LEAST_RAD, _FACTOR, _FITS_RAD = 0.004, 4.0, 0.03


class Guess(NamedTuple):
    """A value, and why."""

    value: str
    why: str


def kind_of(evidence: Evidence, row: int) -> JointKind:
    """What sort of joint a dimension is, by its name; "other" where that does not tell."""
    if evidence.layout.parts[row] in ("gripper", "hand"):
        return "gripper" if evidence.layout.parts[row] == "gripper" else "hand"
    return "revolute" if said(evidence, row) == "joint" else "other"


def said(evidence: Evidence, row: int) -> Said | Literal["quaternion"]:
    """What a dimension is by its name, or as one of four whose length is always 1."""
    dim = evidence.layout.dims[row]
    return "quaternion" if row in quaternion_rows(evidence) else said_by(dim.name, dim.channel)


def unit_of(evidence: Evidence, row: int) -> tuple[Unit, str]:
    """The unit of a dimension, and why; "unknown" where the numbers allow several."""
    largest = float(max(abs(evidence.low[row]), abs(evidence.high[row])))
    what = said(evidence, row)
    if what == "quaternion":
        return "normalized", "one of four neighbours whose length is always 1: a quaternion"
    if evidence.layout.parts[row] in ("gripper", "hand"):
        return _grip_unit(evidence, row)
    if what == "coordinate":
        if largest < 3:
            return "m", f"a coordinate by its name, at most {largest:.3g} from zero"
        return "unknown", f"a coordinate by its name, up to {largest:.3g} from zero: mm, cm or pixels"
    if what == "nothing":
        return "unknown", "its name does not tell what it is"
    if evidence.whole[row] and largest > _TICKS:
        return "tick", f"whole numbers up to {largest:.0f}: counts of an encoder"
    peers = _peers(evidence, row)
    reach = float(np.maximum(np.abs(evidence.low[peers]), np.abs(evidence.high[peers])).max())
    if reach <= _SHARE:
        return "unknown", f"the numbers go up to {reach:.3g}: rad, m, or -1 to 1 of a calibrated range"
    if reach <= _FULL_TURN_RAD:
        return "rad", f"neither it nor the other joints go beyond a full turn in rad (at most {reach:.3g})"
    if reach > 105 and reach <= 400:
        return "deg", f"the joints go up to {reach:.4g}: more than 100 %, less than a turn and a bit in degrees"
    return "unknown", f"the joints go up to {reach:.4g}: degrees, or -100 to 100 of a calibrated range"


@lru_cache(maxsize=4)
def quaternion_rows(evidence: Evidence) -> dict[int, int]:
    """Row -> first row of the quaternion that it belongs to."""
    found: dict[int, int] = {}
    for start, error in sorted(evidence.unit_length.items(), key=lambda item: item[1]):
        rows = range(start, start + 4)
        moves = evidence.high[start : start + 4] - evidence.low[start : start + 4]
        # Constant ones, such as (0, 0, 0, 1), need a name to be believed.
        named = any(plain_name(evidence.layout.dims[r].name).endswith(("qw", "qx", "quatw", "quatx")) for r in rows)
        if error <= _UNIT_LENGTH and (moves.max() > 1e-3 or named) and not any(r in found for r in rows):
            found |= dict.fromkeys(rows, start)
    return found


def quaternion_order(evidence: Evidence) -> Guess:
    """The order of quaternions: by the names of their numbers, else by the joints that carry the end effector."""
    orders = set()
    starts = sorted(set(quaternion_rows(evidence).values()))
    for start in starts:
        last = [plain_name(evidence.layout.dims[start + i].name)[-1:] for i in range(4)]
        orders.add("".join(last) if "".join(last) in ("xyzw", "wxyz") else "")
    if len(orders) == 1 and "" not in orders:
        return Guess(orders.pop(), "by the names of its numbers")
    return _order_by_joints(evidence, starts)


def _order_by_joints(evidence: Evidence, starts: list[int]) -> Guess:
    """Only one order is a chain of rotations about the joints, if there is one arm whose joints are listed in order."""
    unsure = "the names of its numbers do not tell xyzw from wxyz"
    states = evidence.layout.states
    joints = [r for r in range(states) if kind_of(evidence, r) == "revolute" and unit_of(evidence, r)[0] == "rad"]
    own = [start for start in starts if start + 4 <= states]
    if len(own) != 1 or len(joints) < 2:
        return Guess("unknown", unsure)
    told = [m for values in evidence.states if (m := misfit(values[own[0] : own[0] + 4].T, values[joints].T))]
    if not told:
        return Guess("unknown", f"{unsure}, and too little moves")
    xyzw, wxyz = (float(np.median(column)) for column in list(zip(*told, strict=True))[:2])
    said = f"read as xyzw it misses what the joints do by {xyzw:.2g} rad, read as wxyz by {wxyz:.2g} rad"
    better, worse = min(xyzw, wxyz), max(xyzw, wxyz)
    if worse < _LEAST_RAD or worse < _FACTOR * better or better > _FITS_RAD:
        return Guess("unknown", f"{unsure}; {said}, which decides nothing")
    return Guess("xyzw" if xyzw < wxyz else "wxyz", f"{said}, if the joints are listed from base to tip")


def control_mode(evidence: Evidence) -> tuple[ControlMode, str]:
    """What actions are, and why."""
    if not evidence.readings:
        return "unknown", "no dimension of the action commands one of the state by name, or nothing moves"
    place, distance, step = (float(np.median(column)) for column in zip(*evidence.readings, strict=True))
    figures = (
        f"action and state correlate {place:.2f} and lie {distance:.2g} times the motion apart; added up, actions "
        f"correlate {step:.2f} with changes of the state"
    )
    whose = _whose(evidence, evidence.layout.index[evidence.layout.arm_pairs.state].tolist())
    if place >= _HOLDS and distance <= 1:
        modes: dict[str, ControlMode] = {"joint": "joint_position", "pose": "eef_pose"}
        return modes.get(whose, "unknown"), f"{figures}: places{_of_what(whose)}"
    if step >= _HOLDS:
        modes = {"joint": "joint_delta", "pose": "eef_delta"}
        return modes.get(whose, "unknown"), f"{figures}: steps{_of_what(whose)}"
    return "unknown", f"{figures}: neither places nor steps"


def _whose(evidence: Evidence, rows: list[int]) -> str:
    """Whether rows are of "joint"s or of a "pose" by their names; "" when these do not tell."""
    told = {said(evidence, row) for row in rows}
    if "joint" in told:
        return "joint"
    return "pose" if told and "nothing" not in told else ""


def _of_what(whose: str) -> str:
    return "" if whose else ", but the names do not tell whether of joints or of an end effector"


def closed_and_open(evidence: Evidence, row: int) -> tuple[float, float] | None:
    """Values at which a gripper is closed and open; None where no contact tells which end is which."""
    told = [g for g in evidence.grips.get(row, []) if g.count]
    if not told:
        return None
    closing = float(np.mean([g.closing for g in told]))
    if abs(closing) < 0.6:
        return None
    unit = _grip_unit(evidence, row)[0]
    ends = {"normalized": (0.0, 1.0), "percent": (0.0, 100.0)}
    low, high = ends.get(unit, (float(evidence.low[row]), float(evidence.high[row])))
    return (low, high) if closing > 0 else (high, low)


def polarity(evidence: Evidence, row: int) -> str:
    """What contacts tell of a gripper's polarity."""
    told = [g for g in evidence.grips.get(row, []) if g.count]
    if not told:
        return "nothing tells its polarity: no force, effort or object's position, or it does not move at contacts"
    lower = sum(g.closing > 0 for g in told)
    signal = Counter(evidence.signals).most_common(1)[0][0]
    return f"by {signal}, it goes down before contact in {lower} of {len(told)} episodes with grasps"


def rate(evidence: Evidence, declared_hz: float) -> str:
    """What the times and the changes of the action tell."""
    said = f"declared {declared_hz:g} Hz"
    if evidence.rates_hz:
        said += f", times {float(np.median(evidence.rates_hz)):.4g} Hz"
    if evidence.changes:
        every = int(np.median([c for c, _ in evidence.changes]))
        said += ", actions change with every sample" if every == 1 else f", actions change every {every} samples"
    return said


def response(evidence: Evidence) -> str:
    """By how much the state follows its commands."""
    if not evidence.lags_s:
        return ""
    lags = np.array(evidence.lags_s)
    return f"{float(robust.median(lags)):.3f} s, give or take {float(robust.deviation(lags)):.3f} s"


def _grip_unit(evidence: Evidence, row: int) -> tuple[Unit, str]:
    low, high = float(evidence.low[row]), float(evidence.high[row])
    if evidence.whole[row] and max(abs(low), abs(high)) > _TICKS:
        return "tick", f"whole numbers up to {max(abs(low), abs(high)):.0f}"
    if low >= -0.1 and 0.5 < high <= 1.1:
        return "normalized", f"from {low:.3g} to {high:.3g}"
    if low >= -15 and 20 < high <= 115:
        return "percent", f"from {low:.3g} to {high:.3g}"
    return "unknown", f"from {low:.3g} to {high:.3g}: metres, rad or a share"


def _peers(evidence: Evidence, row: int) -> list[int]:
    """Dimensions of the same channel and sort: joints, or angles of a pose."""
    dims, what = evidence.layout.dims, said(evidence, row)
    return [r for r, d in enumerate(dims) if d.channel == dims[row].channel and said(evidence, r) == what]
