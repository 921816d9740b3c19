"""Roles and names of observations and actions."""

from __future__ import annotations

import pytest

from gristmill.formats.hdf5.vocabulary import action_names, names_of, role_of

STATES = [
    "robot0_joint_pos", "robot1_eef_pos", "robot0_eef_quat", "robot0_gripper_qpos", "ee_ori", "joint_states",
    "gripper_states", "joint_pos", "left_eef_pos", "robot0_base_to_eef_quat",
]  # fmt: skip
OTHERS = [
    "object", "robot0_joint_vel", "robot0_joint_pos_cos", "robot0_gripper_qvel", "cube_positions", "robot0_eef_vel_lin",
    "joint_vel", "actions", "object_eef_pos",
]  # fmt: skip


@pytest.mark.parametrize(("key", "role"), [*((k, "state") for k in STATES), *((k, "other") for k in OTHERS)])
def test_roles(key: str, role: str) -> None:
    assert role_of(key) == role


def test_names_of_observations() -> None:
    assert names_of("robot0_eef_pos", 3, xyzw=False) == ("x", "y", "z")
    assert names_of("robot0_eef_pos", 6, xyzw=False) == ()
    assert names_of("ee_ori", 3, xyzw=False) == ("rx", "ry", "rz")
    assert names_of("robot0_eef_quat", 4, xyzw=True) == ("qx", "qy", "qz", "qw")
    assert names_of("robot0_eef_quat", 4, xyzw=False) == ()
    # A second arm's names must not be the first one's: cards go by name.
    assert names_of("robot1_eef_pos", 3, xyzw=False) == ("robot1_x", "robot1_y", "robot1_z")
    assert names_of("left_eef_pos", 3, xyzw=False) == ("left_x", "left_y", "left_z")


def test_names_of_actions() -> None:
    steps = ("delta_x", "delta_y", "delta_z", "delta_rx", "delta_ry", "delta_rz", "gripper")
    assert action_names((("OSC_POSE", True),), 7) == steps
    assert action_names((("OSC_POSE", False),), 7) == ("x", "y", "z", "rx", "ry", "rz", "gripper")
    assert action_names((("OSC_POSITION", True),), 4) == ("delta_x", "delta_y", "delta_z", "gripper")
    both = action_names((("OSC_POSE", True), ("OSC_POSE", True)), 14)
    assert both == (*steps, *(f"robot1_{name}" for name in steps))
    # A wider action is not what the controller says, and joint controllers have no such names.
    assert action_names((("OSC_POSE", True),), 8) == ()
    assert action_names((("JOINT_POSITION", True),), 7) == ()
    assert action_names((), 7) == ()
