"""Demonstrations: what the simulation says of them, and that they look like a person's."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest

from gristmill.synth.expert import TASKS, Demonstration, demonstrate
from gristmill.synth.scene import CUBE_HALF_M, ENCODER_RAD, GRIPPER_STEP, LIMITS_RAD

RATE_HZ = 30.0
EACH = 60


@cache
def demonstrations(task: str) -> list[Demonstration]:
    return [demonstrate(task, np.random.default_rng([8, i]), RATE_HZ) for i in range(EACH)]


@pytest.mark.parametrize("task", TASKS)
def test_at_least_95_percent_succeed_in_the_simulation(task):
    assert np.mean([d.success[-1] for d in demonstrations(task)]) >= 0.95


def test_success_is_read_from_the_cube_not_from_the_plan():
    for d in demonstrations("lift"):
        assert d.success[-1] == (d.rollout.cube_m[-1, 2] > 0.06 and d.rollout.contact_n[-1].min() > 0)
    for d in demonstrations("pick_place"):
        if d.success[-1]:
            assert np.hypot(*(d.rollout.cube_m[-1, :2] - d.goal_m)) < 0.03
            assert d.rollout.cube_m[-1, 2] == pytest.approx(CUBE_HALF_M, abs=0.004)
            assert not d.success[0]


def test_some_grasps_fail():
    every = [d for i in range(4) for d in map(_fumbling, range(50 * i, 50 * i + 50))]
    assert 0 < sum(not d.success[-1] for d in every) < 0.1 * len(every)


def _fumbling(i: int) -> Demonstration:
    return demonstrate("lift", np.random.default_rng(i), RATE_HZ)


@pytest.mark.parametrize("task", TASKS)
def test_lengths_are_3_to_8_seconds(task):
    lengths = [len(d.state) / RATE_HZ for d in demonstrations(task)]
    assert min(lengths) >= 3.0
    assert max(lengths) <= 8.0
    assert np.ptp(lengths) > 1.0


@pytest.mark.parametrize("task", TASKS)
def test_joints_stay_within_limits_and_move_as_an_arm_can(task):
    low, high = np.array(list(LIMITS_RAD.values())).T
    for d in demonstrations(task):
        assert (d.state[:, :5] > low).all() and (d.state[:, :5] < high).all()
        assert np.abs(np.diff(d.state[:, :5], axis=0)).max() * RATE_HZ < 3.5
        assert (d.action[:, 5] >= 0).all() and (d.action[:, 5] <= 1).all()


def test_readings_lie_on_the_encoders_steps():
    d = demonstrations("lift")[0]
    steps = np.array([ENCODER_RAD] * 5 + [GRIPPER_STEP])
    for values in (d.state, d.action):
        counts = values / steps
        assert np.abs(counts - np.round(counts)).max() < 1e-2
    # A noisy sensor does not repeat all its values for long.
    assert _longest(np.all(np.diff(d.state, axis=0) == 0, axis=1)) < 4


@pytest.mark.parametrize("task", TASKS)
def test_the_state_follows_its_command_60_to_80_ms_later(task):
    found = []
    for d in demonstrations(task)[:20]:
        command, answer = np.diff(d.action[:, :5], axis=0), np.diff(d.state[:, :5], axis=0)
        score = [np.sum(command[: -k or None] * answer[k:]) for k in range(7)]
        peak = int(np.argmax(score))
        a, b, c = score[peak - 1], score[peak], score[peak + 1]
        found.append((peak + 0.5 * (a - c) / (a - 2 * b + c)) / RATE_HZ)
    assert 0.05 < np.median(found) < 0.09
    assert np.ptp(found) < 0.03


@pytest.mark.parametrize("task", TASKS)
def test_pauses_last_less_than_half_a_second(task):
    for d in demonstrations(task):
        # Everything within six steps of the encoder for a while is standing still.
        still = np.ones(len(d.state), bool)
        for k in range(1, 4):
            still[k:] &= np.abs(d.state[k:] - d.state[:-k]).max(axis=1) <= 6 * ENCODER_RAD
        assert _longest(still) / RATE_HZ < 0.8  # the pause, and the slow ends of the movements around it
        assert _longest(np.abs(np.diff(d.action, axis=0)).max(axis=1) == 0) / RATE_HZ < 0.2


def test_contact_is_felt_in_grasps_only():
    assert max(d.rollout.contact_n.max() for d in demonstrations("reach")) == 0
    lifted = [d.rollout.contact_n for d in demonstrations("lift") if d.success[-1]]
    assert all(force[0].max() == 0 and force[-1].min() > 0 and force.max() < 10 for force in lifted)
    assert np.median([force[-1].min() for force in lifted]) > 1.0


def test_the_same_stream_gives_the_same_demonstration():
    a, b = (demonstrate("pick_place", np.random.default_rng(3), RATE_HZ) for _ in range(2))
    assert np.array_equal(a.state, b.state) and a.sentence == b.sentence
    assert not np.array_equal(a.state[:60], demonstrate("pick_place", np.random.default_rng(4), RATE_HZ).state[:60])


def test_other_rates_show_the_same_kind_of_motion():
    d = demonstrate("lift", np.random.default_rng(11), 50.0)
    assert 3.0 <= len(d.state) / 50 <= 8.0 and d.success[-1]


def test_thousands_of_episodes_a_minute():
    start = time.process_time()
    for i in range(60):
        demonstrate(TASKS[i % 3], np.random.default_rng(i), RATE_HZ)
    assert 60 / (time.process_time() - start) * 60 > 1500  # 5,000 and more on an idle machine


def _longest(flags: np.ndarray) -> int:
    best = run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        best = max(best, run)
    return best
