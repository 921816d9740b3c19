"""Steps that are differences of a rotation's numbers: where they lead, and the way back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from gristmill.embodiment import Arm, Embodiment, Joint
from gristmill.harmonizing import harmonize
from gristmill.testing import make_episode

WIDTH = {"quaternion": 4, "axis_angle": 3, "euler_rpy": 3, "6d": 6, "matrix": 9}


def card(form, *, origin="state", frame="base", order="xyzw", delta="difference"):
    names = tuple(f"r{i}" for i in range(WIDTH[form]))
    unit = "rad" if form in ("axis_angle", "euler_rpy") else "normalized"
    joints = [Joint(name=n, kind="other", unit="m") for n in "xyz"]
    joints += [Joint(name=n, kind="other", unit=unit) for n in names]
    arm = Arm(name="arm", position=("x", "y", "z"), rotation=names, rotation_as=form)
    return Embodiment(
        key="k",
        title="t",
        joints=tuple(joints),
        arms=(arm,),
        control_mode="eef_delta",
        action_frame=frame,
        delta_from=origin,
        rotation_delta=delta,
        quaternion_order=order,
    )


def written(turn, form, order="xyzw"):
    """Numbers of SciPy rotations whose neighbours are near each other."""
    if form == "quaternion":
        quaternion = turn.as_quat()
        flips = np.cumprod(np.sign(np.r_[1, np.sum(quaternion[1:] * quaternion[:-1], axis=1)]))
        quaternion = quaternion * flips[:, None]
        return np.roll(quaternion, 1, axis=1) if order == "wxyz" else quaternion
    if form == "axis_angle":
        return turn.as_rotvec()
    if form == "euler_rpy":
        return np.unwrap(turn.as_euler("xyz"), axis=0)
    matrix = turn.as_matrix()
    return matrix.reshape(-1, 9) if form == "matrix" else np.hstack([matrix[:, :, 0], matrix[:, :, 1]])


def path(seed, frames=25):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, frames)[:, None]
    turn = Rotation.from_rotvec(t * rng.normal(0, 0.5, 3)) * Rotation.from_rotvec(rng.normal(0, 0.7, 3))
    return rng.normal(0, 0.3, 3) + np.sin(3 * t + rng.normal(0, 1, 3)), turn


def sixd(turn):
    matrix = turn.as_matrix()
    return np.hstack([matrix[:, :, 0], matrix[:, :, 1]])


@given(
    st.integers(0, 300),
    st.sampled_from(sorted(WIDTH)),
    st.sampled_from(["state", "command"]),
    st.sampled_from(["base", "end_effector"]),
    st.sampled_from(["xyzw", "wxyz"]),
)
@settings(max_examples=80, deadline=None)
def test_differences_lead_to_the_next_numbers_and_come_back(seed, form, origin, frame, order):
    place, turn = path(seed)
    numbers = written(turn, form, order)
    aim = np.concatenate([place[1:], place[-1:]])
    moved = aim - place if frame == "base" else turn.inv().apply(aim - place)
    step = np.hstack([moved, np.diff(numbers, axis=0, append=numbers[-1:])])
    of = card(form, origin=origin, frame=frame, order=order)
    names = [j.name for j in of.joints]
    episode = make_episode(state=np.hstack([place, numbers]), action=step, names=names, embodiment=of)
    made = harmonize(episode)
    assert made.action["arm.position_m"].values == pytest.approx(aim, abs=1e-9)
    assert made.action["arm.rotation_6d"].values[:-1] == pytest.approx(sixd(turn)[1:], abs=1e-7)
    assert not made.residuals and not made.unconverted
    assert made.restore()["action"] == pytest.approx(step, abs=1e-6)
    relative = harmonize(episode, actions="end_effector")
    assert relative.restore()["action"] == pytest.approx(step, abs=1e-6)


@pytest.mark.parametrize("order", ["xyzw", "wxyz"])
def test_no_step_of_a_quaternion_stays_where_it_is(order):
    place, turn = path(1)
    numbers = written(turn, "quaternion", order)
    of = card("quaternion", order=order)
    episode = make_episode(
        state=np.hstack([place, numbers]), action=np.zeros((25, 7)), names=[j.name for j in of.joints], embodiment=of
    )
    made = harmonize(episode)
    assert made.action["arm.rotation_6d"].values == pytest.approx(sixd(turn))
    assert made.restore()["action"] == pytest.approx(np.zeros((25, 7)), abs=1e-9)


@pytest.mark.parametrize("origin", ["state", "command"])
def test_rotation_vectors_of_a_tool_that_points_down(origin):
    t = np.linspace(0, 3, 90)
    numbers = np.stack([np.pi + 0.15 * np.sin(3 * t), 0.1 * np.cos(2 * t), 0.05 * np.sin(t)], axis=1)
    assert (np.linalg.norm(numbers, axis=1) > np.pi).any()
    step = np.hstack([np.zeros((90, 3)), np.diff(numbers, axis=0, append=numbers[-1:])])
    of = card("axis_angle", origin=origin)
    state = np.hstack([np.zeros((90, 3)), numbers])
    made = harmonize(make_episode(state=state, action=step, names=[j.name for j in of.joints], embodiment=of))
    assert made.action["arm.rotation_6d"].values[:-1] == pytest.approx(sixd(Rotation.from_rotvec(numbers))[1:])
    assert not made.residuals
    back = made.restore()
    assert back["action"] == pytest.approx(step, abs=1e-9) and back["observation.state"] == pytest.approx(state)


@pytest.mark.parametrize("form", ["axis_angle", "euler_rpy"])
@pytest.mark.parametrize("origin", ["state", "command"])
def test_steps_that_jump_with_their_numbers_come_back(form, origin):
    """Differences of numbers that wrap at half a turn jump by a whole one; they lead to the same rotations."""
    turn = Rotation.from_rotvec(np.linspace(2.9, 3.4, 40)[:, None] * [1.0, 0, 0])
    numbers = turn.as_rotvec() if form == "axis_angle" else turn.as_euler("xyz")
    step = np.hstack([np.zeros((40, 3)), np.diff(numbers, axis=0, append=numbers[-1:])])
    assert np.abs(step).max() > 6
    of = card(form, origin=origin)
    state = np.hstack([np.zeros((40, 3)), numbers])
    made = harmonize(make_episode(state=state, action=step, names=[j.name for j in of.joints], embodiment=of))
    assert made.action["arm.rotation_6d"].values[:-1] == pytest.approx(sixd(turn)[1:])
    assert not made.residuals and made.restore()["action"] == pytest.approx(step, abs=1e-9)
    # Targets of another origin take the shorter way.
    aim = Rotation.from_rotvec([0, 0, 1e-3]) * turn
    block = made.action["arm.rotation_6d"]
    other = dict(made.action) | {"arm.rotation_6d": replace(block, values=sixd(aim))}
    assert np.abs(made.restore(action=other)["action"]).max() < 0.2


def test_positions_whose_turn_is_not_known_say_so():
    place, turn = path(2)
    state, action = np.hstack([place, turn.as_rotvec()]), np.zeros((25, 6))
    of = card("axis_angle", origin="command", frame="end_effector", delta="unknown")
    made = harmonize(make_episode(state=state, action=action, names=[j.name for j in of.joints], embodiment=of))
    assert "how that is turned after the command before" in made.unconverted["action[x]"]
    assert "rotation_delta" in made.unconverted["action[r0]"]
    assert np.isnan(made.restore()["action"]).all()
    here = card("axis_angle", frame="end_effector", delta="unknown")
    assert harmonize(make_episode(state=state, action=action, names=[j.name for j in here.joints], embodiment=here)).action["arm.position_m"].values == pytest.approx(place)  # fmt: skip  # noqa: E501


def test_steps_go_back_from_other_states():
    place, turn = path(4)
    numbers = turn.as_rotvec()
    of = card("axis_angle")
    names = [j.name for j in of.joints]
    action = np.full((25, 6), 0.01)
    made = harmonize(make_episode(state=np.hstack([place, numbers]), action=action, names=names, embodiment=of))
    moved = Rotation.from_rotvec([0, 0, 0.2]) * turn
    other = harmonize(make_episode(state=np.hstack([place, moved.as_rotvec()]), action=action, names=names, embodiment=of))  # fmt: skip  # noqa: E501
    back = made.restore(state=other.state)["action"]
    expected = Rotation.from_rotvec(numbers + 0.01).as_rotvec() - moved.as_rotvec()
    assert back[:, 3:] == pytest.approx(expected, abs=1e-9)
    assert back[:, :3] == pytest.approx(action[:, :3])


def test_no_samples_have_no_steps():
    of = card("axis_angle", origin="command", delta="compose")
    none = np.zeros((0, 6))
    made = harmonize(make_episode(state=none, action=none, names=[j.name for j in of.joints], embodiment=of))
    assert made.action["arm.position_m"].mask.all() and made.restore()["action"].shape == (0, 6)
