"""Texts of tasks that claim a grasp, and texts that do not."""

from __future__ import annotations

import pytest

from gristmill.grasp_claims import claims_grasp


@pytest.mark.parametrize(
    "text",
    [
        "Pick up the red cube",
        "grasp the handle and pull",
        "lift the lid",
        "open the drawer, then put the spoon in it",
        "move the arm over and place the cup down",
        "Lift",
        "take the hand towel from the rack",
        "pick up the cup without spilling",
        "hold the bottle upright",
        "put it on the plate",
        "lift up the pot",
        "Do not touch the red block, pick the blue one",
        "grabbing the cup",
        "gripping the handle",
        "gripped it",
        "picked the cube",
        "pinches the cable",
        "Please take the bowl to the sink",
        "raise the block with both hands",
        "stack the cups",
        "place your toy in the box",
        "carry the box",
    ],
)
def test_something_is_taken_hold_of(text):
    assert claims_grasp(text)


@pytest.mark.parametrize(
    "text",
    [
        "push the T onto the mark",
        "move the gripper above the red cube",
        "press the lift button",
        "wipe the table",
        "",
        "raise both arms",
        "lift your left arm",
        "lift your left arm up slowly",
        "take a step forward",
        "hold still",
        "hold the pose",
        "push the block without grasping it",
        "do not pick",
        "don't pick up the cube",
        "never grasp the cup",
        "put your hand on the table",
        "take two steps back and turn",
        "Open the gripper",
        "close the drawer",
        "place the left hand on the button",
        "raise hands",
        "hold position",
        "take a bow",
    ],
)
def test_nothing_is_taken_hold_of(text):
    assert not claims_grasp(text)
