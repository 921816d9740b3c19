"""Names of dimensions that recorders and robot descriptions use, and what they tell."""

from __future__ import annotations

import pytest

from gristmill.drafting.names import said_by


@pytest.mark.parametrize(
    ("what", "names"),
    [
        (
            "joint",
            "shoulder_pan shoulder_lift.pos elbow_flex kLeftShoulderPitch left_hip_roll panda_joint1 joint_0 j3 q7",
        ),
        ("joint", "lwr_arm_0_joint base_yaw head_pan waist wrist_1 right_knee neck_tilt left_j4 torso_yaw_joint"),
        ("coordinate", "x y eef_x tcp.z position.y left_eef_x robot0_eef_pos_z"),
        ("angle", "roll eef_pitch rx tool_rot_z cube_yaw right_yaw"),
        ("nothing", "vx wz shoulder.vel elbow_velocity joint1_torque left_wrist_current effort_1 joint_3_temperature"),
        ("nothing", "cube_x wrist_height torso_lift torso_lift_joint prismatic_joint motor_3 state_0 value 5 base_x"),
        ("nothing", "object_qx timestamp ship pandas expander"),
    ],
)
def test_what_names_tell(what, names):
    assert {name: said_by(name) for name in names.split()} == dict.fromkeys(names.split(), what)


@pytest.mark.parametrize("channel", ["observation.velocity", "observation.state.joint_torques", "action.effort"])
def test_a_channel_of_another_quantity_holds_no_places(channel):
    assert said_by("elbow", channel) == said_by("x", channel) == "nothing"
    assert said_by("elbow", "observation.state") == "joint"
