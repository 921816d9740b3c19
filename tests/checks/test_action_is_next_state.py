"""Actions made from states."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.action_is_next_state import ActionIsNextState
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, measure_all, reaching


def made_up(index, share=1.0):
    state = reaching(index).channels["observation.state"].values
    action = np.concatenate([state[1:], state[-1:]])
    action[round(share * 119) : 119] += np.float32(0.01)
    return make_episode(state=state, action=action, index=index)


class TestActionIsNextState(CheckContract):
    check = ActionIsNextState()
    kinds = (Kind.TRAIT,)

    def broken_episode(self, index):
        return made_up(index)


class TestWholeCorpus(TestActionIsNextState):
    broken_row = None

    def broken_corpus(self):
        return [made_up(i) for i in range(8)]


def test_share_of_equal_cells():
    (measured,) = measure_all(ActionIsNextState(), [made_up(0, share=0.8)])
    assert measured is not None
    assert measured.values["share"] == pytest.approx(95 / 119, abs=1e-9)


def test_said_once_when_it_holds_everywhere():
    (found,) = judge(ActionIsNextState(), [made_up(i) for i in range(5)])
    assert (found.row, found.kind, found.measured) == (None, Kind.TRAIT, 1.0)


def test_resting_joints_prove_nothing():
    state = np.zeros((120, 3))
    state[:, 0] = np.sin(np.arange(120))
    action = state.copy()
    action[:, 0] += 0.1
    assert judge(ActionIsNextState(), [make_episode(state=state, action=action)]) == []
