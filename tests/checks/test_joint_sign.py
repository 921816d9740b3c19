"""Joints that go against their commands."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.joint_sign import JointSign
from gristmill.finding import Kind
from gristmill.synth.convention_errors import ACTIONS, STATE, without
from gristmill.testing import judge

from .sampled_arm import COUNT, ConventionContract, recorded, spoiled


class TestJointSign(ConventionContract):
    check = JointSign()
    error = "joint_sign"


def test_the_joint_is_named():
    found = judge(JointSign(), spoiled("joint_sign"))
    assert {(f.row, f.channel, f.kind) for f in found} == {
        (i, "observation.state[elbow_pitch]", Kind.DEFECT) for i in range(COUNT)
    }
    state, action = (recorded()[0].channels[k].values[:, 2].astype(np.float64) for k in (STATE, "action"))
    assert found[0].measured == pytest.approx(-np.corrcoef(state, action)[0, 1], abs=1e-4)


def test_unknown_without_commands():
    blind = spoiled("joint_sign", lambda e: without(e, ACTIONS))
    assert judge(JointSign(), blind) == [] and JointSign().measure(blind[0]).unknown
