"""Comparable numbers: every robot's states and actions in one canonical space, and back.

The space: for each arm of the card the pose of its end effector (metres, quaternion xyzw and 6D), its joints in the
robot's model (rad, m) and its gripper's opening (0 closed, 1 open); other joints; the base's velocity; dimensions
that the card passes through. What an embodiment lacks is masked.
"""

from __future__ import annotations

from gristmill.harmonizing.harmonize import harmonize
from gristmill.harmonizing.harmonized import Block, Harmonized

__all__ = ["Block", "Harmonized", "harmonize"]
