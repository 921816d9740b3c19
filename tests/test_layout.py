"""Which row of a motion is which."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.embodiment import Embodiment, Joint
from gristmill.episode import Dim
from gristmill.layout import layout_of_dims, part_of
from gristmill.motion import motion_of
from gristmill.testing import make_episode

NOBODY = Embodiment(key="none", title="no card", inferred=True)


def dims(states, actions, state="observation.state", action="action"):
    return [Dim(state, i, n, "state") for i, n in enumerate(states)] + [
        Dim(action, i, n, "action") for i, n in enumerate(actions)
    ]


def pairs(layout):
    index = layout.index
    return list(zip(index[layout.pairs.state].tolist(), index[layout.pairs.action].tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("gripper", "gripper"),
        ("left_gripper.pos", "gripper"),
        ("RightClaw", "gripper"),
        ("finger_joint", "gripper"),
        ("panda_finger_joint1", "gripper"),
        ("kLeftHandIndex", "hand"),
        ("right_hand_finger_2", "hand"),
        ("thumb_rotation", "hand"),
        ("index_finger", "hand"),
        ("shoulder_pan", "arm"),
        ("motor_3", "arm"),
        ("", "arm"),
    ],
)
def test_parts_by_name(name, part):
    assert part_of(name, None) == part


def test_the_card_knows_better_than_the_name():
    assert part_of("j7", Joint(name="j7", kind="gripper")) == "gripper"
    assert part_of("palm_joint", Joint(name="palm_joint", kind="gripper")) == "gripper"


def test_command_and_answer_are_paired_by_name():
    layout = layout_of_dims(dims(["pan", "lift", "gripper"], ["gripper", "lift", "pan"]), NOBODY)
    assert pairs(layout) == [(0, 5), (1, 4), (2, 3)]
    assert layout.arm_pairs.count == 2
    assert layout.grippers.tolist() == [2, 3]


def test_features_of_one_part_are_paired_before_equal_names():
    states = [Dim("observation.state.left", 0, "pan", "state"), Dim("observation.state.right", 0, "pan", "state")]
    actions = [Dim("action.right", 0, "pan", "action"), Dim("action.left", 0, "pan", "action")]
    layout = layout_of_dims(states + actions, NOBODY)
    assert pairs(layout) == [(0, 3), (1, 2)]
    assert layout.features == {"observation.state.left": slice(0, 1), "observation.state.right": slice(1, 2)}


def test_nameless_dimensions_are_paired_in_order_when_there_are_as_many():
    assert pairs(layout_of_dims(dims(["", ""], ["", ""]), NOBODY)) == [(0, 2), (1, 3)]
    assert pairs(layout_of_dims(dims(["", ""], [""]), NOBODY)) == []


def test_other_names_are_not_paired():
    assert pairs(layout_of_dims(dims(["x", "y"], ["pan", "lift"]), NOBODY)) == []


def test_rows_side_by_side_are_slices_and_copy_nothing():
    layout = layout_of_dims(dims(["a", "b"], ["a", "b"]), NOBODY)
    assert layout.pairs.state == slice(0, 2)
    assert layout.pairs.action == slice(2, 4)


def test_the_widest_peer():
    layout = layout_of_dims(dims(["pan", "lift", "gripper"], ["pan"]), NOBODY)
    np.testing.assert_array_equal(layout.widest(np.array([1.0, 4, 9, 2])), [4, 4, 9, 2])


def test_episodes_of_one_corpus_share_a_layout():
    card = Embodiment(key="made", title="made", inferred=True)
    first, second = (make_episode(state=np.zeros((9, 2)), index=i, embodiment=card) for i in range(2))
    assert motion_of(first).layout is motion_of(second).layout
