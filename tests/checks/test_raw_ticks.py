"""Encoder counts."""

from __future__ import annotations

import numpy as np

from gristmill.checks.raw_ticks import RawTicks
from gristmill.embodiment import Embodiment, Joint
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, reaching


def in_ticks(index, **more):
    clean = reaching(index)
    state = np.round(clean.channels["observation.state"].values * 4096 / 6.2832 + 2048)
    return make_episode(state=state.astype(np.float32), index=index, **more)


class TestRawTicks(CheckContract):
    check = RawTicks()
    broken_row = None
    kinds = (Kind.TRAIT,)

    def broken_episode(self, index):
        return in_ticks(index)

    def broken_corpus(self):
        return [in_ticks(i) for i in range(8)]


def test_number_and_largest_value():
    (found,) = judge(RawTicks(), [in_ticks(i) for i in range(3)])
    assert "6 of 6" in found.message
    assert found.measured == max(np.abs(in_ticks(i).channels["observation.state"].values).max() for i in range(3))


def test_whole_degrees_are_no_ticks():
    made = [make_episode(state=np.round(reaching(i).channels["observation.state"].values * 57.3)) for i in range(3)]
    assert judge(RawTicks(), made) == []


def test_large_numbers_with_fractions_are_no_ticks():
    made = [make_episode(state=reaching(i).channels["observation.state"].values * 1000) for i in range(3)]
    assert judge(RawTicks(), made) == []


def test_a_card_that_says_so_is_believed():
    card = Embodiment(key="made", title="made", joints=tuple(Joint(name=f"joint_{i}", unit="tick") for i in range(6)))
    assert judge(RawTicks(), [in_ticks(i, embodiment=card) for i in range(3)]) == []
