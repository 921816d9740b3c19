"""The card of the sample's arm. It does not ship with the others: the sample is meant to be unknown."""

from __future__ import annotations

from collections.abc import Sequence

from gristmill.embodiment import Arm, Embodiment, Gripper, Joint

POSE_NAMES = ("eef_x", "eef_y", "eef_z", "eef_qx", "eef_qy", "eef_qz", "eef_qw")


def sample_card(extra: Sequence[str] = ()) -> Embodiment:
    """What the numbers of `generate(..., extra=extra)` mean. Needs MuJoCo, as the sample does."""
    from gristmill.synth.scene import JOINTS, LIMITS_RAD

    joints = [Joint(name=n, lower=LIMITS_RAD[n][0], upper=LIMITS_RAD[n][1]) for n in JOINTS]
    joints.append(Joint(name="gripper", kind="gripper", unit="normalized", lower=0.0, upper=1.0))
    pose = POSE_NAMES if "eef_pose" in extra else ()
    joints += [Joint(name=n, kind="other", unit="m" if i < 3 else "normalized") for i, n in enumerate(pose)]
    arm = Arm(
        name="arm",
        joints=JOINTS,
        gripper="gripper",
        position=pose[:3],
        rotation=pose[3:],
        rotation_as="quaternion" if pose else "unknown",
    )
    return Embodiment(
        key="gristmill_arm",
        title="The sample's arm",
        robot_types=("gristmill_arm",),
        joints=tuple(joints),
        grippers=(Gripper(joint="gripper", closed=0.0, open=1.0),),
        arms=(arm,),
        control_mode="joint_position",
        action_frame="base" if pose else "joint",
        quaternion_order="xyzw" if pose else "unknown",
        sources={"all": "gristmill.synth.scene"},
    )
