"""Commands at another rate than the card's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.checks.control_rate import ControlRate
from gristmill.embodiment import Embodiment, Joint
from gristmill.episode import Channel
from gristmill.finding import Kind
from gristmill.resample import Resample, resample
from gristmill.synth.convention_errors import ACTIONS, without
from gristmill.testing import judge, make_episode

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


def test_a_timeline_of_our_own_says_nothing_of_the_controller():
    slower = resample(recorded()[0], Resample(rate_hz=10))
    assert judge(ControlRate(), [slower]) == []
    assert "resampled" in str(ControlRate().measure(slower).unknown)


@pytest.mark.parametrize(("rate_hz", "found"), [(30.0, 0), (50.0, 1)])
def test_actions_keep_their_own_clock(rate_hz, found):
    """The state has 15 samples a second, the action as many as its times say."""
    t = np.arange(0, 8, 1 / 15)
    own_s = np.arange(0, 8, 1 / rate_hz)
    channels = {
        "observation.state": Channel("observation.state", "state", np.sin(t)[:, None], t, ("a",)),
        "action": Channel("action", "action", np.sin(own_s)[:, None], own_s, ("a",)),
    }
    card = Embodiment(key="made", title="made", joints=(Joint(name="a"),), control_rate_hz=30.0)
    episode = replace(make_episode(state=np.sin(t)[:, None], embodiment=card), load_channels=lambda: channels)
    assert len(judge(ControlRate(), [episode])) == found
    assert ControlRate().measure(episode).values["control_hz"] == pytest.approx(rate_hz, rel=1e-6)
