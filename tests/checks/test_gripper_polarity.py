"""Grippers whose polarity is reversed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.checks.gripper_polarity import GripperPolarity
from gristmill.embodiment import Embodiment, Gripper, Joint
from gristmill.finding import Kind
from gristmill.synth.convention_errors import ACTION, CONTACT, OBJECT, STATE, without
from gristmill.testing import judge, make_episode

from .sampled_arm import COUNT, ConventionContract, recorded, spoiled


class TestGripperPolarity(ConventionContract):
    check = GripperPolarity()
    error = "gripper_polarity"

    def broken_corpus(self):
        """A card is wrong for all of a corpus or for none of it."""
        return [self.broken_episode(i) for i in range(COUNT)]

    def test_finds_the_broken_episode_only(self):
        assert {f.row for f in self.judge(self.broken_corpus())} == set(range(COUNT))
        most = [*self.broken_corpus()[:6], *self.clean_corpus()[6:]]
        assert {f.row for f in self.judge(most)} == set(range(6))
        assert self.judge([*self.broken_corpus()[:4], *self.clean_corpus()[4:]]) == []


@pytest.mark.parametrize("gone", [(), (CONTACT,)])
def test_found_by_force_or_by_what_moves(gone):
    found = judge(GripperPolarity(), spoiled("gripper_polarity", lambda e: without(e, gone)))
    assert {f.row for f in found} == set(range(COUNT))
    assert {f.kind for f in found} == {Kind.DEFECT}
    assert (OBJECT if gone else CONTACT) in found[0].message
    assert all(f.measured == -1 for f in found)


def test_unknown_without_a_signal():
    blind = spoiled("gripper_polarity", lambda e: without(e, (CONTACT, OBJECT)))
    assert judge(GripperPolarity(), blind) == []
    assert "tells when something is held" in str(GripperPolarity().measure(blind[0]).unknown)


def test_a_gripper_that_does_not_move_tells_nothing():
    def still(episode):
        arrays = {k: c.values.copy() for k, c in episode.channels.items()}
        for key in (STATE, ACTION):
            arrays[key][:, 5] = 0.5
        channels = {k: replace(c, values=arrays[k]) for k, c in episode.channels.items()}
        return replace(episode, load_channels=lambda: channels)

    measured = GripperPolarity().measure(still(recorded()[0]))
    assert measured.unknown == "no gripper moves when contact begins or ends"


# -- recordings made by hand: a gripper that is open at 1, ten seconds at 30 Hz -------------------

T = np.arange(300) / 30


def with_gripper(index, opening, felt, key="observation.wrench", closed=0.0, names=("joint", "gripper")):
    """The gripper's opening (t,), and what a sensor feels (t, k) beside noise of 0.02."""
    noisy = felt + np.random.default_rng(index).normal(0, 0.02, felt.shape)
    joints = (Joint(name=names[0]), Joint(name=names[1], kind="gripper", unit="normalized"))
    grippers = (Gripper(joint=names[1], closed=closed, open=1.0 - closed),)
    card = Embodiment(key="made", title="made", joints=joints, grippers=grippers, control_mode="joint_position")
    values = np.stack([np.sin(T), opening], axis=1)
    return make_episode(
        state=values, action=values, names=names, embodiment=card, index=index, extra={key: ("other", noisy)}
    )


GRASP = np.interp(T, [0, 2.6, 3, 6, 6.4], [1, 1, 0.1, 0.1, 1])
HELD = (T >= 2.8) & (T < 6.2)


def wrench(touching, rest=(0.0, 0.0, 0.0), push=(0.0, 0.0, 3.0)):
    """(t, 6) a force that changes by `push` in contact, and no torque."""
    return np.concatenate([np.array(rest) + touching[:, None] * np.array(push), np.zeros((len(T), 3))], axis=1)


@pytest.mark.parametrize("rest", [(0, 0, 0), (0, 0, -10), (4, 0, 9)])
@pytest.mark.parametrize("push", [(0, 0, 3), (0, 0, -3)])
@pytest.mark.parametrize("closed", [0.0, 1.0])
def test_a_tool_whose_weight_is_felt_changes_nothing(rest, push, closed):
    """Contact that takes weight off the sensor is contact, too."""
    made = [with_gripper(i, GRASP, wrench(HELD, rest, push), closed=closed) for i in range(4)]
    assert [f.row for f in judge(GripperPolarity(), made)] == ([] if closed == 0 else [0, 1, 2, 3])


