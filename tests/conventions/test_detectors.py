"""The detectors on numbers made by hand or by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from gristmill.conventions.chains import misfit
from gristmill.conventions.contact import Contact, contact_of, edges
from gristmill.conventions.following import correlations, distance
from gristmill.conventions.grips import grips
from gristmill.conventions.holds import period_of_changes
from gristmill.conventions.quaternions import length_error, sign_flips
from gristmill.conventions.signs import sign_misfit
from gristmill.conventions.steps import frames, reading
from gristmill.conventions.turning import excess
from gristmill.testing import make_episode

# -- chains ---------------------------------------------------------------------------------------


def chain(seed, frames=80, joints=6):
    """Joints (t, j), and the rotations of a tip that they carry about random axes, base and tool mounted at random."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, frames)[:, None]
    moved = rng.uniform(-0.7, 0.7, joints) * np.sin(t * rng.uniform(4, 20, joints) + rng.uniform(0, 6, joints))
    turn = Rotation.random(random_state=seed)
    for j in range(joints):
        axis = rng.normal(size=3)
        turn = turn * Rotation.from_rotvec(moved[:, j : j + 1] * axis / np.linalg.norm(axis))
    return moved, turn * Rotation.random(random_state=seed + 1)


def test_the_true_order_of_most_chains_fits_and_the_other_of_none():
    fits = 0
    for seed in range(30):
        joints, turn = chain(seed)
        quaternion = turn.as_quat()
        right = misfit(quaternion, joints)
        wrong = misfit(np.roll(quaternion, 1, axis=1), joints)
        assert right is not None and wrong is not None
        # The search may miss the axes; it finds none for the wrong order.
        assert right.wxyz > 0.01 and wrong.xyzw > 0.01
        assert right.xyzw < 4 * right.wxyz and wrong.wxyz < 4 * wrong.xyzw
        fits += right.xyzw < 1e-3 and wrong.wxyz < 1e-3
    assert fits >= 24


def test_one_joint_cannot_tell():
    joints, _ = chain(1)
    joints[:, 1:] = 0.3
    turn = Rotation.from_rotvec(joints[:, :1] * [0, 0, 1.0])
    assert misfit(turn.as_quat(), joints) is None
    assert misfit(turn.as_quat()[:10], joints[:10]) is None
    assert misfit(np.zeros((80, 4)), chain(1)[0]) is None


# -- turning --------------------------------------------------------------------------------------


@given(st.integers(0, 200))
@settings(max_examples=20, deadline=None)
def test_no_chain_turns_more_than_its_joints(seed):
    joints, turn = chain(seed)
    assert not excess(turn.as_matrix(), joints) > 1 + 1e-9
    # Radians that are taken for degrees are 57 times too small.
    assert excess(turn.as_matrix(), np.deg2rad(joints)) == pytest.approx(
        excess(turn.as_matrix(), joints) * 180 / np.pi, rel=1e-3
    )


def test_who_does_not_turn_tells_nothing():
    assert np.isnan(excess(np.tile(np.eye(3), (50, 1, 1)), np.ones((50, 2))))


def test_a_stale_first_sample_tells_nothing():
    joints, turn = chain(3)
    joints[:40] = joints[0] + np.linspace(0, 0.05, 40)[:, None]  # nearly at rest
    stale = turn.as_matrix()
    stale[:40] = stale[0]
    assert excess(stale, joints) <= 1
    stale[0] = stale[0] @ Rotation.from_rotvec([0, 3.0, 0]).as_matrix()
    assert excess(stale, joints) <= 1


def test_who_is_turned_by_something_else_tells_nothing():
    """The joints rest, and the robot turns on its wheels."""
    turn = Rotation.from_rotvec(np.linspace(0, 3, 60)[:, None] * [0, 0, 1.0])
    assert np.isnan(excess(turn.as_matrix(), np.zeros((60, 3))))


