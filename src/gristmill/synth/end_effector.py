"""Where the sample arm's end effector is: forward kinematics by MuJoCo."""

from __future__ import annotations

from typing import Any

import mujoco as _mujoco
import numpy as np

from gristmill.rotations import continuous, quaternion_of_matrix
from gristmill.synth.scene import MAX_STEP_S, model

mujoco: Any = _mujoco  # the wheel's type stubs know none of its classes


def grasp_frames(joints_rad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position (k, 3) in metres and rotation (k, 3, 3) of the point between the fingertips, for joints (k, 5)."""
    world = model(MAX_STEP_S)
    data = mujoco.MjData(world)
    site = world.site("grasp").id
    place, turn = np.empty((len(joints_rad), 3)), np.empty((len(joints_rad), 3, 3))
    for k, joints in enumerate(joints_rad):
        data.qpos[:5] = joints
        mujoco.mj_kinematics(world, data)
        place[k], turn[k] = data.site_xpos[site], data.site_xmat[site].reshape(3, 3)
    return place, turn


def pose(joints_rad: np.ndarray) -> np.ndarray:
    """(k, 7) float32: position in metres, and a quaternion xyzw without jumps of its sign."""
    place, turn = grasp_frames(joints_rad)
    return np.concatenate([place, continuous(quaternion_of_matrix(turn))], axis=1).astype(np.float32)
