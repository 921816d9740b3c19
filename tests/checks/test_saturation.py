"""Clipped signals."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.saturation import Saturation
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, measure_all, reaching


def waving(index, bound=np.inf, dim=1, names=None):
    """Waves of half a hertz on dimension 1, clipped at `bound`."""
    t = np.arange(240) / 30
    clean = reaching(index, frames=240)
    state = clean.channels["observation.state"].values.astype(float)
    state[:, dim] = np.minimum(np.sin(2 * np.pi * 0.5 * t + index), bound)
    return make_episode(state=state, index=index, names=names)


class TestSaturation(CheckContract):
    check = Saturation()

    def clean_episode(self, index):
        return waving(index)

    def broken_episode(self, index):
        return waving(index, bound=0.6)


class TestShared(TestSaturation):
    broken_row = None
    kinds = (Kind.TRAIT,)

    def broken_corpus(self):
        return [waving(i, bound=0.6) for i in range(8)]


def test_share_of_the_samples_at_the_bound():
    (measured,) = measure_all(Saturation(), [waving(0, bound=0.6)])
    assert measured is not None
    # A sine is above 0.6 for (pi - 2 asin 0.6) / 2 pi of the time.
    assert measured.values["clipped"] == pytest.approx((np.pi - 2 * np.arcsin(0.6)) / (2 * np.pi), abs=0.02)
    assert len(measured.events) == 4
    assert {e.channel for e in measured.events} == {"observation.state[joint_1]"}


def test_a_shared_bound_is_said_once():
    (found,) = judge(Saturation(), [waving(i, bound=0.6) for i in range(8)])
    assert (found.row, found.kind, found.channel) == (None, Kind.TRAIT, "observation.state[joint_1]")


def test_rest_at_the_extreme_is_no_clipping():
    t = np.arange(240) / 30
    joint = np.where(t < 2, 0.0, 1 - np.cos(np.pi * np.clip((t - 2) / 2, 0, 1)))
    state = np.stack([joint, np.sin(t)], axis=1)
    assert judge(Saturation(), [make_episode(state=state)]) == []


def test_a_coarse_sensor_at_a_slow_turn_is_no_clipping():
    t = np.arange(240) / 30
    state = np.stack([np.round(np.sin(2 * np.pi * 0.5 * t) * 20) / 20, np.sin(t)], axis=1)
    assert judge(Saturation(), [make_episode(state=state)]) == []


def test_switches_and_grippers_are_left_out():
    t = np.arange(240) / 30
    switch = np.stack([(np.sin(3 * t) > 0).astype(float), np.sin(t)], axis=1)
    assert judge(Saturation(), [make_episode(state=switch)]) == []
    names = ["pan", "gripper", "lift", "elbow", "flex", "roll"]
    assert judge(Saturation(), [waving(i, bound=0.6 if i == 3 else 2, names=names) for i in range(8)]) == []


def test_a_frozen_state_is_no_clipping():
    state = waving(0).channels["observation.state"].values.copy()
    top = int(state[:, 1].argmax())
    state[top : top + 40] = state[top]
    assert judge(Saturation(), [make_episode(state=state)]) == []
