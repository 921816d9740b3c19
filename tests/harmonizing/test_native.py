"""Recorded columns and the robot's model: speeds, coordinates with a sign and a zero, what is left out and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from gristmill.embodiment import Arm, Embodiment, Joint, load_card
from gristmill.errors import UsageError
from gristmill.harmonizing import harmonize
from gristmill.testing import make_episode

TURNS = ("roll", "pitch", "yaw")


def card(joints, **more):
    return Embodiment(**({"key": "k", "title": "t", "joints": tuple(joints), "control_mode": "eef_pose"} | more))


def base(units, **more):
    joints = [Joint(name=n, kind="base", unit=u, **more) for n, u in zip(("vx", "vy", "wz"), units, strict=True)]
    return card(joints, base_velocity=("vx", "vy", "wz"))


def driven(of, row):
    return harmonize(make_episode(state=np.array([row], float), names=["vx", "vy", "wz"], embodiment=of))


@pytest.mark.parametrize(
    ("units", "masked", "said"),
    [
        (("percent", "normalized", "unknown"), [False] * 3, "unit as percent without"),
        (("rad", "deg", "rad"), [False, False, True], "unit as rad, which is no length a second"),
        (("m", "mm", "m"), [True, True, False], "unit as m, which is no angle a second"),
    ],
)
def test_a_speed_without_a_meaning_is_masked_and_says_why(units, masked, said):
    made = driven(base(units), [50, 50, 50])
    assert made.state["base_velocity"].mask.tolist() == masked
    assert np.isfinite(made.state["base_velocity"].values[0]).tolist() == masked
    assert any(said in why for why in made.unconverted.values())
    assert len(made.unconverted) == masked.count(False)


def test_a_speed_has_a_sign_and_a_rest():
    made = driven(base(("m", "mm", "deg"), sign=-1, offset=0.5), [0.5, 100.5, 180.5])
    assert made.state["base_velocity"].values[0] == pytest.approx([0, -0.1, -np.pi])
    assert made.restore()["observation.state"][0] == pytest.approx([0.5, 100.5, 180.5])


def test_a_position_has_the_sign_and_the_zero_of_its_coordinates():
    joints = [Joint(name=n, kind="other", unit="mm", sign=s, offset=o) for n, s, o in zip("xyz", (-1, 1, -1), (500, 0, 0), strict=True)]  # fmt: skip  # noqa: E501
    of = card(joints, arms=(Arm(name="a", position=("x", "y", "z")),))
    values = np.array([[200.0, 300, 400]])
    made = harmonize(make_episode(state=values, action=values, names=list("xyz"), embodiment=of))
    for blocks in (made.state, made.action):
        assert blocks["a.position_m"].values[0] == pytest.approx([0.3, 0.3, -0.4])
    assert made.restore()["action"] == pytest.approx(values)


def euler(unit="deg", **pitch):
    joints = [Joint(name=n, kind="other", unit=unit, **(pitch if n == "pitch" else {})) for n in TURNS]
    return joints, (Arm(name="a", rotation=TURNS, rotation_as="euler_rpy"),)


def test_angles_have_a_sign_and_a_zero():
    joints, arms = euler(sign=-1, offset=90.0)
    values = np.array([[10.0, 70, 30]])
    made = harmonize(make_episode(state=values, names=TURNS, embodiment=card(joints, arms=arms)))
    matrix = Rotation.from_euler("xyz", [10, 20, 30], degrees=True).as_matrix()
    assert made.state["a.rotation_6d"].values[0] == pytest.approx([*matrix[:, 0], *matrix[:, 1]])
    assert made.restore()["observation.state"] == pytest.approx(values)


def test_steps_of_coordinates_have_a_sign_but_no_zero():
    joints, arms = euler(sign=-1, offset=90.0)
    of = card(joints, arms=arms, control_mode="eef_delta", delta_from="state", rotation_delta="difference")
    of = replace(of, action_frame="base")
    state, step = np.array([[0.0, 90, 0]]), np.array([[0.0, 20, 0]])
    made = harmonize(make_episode(state=state, action=step, names=TURNS, embodiment=of))
    matrix = Rotation.from_euler("y", -20, degrees=True).as_matrix()
    assert made.action["a.rotation_6d"].values[0] == pytest.approx([*matrix[:, 0], *matrix[:, 1]])
    assert made.restore()["action"] == pytest.approx(step)


def test_a_left_handed_quaternion_is_read_by_its_signs():
    names = ("qx", "qy", "qz", "qw")
    joints = [Joint(name=n, kind="other", unit="normalized", sign=s) for n, s in zip(names, (-1, 1, -1, 1), strict=True)]  # fmt: skip  # noqa: E501
    of = card(joints, arms=(Arm(name="a", rotation=names, rotation_as="quaternion"),), quaternion_order="xyzw")
    given_ = Rotation.random(5, random_state=1).as_quat()
    made = harmonize(make_episode(state=given_, names=names, embodiment=of))
    same = np.sum(made.state["a.quaternion"].values * (given_ * [-1, 1, -1, 1]), axis=1)
    assert np.abs(same) == pytest.approx(1)
    assert made.restore()["observation.state"] == pytest.approx(given_)


@pytest.mark.parametrize(("form", "names"), [("quaternion", "abcd"), ("axis_angle", "abc"), ("6d", "abcdef")])
def test_a_number_of_a_rotation_has_no_zero(tmp_path, form, names):
    rows = "".join(f'[[joints]]\nname = "{n}"\nkind = "other"\noffset = {1.0 * (n == "b")}\n' for n in names)
    path = tmp_path / "card.toml"
    path.write_text(
        f'key = "k"\ntitle = "t"\n{rows}[[arms]]\nname = "a"\nrotation = {list(names)}\nrotation_as = "{form}"\n'
    )
    with pytest.raises(UsageError, match=r"card.toml: .*arms\[0\].rotation: 'b' has an offset"):
        load_card(path)


@given(st.integers(0, 1000), st.sampled_from(["axis_angle", "euler_rpy"]), st.sampled_from([-1, 1]))
@settings(max_examples=40, deadline=None)
def test_numbers_beyond_half_a_turn_come_back(seed, form, sign):
    rng = np.random.default_rng(seed)
    names = ("a", "b", "c")
    offset = float(rng.normal()) if form == "euler_rpy" else 0.0
    joints = [Joint(name=n, kind="other", sign=sign, offset=offset) for n in names]
    of = card(joints, arms=(Arm(name="a", rotation=names, rotation_as=form),))
    values = rng.uniform(-6, 6, (20, 3))
    made = harmonize(make_episode(state=values, names=names, embodiment=of))
    assert made.restore()["observation.state"] == pytest.approx(values, abs=1e-6)
    assert not made.residuals


def test_half_a_pose_says_what_it_lacks():
    joints = [Joint(name=n, kind="other", unit="m") for n in "xyz"]
    of = card(joints, arms=(Arm(name="a", position=("x", "y", "z")),))
    made = harmonize(make_episode(state=np.ones((2, 2)), names=["x", "y"], embodiment=of))
    assert not made.state["a.position_m"].mask.any()
    assert "lacks other numbers" in made.unconverted["observation.state[y]"] and not made.lossy


def test_a_matrix_that_is_not_quite_a_rotation_is_read_as_the_nearest_one():
    names = tuple("abcdefghi")
    joints = [Joint(name=n, kind="other", unit="normalized") for n in names]
    of = card(joints, arms=(Arm(name="a", rotation=names, rotation_as="matrix"),))
    turn = Rotation.random(4, random_state=3).as_matrix()
    values = 1.1 * turn.reshape(4, 9)
    values[3, 0] = np.nan
    made = harmonize(make_episode(state=values, names=names, embodiment=of))
    sixd = np.concatenate([turn[:, :, 0], turn[:, :, 1]], axis=1)
    assert made.state["a.rotation_6d"].values[:3] == pytest.approx(sixd[:3])
    assert np.isnan(made.state["a.rotation_6d"].values[3]).all()
    assert len(made.residuals) == 9
