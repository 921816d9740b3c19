"""Inverse kinematics: there and back, limits, and poses out of reach."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.kinematics.chains import Chain, chains_of
from gristmill.kinematics.inverse import solve


@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_poses_are_reached_within_limits(robot, request):
    model = request.getfixturevalue(robot)
    joints = 7 if robot == "panda" else 6
    (arm,) = chains_of(model, range(joints))
    low, high = model.limits[:, arm.joints]
    q = np.random.default_rng(0).uniform(0.9 * low, 0.9 * high, (8, joints))
    wanted = model.poses(model.configurations(q, arm.joints), arm.tip)
    found = solve(model, arm, wanted)
    reached = model.poses(model.configurations(found.positions, arm.joints), arm.tip)
    assert reached == pytest.approx(wanted, abs=1e-5)
    assert found.missed_m.max() < 1e-5
    assert found.missed_rad.max() < 1e-5
    assert (found.positions >= low).all()
    assert (found.positions <= high).all()


def test_a_path_is_followed_without_jumps(panda):
    (arm,) = chains_of(panda, range(7))
    t = np.linspace(0, 1, 60)[:, None]
    q = np.array([0, -0.4, 0, -2.2, 0, 1.9, 0.8]) + 0.4 * np.sin(2 * t) * np.array([1, 1, -1, 1, 1, -1, 1])
    wanted = panda.poses(panda.configurations(q, arm.joints), arm.tip)
    found = solve(panda, arm, wanted, q[0])
    assert found.missed_m.max() < 1e-6
    assert np.abs(np.diff(found.positions, axis=0)).max() < 0.05


def test_two_links_have_the_elbow_that_the_law_of_cosines_gives(planar):
    model = planar(0.5, 0.3)
    arm = Chain(name="arm", joints=np.arange(2), tip="tip")
    q = np.array([[0.4, 1.1]])
    found = solve(model, arm, model.poses(q, "tip"), np.array([0.0, 0.5]))
    assert found.positions == pytest.approx(q, abs=1e-6)


def test_what_is_out_of_reach_is_told(planar):
    model = planar(0.5, 0.3)
    arm = Chain(name="arm", joints=np.arange(2), tip="tip")
    far = np.eye(4)[None].copy()
    far[0, 0, 3] = 1.0  # 0.2 m beyond the stretched arm, in its direction
    found = solve(model, arm, far, np.array([0.3, -0.2]))
    assert found.missed_m[0] == pytest.approx(0.2, abs=1e-3)


def test_poses_in_the_frame_of_a_base(planar):
    model = planar(0.5, 0.3, 0.2)
    arm = Chain(name="arm", joints=np.array([1, 2]), tip="tip", base="link1")
    q = np.array([[0.0, 0.4, -0.9]])
    found = solve(model, arm, model.poses(q, "tip", base="link1"), np.array([0.1, -0.5]))
    assert found.positions == pytest.approx(q[:, 1:], abs=1e-6)
