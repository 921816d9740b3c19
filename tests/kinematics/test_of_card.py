"""From a card to its model: where it lies, what its joints are called, what recorded numbers mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planar_arms import planar_urdf

from gristmill.embodiment import Arm, Embodiment, Joint, card_digest, load_card, to_toml
from gristmill.errors import UsageError
from gristmill.kinematics import chain_of_arm, forward_of, model_of, model_positions, position_and_quaternion
from gristmill.kinematics.of_card import joint_number

CARD = """key = "planar"
title = "Two links"
urdf = "models/planar.urdf"
[[joints]]
name = "shoulder"
aliases = ["Q_1"]
unit = "deg"
[[joints]]
name = "q2"
sign = -1
offset = 0.1
[[arms]]
name = "arm"
joints = ["shoulder", "q2"]
"""


@pytest.fixture
def card_file(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "planar.urdf").write_text(planar_urdf(0.5, 0.3))
    (tmp_path / "card.toml").write_text(CARD)
    return tmp_path / "card.toml"


def test_the_model_lies_relative_to_the_card(card_file, monkeypatch, tmp_path):
    monkeypatch.chdir(card_file.parent)
    card = load_card("card.toml")
    monkeypatch.chdir("/")
    model = model_of(card)
    assert model is not None
    assert model.joints == ("q1", "q2")
    assert [joint_number(model, joint) for joint in card.joints] == [0, 1]
    assert model_of(card) is model  # compiled once
    (tmp_path / "again.toml").write_text(to_toml(card))
    assert load_card(tmp_path / "again.toml") == card


def test_recorded_numbers_become_the_models(card_file):
    card = load_card(card_file)
    model = model_of(card)
    assert model is not None
    # 90 degrees; and 0.3 rad beyond an offset of 0.1, counted the other way.
    positions = model_positions(np.array([[90.0, 0.4]]), card.joints)
    assert positions == pytest.approx(np.array([[np.pi / 2, -0.3]]))
    chain = chain_of_arm(model, card, card.arms[0])
    assert (chain.name, chain.tip, chain.joints.tolist()) == ("arm", "tip", [0, 1])
    pose = model.poses(positions, chain.tip)[0]
    assert pose[:2, 3] == pytest.approx([0.3 * np.sin(0.3), 0.5 + 0.3 * np.cos(0.3)])
    assert model_positions(np.zeros((1, 1)), [Joint(name="a", unit="percent")]) is None


def test_a_changed_model_is_another_card(card_file):
    before = card_digest(load_card(card_file))
    urdf = card_file.parent / "models" / "planar.urdf"
    urdf.write_text(planar_urdf(0.5, 0.4))
    changed = card_digest(load_card(card_file))
    urdf.unlink()
    gone = card_digest(load_card(card_file))
    assert len({before, changed, gone}) == 3


def test_where_a_model_lies_does_not_matter(card_file, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "models").mkdir()
    (elsewhere / "models" / "planar.urdf").write_text(planar_urdf(0.5, 0.3))
    (elsewhere / "card.toml").write_text(card_file.read_text())
    assert card_digest(load_card(elsewhere / "card.toml")) == card_digest(load_card(card_file))


def test_names_that_the_model_does_not_know(card_file):
    card = load_card(card_file)
    model = model_of(card)
    assert model is not None
    wrong = Embodiment(key="w", title="w", joints=(Joint(name="wrist"),), arms=(Arm(name="a", joints=("wrist",)),))
    with pytest.raises(UsageError, match=r"card w: joint 'wrist' of arm 'a' .*the model has q1, q2"):
        chain_of_arm(model, wrong, wrong.arms[0])
    no_tip = Arm(name="a", joints=("shoulder", "q2"), tip_link="hand")
    with pytest.raises(UsageError, match="'hand'"):
        chain_of_arm(model, card, no_tip)
    assert model_of(Embodiment(key="n", title="none")) is None


def test_without_mujoco_it_is_unknown_and_owed_again_later(card_file, monkeypatch):
    from gristmill import model_files
    from gristmill.checks.self_collision import SelfCollision
    from gristmill.checks.singularity import Singularity
    from gristmill.testing import make_episode

    card = load_card(card_file)
    usable = card_digest(card)
    monkeypatch.setattr(model_files, "find_spec", lambda name: None)
    episode = make_episode(state=np.zeros((30, 2)), names=["shoulder", "q2"], embodiment=card)
    for check in (Singularity(), SelfCollision()):
        unknown = check.measure(episode).unknown
        assert unknown is not None
        assert "pip install 'gristmill[kinematics]'" in unknown
    assert card_digest(card) != usable


def test_harmonized_joints_get_poses_from_the_model(card_file):
    import gristmill
    from gristmill.testing import make_episode

    card = load_card(card_file)
    state = np.stack([np.linspace(0, 90, 40), np.linspace(0.1, -0.4, 40)], axis=1)  # degrees, and rad with a sign
    episode = make_episode(state=state, names=["shoulder", "q2"], embodiment=card)
    made = gristmill.harmonize(episode, kinematics=forward_of(card))
    found = made.state["arm.position_m"]
    first, both = np.radians(state[:, 0]), np.radians(state[:, 0]) - (state[:, 1] - 0.1)
    expected = np.stack([0.5 * np.cos(first) + 0.3 * np.cos(both), 0.5 * np.sin(first) + 0.3 * np.sin(both), 0 * first])
    assert found.mask.all()
    assert found.values == pytest.approx(expected.T, abs=1e-12)


def test_what_turns_without_end_in_the_model_steps_the_short_way(tmp_path):
    import gristmill
    from gristmill.testing import make_episode

    urdf = planar_urdf(0.5, 0.3).replace('name="q2" type="revolute"', 'name="q2" type="continuous"')
    (tmp_path / "planar.urdf").write_text(urdf)
    (tmp_path / "card.toml").write_text(CARD.replace("models/", ""))
    card = load_card(tmp_path / "card.toml")
    card = replace(card, control_mode="joint_position")
    forward = forward_of(card)
    assert forward["arm"].continuous == (False, True)
    state, action = np.array([[170.0, 3.1]]), np.array([[-170.0, -3.1]])
    episode = make_episode(state=state, action=action, names=["shoulder", "q2"], embodiment=card)
    made = gristmill.harmonize(episode, actions="base", kinematics=forward)
    assert made.action["arm.joints"].values[0] == pytest.approx([np.radians(-340), 6.2 - 2 * np.pi])
    assert made.restore()["action"] == pytest.approx(action)


def test_position_and_quaternion():
    poses = np.repeat(np.eye(4)[None], 3, axis=0)
    turn = np.radians([170, 179, 190])
    poses[:, 0, 0] = poses[:, 1, 1] = np.cos(turn)
    poses[:, 1, 0], poses[:, 0, 1] = np.sin(turn), -np.sin(turn)
    poses[:, :3, 3] = [1, 2, 3]
    found = position_and_quaternion(poses)
    assert found[:, :3] == pytest.approx(np.tile([1.0, 2, 3], (3, 1)))
    # Half the angle, and no flip of sign where the scalar part goes through zero.
    expected = np.stack([0 * turn, 0 * turn, np.sin(turn / 2), np.cos(turn / 2)], axis=1)
    assert found[:, 3:] == pytest.approx(expected)
