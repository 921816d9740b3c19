"""What does not come back is told, and samples are not held over holes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.embodiment import Arm, Embodiment, Joint
from gristmill.episode import Channel
from gristmill.errors import UsageError
from gristmill.harmonizing import harmonize
from gristmill.testing import make_episode


def card(*joints, **more):
    return Embodiment(**({"key": "k", "title": "t", "joints": joints, "control_mode": "joint_position"} | more))


def test_what_follows_a_missing_step_is_lost_and_told():
    of = card(Joint(name="p"), Joint(name="q"), control_mode="joint_delta", delta_from="command")
    action = np.full((10, 2), 0.1)
    action[3, 0] = np.nan
    made = harmonize(make_episode(state=np.zeros((10, 2)), action=action, names=["p", "q"], embodiment=of))
    assert made.residuals == {"action[p]": np.inf}
    assert "6 of 10 samples do not come back: steps are added to the command before" in made.lossy["action[p]"]
    own = replace(of, delta_from="state")
    assert not harmonize(make_episode(state=np.zeros((10, 2)), action=action, names=["p", "q"], embodiment=own)).lossy


def quaternions():
    names = ("qx", "qy", "qz", "qw")
    joints = (Joint(name=n, kind="other", unit="normalized") for n in names)
    arm = Arm(name="a", rotation=names, rotation_as="quaternion")
    return card(*joints, arms=(arm,), control_mode="eef_pose", quaternion_order="xyzw"), names


def test_a_quaternion_of_no_length_is_lost_and_told():
    of, names = quaternions()
    values = np.tile([0.0, 0.6, 0.0, 0.8], (5, 1))
    values[2] = 0
    made = harmonize(make_episode(state=values, names=names, embodiment=of))
    assert made.residuals == dict.fromkeys((f"observation.state[{n}]" for n in names), np.inf)
    assert "1 of 5 samples do not come back" in made.lossy["observation.state[qw]"]
    assert "no length" in made.lossy["observation.state[qw]"]


def test_a_row_that_is_not_known_does_not_break_the_chain_of_signs():
    of, names = quaternions()
    t = np.arange(60) / 30
    values = np.stack([np.sin(2 * t), 0 * t, 0 * t, np.cos(2 * t)], axis=1)
    gap = int(np.argmax(values[:, 3] < 0))
    values[gap] = np.nan
    made = harmonize(make_episode(state=values, names=names, embodiment=of)).state["a.quaternion"].values
    known = made[np.isfinite(made).all(axis=1)]
    assert (np.sum(known[1:] * known[:-1], axis=1) > 0.9).all() and len(known) == 59


def test_a_missing_number_of_a_pose_takes_the_others_with_it():
    of, names = quaternions()
    values = np.tile([0.0, 0.6, 0.0, 0.8], (5, 1))
    values[1, 0] = np.nan
    made = harmonize(make_episode(state=values, names=names, embodiment=of))
    assert set(made.residuals) == {f"observation.state[{n}]" for n in names[1:]}
    assert "belongs with are missing" in made.lossy["observation.state[qw]"]


def two_clocks(times_s, action_times_s):
    """A state at these times, and an action with a clock of its own; both say when they were recorded."""
    of = card(Joint(name="a"))
    made = make_episode(state=times_s[:, None], times_s=times_s, names=["a"], embodiment=of)
    state = made.channels["observation.state"]
    action = Channel("action", "action", action_times_s[:, None], action_times_s, ("a",))
    channels = {"observation.state": state, "action": action}
    return replace(made, load_channels=lambda: channels)


def test_samples_of_another_clock_are_not_held_over_a_hole():
    times = np.arange(150) / 30
    own = times[(times < 1) | (times > 3)] + 0.005
    episode = two_clocks(times, own)
    made = harmonize(episode)
    held = made.action["joints"].values[:, 0]
    age = times - own[np.clip(np.searchsorted(own, times, side="right") - 1, 0, None)]
    assert (np.isnan(held) == (age > 1.5 / 30)).all() and 55 < np.isnan(held).sum() < 62
    ((start, stop),) = made.holes["action"]
    assert start == pytest.approx(1.0333, abs=0.04) and stop == pytest.approx(3.0333, abs=0.04)
    with pytest.raises(UsageError, match=r"action has no sample from 1.* s to 3.* s.*\[resample\]"):
        harmonize(episode, rate_hz=10)


def test_a_slower_clock_without_holes_is_held():
    times = np.arange(90) / 30
    made = harmonize(two_clocks(times, np.arange(31) / 10 + 0.02))
    assert not made.holes and np.isfinite(made.action["joints"].values).all()
    assert made.action["joints"].values[4, 0] == pytest.approx(0.12)


def test_what_began_late_or_ended_early_is_not_invented():
    times = np.arange(90) / 30
    made = harmonize(two_clocks(times, np.arange(30, 60) / 30 + 0.001))
    known = np.flatnonzero(np.isfinite(made.action["joints"].values[:, 0]))
    assert (known[0], known[-1]) == (29, 60)
    assert len(made.holes["action"]) == 2


@pytest.mark.parametrize("mode", ["joint_position", "joint_delta"])
def test_kinematics_tell_where_joint_targets_lead(mode):
    of = card(Joint(name="a"), arms=(Arm(name="arm", joints=("a",)),), control_mode=mode, delta_from="state")

    def forward(joints):
        at = np.column_stack([np.cos(joints[:, 0]), np.sin(joints[:, 0]), np.zeros(len(joints))])
        return at, np.repeat(np.eye(3)[None], len(joints), axis=0)

    state, target = np.array([[0.0], [1.0]]), np.array([[np.pi / 2], [np.pi]])
    action = target - state if mode == "joint_delta" else target
    episode = make_episode(state=state, action=action, names=["a"], embodiment=of)
    made = harmonize(episode, kinematics={"arm": forward})
    assert made.action["arm.position_m"].values == pytest.approx(np.array([[0.0, 1, 0], [-1, 0, 0]]))
    assert made.restore()["action"] == pytest.approx(action)
