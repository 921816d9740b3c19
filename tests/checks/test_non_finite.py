"""NaN and infinities."""

from __future__ import annotations

import numpy as np

from gristmill.checks.non_finite import NonFinite
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, reaching


def with_nan(index, value=np.nan):
    clean = reaching(index)
    state = clean.channels["observation.state"].values.copy()
    state[40:43, 2] = value
    return make_episode(state=state, action=clean.channels["action"].values, index=index)


class TestNonFinite(CheckContract):
    check = NonFinite()

    def broken_episode(self, index):
        return with_nan(index)


def test_channel_span_and_count():
    (found,) = judge(NonFinite(), [reaching(0), with_nan(1), reaching(2)])
    assert (found.row, found.kind, found.channel) == (1, Kind.DEFECT, "observation.state[joint_2]")
    assert found.measured == 3
    np.testing.assert_allclose(found.spans_s, [(40 / 30, 43 / 30)])


def test_infinity_counts():
    (found,) = judge(NonFinite(), [reaching(0), with_nan(1, -np.inf), reaching(2)])
    assert found.row == 1


def test_rewards_are_defects_and_other_channels_risks():
    bad = np.array([[0.0], [np.nan], [1.0]])
    episode = make_episode(
        state=np.zeros((3, 1)), extra={"next.reward": ("reward", bad), "observation.tactile": ("other", bad)}
    )
    kinds = {f.channel: f.kind for f in judge(NonFinite(), [episode, reaching(1)])}
    assert kinds == {"next.reward[0]": Kind.DEFECT, "observation.tactile[0]": Kind.RISK}


def test_a_channel_that_is_always_so_is_named_once():
    (found,) = judge(NonFinite(), [with_nan(i) for i in range(5)])
    assert (found.row, found.code, found.measured) == (None, "always", 1.0)


def test_integers_and_flags_are_always_finite():
    episode = make_episode(state=np.zeros((9, 1), np.int64), extra={"next.done": ("done", np.zeros((9, 1), bool))})
    assert judge(NonFinite(), [episode]) == []
