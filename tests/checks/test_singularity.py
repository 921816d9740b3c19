"""Singularities of arms and of Euler angles."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow.parquet as pq
import pytest
from robot_files import robot_file

from gristmill.checks.singularity import Singularity
from gristmill.embodiment import Arm, Embodiment, Joint, load_card
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode

NAMES = ("pan", "lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
MODEL_NAMES = (
    "shoulder_pan_joint",
    "shoulder_lift_joint",
    "elbow_joint",
    "wrist_1_joint",
    "wrist_2_joint",
    "wrist_3_joint",
)


@cache
def ur5(control_mode="eef_pose", unit="rad") -> Embodiment:
    joints = tuple(Joint(name=n, aliases=(m,), unit=unit) for n, m in zip(NAMES, MODEL_NAMES, strict=True))
    return Embodiment(
        key="ur5",
        title="UR5",
        urdf=str(robot_file("ur_description/urdf/ur5_robot.urdf")),
        joints=joints,
        control_mode=control_mode,
    )


def moving(index, wrist=None, card=None, scale=1.0):
    """Four seconds of a UR5 with its elbow and wrist bent; `wrist` replaces what its fifth joint does."""
    t = np.arange(120) / 30
    rng = np.random.default_rng(index)
    base = np.array([0.4, -1.1, 1.3, -0.8, 1.2, 0.5])
    state = base + 0.2 * np.sin(2 * np.pi * 0.3 * t[:, None] + rng.uniform(0, 6, 6))
    if wrist is not None:
        state[:, 4] = wrist(t)
    return make_episode(state=(state * scale).astype(np.float32), names=NAMES, index=index, embodiment=card or ur5())


def through_zero(t):
    """The fifth joint rests at 0, where axes 4 and 6 are parallel, from second 2 on."""
    return np.interp(t, [0, 1.9, 2.0, 3.0, 3.1, 4], [1.0, 0.2, 0.0, 0.0, 0.2, 1.0])


class TestSingularity(CheckContract):
    check = Singularity()

    def clean_episode(self, index):
        return moving(index)

    def broken_episode(self, index):
        return moving(index, through_zero)


def test_span_joint_and_figure():
    (found,) = judge(Singularity(), [moving(0), moving(1, through_zero)])
    assert (found.row, found.kind, found.code) == (1, Kind.RISK, "arm")
    assert found.channel in ("observation.state[wrist_1]", "observation.state[wrist_3]")  # the two parallel axes
    ((start, end),) = found.spans_s
    assert start == pytest.approx(2.0, abs=0.1)
    assert end == pytest.approx(3.1, abs=0.1)
    assert found.measured is not None
    assert found.measured > 1000
    assert "singularity" in found.message


def test_actions_by_joints_are_not_hurt():
    card = ur5("joint_position")
    found = judge(Singularity(), [moving(0, card=card), moving(1, through_zero, card=card)])
    assert [(f.row, f.kind) for f in found] == [(1, Kind.TRAIT)]


def test_actions_named_like_joints_are_joints():
    card = ur5("unknown")
    made = [moving(0, card=card), moving(1, through_zero, card=card)]
    assert [f.kind for f in judge(Singularity(), made)] == [Kind.RISK]  # no actions, so nothing says so
    state = made[1].channels["observation.state"].values
    both = make_episode(state=state, action=state, names=NAMES, index=1, embodiment=card)
    assert [f.kind for f in judge(Singularity(), [both])] == [Kind.TRAIT]


def test_degrees_are_turned_into_radians():
    card = ur5(unit="deg")
    found = judge(Singularity(), [moving(0, card=card, scale=180 / np.pi), moving(1, through_zero, card, 180 / np.pi)])
    assert [f.row for f in found] == [1]


def test_two_links_in_a_plane(tmp_path):
    """The amplification is the median singular value over this one, which a closed form gives."""
    from planar_arms import planar_urdf

    path = tmp_path / "planar.urdf"
    path.write_text(planar_urdf(0.5, 0.3))
    card = Embodiment(key="p", title="p", urdf=str(path), joints=(Joint(name="q1"), Joint(name="q2")))
    state = np.stack([np.linspace(0, 1, 90), np.full(90, 0.02)], axis=1)
    measured = Singularity().measure(make_episode(state=state, names=["q1", "q2"], embodiment=card))

    def smallest(q2):
        c, s = np.cos(q2), np.sin(q2)
        jacobian = np.array([[-0.3 * s, -0.3 * s], [0.5 + 0.3 * c, 0.3 * c]])  # at q1 = 0
        return np.linalg.svd(jacobian, compute_uv=False)[-1]

    median = np.median([smallest(q) for q in np.linspace(-3.2, 3.2, 20001)])
    assert measured.values["amplification"] == pytest.approx(median / smallest(0.02), rel=0.05)
    (event,) = measured.events
    assert (event.start_s, event.end_s) == (0, pytest.approx(3.0))


EULER = ("x", "y", "z", "roll", "pitch", "yaw")


def posed(index, pitch, unit="rad", arms=()):
    joints = tuple(Joint(name=n, kind="other", unit="m" if n in "xyz" else unit) for n in EULER)
    card = Embodiment(key="e", title="e", joints=joints, arms=arms)
    t = np.arange(120) / 30
    state = np.repeat(0.3 * np.sin(t)[:, None], 6, axis=1)
    state[:, 4] = pitch(t)
    return make_episode(state=state, names=EULER, index=index, embodiment=card)


def lock(t):
    return np.interp(t, [0, 2, 3, 4], [0.5, 1.55, 1.55, 0.5])


def test_gimbal_lock():
    (found,) = judge(Singularity(), [posed(0, lambda t: 0.5 + 0 * t), posed(1, lock)])
    assert (found.row, found.kind, found.code, found.channel) == (
        1,
        Kind.RISK,
        "gimbal_lock",
        "observation.state[pitch]",
    )
    assert found.measured == pytest.approx(1 / np.cos(1.55), rel=1e-6)
    ((start, end),) = found.spans_s
    # Kept from an amplification of 10 on, where pitch is arccos(1 / 10), 1.4706.
    assert start == pytest.approx(2 * (1.4706 - 0.5) / 1.05, abs=0.05)
    assert end == pytest.approx(3 + (1.55 - 1.4706) / 1.05, abs=0.05)


def test_gimbal_lock_in_degrees_and_by_the_cards_arm():
    assert (
        judge(Singularity(), [posed(0, lambda t: 0 * t + 50, "deg"), posed(1, lambda t: 0 * t + 89, "deg")])[0].row == 1
    )
    arm = Arm(name="a", position=("x", "y", "z"), rotation=("yaw", "pitch", "roll"), rotation_as="euler_rpy")
    assert [
        f.row for f in judge(Singularity(), [posed(0, lambda t: 0 * t, arms=(arm,)), posed(1, lock, arms=(arm,))])
    ] == [1]


@pytest.mark.parametrize("named", [True, False])
def test_the_zero_and_the_sign_of_pitch_count(named):
    """Recorded 90 with a zero at 90 is level; recorded 0 with it is the pole."""
    arms = (Arm(name="a", position=EULER[:3], rotation=EULER[3:], rotation_as="euler_rpy"),) if named else ()

    def zeroed(index, degrees):
        made = posed(index, lambda t: degrees + 0 * t, "deg", arms)
        joints = tuple(replace(j, sign=-1, offset=90.0) if j.name == "pitch" else j for j in made.embodiment.joints)
        return replace(made, embodiment=replace(made.embodiment, joints=joints))

    assert judge(Singularity(), [zeroed(0, 90.0), zeroed(1, 60.0)]) == []
    (found,) = judge(Singularity(), [zeroed(0, 90.0), zeroed(1, 1.0)])
    assert (found.row, found.code) == (1, "gimbal_lock")
    assert found.measured == pytest.approx(1 / np.cos(np.radians(89)))


def test_joints_called_pitch_are_no_euler_angles():
    names = ["waist_roll", "waist_pitch", "waist_yaw"]
    card = Embodiment(key="w", title="w", joints=tuple(Joint(name=n) for n in names))
    episode = make_episode(state=np.full((60, 3), 1.57), names=names, embodiment=card)
    assert (
        Singularity().measure(episode).unknown == "the robot's card names no model (urdf or mjcf) and no Euler angles"
    )


def test_units_that_are_no_angles_are_unknown():
    card = replace(ur5(), joints=tuple(replace(j, unit="percent") for j in ur5().joints))
    unknown = Singularity().measure(moving(0, card=card)).unknown
    assert unknown is not None
    assert "in percent" in unknown


def test_a_gripper_whose_unit_is_not_known_hides_no_arm(tmp_path):
    from planar_arms import planar_urdf

    path = tmp_path / "planar.urdf"
    path.write_text(planar_urdf(0.5, 0.3, 0.1))
    jaw = Joint(name="gripper", aliases=("q3",), kind="gripper", unit="unknown")
    card = Embodiment(key="p", title="p", urdf=str(path), joints=(Joint(name="q1"), Joint(name="q2"), jaw))
    state = np.stack([np.linspace(0, 1, 90), np.full(90, 0.5), np.linspace(0, 80, 90)], axis=1)
    episode = make_episode(state=state, names=["q1", "q2", "gripper"], embodiment=card)
    assert Singularity().measure(episode).values["amplification"] > 0
    arm = replace(card, joints=(Joint(name="q1"), Joint(name="q2", unit="unknown"), replace(jaw, unit="rad")))
    assert "in unknown" in (Singularity().measure(replace(episode, embodiment=arm)).unknown or "")


def test_a_broken_model_is_unknown_with_its_reason(tmp_path):
    (tmp_path / "r.urdf").write_text("<robot")
    card = replace(ur5(), urdf=str(tmp_path / "r.urdf"))
    unknown = Singularity().measure(moving(0, card=card)).unknown
    assert unknown is not None
    assert "r.urdf: not valid XML" in unknown


def test_without_a_model_nothing_heavy_is_imported():
    import subprocess
    import sys

    code = (
        "import sys, numpy as np\n"
        "from gristmill.checks.singularity import Singularity\n"
        "from gristmill.checks.self_collision import SelfCollision\n"
        "from gristmill.testing import reaching\n"
        "assert Singularity().measure(reaching(0)).unknown and SelfCollision().measure(reaching(0)).unknown\n"
        "print([m for m in sys.modules if m.startswith(('mujoco', 'xml', 'gristmill.kinematics'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_real_humanoid_is_never_near_one(real_data):
    folder = real_data / "g1_inspire"
    info = json.loads((folder / "meta" / "info.json").read_text())
    names = info["features"]["observation.state"]["names"][0]
    card = replace(load_card("g1"), urdf=str(robot_file("g1_description/urdf/g1_29dof_rev_1_0.urdf")))
    episodes = []
    for i, path in enumerate(sorted(folder.glob("data/*/*.parquet"))):
        table = pq.read_table(path)
        state, action = (np.stack(table[k].to_numpy()) for k in ("observation.state", "action"))
        episodes.append(make_episode(state=state, action=action, names=names, index=i, embodiment=card))
    measured = [Singularity().measure(e) for e in episodes]
    assert [m.unknown for m in measured] == [None] * 4
    assert max(m.values["amplification"] for m in measured) < 5
    assert judge(Singularity(), episodes) == []
