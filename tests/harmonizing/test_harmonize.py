"""Canonical numbers: conversions worked out by hand, the way back, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import gristmill
from gristmill.embodiment import Arm, Embodiment, Gripper, Joint
from gristmill.errors import UsageError
from gristmill.harmonizing import harmonize
from gristmill.testing import make_episode

POSE = ("x", "y", "z", "qa", "qb", "qc", "qd")


def card(joints, **more):
    return Embodiment(**({"key": "k", "title": "t", "joints": tuple(joints), "control_mode": "joint_position"} | more))


def one(values, joint, **more):
    """The canonical state of one dimension."""
    column = np.asarray(values, float)[:, None]
    return harmonize(make_episode(state=column, names=[joint.name], embodiment=card([joint], **more)))


@pytest.mark.parametrize(
    ("joint", "values", "expected"),
    [
        (Joint(name="a", unit="deg"), [90, -180], [np.pi / 2, -np.pi]),
        (Joint(name="a", unit="deg", sign=-1, offset=30), [120, 30], [-np.pi / 2, 0]),
        (Joint(name="a", unit="tick", ticks_per_turn=4096, zero_tick=2048), [3072, 2048], [np.pi / 2, 0]),
        (Joint(name="a", unit="tick", ticks_per_turn=1024, zero_tick=0, sign=-1), [256], [-np.pi / 2]),
        (
            Joint(name="a", unit="normalized", lower=-100, upper=100, lower_rad=-1.0, upper_rad=3.0),
            [-100, 0, 50],
            [-1.0, 1.0, 2.0],
        ),
        (Joint(name="a", unit="percent", lower=0, upper=100, lower_rad=2.0, upper_rad=0.0), [0, 25], [2.0, 1.5]),
        (Joint(name="a", kind="prismatic", unit="mm"), [250], [0.25]),
        (Joint(name="a", offset=-0.5), [0.5], [1.0]),
    ],
)
def test_joints_by_hand(joint, values, expected):
    made = one(values, joint)
    assert made.state["joints"].values[:, 0] == pytest.approx(expected)
    assert made.state["joints"].mask.tolist() == [True]
    assert made.restore()["observation.state"][:, 0] == pytest.approx(values, abs=1e-9)
    assert not made.residuals and not made.unconverted


@pytest.mark.parametrize(
    ("joint", "said"),
    [
        (Joint(name="a", unit="unknown"), "unit as unknown"),
        (Joint(name="a", unit="tick"), "without ticks_per_turn"),
        (Joint(name="a", unit="tick", ticks_per_turn=4096), "no zero_tick"),
        (Joint(name="a", unit="percent"), "without lower_rad and upper_rad"),
        (Joint(name="a", kind="prismatic", unit="rad"), "moves in m or mm"),
        (Joint(name="a", kind="hand"), "does not list it under pass_through"),
        (Joint(name="a", kind="gripper"), "at which values it is closed and open"),
    ],
)
def test_what_the_card_does_not_tell_is_not_converted(joint, said):
    made = one([1, 2], joint)
    assert said in made.unconverted["observation.state[a]"]
    assert not made.vector("state")[1].any()
    assert np.isnan(made.restore()["observation.state"]).all()


def test_gripper_polarity_and_range():
    jaw = Joint(name="jaw", kind="gripper", unit="m")
    for closed, opened in ((0.0, 0.08), (0.08, 0.0), (-1.0, 1.0)):
        values = closed + np.array([0.0, 0.5, 1.0]) * (opened - closed)
        made = one(values, jaw, grippers=(Gripper(joint="jaw", closed=closed, open=opened),))
        assert made.state["grippers"].values[:, 0] == pytest.approx([0, 0.5, 1])
        assert made.restore()["observation.state"][:, 0] == pytest.approx(values)
        assert not made.residuals


def test_a_clipped_gripper_tells_its_residual():
    jaw = Joint(name="jaw", kind="gripper", unit="percent")
    gripper = Gripper(joint="jaw", closed=0.0, open=100.0, clips=True)
    made = one([-4.0, 50.0, 103.0], jaw, grippers=(gripper,))
    assert made.state["grippers"].values[:, 0].tolist() == [0, 0.5, 1]
    assert made.residuals == {"observation.state[jaw]": pytest.approx(4.0)}
    assert "as the card says" in made.lossy["observation.state[jaw]"]
    silent = one([-4.0], jaw, grippers=(replace(gripper, clips=False),))
    assert "does not say" in silent.lossy["observation.state[jaw]"]


def pose_card(form="quaternion", order="xyzw", mode="eef_pose", unit="m", **more):
    names = POSE[: 3 + {"quaternion": 4, "axis_angle": 3, "euler_rpy": 3}[form]]
    joints = [Joint(name=n, kind="other", unit=unit) for n in names[:3]]
    joints += [Joint(name=n, kind="other", unit="normalized" if form == "quaternion" else "rad") for n in names[3:]]
    arm = Arm(name="arm", position=names[:3], rotation=names[3:], rotation_as=form)
    return card(joints, arms=(arm,), quaternion_order=order, control_mode=mode, **more)


def path(seed, frames=30):
    """Smooth poses: position (t, 3) and SciPy rotations."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, frames)[:, None]
    place = rng.normal(0, 0.3, 3) + np.sin(t * rng.uniform(1, 3, 3)) * 0.2
    return place, Rotation.from_rotvec(t * rng.normal(0, 0.6, 3)) * Rotation.random(random_state=seed)


