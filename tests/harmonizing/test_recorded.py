"""Harmonizing recordings: the sample against MuJoCo, and a real humanoid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.harmonizing import harmonize
from gristmill.sources import open_path
from gristmill.synth import generate, sample_card
from gristmill.synth.end_effector import grasp_frames

EXTRA = ("eef_pose", "object")


@pytest.fixture(scope="module")
def posed(tmp_path_factory):
    folder = generate(tmp_path_factory.mktemp("posed") / "arm", episodes=2, seed=3, video=False, jobs=1, extra=EXTRA)
    return list(open_path(folder, card=sample_card(EXTRA)).episodes([0, 1]))


def test_recorded_poses_are_those_of_the_joints(posed):
    for episode in posed:
        made = harmonize(episode)
        assert not made.unconverted and not made.residuals
        assert made.vector("state")[1][:19].all()  # pose, joints and gripper of the arm
        place, turn = grasp_frames(made.state["arm.joints"].values)
        assert made.state["arm.position_m"].values == pytest.approx(place, abs=1e-6)
        sixd = np.concatenate([turn[:, :, 0], turn[:, :, 1]], axis=1)
        assert made.state["arm.rotation_6d"].values == pytest.approx(sixd, abs=1e-6)
        assert made.state["arm.gripper"].values[:, 0] == pytest.approx(
            np.clip(episode.channels["observation.state"].values[:, 5], 0, 1)
        )
        for key, values in made.restore().items():
            assert values == pytest.approx(episode.channels[key].values, abs=1e-6)


def test_steps_of_the_end_effector_are_small_and_come_back(posed):
    made = harmonize(posed[0], actions="end_effector")
    assert np.abs(made.action["arm.position_m"].values).max() < 0.15
    assert np.abs(made.action["arm.rotation_6d"].values - [1, 0, 0, 0, 1, 0]).max() < 0.6
    assert made.restore()["action"] == pytest.approx(posed[0].channels["action"].values, abs=1e-6)


def test_kinematics_stand_in_for_poses_that_were_not_recorded(sample_corpus):
    (episode,) = open_path(sample_corpus, card=sample_card()).episodes([0])
    made = harmonize(episode, kinematics={"arm": grasp_frames})
    joints = episode.channels["action"].values[:, :5].astype(np.float64)
    assert made.action["arm.position_m"].values == pytest.approx(grasp_frames(joints)[0], abs=1e-9)


def test_a_real_humanoid_comes_back(real_data):
    (episode,) = open_path(real_data / "g1_inspire").episodes([0])
    made = harmonize(episode)
    assert not made.unconverted and not made.residuals
    assert made.state["left.joints"].mask.all() and made.state["right.joints"].mask.all()
    assert not made.state["left.position_m"].mask.any() and not made.state["left.gripper"].mask.any()
    assert int(made.state["pass_through"].mask.sum()) == 12  # the fingers of two Inspire hands
    for key, values in made.restore().items():
        assert values == pytest.approx(episode.channels[key].values, abs=1e-6)


def test_servo_arms_whose_unit_is_not_known_keep_only_the_gripper():
    from gristmill.embodiment import load_card
    from gristmill.testing import make_episode

    names = [f"{n}.pos" for n in ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")]
    values = np.array([[10.0, 20, 30, 40, 50, 25], [0, 0, 0, 0, 0, 104]])
    made = harmonize(make_episode(state=values, action=values, names=names, embodiment=load_card("so101")))
    assert made.state["arm.gripper"].values[:, 0].tolist() == [0.25, 1.0]
    assert "as the card says" in made.lossy["action[gripper.pos]"]
    assert "unit as unknown" in made.unconverted["action[elbow_flex.pos]"]


def test_actions_of_another_origin_go_back_and_what_they_lack_stays_unknown(posed):
    made = harmonize(posed[0])
    lifted = made.action["arm.position_m"].values + np.array([0, 0, 0.01])
    joints = made.action["arm.joints"]
    action = dict(made.action) | {
        "arm.position_m": replace(made.action["arm.position_m"], values=lifted),
        "arm.joints": replace(joints, mask=np.zeros(5, bool)),
    }
    back = made.restore(action=action)
    recorded = posed[0].channels["action.eef_pose"].values
    assert back["action.eef_pose"] == pytest.approx(recorded + np.array([0, 0, 0.01, 0, 0, 0, 0]), abs=1e-6)
    assert np.isnan(back["action"][:, :5]).all()
    assert back["action"][:, 5] == pytest.approx(posed[0].channels["action"].values[:, 5], abs=1e-6)
