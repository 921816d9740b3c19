"""Joint angles that put the gripper, pointing down, around a point: closed form for the sample's arm."""

from __future__ import annotations

import numpy as np

from gristmill.synth.scene import FOREARM_M, HAND_M, SHOULDER_HEIGHT_M, UPPER_ARM_M


def pointing_down(point_m: np.ndarray, roll_rad: float) -> np.ndarray:
    """The elbow-up solution with the hand vertical.

    Args:
        point_m: (3,) point between the fingertips.
        roll_rad: rotation of the wrist about the hand's axis.

    Returns:
        (5,) base_yaw, shoulder_pitch, elbow_pitch, wrist_pitch, wrist_roll in rad.

    Raises:
        ValueError: the point is out of reach.
    """
    x, y, z = point_m
    radius = np.hypot(x, y)
    height = z + HAND_M - SHOULDER_HEIGHT_M
    cosine = (radius**2 + height**2 - UPPER_ARM_M**2 - FOREARM_M**2) / (2 * UPPER_ARM_M * FOREARM_M)
    if not -1 <= cosine <= 1:
        raise ValueError(f"no pose reaches ({x:.3f}, {y:.3f}, {z:.3f}) m with the hand vertical")
    elbow = -np.arccos(cosine)
    bend = np.arctan2(FOREARM_M * np.sin(elbow), UPPER_ARM_M + FOREARM_M * np.cos(elbow))
    shoulder = np.arctan2(height, radius) - bend
    wrist = -np.pi / 2 - shoulder - elbow
    return np.array([np.arctan2(y, x), shoulder, elbow, wrist, roll_rad])


def roll_onto_cube(cube_m: np.ndarray, cube_yaw_rad: float) -> float:
    """The wrist's roll, within 45 degrees, at which the fingers close flat on two sides of a standing cube.

    With the hand pointing down, a positive roll turns the fingers clockwise as seen from above.
    """
    roll = np.arctan2(cube_m[1], cube_m[0]) - cube_yaw_rad
    return float((roll + np.pi / 4) % (np.pi / 2) - np.pi / 4)
