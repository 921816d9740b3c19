"""A generated corpus with its own model: recorded poses against forward kinematics, and quiet checks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill import rotations
from gristmill.checks.self_collision import SelfCollision
from gristmill.checks.singularity import Singularity
from gristmill.kinematics import forward_of, model_of
from gristmill.sources import open_path
from gristmill.synth import generate, sample_card
from gristmill.synth.scene import MJCF
from gristmill.testing import judge, measure_all


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Twelve episodes, the card of their arm with its model and tip."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "arm.xml").write_text(MJCF)
    card = sample_card(("eef_pose",))
    arm = replace(card.arms[0], tip_link="grasp")
    card = replace(card, mjcf=str(folder / "arm.xml"), arms=(arm,))
    corpus = open_path(
        generate(folder / "corpus", episodes=12, seed=3, video=False, jobs=1, extra=("eef_pose",)), card=card
    )
    return list(corpus.episodes(range(12))), card


def test_recorded_poses_are_those_of_the_joints(recorded):
    episodes, card = recorded
    for episode in episodes:
        joints = episode.channels["observation.state"].values[:, :5]
        pose = episode.channels["observation.state.eef_pose"].values
        position, rotation = forward_of(card)["arm"](joints)
        # Joints and poses were recorded with encoder noise of their own: about a milliradian at an arm of 0.6 m.
        assert np.abs(position - pose[:, :3]).max() < 5e-3
        told = rotations.to_matrix(pose[:, 3:], "quaternion")
        assert rotations.angle(np.swapaxes(told, -1, -2) @ rotation).max() < 1e-2


def test_neither_singular_nor_in_collision(recorded):
    episodes, card = recorded
    model = model_of(card)
    assert model is not None
    assert set(model.joints) >= {"base_yaw", "wrist_roll", "left_finger"}
    for check in (Singularity(), SelfCollision()):
        assert [m and m.unknown for m in measure_all(check, episodes)] == [None] * len(episodes)
        assert judge(check, episodes) == []
