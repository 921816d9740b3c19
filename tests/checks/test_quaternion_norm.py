"""Quaternions of another length."""

from __future__ import annotations

import pytest

from gristmill.checks.quaternion_norm import QuaternionNorm
from gristmill.finding import Kind
from gristmill.synth.convention_errors import POSES, without
from gristmill.testing import judge

from .sampled_arm import ConventionContract, recorded, spoiled


class TestQuaternionNorm(ConventionContract):
    check = QuaternionNorm()
    error = "quaternion_norm"


def test_five_per_cent_are_told():
    (found, *_) = judge(QuaternionNorm(), spoiled("quaternion_norm"))
    assert found.kind is Kind.DEFECT
    assert found.measured == pytest.approx(0.05, abs=1e-6)


def test_unknown_without_a_quaternion():
    blind = without(recorded()[0], POSES)
    assert "no quaternion" in str(QuaternionNorm().measure(blind).unknown)
