"""What recordings tell of grasps: closings, sensors and their noise."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.episode import Channel
from gristmill.grasping import grips, noises, places_of, ranked, sustained


def test_closings_of_a_gripper():
    signal = np.concatenate([np.zeros(10), np.linspace(0, 1, 11), np.ones(9), np.linspace(1, 0, 11), np.zeros(5)])
    (grip,) = grips(signal, 0.2)
    assert abs(grip.start - 10) <= 1
    assert abs(grip.closed - 20) <= 1
    assert abs(grip.stop - 30) <= 1
    assert grips(signal, 1.5) == []
    assert [g.stop for g in grips(signal[:25], 0.2)] == [25]  # never opens again
    assert grips(np.zeros(5), 0.0) == []


def test_noise_is_that_of_the_sensor_and_not_the_grasp():
    rng = np.random.default_rng(0)
    values = 100 + rng.normal(0, 0.5, (300, 1))
    values[150:] += 10  # twenty standard deviations
    found = noises(values, 15)
    assert np.median(found[150:]) == pytest.approx(20, rel=0.15)
    assert np.quantile(found[:150], 0.99) < 4


def test_the_strongest_column_counts():
    values = np.zeros((100, 2))
    values[:, 0] = np.arange(100) % 2  # a step of 1 either way: its noise is 1.4826 / sqrt(2)
    values[50:, 1] = np.linspace(1, 6, 50)  # it changes half of the time, most often by 5 / 49
    found = noises(values, 10)
    assert found[:50].max() == pytest.approx(np.sqrt(2) / 1.4826)
    assert found[99] == pytest.approx(6 / (5 / 49) * np.sqrt(2) / 1.4826)


def test_a_switch_has_no_noise():
    values = np.zeros((100, 1))
    values[40:60] = 1
    found = noises(values, 10)
    assert found[50] == pytest.approx(10)  # a tenth of its step stands for its noise
    assert found[30] == 0


@pytest.mark.parametrize("values", [np.zeros((0, 2)), np.zeros((1, 2)), np.full((5, 1), np.nan), np.full((5, 1), 7.0)])
def test_sensors_that_say_nothing_feel_nothing(values):
    assert noises(values, 3).tolist() == [0.0] * len(values)


def test_gaps_and_infinities_feel_nothing():
    values = np.array([[0.0], [0.1], [np.nan], [0.0], [np.inf], [0.1]])
    found = noises(values, 3)
    assert found[[2, 4]].tolist() == [0, 0]
    assert np.isfinite(found).all()


def test_what_lasts():
    assert sustained(np.array([1.0, 9.0, 3.0, 7.0]), 2) == 7.0
    assert sustained(np.array([1.0]), 2) == 0.0
    assert ranked(np.array([4.0, 1.0, 3.0, 2.0]), 0.5) == 2.0


def channel(key, *names):
    return Channel(key, "other", np.zeros((2, len(names))), np.arange(2.0), names)


def test_where_sensors_are():
    channels = [
        channel("observation.state", "left_gripper", "left_gripper.effort"),
        channel("observation.wrench.right", "fx", "fy"),
        channel("fingertips.touch", "left_a", "left_b", "right_a"),
        channel("observation.joint_torques", "joint1", "joint2"),
        channel("observation.payload", "mass"),
    ]
    found = [(p.key, p.columns, p.sense, p.side) for p in places_of({c.key: c for c in channels})]
    assert found == [
        ("observation.state", (1,), "effort", "left"),
        ("observation.wrench.right", (0, 1), "wrench", "right"),
        ("fingertips.touch", (0, 1), "touch", "left"),
        ("fingertips.touch", (2,), "touch", "right"),
    ]
    assert places_of({"action": Channel("action", "action", np.zeros((2, 1)), np.arange(2.0), ("force",))}) == ()
