"""Singular values and manipulability of arms whose singularities are known."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.kinematics.chains import Chain, chains_of
from gristmill.kinematics.dexterity import jacobians_of, nearest_singular_joint, scaled, task_of, usual, yoshikawa


def chain(model, joints) -> Chain:
    (found,) = chains_of(model, range(joints))
    return found


def test_manipulability_of_two_links(planar):
    model = planar(0.5, 0.3)
    arm = chain(model, 2)
    q = np.random.default_rng(0).uniform(-3, 3, (50, 2))
    jacobians = jacobians_of(model, arm, q)
    assert yoshikawa(jacobians[:, :2]) == pytest.approx(0.15 * np.abs(np.sin(q[:, 1])), abs=1e-12)


@pytest.mark.parametrize("lengths", [(0.5, 0.3), (0.5, 0.3, 0.2)])
def test_planar_arms_are_singular_where_they_are_straight_or_folded(planar, lengths):
    model = planar(*lengths)
    arm = chain(model, len(lengths))
    task = "position" if len(lengths) == 2 else "pose"
    known = usual(model, arm, task)
    assert known.rank == len(lengths)  # the plane is never left, and that is no singularity
    q = np.zeros((4, len(lengths)))
    q[:, 0] = [0.3, -1, 2, 0.1]
    q[:, 1] = [0, np.pi, -np.pi, np.pi / 2]
    found = known.of(jacobians_of(model, arm, q))
    assert found.smallest[:3] == pytest.approx(np.zeros(3), abs=1e-9)
    assert found.manipulability[:3] == pytest.approx(np.zeros(3), abs=1e-9)
    assert known.share_below(found.smallest[3:])[0] > 0.5  # the elbow at a right angle is better than usual
    # The product of singular values is the determinant: l1 l2 |sin q2|, over the length for each moving row.
    assert found.manipulability[3] == pytest.approx(0.15 / known.length_m**2)


def test_length_makes_moving_and_turning_weigh_alike(panda):
    arm = next(c for c in chains_of(panda, range(7)))
    known = usual(panda, arm)
    q = np.random.default_rng(1).uniform(*panda.limits[:, :7], (5000, 7))
    matrices = scaled(jacobians_of(panda, arm, q), known.length_m)
    moving, turning = np.square(matrices[:, :3]).mean(), np.square(matrices[:, 3:]).mean()
    assert moving == pytest.approx(turning, rel=0.05)
    # Every turning column is a unit vector, so the length is what the tip's lever arms come to.
    assert 0.2 < known.length_m < 0.6


def test_a_ur5_is_singular_at_its_wrist_elbow_and_shoulder(ur5):
    (arm,) = chains_of(ur5, range(6))
    known = usual(ur5, arm)
    base = np.array([0.4, -1.1, 1.3, -0.8, 1.2, 0.5])
    wrist, elbow = base.copy(), base.copy()
    wrist[4] = 0.0  # axes 4 and 6 are parallel
    elbow[2] = 0.0  # upper arm and forearm in line
    found = known.of(jacobians_of(ur5, arm, np.stack([base, wrist, elbow])))
    assert found.smallest[1:] == pytest.approx([0, 0], abs=1e-6)
    assert found.smallest[0] > 0.3 * np.median(known.smallest)


def test_what_is_usual_is_the_same_every_time(panda):
    (arm,) = chains_of(panda, range(7))
    first, second = usual(panda, arm), usual(panda, arm)
    assert (first.smallest == second.smallest).all()
    assert first.share_below(np.array([0.0, np.inf])).tolist() == [0, 1]
    assert task_of(arm) == "pose"


@pytest.mark.parametrize("bent", [(0.01, 0.01), (0.02, -0.01), (-0.03, 0.01), (np.pi - 0.01, 0.02)])
def test_the_joint_that_has_to_turn_is_that_of_a_planar_arm_and_not_of_a_motion_that_leaves_its_tip(planar, bent):
    """Three joints in a plane: the tip can stay while they turn, which is no singularity."""
    model = planar(0.3, 0.3, 0.2)
    arm = chain(model, 3)
    known = usual(model, arm)
    assert (known.task, known.rank) == ("position", 2)
    q = np.array([0.3, *bent])
    # By hand: columns of a planar arm's Jacobian are the ways from each joint to the tip, turned by 90 degrees.
    angles, lengths = np.cumsum(q), np.array([0.3, 0.3, 0.2])
    links = lengths * np.exp(1j * angles)
    ways = np.array([links[i:].sum() for i in range(3)]) * 1j
    jacobian = np.stack([ways.real, ways.imag])
    hard = np.linalg.eigh(jacobian @ jacobian.T)[1][:, 0]  # the direction in which the tip hardly moves
    turned = np.linalg.pinv(jacobian) @ hard
    found = nearest_singular_joint(scaled(jacobians_of(model, arm, q[None]), known.length_m, known.task), known.rank)
    assert found[0] == np.abs(turned).argmax()
