"""Signed distances between links, against geometry and against MuJoCo's own contacts."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from gristmill.kinematics.self_collision import SelfDistance


def test_distance_of_folded_links(planar):
    model = planar(0.5, 0.3, 0.5)
    distance = SelfDistance(model)
    assert [distance.named(i) for i in range(len(distance.shapes))] == [("link1", "link3")]
    # A square: the third link runs back along the first one, 0.3 m beside it; cylinders of 2 cm radius lie between.
    square = np.array([[0.3, np.pi / 2, np.pi / 2]])
    found = distance.nearest(square, 1.0)
    assert found.distance_m[0] == pytest.approx(0.3 - 0.04, abs=1e-6)
    assert found.pair[0] == 0
    # Folded flat the third link lies in the first one.
    assert distance.nearest(np.array([[0.0, np.pi, np.pi - 0.01]]), 1.0).distance_m[0] < 0
    # Far away, the reach is all that is told.
    told = distance.nearest(np.zeros((1, 3)), 0.05)
    assert (told.distance_m[0], told.pair[0]) == (0.05, -1)


@pytest.mark.parametrize("robot", ["panda", "ur5", "g1"])
def test_contacts_are_mujocos(robot, request):
    model = request.getfixturevalue(robot)
    distance = SelfDistance(model)
    q = np.random.default_rng(0).uniform(*model.limits, (500, len(model.joints)))
    found = distance.nearest(q, 0.01)
    wanted = {tuple(sorted(pair)) for pair in distance.shapes.tolist()}
    data = mujoco.MjData(model.compiled)
    touching = 0
    for row, ours in zip(q, found.distance_m, strict=True):
        data.qpos[:] = row
        mujoco.mj_kinematics(model.compiled, data)
        mujoco.mj_collision(model.compiled, data)
        contacts = [c.dist for c in data.contact if tuple(sorted(c.geom.tolist())) in wanted]
        assert (min(contacts, default=0) < 0) == (ours < 0)
        touching += bool(contacts)
        if contacts:
            # Two algorithms of one engine: depths of meshes differ by what their tolerances allow.
            assert ours == pytest.approx(min(contacts), abs=2e-3)
    assert 10 < touching < 490


def test_neighbours_and_what_touches_at_rest_are_left_out(g1):
    distance = SelfDistance(g1)
    named = {frozenset(distance.named(i)) for i in range(len(distance.shapes))}
    assert frozenset(("left_elbow_link", "left_wrist_roll_link")) not in named  # neighbours
    assert frozenset(("pelvis", "pelvis_contour_link")) not in named  # one rigid piece
    assert frozenset(("left_wrist_yaw_link", "right_wrist_yaw_link")) in named
    assert distance.nearest(g1.neutral[None], 0.005).distance_m[0] >= 0
