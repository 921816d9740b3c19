"""Quaternions whose sign jumps."""

from __future__ import annotations

import pytest

from gristmill.checks.quaternion_flip import QuaternionFlip
from gristmill.finding import Kind
from gristmill.synth.convention_errors import POSES, without
from gristmill.testing import judge

from .sampled_arm import ConventionContract, recorded, spoiled


class TestQuaternionFlip(ConventionContract):
    check = QuaternionFlip()
    error = "quaternion_flip"


def test_the_sample_of_the_flip_is_told():
    episode = spoiled("quaternion_flip")[0]
    (found,) = judge(QuaternionFlip(), [episode])
    middle = episode.frames // 2
    assert found.kind is Kind.DEFECT and found.channel == "observation.state.eef_pose" and found.measured == 1
    assert found.spans_s[0] == pytest.approx((episode.times_s[middle - 1], episode.times_s[middle + 1]))


def test_unknown_without_a_quaternion():
    blind = without(recorded()[0], POSES)
    assert "no quaternion" in str(QuaternionFlip().measure(blind).unknown)
