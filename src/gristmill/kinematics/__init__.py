"""Where a robot is, given its joints: forward and inverse kinematics, singularities, distances to itself.

`model_of(card)` gives the model that a card names. MuJoCo (the extra `kinematics`) is imported when a model is
compiled, never before.
"""

from __future__ import annotations

from gristmill.kinematics.chains import Chain, chains_of
from gristmill.kinematics.model import RobotModel
from gristmill.kinematics.of_card import chain_of_arm, forward_of, model_of, model_positions, position_and_quaternion

__all__ = [
    "Chain",
    "RobotModel",
    "chain_of_arm",
    "chains_of",
    "forward_of",
    "model_of",
    "model_positions",
    "position_and_quaternion",
]