def native(place, turn, form, order="xyzw", unit="m"):
    if form == "quaternion":
        written = turn.as_quat()
        written = np.roll(written, 1, axis=1) if order == "wxyz" else written
    else:
        written = turn.as_rotvec() if form == "axis_angle" else turn.as_euler("xyz")
    return np.concatenate([place * (1000 if unit == "mm" else 1), written], axis=1)


@pytest.mark.parametrize("unit", ["m", "mm"])
@pytest.mark.parametrize(
    ("form", "order"), [("quaternion", "xyzw"), ("quaternion", "wxyz"), ("axis_angle", ""), ("euler_rpy", "")]
)
def test_poses_of_every_form_are_one_pose(form, order, unit):
    place, turn = path(3)
    values = native(place, turn, form, order, unit)
    of = pose_card(form, order or "unknown", unit=unit)
    made = harmonize(make_episode(state=values, action=values, names=POSE[: values.shape[1]], embodiment=of))
    for blocks in (made.state, made.action):
        assert blocks["arm.position_m"].values == pytest.approx(place)
        same = np.abs(np.sum(blocks["arm.quaternion"].values * turn.as_quat(), axis=1))
        assert same == pytest.approx(1)
        matrix = turn.as_matrix()
        assert blocks["arm.rotation_6d"].values == pytest.approx(np.hstack([matrix[:, :, 0], matrix[:, :, 1]]))
        assert not blocks["arm.joints"].mask.any() and not blocks["base_velocity"].mask.any()
    back = made.restore()
    assert back["observation.state"] == pytest.approx(values, abs=1e-6)
    assert back["action"] == pytest.approx(values, abs=1e-6)
    assert not made.residuals


def test_signs_of_quaternions_are_made_continuous_and_come_back():
    place, turn = path(5)
    values = native(place, turn, "quaternion")
    values[7:12, 3:] *= -1
    made = harmonize(make_episode(state=values, names=POSE, embodiment=pose_card()))
    steps = np.sum(np.diff(made.state["arm.quaternion"].values, axis=0) ** 2, axis=1)
    assert steps.max() < 0.1
    assert made.restore()["observation.state"] == pytest.approx(values, abs=1e-9)


def test_an_unknown_order_is_not_guessed():
    place, turn = path(5)
    of = pose_card(order="unknown")
    made = harmonize(make_episode(state=native(place, turn, "quaternion"), names=POSE, embodiment=of))
    assert not made.state["arm.quaternion"].mask.any() and made.state["arm.position_m"].mask.all()
    assert "xyzw or wxyz" in made.unconverted["observation.state[qa]"]


def test_a_quaternion_of_another_length_tells_its_residual():
    place, turn = path(5)
    values = native(place, turn, "quaternion")
    values[:, 3:] *= 1.1
    made = harmonize(make_episode(state=values, names=POSE, embodiment=pose_card()))
    largest = np.abs(turn.as_quat()).max()
    assert max(made.residuals.values()) == pytest.approx(0.1 * largest, rel=1e-6)


# -- steps ----------------------------------------------------------------------------------------


