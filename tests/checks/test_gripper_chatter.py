"""Grippers that flutter."""

from __future__ import annotations

import numpy as np

from gristmill.checks.gripper_chatter import GripperChatter, turning_points
from gristmill.embodiment import Embodiment, Gripper, Joint
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, reaching

NAMES = ["pan", "lift", "elbow", "flex", "roll", "gripper"]


def grasp(index, chatter=None, noise=0.0, command=None, **more):
    """Closes at 2 s and opens at 5 s, at 30 Hz; `chatter` replaces the gripper from 2.5 s on."""
    clean = reaching(index, frames=200)
    t = np.arange(200) / 30
    gripper = 1 - np.clip((t - 2) / 0.3, 0, 1) + np.clip((t - 5) / 0.3, 0, 1)
    gripper += np.random.default_rng(index).normal(0, noise, 200) if noise else 0
    if chatter is not None:
        gripper[75 : 75 + len(chatter)] = chatter
    state, action = (clean.channels[k].values.copy() for k in ("observation.state", "action"))
    state[:, 5], action[:, 5] = gripper, gripper if command is None else command
    return make_episode(state=state, action=action, names=NAMES, index=index, **more)


def wave(reversals=8, depth=0.4, frames=60):
    """Turns so many times within 2 s, beginning and ending at rest."""
    return depth * (1 - np.cos(np.linspace(0, np.pi * (reversals + 1), frames))) / 2


class TestChatter(CheckContract):
    check = GripperChatter()

    def clean_episode(self, index):
        return grasp(index)

    def broken_episode(self, index):
        return grasp(index, wave())


def corpus(odd):
    return [odd if i == odd.index else grasp(i) for i in range(8)]


def test_turning_points_of_a_zigzag():
    zigzag = np.array([0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2.9, 3, 2, 1], float)
    assert turning_points(zigzag, 2).tolist() == [3, 6, 9]
    assert turning_points(zigzag, 3.5).tolist() == []
    assert turning_points(np.zeros(5), 1).tolist() == []


def test_turning_points_agree_with_a_look_at_every_sample():
    def plainly(values, swing):
        turns, last, rising = [], 0, 0
        for i in range(len(values)):
            seen = values[last : i + 1]
            high, low = last + int(np.argmax(seen)), last + int(np.argmin(seen))
            if rising >= 0 and values[high] - values[i] >= swing:
                turns, last, rising = turns + [high] * bool(rising), i if not rising else high, -1
            elif rising <= 0 and values[i] - values[low] >= swing:
                turns, last, rising = turns + [low] * bool(rising), i if not rising else low, 1
        return turns

    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = np.round(rng.normal(size=150).cumsum() * (rng.random(150) < 0.6), 1)
        assert turning_points(values, 2.0).tolist() == plainly(values, 2.0)


def test_turns_smaller_than_the_swing_do_not_count():
    ripple = np.linspace(0, 1, 60) + 0.04 * (np.arange(60) % 2)
    assert turning_points(ripple, 0.1).tolist() == []


def test_span_reversals_and_both_channels():
    found = judge(GripperChatter(), corpus(grasp(3, wave())))
    assert {f.channel for f in found} == {"observation.state[gripper]", "action[gripper]"}
    for f in found:
        assert (f.row, f.kind) == (3, Kind.RISK)
        # Eight turns within the wave, one where the closing before it ends, one where it drops back to closed.
        assert f.measured == 10
        ((start, end),) = f.spans_s
        overlap = min(end, 4.5) - max(start, 2.5)
        assert overlap / (max(end, 4.5) - min(start, 2.5)) > 0.75


def test_a_command_that_is_clipped_half_the_time_carries_the_whole_span():
    command = grasp(3).channels["action"].values[:, 5].copy()
    command[75:135] = np.maximum(wave(), 0)
    command[105:135] = 0.0  # clipped: only half of the turns are left
    found = judge(GripperChatter(), corpus(grasp(3, wave(), command=command)))
    spans = {f.channel: f.spans_s for f in found}
    assert spans["action[gripper]"] == spans["observation.state[gripper]"]


def test_grasp_release_and_a_second_try_are_no_chatter():
    tries = np.concatenate([np.linspace(0, 1, 12), np.linspace(1, 0, 12), np.linspace(0, 1, 12), np.linspace(1, 0, 12)])
    assert judge(GripperChatter(), corpus(grasp(3, tries))) == []


def test_noise_is_no_chatter():
    assert judge(GripperChatter(), [grasp(i, noise=0.01) for i in range(8)]) == []


def test_noise_of_a_gripper_at_rest_is_no_chatter():
    clean = reaching(3, frames=200)
    state = clean.channels["observation.state"].values.copy()
    state[:, 5] = np.random.default_rng(0).normal(0.5, 0.01, 200)
    odd = make_episode(state=state, names=NAMES, index=3)
    assert judge(GripperChatter(), corpus(odd)) == []


def test_the_cards_range_counts():
    card = Embodiment(
        key="made",
        title="made",
        joints=tuple(Joint(name=n, kind="gripper" if n == "gripper" else "revolute") for n in NAMES),
        grippers=(Gripper(joint="gripper", closed=0, open=10),),
    )
    made = [grasp(i, wave() if i == 3 else None, embodiment=card) for i in range(8)]
    assert judge(GripperChatter(), made) == []  # 0.4 of 10 is no swing


def test_a_robot_without_gripper_is_unknown():
    measured = GripperChatter().measure(reaching(0))
    assert measured.unknown