def test_a_weight_that_turns_with_the_hand_is_no_contact():
    turn = np.interp(T, [0, 1, 5], [0, 0, 2])
    weight = 10 * np.stack([np.sin(turn), 0 * T, -np.cos(turn)], axis=1)
    force = np.concatenate([weight, np.zeros((len(T), 3))], axis=1)
    opening = np.interp(T, [0, 1, 1.4, 5, 5.4], [0.1, 0.1, 1, 1, 0.1])  # it opens while the hand turns
    measured = GripperPolarity().measure(with_gripper(0, opening, force))
    assert "tells when something is held" in str(measured.unknown)


def test_a_recording_that_begins_with_something_in_the_hand_tells_nothing():
    held = T < 4
    opening = np.interp(T, [0, 3.9, 4.3], [0.2, 0.2, 1])
    measured = GripperPolarity().measure(with_gripper(0, opening, wrench(held, push=(0, 0, 5))))
    assert "tells when something is held" in str(measured.unknown)
    # Nor does pressure, even if it is taken up again.
    pressure = 1.0 + 5 * ((T < 4) | (T > 8))[:, None]
    opening = np.interp(T, [0, 3.9, 4.3, 7.6, 8], [0.2, 0.2, 1, 1, 0.2])
    measured = GripperPolarity().measure(with_gripper(0, opening, pressure, "observation.tactile"))
    assert "tells when something is held" in str(measured.unknown)


def test_one_episode_that_opens_its_fingers_and_pushes_accuses_nobody():
    pushes = with_gripper(19, np.interp(T, [0, 3.5, 3.8], [0, 0, 1]), wrench((T >= 4) & (T < 6)))
    assert judge(GripperPolarity(), [*(with_gripper(i, GRASP, wrench(HELD)) for i in range(19)), pushes]) == []
    assert judge(GripperPolarity(), [pushes]) == [], "one change is too few"


def test_closed_fingers_that_give_way_have_not_opened():
    touching = (T >= 4) & (T < 6)
    opening = 0.1 + 0.04 * np.interp(T, [0, 3.9, 4, 6, 6.1], [0, 0, 1, 1, 0])
    made = [with_gripper(i, opening, wrench(touching)) for i in range(4)]
    assert judge(GripperPolarity(), made) == []
    assert GripperPolarity().measure(made[0]).unknown == "no gripper moves when contact begins or ends"


def test_a_load_without_a_sign_at_the_open_stop_is_no_grasp():
    opening = np.interp(T, [0, 2.6, 3, 6, 6.4], [0.4, 0.4, 0.2, 0.2, 1])
    stalls = np.abs(np.random.default_rng(5).normal(0, 1, len(T))) + 300 * ((T > 6.45) & (T < 9))
    made = [with_gripper(i, opening, 1 + stalls[:, None], "observation.gripper_load") for i in range(4)]
    assert judge(GripperPolarity(), made) == []
    holds = 300.0 * (T > 2.9) * (T < 6.1)  # the same load, with something between the fingers
    made = [with_gripper(i, opening, 1 + holds[:, None], "observation.gripper_load", closed=1.0) for i in range(4)]
    assert len(judge(GripperPolarity(), made)) == 4


@pytest.mark.parametrize("key", ["current_gripper_width", "current_gripper_position", "gripper_payload"])
def test_what_is_current_is_no_current(key):
    made = with_gripper(0, GRASP, 0.08 * GRASP[:, None], f"observation.{key}")
    assert "tells when something is held" in str(GripperPolarity().measure(made).unknown)


def test_the_other_hand_feels_nothing_of_it():
    names = ("joint", "right_gripper")
    opens = np.interp(T, [0, 2.4, 2.8], [0, 0, 1])
    for side, count in (("left", 0), ("right", 4)):
        key = f"observation.{side}_wrench"
        twice = np.where(T < 5, opens, np.interp(T, [5, 6, 6.4, 7.4, 7.8], [1, 1, 0, 0, 1]))
        touching = ((T > 2.7) & (T < 5.9)) | ((T > 7.7) & (T < 9))
        made = [with_gripper(i, twice, wrench(touching), key, names=names) for i in range(4)]
        assert len(judge(GripperPolarity(), made)) == count