def step_episode(seed, frame, origin, form, turn_base=None):
    """States, and actions that lead to known targets, in the card's words."""
    place, turn = path(seed, 30)
    aim, facing = path(seed + 100, 30)
    aim, facing = place + 0.02 * aim, Rotation.from_rotvec(0.05 * facing.as_rotvec()) * turn
    if turn_base is not None:
        place, aim, turn, facing = turn_base.apply(place), turn_base.apply(aim), turn_base * turn, turn_base * facing
    start, begin = place, turn
    if origin == "command":
        start = np.concatenate([place[:1], aim[:-1]])
        begin = Rotation.concatenate([turn[:1], facing[:-1]])
    moved = aim - start if frame == "base" else begin.inv().apply(aim - start)
    turned = facing * begin.inv() if frame == "base" else begin.inv() * facing
    of = pose_card(form, mode="eef_delta", action_frame=frame, delta_from=origin, rotation_delta="compose")
    acted, names = native(moved, turned, form), POSE[: 6 if form != "quaternion" else 7]
    episode = make_episode(state=native(place, turn, form), action=acted, names=names, embodiment=of)
    return episode, aim, facing


@given(st.integers(0, 500), st.sampled_from(["base", "end_effector"]), st.sampled_from(["state", "command"]))
@settings(max_examples=30, deadline=None)
def test_steps_lead_to_their_targets_and_back(seed, frame, origin):
    episode, aim, facing = step_episode(seed, frame, origin, "axis_angle")
    made = harmonize(episode)
    assert made.action["arm.position_m"].values == pytest.approx(aim, abs=1e-9)
    same = np.abs(np.sum(made.action["arm.quaternion"].values * facing.as_quat(), axis=1))
    assert same == pytest.approx(1)
    assert made.restore()["action"] == pytest.approx(episode.channels["action"].values, abs=1e-6)
    for frame_ in ("base", "end_effector"):
        again = harmonize(episode, actions=frame_)
        assert again.restore()["action"] == pytest.approx(episode.channels["action"].values, abs=1e-6)


@given(st.integers(0, 500))
@settings(max_examples=20, deadline=None)
def test_a_turned_base_gives_the_same_steps_of_the_end_effector(seed):
    turn = Rotation.random(random_state=seed + 7)
    plain, turned = (step_episode(seed, "base", "state", "quaternion", base)[0] for base in (None, turn))
    own, other = (harmonize(e, actions="end_effector").action for e in (plain, turned))
    for key in ("arm.position_m", "arm.rotation_6d"):
        assert own[key].values == pytest.approx(other[key].values, abs=1e-9)
    base = harmonize(plain, actions="base").action["arm.position_m"].values
    assert harmonize(turned, actions="base").action["arm.position_m"].values == pytest.approx(turn.apply(base))


def test_differences_of_angles_are_added_to_the_angles():
    place, turn = path(2)
    of = pose_card("euler_rpy", mode="eef_delta", action_frame="base", delta_from="state", rotation_delta="difference")
    step = np.tile([0.01, 0, 0, 0.02, -0.01, 0.03], (30, 1))
    made = harmonize(make_episode(state=native(place, turn, "euler_rpy"), action=step, names=POSE[:6], embodiment=of))
    facing = Rotation.from_euler("xyz", turn.as_euler("xyz") + step[:, 3:]).as_quat()
    assert np.abs(np.sum(made.action["arm.quaternion"].values * facing, axis=1)) == pytest.approx(1)
    assert made.restore()["action"] == pytest.approx(step, abs=1e-9)


