"""Commands at another rate than the card's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gristmill.checks.control_rate import ControlRate
from gristmill.finding import Kind
from gristmill.synth.convention_errors import ACTIONS, without
from gristmill.testing import judge

from .sampled_arm import CARD, COUNT, ConventionContract, recorded, spoiled


class TestControlRate(ConventionContract):
    check = ControlRate()
    error = "control_rate"


def test_commands_that_are_held_for_three_samples():
    found = judge(ControlRate(), spoiled("control_rate"))
    assert {(f.row, f.kind) for f in found} == {(i, Kind.DEFECT) for i in range(COUNT)}
    assert found[0].measured == pytest.approx(10, rel=1e-3) and found[0].threshold == 30


def test_recorded_times_count():
    def slowed(episode):
        channels = {k: replace(c, times_s=c.times_s * 2) for k, c in episode.channels.items()}
        return replace(episode, load_channels=lambda: channels)

    assert judge(ControlRate(), [slowed(recorded()[0])])[0].measured == pytest.approx(15, rel=1e-3)


def test_unknown_without_a_claim_or_commands():
    silent = replace(recorded()[0], embodiment=replace(CARD, control_rate_hz=None))
    assert "control_rate_hz" in str(ControlRate().measure(silent).unknown)
    assert ControlRate().measure(without(recorded()[0], ACTIONS)).unknown
