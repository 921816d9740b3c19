"""Which joints make up a limb, and where its tip is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gristmill.kinematics.model import RobotModel
from gristmill.types import IntArray

_FEWEST = 2  # joints below which a limb has no singularity worth a name


@dataclass(frozen=True, eq=False, kw_only=True)
class Chain:
    """Joints in a row, from the base to the tip.

    Attributes:
        name: what messages call it: the card's name of the arm, or the tip's.
        joints: (j,) numbers of its joints in the model.
        tip: body or site at its end.
        base: body in whose frame its poses are given; None is the world.
    """

    name: str
    joints: IntArray
    tip: str
    base: str | None = None


def chains_of(model: RobotModel, joints: Sequence[int], shortest: int = _FEWEST) -> tuple[Chain, ...]:
    """The limbs that these joints make up: one for every joint that none of the others follows.

    Args:
        model: the robot.
        joints: numbers of the joints that are known, fingers left out.
        shortest: limbs with fewer joints are left out.
    """
    above = {j: set(model.ancestors(int(model.body_of[j]))) for j in joints}
    chains = []
    for last in joints:
        body = int(model.body_of[last])
        if any(body in above[j] for j in joints if int(model.body_of[j]) != body):
            continue  # not the last one of its limb
        own = sorted((j for j in joints if int(model.body_of[j]) in above[last]), key=lambda j: (len(above[j]), j))
        if own[-1] != last or len(own) < shortest:
            continue
        tip = model.bodies[tip_of(model, body)]
        chains.append(Chain(name=tip, joints=np.array(own, np.intp), tip=tip))
    return tuple(chains)


def tip_of(model: RobotModel, body: int) -> int:
    """The body at the end of what is fixed to this one: followed as long as there is one child, and it is fixed."""
    moved = set(model.compiled.jnt_bodyid.tolist())
    while True:
        children = np.flatnonzero(model.parents == body)
        children = children[children != body]
        if len(children) != 1 or int(children[0]) in moved:
            return body
        body = int(children[0])