def test_a_joint_that_went_round_stands_where_it_stood():
    """By 6.2 rad the hand is turned by as little as by -0.083 rad; both ways of writing the joint say the same."""
    turned = np.linspace(-1, 1, 60)[:, None]
    rotation = Rotation.from_rotvec(turned * [0, 0, 1.0]).as_matrix()
    wrapped = np.mod(turned, 2 * np.pi)
    assert excess(rotation, wrapped) == pytest.approx(1) == excess(rotation, turned)


# -- signs ----------------------------------------------------------------------------------------


def test_the_joint_whose_sign_is_wrong_is_told():
    def forward(joints):
        turn = Rotation.from_rotvec(joints[:, :1] * [0, 0, 1.0]) * Rotation.from_rotvec(joints[:, 1:2] * [0, 1.0, 0])
        turn = turn * Rotation.from_rotvec(joints[:, 2:] * [0.6, 0.48, 0.64])
        return np.zeros((len(joints), 3)), turn.as_matrix()

    t = np.linspace(0, 1, 80)
    joints = np.stack([0.6 * np.sin(7 * t), 0.5 * np.sin(11 * t + 1), 0.7 * np.sin(5 * t + 2)], axis=1)
    mounted = (
        Rotation.random(random_state=8).as_matrix() @ forward(joints)[1] @ Rotation.random(random_state=9).as_matrix()
    )
    right = sign_misfit(mounted, joints, forward)
    assert right is not None and right.claimed < 1e-6 and right.flipped.min() > 0.05
    wrong = sign_misfit(mounted, joints * [1, -1, 1], forward)
    assert wrong is not None and wrong.claimed > 0.05
    assert wrong.flipped[1] < 1e-6 and min(wrong.flipped[0], wrong.flipped[2]) > 0.05
    assert sign_misfit(mounted[:10], joints[:10], forward) is None


# -- following ------------------------------------------------------------------------------------


def test_what_follows_later_agrees_after_its_delay():
    """Twice a second, a quarter of a second late: the opposite at once, the same after five steps of 0.05 s."""
    t = np.arange(0, 6, 1 / 40)
    told, been = np.sin(4 * np.pi * t)[None], 3 * np.sin(4 * np.pi * (t - 0.25))[None] + 1
    found = correlations(been, told, 1 / 40)[:, 0]
    assert len(found) == 17  # up to 0.8 s
    assert found[[0, 5, 10]] == pytest.approx([-1, 1, -1], abs=1e-6)
    assert len(correlations(been, told, 1 / 40, 0.0)) == 1
    assert distance(been, told, 1 / 40) == pytest.approx(2 / 3, abs=1e-6)  # a third as large
    assert distance(been / 3, told, 1 / 40) == pytest.approx(0, abs=1e-6)
    assert distance(np.ones((1, 40)), told, 1 / 40) == np.inf
    assert (correlations(np.ones((1, 240)), told, 1 / 40) == 0).all()


# -- quaternions ----------------------------------------------------------------------------------


def test_lengths_and_flips():
    path = Rotation.from_rotvec(np.linspace(0, 2, 60)[:, None] * [1.0, 0, 0]).as_quat()
    assert length_error(path.T) == pytest.approx(0, abs=1e-12)
    assert length_error(1.2 * path.T) == pytest.approx(0.2)
    assert sign_flips(path.T).tolist() == []
    path[20:30] *= -1
    assert sign_flips(path.T).tolist() == [20, 30]
    assert sign_flips(np.zeros((4, 5))).tolist() == []


# -- contact and grips ----------------------------------------------------------------------------


def test_runs_of_contact():
    mask = np.zeros(40, bool)
    mask[5:15] = mask[16:20] = True  # a gap of one sample is none
    mask[30] = True  # nor is one sample contact
    assert edges(mask, 3) == ([5], [20])
    mask[:] = True
    assert edges(mask, 3) == ([], [])


def told(force=None, **extra):
    channels = {key: ("other", values) for key, values in extra.items()}
    if force is not None:
        channels["observation.contact_force"] = ("other", force)
    episode = make_episode(state=np.zeros((90, 2)), extra=channels)
    return contact_of(episode, episode.times_s)