@pytest.mark.parametrize("origin", ["state", "command"])
def test_joint_steps(origin):
    joint = Joint(name="a", unit="deg", sign=-1, offset=10)
    state, step = np.array([[10.0], [20], [40]]), np.array([[9.0], [18], [0]])
    of = card([joint], control_mode="joint_delta", delta_from=origin)
    made = harmonize(make_episode(state=state, action=step, names=["a"], embodiment=of))
    targets = {"state": [-9, -28, -30], "command": [-9, -27, -27]}[origin]
    assert made.action["joints"].values[:, 0] == pytest.approx(np.deg2rad(targets))
    assert made.restore()["action"] == pytest.approx(step)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"control_mode": "eef_delta", "action_frame": "base"}, "delta_from"),
        ({"control_mode": "eef_delta", "delta_from": "state"}, "action_frame"),
        ({"control_mode": "eef_delta", "delta_from": "state", "action_frame": "base"}, "rotation_delta"),
        ({"control_mode": "unknown"}, "control_mode"),
        ({"control_mode": "eef_velocity"}, "eef_velocity"),
    ],
)
def test_actions_that_the_card_does_not_explain(more, said):
    place, turn = path(1)
    values = native(place, turn, "axis_angle")
    of = replace(pose_card("axis_angle"), **more)
    made = harmonize(make_episode(state=values, action=values * 0.01, names=POSE[:6], embodiment=of))
    assert said in made.unconverted["action[qa]"]
    assert not made.action["arm.quaternion"].mask.any()


# -- any card -------------------------------------------------------------------------------------

UNITS = st.sampled_from(["rad", "deg", "tick", "percent", "m", "mm"])
ENDS = st.tuples(st.floats(-200, 200), st.floats(0.5, 200)).map(lambda e: (e[0], e[0] + e[1]))


@st.composite
def joints(draw, name):
    unit, sign = draw(UNITS), draw(st.sampled_from([-1, 1]))
    if unit == "tick":
        more = {"ticks_per_turn": draw(st.sampled_from([1024.0, 4096.0])), "zero_tick": draw(st.floats(0, 4096))}
    elif unit == "percent":
        lower, upper = draw(ENDS)
        first, last = draw(ENDS)
        return Joint(name=name, unit=unit, lower=lower, upper=upper, lower_rad=last, upper_rad=first)
    else:
        more = {"offset": draw(st.floats(-100, 100))}
    return Joint(name=name, unit=unit, sign=sign, **more)


@st.composite
def cards(draw):
    made = [draw(joints(f"j{i}")) for i in range(3)] + [Joint(name="jaw", kind="gripper", unit="unknown")]
    closed, opened = draw(st.permutations(draw(ENDS)))
    arm = Arm(name="a", joints=("j0", "j1"), gripper="jaw")
    mode = draw(st.sampled_from(["joint_position", "joint_delta"]))
    origin = draw(st.sampled_from(["state", "command"]))
    return card(
        made,
        arms=(arm,),
        grippers=(Gripper(joint="jaw", closed=closed, open=opened),),
        control_mode=mode,
        delta_from=origin,
    )


@given(cards(), st.integers(0, 1000), st.sampled_from(["absolute", "base", "end_effector"]))
@settings(max_examples=60, deadline=None)
def test_whatever_the_card_says_numbers_come_back(of, seed, actions):
    rng = np.random.default_rng(seed)
    native_ = rng.uniform(-300, 300, (2, 20, 4))
    jaw = of.grippers[0]
    native_[:, :, 3] = jaw.closed + rng.uniform(0, 1, (2, 20)) * (jaw.open - jaw.closed)
    episode = make_episode(state=native_[0], action=native_[1], names=["j0", "j1", "j2", "jaw"], embodiment=of)
    made = harmonize(episode, actions=actions)
    assert not made.unconverted and not made.residuals
    back = made.restore()
    assert back["observation.state"] == pytest.approx(native_[0], abs=1e-6)
    assert back["action"] == pytest.approx(native_[1], abs=1e-6)
    opening = made.state["a.gripper"].values
    assert opening.min() >= 0 and opening.max() <= 1


# -- the rest -------------------------------------------------------------------------------------


def test_base_velocity_pass_through_and_masks():
    joints = [Joint(name=n, kind="base", unit=u) for n, u in (("vx", "mm"), ("vy", "m"), ("wz", "deg"))]
    joints += [Joint(name="thumb", kind="hand", unit="normalized"), Joint(name="j")]
    of = card(joints, base_velocity=("vx", "vy", "wz"), pass_through=("thumb",))
    names = ["vx", "vy", "wz", "thumb", "odd"]
    made = harmonize(make_episode(state=np.array([[500.0, 1, 180, 0.3, 9]]), names=names, embodiment=of))
    assert made.state["base_velocity"].values[0] == pytest.approx([0.5, 1.0, np.pi])
    assert made.state["pass_through"].values.tolist() == [[0.3]]
    assert made.state["joints"].mask.tolist() == [False]
    values, mask, labels = made.vector("state")
    assert labels == ("joints/j", "base_velocity/vx", "base_velocity/vy", "base_velocity/wz", "pass_through/thumb")
    assert mask.tolist() == [False, True, True, True, True] and values.shape == (1, 5)
    assert made.unconverted == {"observation.state[odd]": "the card names no such joint"}
    assert made.restore()["observation.state"][0, :4] == pytest.approx([500.0, 1, 180, 0.3])


