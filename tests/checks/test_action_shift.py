"""States that lag by a sample."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gristmill.checks.action_shift import ActionShift
from gristmill.finding import Kind
from gristmill.synth.convention_errors import ACTIONS, plant, without
from gristmill.testing import judge

from .sampled_arm import CARD, COUNT, ConventionContract, recorded, spoiled


class TestActionShift(ConventionContract):
    check = ActionShift()
    error = "action_shift"


def test_a_whole_corpus_by_the_response_on_the_card():
    found = judge(ActionShift(), spoiled("action_shift"))
    assert {(f.row, f.kind) for f in found} == {(i, Kind.DEFECT) for i in range(COUNT)}
    assert all("samples later" in f.message and abs(f.measured * 30 - 1) < 0.25 for f in found)


def test_one_episode_by_the_rest_of_the_corpus():
    card = replace(CARD, response_s=None)
    corpus = [replace(e, embodiment=card) for e in recorded()]
    assert judge(ActionShift(), corpus) == []
    corpus[5] = plant("action_shift", recorded()[5], card)
    (found,) = judge(ActionShift(), corpus)
    assert (found.row, found.kind) == (5, Kind.RISK) and found.measured * 30 == pytest.approx(1, abs=0.1)


def test_unknown_without_commands():
    blind = spoiled("action_shift", lambda e: without(e, ACTIONS))
    assert judge(ActionShift(), blind) == [] and ActionShift().measure(blind[0]).unknown
