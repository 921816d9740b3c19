"""Joints that go against their commands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.checks.joint_sign import JointSign
from gristmill.finding import Kind
from gristmill.synth.convention_errors import ACTIONS, STATE, without
from gristmill.testing import judge

from .sampled_arm import CARD, COUNT, ConventionContract, recorded, spoiled


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


@pytest.fixture(scope="module")
def modelled(tmp_path_factory):
    """The sample's card with the sample's model."""
    from gristmill.synth.scene import MJCF

    path = tmp_path_factory.mktemp("model") / "arm.xml"
    path.write_text(MJCF)
    return replace(CARD, mjcf=str(path))


@pytest.mark.parametrize(("column", "named"), [(1, "shoulder_pitch"), (2, "elbow_pitch"), (3, "wrist_pitch")])
def test_a_sign_that_is_wrong_in_both_is_seen_against_the_model(modelled, column, named):
    def flipped(episode):
        channels = dict(episode.channels)
        for key in (STATE, "action"):
            values = channels[key].values.copy()
            values[:, column] *= -1
            channels[key] = replace(channels[key], values=values)
        return replace(episode, load_channels=lambda: channels, embodiment=modelled)

    assert judge(JointSign(), [replace(e, embodiment=modelled) for e in recorded()]) == []
    found = judge(JointSign(), [flipped(e) for e in recorded()])
    assert {(f.row, f.code, f.channel) for f in found} == {
        (i, "model", f"observation.state[{named}]") for i in range(COUNT)
    }
    assert judge(JointSign(), [replace(flipped(e), embodiment=CARD) for e in recorded()]) == []  # without a model
