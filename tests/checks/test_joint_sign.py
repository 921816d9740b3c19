"""Joints that go against their commands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.checks.joint_sign import JointSign
from gristmill.embodiment import ControlMode, Embodiment, Joint
from gristmill.finding import Kind
from gristmill.synth.convention_errors import ACTIONS, STATE, without
from gristmill.testing import judge, make_episode

from .sampled_arm import CARD, COUNT, ConventionContract, recorded, spoiled


class TestJointSign(ConventionContract):
    check = JointSign()
    error = "joint_sign"


def test_the_joint_is_named():
    found = judge(JointSign(), spoiled("joint_sign"))
    assert {(f.row, f.channel, f.kind) for f in found} == {
        (i, "observation.state[elbow_pitch]", Kind.DEFECT) for i in range(COUNT)
    }
    state, action = (recorded()[0].channels[k].values[:, 2].astype(np.float64) for k in (STATE, "action"))
    assert found[0].measured == pytest.approx(-np.corrcoef(state, action)[0, 1], abs=1e-4)


def test_unknown_without_commands():
    blind = spoiled("joint_sign", lambda e: without(e, ACTIONS))
    assert judge(JointSign(), blind) == [] and JointSign().measure(blind[0]).unknown


@pytest.fixture(scope="module")
def modelled(tmp_path_factory):
    """The sample's card with the sample's model."""
    from gristmill.synth.scene import MJCF

    path = tmp_path_factory.mktemp("model") / "arm.xml"
    path.write_text(MJCF)
    return replace(CARD, mjcf=str(path))


@pytest.mark.parametrize(("column", "named"), [(1, "shoulder_pitch"), (2, "elbow_pitch"), (3, "wrist_pitch")])
def test_a_sign_that_is_wrong_in_both_is_seen_against_the_model(modelled, column, named):
    def flipped(episode):
        channels = dict(episode.channels)
        for key in (STATE, "action"):
            values = channels[key].values.copy()
            values[:, column] *= -1
            channels[key] = replace(channels[key], values=values)
        return replace(episode, load_channels=lambda: channels, embodiment=modelled)

    assert judge(JointSign(), [replace(e, embodiment=modelled) for e in recorded()]) == []
    found = judge(JointSign(), [flipped(e) for e in recorded()])
    assert {(f.row, f.code, f.channel) for f in found} == {
        (i, "model", f"observation.state[{named}]") for i in range(COUNT)
    }
    assert judge(JointSign(), [replace(flipped(e), embodiment=CARD) for e in recorded()]) == []  # without a model


# -- recordings made by hand ----------------------------------------------------------------------

T = np.arange(0, 12, 1 / 50)


def made(state, action, joints, mode: ControlMode = "joint_position"):
    names = tuple(j.name for j in joints)
    card = Embodiment(key="made", title="made", joints=joints, control_mode=mode)
    return make_episode(state=state, action=action, names=names, rate_hz=50.0, embodiment=card)


@pytest.mark.parametrize("shakes_hz", [0.8, 1.0, 2.0, 2.5])
@pytest.mark.parametrize("lag_s", [0.1, 0.2, 0.25])
def test_a_joint_that_is_shaken_follows_late(shakes_hz, lag_s):
    def path(t):
        return np.stack([0.3 * np.sin(0.5 * t), 0.4 * np.sin(2 * np.pi * shakes_hz * t + 0.3)], axis=1)

    joints = (Joint(name="a"), Joint(name="b"))
    assert judge(JointSign(), [made(path(T - lag_s), path(T), joints)]) == []


def test_a_slow_joint_that_goes_the_other_way_is_found_whatever_its_lag():
    def path(t):
        return np.stack([0.3 * np.sin(0.5 * t), 0.4 * np.sin(t + 0.3)], axis=1)

    joints = (Joint(name="a"), Joint(name="b"))
    (found,) = judge(JointSign(), [made(path(T - 0.2) * [1, -1], path(T), joints)])
    assert found.channel == "observation.state[b]" and found.measured == pytest.approx(-np.cos(0.2), abs=0.01)


@pytest.mark.parametrize("low", [-np.pi, 0.0, -1.5 * np.pi])
def test_an_angle_that_wraps_around_elsewhere_goes_the_same_way(low):
    """The state within -pi and pi; the command within another turn."""
    turned, told = (np.pi + 0.8 * np.sin(t) for t in (T, T + 0.1))
    state = np.stack([np.sin(T), np.mod(turned + np.pi, 2 * np.pi) - np.pi], axis=1)
    action = np.stack([np.sin(T + 0.1), np.mod(told - low, 2 * np.pi) + low], axis=1)
    assert abs(np.diff(state[:, 1])).max() > 6
    episode = made(state, action, (Joint(name="a"), Joint(name="wrist")))
    assert judge(JointSign(), [episode]) == []
    assert JointSign().measure(episode).values["agreement"][1] == pytest.approx(np.cos(0.1), abs=0.01)


def test_a_rotation_has_no_sign():
    """q and -q are one rotation; a drafted card names no arm whose rotation it would be."""
    names = ("x", "y", "z", "qx", "qy", "qz", "qw")
    joints = tuple(Joint(name=n, kind="other", unit="m" if len(n) == 1 else "normalized") for n in names)
    quaternion = np.stack([np.sin(0.3 * np.sin(T)), 0 * T, 0 * T, np.cos(0.3 * np.sin(T))], axis=1)
    place = np.stack([np.sin(T), np.cos(T), 0.1 * T], axis=1)
    state = np.concatenate([place, quaternion], axis=1)
    action = np.concatenate([place, -quaternion], axis=1)
    assert judge(JointSign(), [made(state, action, joints, "eef_pose")]) == []
    (found,) = judge(JointSign(), [made(state, action * [1, -1, 1, 1, 1, 1, 1], joints, "eef_pose")])
    assert found.channel == "observation.state[y]"
