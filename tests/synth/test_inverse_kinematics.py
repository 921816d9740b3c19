"""The closed form against MuJoCo's forward kinematics."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from gristmill.synth import scene
from gristmill.synth.inverse_kinematics import pointing_down, roll_onto_cube


@pytest.mark.parametrize("point", [(0.30, 0.10, 0.05), (0.24, -0.15, 0.02), (0.33, 0.02, 0.16)])
def test_the_fingertips_come_to_the_point_with_the_hand_vertical(point):
    world = scene.model(0.01)
    data = mujoco.MjData(world)
    data.qpos[:5] = pointing_down(np.array(point), 0.3)
    mujoco.mj_kinematics(world, data)
    assert data.site("grasp").xpos == pytest.approx(point, abs=1e-9)
    assert data.body("hand").xmat.reshape(3, 3)[:, 0] == pytest.approx([0, 0, -1], abs=1e-9)


@pytest.mark.parametrize("yaw", [-2.0, -0.4, 0.0, 0.7, 3.0])
def test_the_fingers_close_on_two_sides_of_the_cube(yaw):
    world = scene.model(0.01)
    data = mujoco.MjData(world)
    cube = np.array([0.27, 0.12, scene.CUBE_HALF_M])
    roll = roll_onto_cube(cube, yaw)
    data.qpos[:5] = pointing_down(cube, roll)
    mujoco.mj_kinematics(world, data)
    closing = data.body("hand").xmat.reshape(3, 3)[:, 1]
    angle = np.arctan2(closing[1], closing[0]) - yaw
    assert (angle + 1e-6) % (np.pi / 2) == pytest.approx(1e-6, abs=1e-7)
    assert abs(roll) <= np.pi / 4


def test_a_point_out_of_reach_is_refused():
    with pytest.raises(ValueError, match="no pose reaches"):
        pointing_down(np.array([0.9, 0.0, 0.1]), 0.0)


def test_limits_named_in_the_model_are_those_of_the_module():
    world = scene.model(0.01)
    for name, limits in scene.LIMITS_RAD.items():
        assert world.joint(name).range == pytest.approx(limits)
