"""Forward kinematics and Jacobians against closed forms, and against MuJoCo's own."""

from __future__ import annotations

import time

import mujoco
import numpy as np
import pytest

from gristmill.errors import UsageError
from gristmill.kinematics.chains import chains_of
from gristmill.kinematics.model import RobotModel
from gristmill.model_files import read_model


def test_two_links_stand_where_trigonometry_says(planar):
    model = planar(0.5, 0.3)
    q = np.random.default_rng(0).uniform(-3, 3, (50, 2))
    pose = model.poses(q, "tip")
    first, both = q[:, 0], q.sum(axis=1)
    x = 0.5 * np.cos(first) + 0.3 * np.cos(both)
    y = 0.5 * np.sin(first) + 0.3 * np.sin(both)
    assert pose[:, :3, 3] == pytest.approx(np.stack([x, y, 0 * x], axis=1), abs=1e-12)
    assert pose[:, 0, 0] == pytest.approx(np.cos(both), abs=1e-12)
    assert pose[:, 1, 0] == pytest.approx(np.sin(both), abs=1e-12)
    assert (pose[:, 3] == [0, 0, 0, 1]).all()


def test_determinant_of_two_links(planar):
    model = planar(0.5, 0.3)
    q = np.random.default_rng(1).uniform(-3, 3, (50, 2))
    jacobian = model.jacobians(q, "tip", np.arange(2))
    assert np.linalg.det(jacobian[:, :2]) == pytest.approx(0.5 * 0.3 * np.sin(q[:, 1]), abs=1e-12)
    assert (jacobian[:, 2:5] == 0).all()
    assert jacobian[:, 5] == pytest.approx(np.ones((50, 2)))


def test_determinant_of_three_links(planar):
    model = planar(0.5, 0.3, 0.2)
    q = np.random.default_rng(2).uniform(-3, 3, (50, 3))
    jacobian = model.jacobians(q, "tip", np.arange(3))[:, [0, 1, 5]]  # x, y and the angle
    assert np.linalg.det(jacobian) == pytest.approx(0.5 * 0.3 * np.sin(q[:, 1]), abs=1e-12)


def test_pose_in_the_frame_of_a_link(planar):
    model = planar(0.5, 0.3)
    q = np.array([[0.7, 0.4]])
    pose = model.poses(q, "tip", base="link1")[0]
    assert pose[:3, 3] == pytest.approx([0.5 + 0.3 * np.cos(0.4), 0.3 * np.sin(0.4), 0])


@pytest.mark.parametrize("robot", ["panda", "ur5", "g1"])
def test_jacobians_are_mujocos(robot, request):
    model: RobotModel = request.getfixturevalue(robot)
    every = np.arange(len(model.joints))
    q = np.random.default_rng(3).uniform(*model.limits, (20, len(model.joints)))
    tip = model.bodies[-1]
    ours = model.jacobians(q, tip, every)
    data = mujoco.MjData(model.compiled)
    for row, jacobian in zip(q, ours, strict=True):
        data.qpos[:] = row
        mujoco.mj_kinematics(model.compiled, data)
        mujoco.mj_comPos(model.compiled, data)
        theirs = np.zeros((2, 3, model.compiled.nv))
        mujoco.mj_jacBody(model.compiled, data, theirs[0], theirs[1], model.body(tip))
        assert jacobian == pytest.approx(theirs.reshape(6, -1), abs=1e-9)


def test_the_pandas_flange_stands_where_its_maker_says(panda):
    # Franka's Denavit-Hartenberg parameters (frankaemika.github.io, control parameters), modified convention.
    table = [
        (0, 0.333, 0),
        (0, 0, -90),
        (0, 0.316, 90),
        (0.0825, 0, 90),
        (-0.0825, 0.384, -90),
        (0, 0, 90),
        (0.088, 0, 90),
    ]
    q = np.random.default_rng(4).uniform(*panda.limits[:, :7], (10, 7))
    pose = panda.poses(panda.configurations(q, np.arange(7)), "panda_link8")
    for row, found in zip(q, pose, strict=True):
        expected = np.eye(4)
        for (a, d, twist), angle in zip([*table, (0, 0.107, 0)], [*row, 0.0], strict=True):
            ct, st, ca, sa = np.cos(angle), np.sin(angle), np.cos(np.radians(twist)), np.sin(np.radians(twist))
            expected = expected @ [
                [ct, -st, 0, a],
                [st * ca, ct * ca, -sa, -d * sa],
                [st * sa, ct * sa, ca, d * ca],
                [0, 0, 0, 1],
            ]
        assert found == pytest.approx(expected, abs=1e-4)  # the description's angles are rounded


def test_fingers_follow_the_one_they_mimic(panda):
    whole = panda.configurations(np.array([[0.03]]), np.array([panda.joint_numbers["pandafingerjoint1"]]))
    assert whole[0, panda.joint_numbers["pandafingerjoint2"]] == pytest.approx(0.03)


def test_twenty_thousand_configurations_a_second(panda):
    q = np.random.default_rng(5).uniform(*panda.limits, (20_000, 9))
    start = time.process_time()
    panda.poses(q, "panda_hand")
    assert time.process_time() - start < 1.0


def test_limbs_are_found(g1):
    chains = {c.name: [g1.joints[j] for j in c.joints] for c in chains_of(g1, range(len(g1.joints)))}
    assert set(chains) == {"left_ankle_roll_link", "right_ankle_roll_link", "left_rubber_hand", "right_rubber_hand"}
    assert len(chains["left_rubber_hand"]) == 10  # three of the waist, seven of the arm
    assert chains["left_rubber_hand"][:3] == ["waist_yaw_joint", "waist_roll_joint", "waist_pitch_joint"]


def test_a_missing_link_is_named_with_those_there_are(planar):
    with pytest.raises(UsageError, match=r"no link or body named 'hand'; known: world, .*tip"):
        planar(0.5, 0.3).poses(np.zeros((1, 2)), "hand")


def test_mjcf_with_sites_slides_and_a_free_base(tmp_path):
    path = tmp_path / "cart.xml"
    path.write_text("""<mujoco><worldbody>
      <body name="cube" pos="1 1 1"><freejoint/><geom size="0.1"/></body>
      <body name="cart"><joint name="rail" type="slide" axis="1 0 0" range="-1 1"/><geom size="0.1"/>
        <body name="pole" pos="0 0 0.2"><joint name="swing" axis="0 1 0" range="-90 90"/><geom size="0.05"/>
          <site name="end" pos="0 0 0.5"/></body></body></worldbody></mujoco>""")
    model = RobotModel(read_model(path))
    assert model.joints == ("rail", "swing")
    pose = model.poses(np.array([[0.3, np.pi / 2]]), "end")[0]
    assert pose[:3, 3] == pytest.approx([0.8, 0, 0.2])
    jacobian = model.jacobians(np.array([[0.3, 0.0]]), "end", np.arange(2))[0]
    assert jacobian == pytest.approx(np.array([[1, 0.5], [0, 0], [0, 0], [0, 0], [0, 1], [0, 0]]), abs=1e-12)