def test_contact_from_a_biased_and_noisy_force():
    rng = np.random.default_rng(0)
    force = 3 + rng.normal(0, 0.02, (90, 1))
    assert told(force) is None  # noise alone
    force[40:60] += 5
    found = told(force)
    assert found is not None and not found.late and found.channel == "observation.contact_force"
    assert np.flatnonzero(found.mask).tolist() == list(range(40, 60))
    assert told(np.full((90, 1), np.nan)) is None


def test_contact_from_an_object_that_moves():
    place = np.zeros((90, 3))
    place[30:61, 2] = np.linspace(0, 0.2, 31)
    place[61:, 2] = 0.2
    found = told(**{"observation.object_position": place})
    assert found is not None and found.late
    assert np.flatnonzero(found.mask).tolist() == list(range(30, 60))
    assert told(**{"observation.camera_temperature": place}) is None


def test_an_effort_tells_grasps_only_when_it_pushes_one_way():
    effort = np.zeros((90, 1))
    effort[40:60] = 0.5
    found = told(**{"observation.gripper_effort": effort})
    assert found is not None and np.flatnonzero(found.mask).tolist() == list(range(40, 60))
    effort[70:90] = -0.4  # it runs into its open stop
    assert told(**{"observation.gripper_effort": effort}) is None
    assert told(**{"observation.effort": np.abs(effort)}) is None, "of joints that are not named as a gripper"


@pytest.mark.parametrize(("closed", "opened", "expected"), [(0.0, 1.0, 1.0), (1.0, 0.0, -1.0)])
def test_a_gripper_closes_before_contact_and_opens_after_it(closed, opened, expected):
    values = np.interp(np.arange(90), [0, 20, 30, 60, 70], [1, 1, 0.3, 0.3, 1])
    mask = np.zeros(90, bool)
    mask[30:61] = True
    found = grips(values, Contact(mask, "force", False), closed, opened, 1 / 30)
    # Both changes are 0.7: from sample 12 to 30, and from 60 to 79.
    assert (found.closing, found.count) == (expected, 2) and found.size == pytest.approx(0.7)


# -- steps ----------------------------------------------------------------------------------------


def moving(seed=0, frames_=150):
    rng = np.random.default_rng(seed)
    t = np.arange(frames_) / 30
    return np.stack([np.sin(2 * np.pi * f * t + p) for f, p in rng.uniform(0.2, 0.6, (3, 2)) * [1, 6]])


def test_places_and_steps_are_told_apart():
    state = moving()
    command = np.roll(state, -2, axis=1)
    command[:, -2:] = state[:, -1:]
    places = reading(state, command, 1 / 30)
    assert places is not None and places.place > 0.95 and places.distance < 0.5 and abs(places.step) < 0.6
    delta = 0.1 * np.diff(state, axis=1, append=state[:, -1:])  # in a unit of its own
    steps = reading(state, delta, 1 / 30)
    assert steps is not None and steps.step > 0.99 and abs(steps.place) < 0.5
    assert reading(np.ones((3, 150)), delta, 1 / 30) is None
    assert reading(state[:, :20], delta[:, :20], 1 / 30) is None


def test_frames_of_steps_are_told_apart():
    place = moving(3)
    turn = Rotation.from_euler("x", 120, degrees=True)
    moved = np.diff(place, axis=1, append=place[:, -1:])
    matrix = np.tile(turn.as_matrix(), (150, 1, 1))
    base = frames(place, matrix, moved, 1 / 30)
    own = frames(place, matrix, turn.inv().apply(moved.T).T, 1 / 30)
    assert base is not None and own is not None
    assert base[0] > 0.99 and base[1] < 0.7
    assert own[1] > 0.99 and own[0] < 0.7


def test_changes_of_commands():
    assert period_of_changes(np.zeros(60, bool)) == (1, 1.0)
    third = np.arange(1, 100) % 3 != 0
    assert period_of_changes(third) == (3, 1.0)
    assert period_of_changes(np.ones(60, bool)) is None