def test_two_dimensions_of_one_joint_are_not_mixed_up():
    joint = Joint(name="pan", aliases=("left_pan", "right_pan"))
    made = harmonize(make_episode(state=np.ones((2, 2)), names=["left_pan", "right_pan"], embodiment=card([joint])))
    assert "two dimensions answer" in made.unconverted["observation.state[left_pan]"]


def test_kinematics_give_the_pose_that_was_not_recorded():
    arm = Arm(name="arm", joints=("a",))
    of = card([Joint(name="a", unit="deg")], arms=(arm,))

    def forward(joints):
        turn = Rotation.from_rotvec(joints * [0.0, 0, 1])
        return turn.apply([0.3, 0, 0]), turn.as_matrix()

    episode = make_episode(state=np.array([[0.0], [90]]), action=np.array([[90.0], [0]]), names=["a"], embodiment=of)
    made = harmonize(episode, kinematics={"arm": forward})
    assert made.state["arm.position_m"].values == pytest.approx(np.array([[0.3, 0, 0], [0, 0.3, 0]]))
    assert made.action["arm.position_m"].values[0] == pytest.approx([0, 0.3, 0])
    assert made.restore()["action"] == pytest.approx(np.array([[90.0], [0]]))
    steps = harmonize(episode, actions="end_effector", kinematics={"arm": forward})
    assert steps.action["arm.position_m"].values[0] == pytest.approx([-0.3, 0.3, 0])


def test_another_rate_holds_the_newest_sample():
    t = np.arange(31) / 30
    episode = make_episode(state=t[:, None], action=t[:, None] + 1, names=["a"], embodiment=card([Joint(name="a")]))
    made = harmonize(episode, rate_hz=10)
    assert made.times_s == pytest.approx(np.arange(11) / 10)
    assert made.state["joints"].values[:, 0] == pytest.approx(np.arange(11) / 10)
    with pytest.raises(UsageError, match="cannot be restored"):
        made.restore()
    assert harmonize(episode, rate_hz=30).restore()["action"] == pytest.approx(t[:, None] + 1)
    off = harmonize(episode, rate_hz=20)
    assert off.state["joints"].values[:3, 0] * 30 == pytest.approx([0, 1, 3])
    with pytest.raises(UsageError, match=r"\[resample\]"):
        harmonize(episode, rate_hz=50)


def test_steps_at_another_rate_lead_to_the_last_target_of_each_tick():
    of = card([Joint(name="a")], control_mode="joint_delta", delta_from="command")
    episode = make_episode(state=np.zeros((31, 1)), action=np.ones((31, 1)), names=["a"], embodiment=of)
    made = harmonize(episode, rate_hz=10)
    assert made.action["joints"].values[:3, 0].tolist() == [3, 6, 9]


def test_holes_cannot_be_held_over():
    times = np.arange(31) / 30
    times[10:] += 1
    one_joint = card([Joint(name="a")])
    episode = make_episode(state=np.zeros((31, 1)), names=["a"], times_s=times, embodiment=one_joint)
    with pytest.raises(UsageError, match="holes in its clock"):
        harmonize(episode, rate_hz=10)


def test_nan_and_nothing():
    of = pose_card()
    values = np.full((3, 7), np.nan)
    made = harmonize(make_episode(state=values, action=values, names=POSE, embodiment=of))
    assert np.isnan(made.state["arm.quaternion"].values).all()
    none = harmonize(make_episode(state=np.zeros((0, 7)), names=POSE, embodiment=of))
    assert none.vector("state")[0].shape == (0, 17)


def test_an_inferred_card_converts_nothing():
    made = harmonize(make_episode(state=np.ones((3, 2)), action=np.ones((3, 2))))
    assert len(made.unconverted) == 4 and not made.vector("state")[1].any()


def test_it_is_part_of_the_package():
    assert gristmill.harmonize is harmonize
