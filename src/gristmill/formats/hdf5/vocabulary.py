"""What the keys of robomimic, robosuite, LIBERO and Isaac Lab mean: roles, and names where they are written down.

Sources: robosuite documentation, "Robots" (proprioceptive observables) and "Controllers" (OSC_POSE: three
translations, three rotations as axis-angle, then the gripper); robosuite.utils.transform_utils (quaternions are
x, y, z, w); LIBERO's create_dataset.py (ee_pos, ee_ori as axis-angle, gripper_states, joint_states). Isaac Lab changed
its order of quaternions between versions, so theirs get no names.
"""

from __future__ import annotations

import re

from gristmill.episode import Role

_ROBOT = re.compile(r"^(?:robot\d*_)?(?:left_|right_)?")
# What a robot's own sensors say of where it is. Speeds, efforts and what the scene holds are other observations.
_STATES = {
    "joint_pos", "joint_position", "joint_positions", "joint_states", "qpos",
    "eef_pos", "eef_quat", "eef_quat_site", "eef_pose", "eef_rot", "eef_axis_angle", "eef_rot_axis_angle",
    "ee_pos", "ee_ori", "ee_quat", "ee_pose",
    "gripper_qpos", "gripper_pos", "gripper_position", "gripper_states", "gripper_width",
    "base_pos", "base_quat", "base_to_eef_pos", "base_to_eef_quat", "base_to_eef_quat_site",
    "hand_joint_state", "hand_joint_pos",
}  # fmt: skip
_POSITION = ("x", "y", "z")
_QUATERNION = ("qx", "qy", "qz", "qw")
_AXIS_ANGLE = ("rx", "ry", "rz")
# A step from where the arm is, or a place; a step must not share its name with the place that it starts from.
_OSC = {
    ("OSC_POSE", True): ("delta_x", "delta_y", "delta_z", "delta_rx", "delta_ry", "delta_rz", "gripper"),
    ("OSC_POSE", False): ("x", "y", "z", "rx", "ry", "rz", "gripper"),
    ("OSC_POSITION", True): ("delta_x", "delta_y", "delta_z", "gripper"),
    ("OSC_POSITION", False): ("x", "y", "z", "gripper"),
}


def role_of(key: str) -> Role:
    """The role of an observation by its name."""
    return "state" if _ROBOT.sub("", key) in _STATES else "other"


def names_of(key: str, width: int, *, xyzw: bool) -> tuple[str, ...]:
    """Names of an observation's dimensions, or none.

    Args:
        key: the observation, "robot0_eef_pos".
        width: its dimensions.
        xyzw: quaternions are known to be in the order x, y, z, w.
    """
    plain = _ROBOT.sub("", key)
    names: tuple[str, ...] = ()
    if plain in ("eef_pos", "ee_pos", "base_pos", "base_to_eef_pos") and width == 3:
        names = _POSITION
    elif plain in ("ee_ori", "eef_axis_angle", "eef_rot_axis_angle") and width == 3:
        names = _AXIS_ANGLE
    elif xyzw and width == 4 and plain in ("eef_quat", "eef_quat_site", "ee_quat", "base_quat", "base_to_eef_quat"):
        names = _QUATERNION
    # Cards go by name, so a second arm's names differ from the first one's.
    arm = key.removesuffix(plain).removeprefix("robot0_")
    return tuple(arm + name for name in names)


def action_names(controllers: tuple[tuple[str, bool], ...], width: int) -> tuple[str, ...]:
    """Names of an action's dimensions, or none.

    Args:
        controllers: of each arm, its controller's type and whether its actions are steps.
        width: the action's dimensions.
    """
    found = [_OSC.get(controller, ()) for controller in controllers]
    if not found or not all(found) or sum(map(len, found)) != width:
        return ()
    return tuple(f"robot{i}_{name}" if i else name for i, names in enumerate(found) for name in names)
