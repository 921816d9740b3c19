"""Robots that run into themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
import pytest
from planar_arms import planar_urdf
from robot_files import robot_file

from gristmill.checks.self_collision import SelfCollision
from gristmill.embodiment import Embodiment, Joint, load_card
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, measure_all

NAMES = ("q1", "q2", "q3")
FOLDER = TemporaryDirectory(prefix="gristmill-test-")  # goes when the tests end


@cache
def card() -> Embodiment:
    """Three links in a plane; the third one can be folded onto the first one."""
    path = Path(FOLDER.name) / "planar.urdf"
    path.write_text(planar_urdf(0.5, 0.3, 0.5))
    return Embodiment(key="p", title="p", urdf=str(path), joints=tuple(Joint(name=n) for n in NAMES))


def arm(index, folded=False, depth=1.0):
    t = np.arange(120) / 30
    state = np.stack([0.3 * np.sin(t + index), 0.5 + 0.2 * np.sin(t), 0.3 * np.cos(t)], axis=1)
    if folded:
        fold = np.interp(t, [1, 1.5, 2.5, 3], [0, 1, 1, 0])[:, None] * depth
        state = (1 - fold) * state + fold * np.array([0, np.pi, np.pi])
    return make_episode(state=state, names=NAMES, index=index, embodiment=card())


class TestSelfCollision(CheckContract):
    check = SelfCollision()

    def clean_episode(self, index):
        return arm(index)

    def broken_episode(self, index):
        return arm(index, folded=True)


def test_links_span_and_depth():
    (found,) = judge(SelfCollision(), [arm(0), arm(1, folded=True)])
    assert (found.row, found.kind, found.channel) == (1, Kind.RISK, "observation.state")
    assert "link1 and link3 are" in found.message
    assert "mm inside each other" in found.message
    ((start, end),) = found.spans_s
    assert 1 < start < 1.5
    assert 2.5 < end < 3
    # Folded flat, the cylinders (radius 2 cm, 0.4 m) lie in each other, shifted by 0.3 m along their common axis.
    assert found.measured is not None
    assert found.measured <= -0.03


def test_a_margin_asks_for_more_distance():
    # Beside each other at 0.3 m, in a square: 0.26 m are left.
    state = np.tile([0.3, np.pi / 2, np.pi / 2], (60, 1))
    episode = make_episode(state=state, names=NAMES, embodiment=card())
    assert judge(SelfCollision(), [episode]) == []
    (found,) = judge(SelfCollision(margin_m=0.3), [episode])
    assert found.measured == pytest.approx(0.26, abs=1e-4)
    assert "260 mm apart" in found.message
    (measured,) = measure_all(SelfCollision(reach_m=0.5), [episode])
    assert measured is not None
    assert measured.values["clearance"] == pytest.approx(0.26, abs=1e-4)


def test_a_spike_is_left_to_its_own_check():
    episode = arm(0)
    state = episode.channels["observation.state"].values.copy()
    state[60:62] = [0, np.pi, np.pi]
    assert judge(SelfCollision(), [make_episode(state=state, names=NAMES, embodiment=card())]) == []


def test_a_wrong_sign_of_a_real_arm_is_found():
    """A Panda whose fourth joint, which only bends one way, is recorded with the other sign."""
    joints = tuple(Joint(name=f"panda_joint{i}") for i in range(1, 8))
    panda = Embodiment(key="f", title="f", urdf=str(robot_file("panda_description/urdf/panda.urdf")), joints=joints)
    t = np.arange(90)[:, None] / 30
    state = np.array([0, -0.4, 0, -2.4, 0, 2.0, 0.8]) + 0.2 * np.sin(t)
    names = [j.name for j in joints]
    right = make_episode(state=state, names=names, embodiment=panda)
    wrong = make_episode(state=state * [1, 1, 1, -1, 1, 1, 1], names=names, embodiment=panda, index=1)
    assert [f.row for f in judge(SelfCollision(), [right, wrong])] == [1]


def test_shapes_that_lack_make_it_unknown(tmp_path):
    text = planar_urdf(0.5, 0.3, 0.5).replace('<cylinder radius="0.02" length="0.24"/>', '<mesh filename="gone.stl"/>')
    (tmp_path / "r.urdf").write_text(text)
    robot = replace(card(), urdf=str(tmp_path / "r.urdf"))
    (measured,) = measure_all(SelfCollision(), [replaced(arm(0, folded=True), robot)])
    assert measured is not None
    assert measured.unknown == "the model's shapes are not complete (link2: gone.stl, no such file)"


def replaced(episode, robot):
    return make_episode(state=episode.channels["observation.state"].values, names=NAMES, embodiment=robot)


def test_the_real_humanoid_never_touches_itself(real_data):
    folder = real_data / "g1_inspire"
    info = json.loads((folder / "meta" / "info.json").read_text())
    names = info["features"]["observation.state"]["names"][0]
    g1 = replace(load_card("g1"), urdf=str(robot_file("g1_description/urdf/g1_29dof_rev_1_0.urdf")))
    episodes = []
    for i, path in enumerate(sorted(folder.glob("data/*/*.parquet"))):
        state = np.stack(pq.read_table(path)["observation.state"].to_numpy())
        episodes.append(make_episode(state=state, names=names, index=i, embodiment=g1))
    measured = measure_all(SelfCollision(), episodes)
    assert [m and m.unknown for m in measured] == [None] * 4
    # The nearest pair, forearm and wrist, is built 9.5 mm apart.
    assert min(m.values["clearance"] for m in measured if m) == pytest.approx(0.0095, abs=1e-4)
    assert judge(SelfCollision(), episodes) == []
