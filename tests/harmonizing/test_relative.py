"""Steps from the state: joints that turn without end, and what has no state to start from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.embodiment import Arm, Embodiment, Joint, load_card, to_toml
from gristmill.errors import UsageError
from gristmill.harmonizing import harmonize
from gristmill.testing import make_episode


def wrapped(angle):
    return (angle + np.pi) % (2 * np.pi) - np.pi


def card(*joints, **more):
    return Embodiment(**({"key": "k", "title": "t", "joints": joints, "control_mode": "joint_position"} | more))


def crossing(of, state, action, **more):
    names = [j.name for j in of.joints]
    return harmonize(make_episode(state=state, action=action, names=names, embodiment=of), **more)


def test_a_continuous_wrist_steps_the_short_way():
    of = card(Joint(name="elbow"), Joint(name="wrist", unit="deg", continuous=True))
    state, action = np.array([[3.0, 170], [-3, -175]]), np.array([[-3.0, -170], [3, 190]])
    made = crossing(of, state, action, actions="base")
    assert made.action["joints"].values[:, 0] == pytest.approx([-6, 6])  # an elbow has a way to go
    assert np.rad2deg(made.action["joints"].values[:, 1]) == pytest.approx([20, 5])
    assert made.restore()["action"] == pytest.approx(action) and not made.residuals
    absolute = crossing(of, state, action)
    assert np.rad2deg(absolute.action["joints"].values[:, 1]) == pytest.approx([-170, 190])


@given(st.integers(0, 500), st.sampled_from(["joint_position", "joint_delta"]), st.sampled_from(["state", "command"]))
@settings(max_examples=40, deadline=None)
def test_steps_of_continuous_joints_come_back(seed, mode, origin):
    rng = np.random.default_rng(seed)
    of = card(Joint(name="a", sign=-1, offset=0.4, continuous=True), control_mode=mode, delta_from=origin)
    path = np.cumsum(rng.normal(0, 0.5, 60)) + np.pi
    state, action = wrapped(path)[:, None], wrapped(path + rng.normal(0, 0.1, 60))[:, None]
    made = crossing(of, state, action, actions="base")
    if mode == "joint_position":
        assert np.abs(made.action["joints"].values).max() < 1
    assert made.restore()["action"] == pytest.approx(action, abs=1e-6)
    assert not made.residuals


def test_a_slower_rate_steps_the_short_way_too():
    of = card(Joint(name="a", continuous=True))
    path = wrapped(np.pi + 0.3 * np.sin(np.arange(31) / 5))[:, None]
    made = crossing(of, path, path + 0.1, actions="base", rate_hz=10)
    assert made.action["joints"].values == pytest.approx(np.full((11, 1), 0.1))


class Turntable:
    """Forward kinematics that tell which joint turns without end."""

    continuous = (True, True)

    def __call__(self, joints):
        return np.zeros((len(joints), 3)), np.repeat(np.eye(3)[None], len(joints), axis=0)


def test_the_model_tells_what_turns_without_end_unless_the_card_has_limits():
    of = card(Joint(name="a"), Joint(name="b", lower=-4, upper=4), arms=(Arm(name="arm", joints=("a", "b")),))
    state, action = np.array([[3.0, 3]]), np.array([[-3.0, -3]])
    made = crossing(of, state, action, actions="base", kinematics={"arm": Turntable()})
    assert made.action["arm.joints"].values[0] == pytest.approx([2 * np.pi - 6, -6])
    assert made.restore()["action"] == pytest.approx(action)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("upper = 2.0", "no lower and no upper"),
        ('kind = "prismatic"', "not a prismatic one"),
        ('unit = "mm"', "in mm"),
    ],
)
def test_what_cannot_turn_without_end_is_refused(tmp_path, line, said):
    path = tmp_path / "card.toml"
    path.write_text(f'key = "k"\ntitle = "t"\n[[joints]]\nname = "a"\ncontinuous = true\n{line}\n')
    with pytest.raises(UsageError, match=rf"card.toml: joints\[0\].*{said}"):
        load_card(path)


def test_the_claim_survives_a_file(tmp_path):
    of = card(Joint(name="a", continuous=True))
    path = tmp_path / "card.toml"
    path.write_text(to_toml(of))
    assert load_card(path) == of


def test_a_target_without_a_state_says_so():
    arm = Arm(name="arm", position=("x", "y", "z"))
    of = card(Joint(name="j"), *(Joint(name=n, kind="other", unit="m") for n in "xyz"), arms=(arm,))
    episode = make_episode(action=np.ones((3, 4)), names=["j", "x", "y", "z"], embodiment=of)
    made = harmonize(episode, actions="base")
    assert not made.vector("action")[1].any() and not made.lossy
    assert set(made.unconverted) == {f"action[{n}]" for n in "jxyz"}
    assert all("the state does not say from where" in why for why in made.unconverted.values())
    assert harmonize(episode).action["arm.position_m"].mask.all()
