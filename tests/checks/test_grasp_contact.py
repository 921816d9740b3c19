"""Picks that no sensor felt."""

from __future__ import annotations

import pytest
from picks import pick

from gristmill.checks.grasp_contact import GraspContact
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, reaching


class TestGraspContact(CheckContract):
    check = GraspContact()

    def clean_episode(self, index):
        return pick(index)

    def broken_episode(self, index):
        return pick(index, force_n=0)


def test_the_span_is_where_the_gripper_is_closed():
    (found,) = judge(GraspContact(), [pick(0), pick(1, force_n=0)])
    assert (found.row, found.kind, found.channel) == (1, Kind.RISK, "observation.state[gripper]")
    ((start, end),) = found.spans_s
    assert start == pytest.approx(1.4, abs=0.1)  # the state follows a tenth of a second late
    assert end == pytest.approx(3.3, abs=0.15)
    assert found.measured is not None
    assert found.measured < 4
    assert found.threshold == 6


@pytest.mark.parametrize("noise_n", [0.0, 0.02, 0.3])
def test_the_sensors_own_noise_and_zero_count(noise_n):
    episodes = [pick(i, noise_n=noise_n, zero_n=-30.0, force_n=0 if i == 2 else 4) for i in range(6)]
    assert [f.row for f in judge(GraspContact(), episodes)] == [2]


def test_a_force_within_the_noise_is_none():
    episodes = [pick(i, noise_n=0.3, force_n=0.5 if i == 2 else 4) for i in range(6)]
    assert [f.row for f in judge(GraspContact(), episodes)] == [2]


@pytest.mark.parametrize(
    ("sensor", "names"),
    [
        ("observation.gripper_effort", None),
        ("observation.effort", ("joint1", "gripper")),
        ("observation.tactile", ("a", "b", "c")),
        ("observation.wrench", ("fx", "fy", "fz", "tx", "ty", "tz")),
        ("contact", None),
    ],
)
def test_sensors_are_known_by_name(sensor, names):
    episodes = [pick(i, sensor=sensor, names=names, force_n=0 if i == 2 else 4) for i in range(6)]
    assert [f.row for f in judge(GraspContact(), episodes)] == [2]


@pytest.mark.parametrize(
    ("sensor", "names"),
    [
        ("observation.effort", ("joint1", "joint2")),
        ("observation.velocity", ("gripper",)),
        ("observation.current_state", ("gripper",)),
        (None, None),
    ],
)
def test_efforts_of_arms_are_no_sensor(sensor, names):
    unknown = GraspContact().measure(pick(0, sensor=sensor, names=names, force_n=0)).unknown
    assert unknown == "no sensor of contact, force or the gripper's effort was recorded"


def test_a_sensor_that_says_yes_or_no():
    episodes = [pick(i, force_n=0 if i == 2 else 1, noise_n=0, zero_n=0) for i in range(6)]
    assert [f.row for f in judge(GraspContact(), episodes)] == [2]


def test_without_polarity_the_text_alone_claims():
    made = [pick(i, card=None, force_n=0 if i == 2 else 4) for i in range(6)]
    assert [f.row for f in judge(GraspContact(), made)] == [2]
    pushed = [pick(i, card=None, force_n=0 if i == 2 else 4, task="push the cube") for i in range(6)]
    assert judge(GraspContact(), pushed) == []


def test_with_polarity_closing_and_opening_claims():
    made = [pick(i, force_n=0 if i == 2 else 4, task="tidy up") for i in range(6)]
    (found,) = judge(GraspContact(), made)
    assert found.row == 2
    assert found.message.startswith("The gripper closes and opens")


def test_a_dead_sensor_is_told_once():
    (found,) = judge(GraspContact(), [pick(i, force_n=0) for i in range(6)])
    assert (found.row, found.code) == (None, "dead_sensor")


def test_a_failed_episode_says_so_itself():
    made = [pick(i, force_n=0 if i == 2 else 4, success=i != 2) for i in range(6)]
    assert [(f.row, f.kind) for f in judge(GraspContact(), made)] == [(2, Kind.TRAIT)]


def test_robots_without_gripper_or_sensor_cost_nothing():
    assert GraspContact().measure(reaching(0)).unknown
    assert GraspContact().measure(pick(0, sensor=None)).unknown


def test_a_contact_before_the_grasp_does_not_count():
    episode = pick(2, force_n=0)
    values = episode.channels["observation.contact_force"].values
    values[20:30] += 5  # a bump against the table, before the gripper closes at 1.4 s
    made = [pick(i) if i != 2 else episode for i in range(6)]
    assert [f.row for f in judge(GraspContact(), made)] == [2]
