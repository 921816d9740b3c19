"""Rotations against SciPy, which shares no code with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from gristmill import rotations as r
from gristmill.limbs import ROTATION_WIDTH

MANY = Rotation.random(500, random_state=4)
HALF_TURNS = Rotation.from_rotvec(np.pi * np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0], [0, -0.6, 0.8]]))
TINY = Rotation.from_rotvec(np.array([[0.0, 0, 0], [1e-9, 0, 0], [0, 1e-7, -1e-7], [1e-5, 2e-5, 0]]))
ALL = Rotation.concatenate([MANY, HALF_TURNS, TINY])
FORMS = ("quaternion", "axis_angle", "euler_rpy", "6d", "matrix")

seeds = st.integers(0, 10_000)


def test_matrices_of_every_form_are_scipys():
    matrix = ALL.as_matrix()
    assert r.to_matrix(ALL.as_quat(), "quaternion") == pytest.approx(matrix, abs=1e-12)
    assert r.to_matrix(ALL.as_rotvec(), "axis_angle") == pytest.approx(matrix, abs=1e-12)
    assert r.to_matrix(MANY.as_euler("xyz"), "euler_rpy") == pytest.approx(MANY.as_matrix(), abs=1e-12)
    columns = np.concatenate([matrix[:, :, 0], matrix[:, :, 1]], axis=1)
    assert r.to_matrix(columns, "6d") == pytest.approx(matrix, abs=1e-12)
    assert r.from_matrix(matrix, "6d") == pytest.approx(columns)


def test_forms_of_matrices_are_scipys():
    matrix = ALL.as_matrix()
    quaternion = r.from_matrix(matrix, "quaternion")
    assert np.abs(np.sum(quaternion * ALL.as_quat(), axis=1)) == pytest.approx(1, abs=1e-12)
    assert (quaternion[:, 3] >= 0).all()
    assert r.from_matrix(MANY.as_matrix(), "axis_angle") == pytest.approx(MANY.as_rotvec(), abs=1e-9)
    assert r.from_matrix(TINY.as_matrix(), "axis_angle") == pytest.approx(TINY.as_rotvec(), abs=1e-15)
    assert r.from_matrix(MANY.as_matrix(), "euler_rpy") == pytest.approx(MANY.as_euler("xyz"), abs=1e-9)
    assert r.angle(ALL.as_matrix()) == pytest.approx(ALL.magnitude(), abs=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_leads_back(form):
    matrix = ALL.as_matrix()
    assert r.to_matrix(r.from_matrix(matrix, form), form) == pytest.approx(matrix, abs=1e-7)


def test_wxyz_puts_w_first():
    assert r.xyzw(np.array([1.0, 2, 3, 4]), "wxyz").tolist() == [2, 3, 4, 1]
    assert r.from_xyzw(np.array([2.0, 3, 4, 1]), "wxyz").tolist() == [1, 2, 3, 4]
    scalar_first = np.roll(MANY.as_quat(), 1, axis=1)
    assert r.to_matrix(scalar_first, "quaternion", "wxyz") == pytest.approx(MANY.as_matrix())


def test_a_quaternion_of_another_length_is_the_same_rotation():
    assert r.to_matrix(MANY.as_quat() * 3, "quaternion") == pytest.approx(MANY.as_matrix(), abs=1e-12)
    assert np.isnan(r.to_matrix(np.zeros(4), "quaternion")).all()


def test_gimbal_lock_keeps_the_rotation():
    locked = Rotation.from_matrix(Rotation.from_rotvec([0, np.pi / 2, 0]).as_matrix() @ MANY[:1].as_matrix()[0])
    poles = np.array([[0.3, np.pi / 2, 0.5], [-1.0, -np.pi / 2, 0.2]])
    matrix = np.stack([Rotation.from_euler("xyz", p).as_matrix() for p in poles] + [locked.as_matrix()])
    assert r.matrix_of_rpy(r.rpy_of_matrix(matrix)) == pytest.approx(matrix, abs=1e-6)


def test_a_quarter_turn_by_hand():
    # about z: x becomes y
    assert r.matrix_of_rpy(np.array([0, 0, np.pi / 2])) @ [1, 0, 0] == pytest.approx([0, 1, 0])
    half = np.sqrt(0.5)
    assert r.quaternion_of_matrix(r.matrix_of_axis_angle(np.array([0, 0, np.pi / 2]))) == pytest.approx(
        [0, 0, half, half]
    )


@given(seeds)
def test_steps_in_either_frame_lead_where_they_came_from(seed):
    start, end, turn = (m.as_matrix() for m in Rotation.random(3, random_state=seed))
    for frame in ("base", "end_effector"):
        assert r.compose(start, r.relative(start, end, frame), frame) == pytest.approx(end, abs=1e-12)
    # A base that was turned sees the same steps in the end effector's frame, and turned ones in its own.
    own = r.relative(start, end, "end_effector")
    assert r.relative(turn @ start, turn @ end, "end_effector") == pytest.approx(own, abs=1e-12)
    base = r.relative(start, end, "base")
    assert r.relative(turn @ start, turn @ end, "base") == pytest.approx(turn @ base @ turn.T, abs=1e-12)


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-16, -2), st.sampled_from([-1, 1]))
def test_angles_near_the_pole_of_pitch_mean_the_same_rotation(roll, yaw, power, side):
    matrix = r.matrix_of_rpy(np.array([roll, side * (np.pi / 2 - 10**power), yaw]))
    assert r.matrix_of_rpy(r.rpy_of_matrix(matrix)) == pytest.approx(matrix, abs=5e-8)


def test_signs_are_made_continuous():
    path = Rotation.from_rotvec(np.linspace(0, 3, 50)[:, None] * [0.0, 0.6, 0.8]).as_quat()
    path *= np.sign(path[:1, 3:])
    flipped = path * np.where(np.arange(50) % 7 < 3, 1, -1)[:, None]
    assert r.continuous(flipped) == pytest.approx(path)
    assert r.continuous(path[:1]).tolist() == path[:1].tolist()


def test_signs_are_continuous_over_rows_that_are_not_known():
    path = Rotation.from_rotvec(np.linspace(0, 6, 50)[:, None] * [0.0, 0.6, 0.8]).as_quat()
    flipped = path * np.where(np.arange(50) % 7 < 3, 1, -1)[:, None]
    gone = [0, 7, 20, 21, 49]
    flipped[gone] = np.nan
    known = np.delete(r.continuous(flipped), gone, axis=0)
    assert np.abs(known) == pytest.approx(np.abs(np.delete(path, gone, axis=0)))
    assert (np.sum(known[1:] * known[:-1], axis=1) > 0.9).all()
    assert np.isnan(r.continuous(flipped)[gone]).all() and np.isnan(r.continuous(np.full((3, 4), np.nan))).all()


def test_the_nearest_rotation_is_scipys():
    noisy = MANY.as_matrix() + np.random.default_rng(0).normal(0, 0.2, (500, 3, 3))
    noisy[7, 1, 2] = np.nan
    found = r.orthonormal(noisy)
    rows = np.delete(np.arange(500), 7)
    expected = [Rotation.align_vectors(m.T, np.eye(3))[0].as_matrix() for m in noisy[rows]]
    assert found[rows] == pytest.approx(np.array(expected), abs=1e-9)
    assert np.isnan(found[7]).all()


@given(seeds, st.sampled_from(["quaternion", "axis_angle", "euler_rpy"]))
def test_the_nearest_form_means_the_same_and_none_is_nearer(seed, form):
    rng = np.random.default_rng(seed)
    near = rng.uniform(-7, 7, (30, ROTATION_WIDTH[form]))
    matrix = Rotation.random(30, random_state=seed).as_matrix()
    found = r.nearest_form(matrix, form, near)
    assert r.to_matrix(found, form) == pytest.approx(matrix, abs=1e-9)
    plain = r.from_matrix(matrix, form)
    if form == "quaternion":
        others = [plain, -plain]
    elif form == "axis_angle":
        axis = plain / np.linalg.norm(plain, axis=1, keepdims=True)
        others = [plain + 2 * np.pi * k * axis for k in range(-3, 4)]
    else:
        turns = 2 * np.pi * np.stack(np.meshgrid(*[[-1, 0, 1]] * 3), axis=-1).reshape(-1, 3)
        others = [p + t for p in (plain, plain * [1, -1, 1] + np.pi) for t in turns]
    best = np.min([np.linalg.norm(o - near, axis=1) for o in others], axis=0)
    assert (np.linalg.norm(found - near, axis=1) <= best + 1e-6).all()


def test_what_is_no_rotation_is_refused():
    with pytest.raises(ValueError, match="3 numbers are no rotation as 'quaternion'"):
        r.to_matrix(np.zeros(3), "quaternion")
    with pytest.raises(ValueError, match="not 'zyxw'"):
        r.to_matrix(np.ones(4), "quaternion", "zyxw")
    with pytest.raises(ValueError, match="frame of a step"):
        r.relative(np.eye(3), np.eye(3), "moon")
