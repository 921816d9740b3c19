"""Grippers that close on nothing, or not at all."""

from __future__ import annotations

import pytest
from picks import pick

from gristmill.checks.empty_grasp import EmptyGrasp
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge


class TestEmptyGrasp(CheckContract):
    check = EmptyGrasp()

    def clean_episode(self, index):
        return pick(index)

    def broken_episode(self, index):
        return pick(index, width=0.0)


def corpus(odd, **more):
    """Seven good picks and an odd one in row 3."""
    return [pick(i, **(more | odd if i == 3 else more)) for i in range(8)]


def test_how_far_the_fingers_were_kept():
    (found,) = judge(EmptyGrasp(), corpus({"width": 0.0}))
    assert (found.row, found.kind, found.code) == (3, Kind.RISK, "closes_on_nothing")
    # An object of 0.4 of the range keeps the fingers 0.4 away from their command; nothing keeps them.
    assert found.threshold == pytest.approx(0.1 * 0.4, abs=1e-3)
    assert found.measured == pytest.approx(0, abs=2e-3)
    ((start, end),) = found.spans_s
    assert start == pytest.approx(1.4, abs=0.1)
    assert end == pytest.approx(3.3, abs=0.15)


def test_a_gripper_that_never_closes():
    (found,) = judge(EmptyGrasp(), corpus({"closes": 0.05}))
    assert (found.row, found.kind, found.code) == (3, Kind.RISK, "never_closes")
    assert found.threshold == pytest.approx(0.3 * 0.6, abs=5e-3)  # the fingers usually go from 1 to 0.4
    assert found.measured == pytest.approx(0.05, abs=5e-3)


def test_by_the_cards_range_alone():
    """Without commands and sensors, the closed end of the range is where the fingers should go."""
    assert judge(EmptyGrasp(), corpus({}, sensor=None, command=False)) == []
    (found,) = judge(EmptyGrasp(), corpus({"width": 0.0}, sensor=None, command=False))
    assert (found.row, found.code) == (3, "closes_on_nothing")


@pytest.mark.parametrize("flipped", [False, True])
def test_polarity_by_touch(flipped):
    more = {"card": None, "flipped": flipped}
    assert judge(EmptyGrasp(), corpus({}, **more)) == []
    assert [(f.row, f.code) for f in judge(EmptyGrasp(), corpus({"width": 0.0}, **more))] == [(3, "closes_on_nothing")]
    assert [(f.row, f.code) for f in judge(EmptyGrasp(), corpus({"closes": 0.05}, **more))] == [(3, "never_closes")]


def test_what_is_felt_is_held():
    """A ring around the fingers, or a soft thing: they reach their command, and the sensor feels it."""
    made = corpus({"width": 0.0})
    made[3].channels["observation.contact_force"].values[60:80] += 4
    assert judge(EmptyGrasp(), made) == []


def test_thin_objects_are_left_alone():
    assert judge(EmptyGrasp(), [pick(i, width=0.01, sensor=None) for i in range(8)]) == []


def test_a_force_that_is_missing_is_another_matter():
    assert judge(EmptyGrasp(), corpus({"force_n": 0.0})) == []


def test_nothing_is_claimed():
    assert judge(EmptyGrasp(), corpus({"width": 0.0, "task": "push the cube"})) == []


def test_without_polarity_and_touch_it_is_unknown():
    unknown = EmptyGrasp().measure(pick(0, card=None, sensor=None)).unknown
    assert unknown == "neither a card that says which way is closed nor a sensor at the fingers"
    wrist = EmptyGrasp().measure(pick(0, card=None, sensor="observation.wrench")).unknown
    assert wrist == "no gripper of which a card or a sensor says which way is closed"


def test_few_episodes_are_held_against_the_cards_range():
    (found,) = judge(EmptyGrasp(), [pick(0), pick(1, closes=0.05)])
    assert (found.row, found.code, found.threshold) == (1, "never_closes", pytest.approx(0.1))
    assert judge(EmptyGrasp(), [pick(0), pick(1, width=0.0)]) == []


def test_a_failed_episode_says_so_itself():
    made = [pick(i, width=0.0 if i == 3 else 0.4, success=i != 3) for i in range(8)]
    assert [(f.row, f.kind) for f in judge(EmptyGrasp(), made)] == [(3, Kind.TRAIT)]


def test_objects_of_one_task_are_compared_with_each_other():
    """Thin sheets beside cubes: their fingers always meet, and nothing is said of them."""
    cubes = [pick(i, width=0.0 if i == 3 else 0.4) for i in range(10)]
    sheets = [pick(10 + i, width=0.01, sensor=None, task="pick up the sheet") for i in range(10)]
    assert [f.row for f in judge(EmptyGrasp(), [*cubes, *sheets])] == [3]
