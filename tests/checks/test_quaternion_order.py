"""Quaternions in another order than the card's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.checks.quaternion_order import QuaternionOrder
from gristmill.finding import Kind
from gristmill.synth.convention_errors import STATE, STATE_POSE, without
from gristmill.testing import judge
from gristmill.testing.judging import manifest_of

from .sampled_arm import CARD, COUNT, ConventionContract, recorded, spoiled


class TestQuaternionOrder(ConventionContract):
    check = QuaternionOrder()
    error = "quaternion_order"


def test_the_message_names_both_orders():
    found = judge(QuaternionOrder(), spoiled("quaternion_order"))
    assert {f.row for f in found} == set(range(COUNT)) and found[0].kind is Kind.DEFECT
    assert "read as xyzw, as the card gristmill_arm says" in found[0].message and "it is wxyz" in found[0].message


def test_unknown_without_joints_or_without_a_claim():
    check = QuaternionOrder()
    blind = spoiled("quaternion_order", lambda e: without(e, (STATE,)))
    assert judge(check, blind) == [] and check.measure(blind[0]).unknown
    vague = [replace(e, embodiment=replace(CARD, quaternion_order="unknown")) for e in recorded()]
    assert judge(check, vague) == [] and check.measure(vague[0]).unknown


def test_noise_of_a_tracker_accuses_nobody():
    rng = np.random.default_rng(0)

    def shaken(episode):
        channel = episode.channels[STATE_POSE]
        values = channel.values + rng.normal(0, 0.005, channel.values.shape).astype(np.float32)
        channels = dict(episode.channels) | {STATE_POSE: replace(channel, values=values)}
        return replace(episode, load_channels=lambda: channels)

    assert judge(QuaternionOrder(), [shaken(e) for e in recorded()]) == []


@pytest.mark.parametrize(("sides", "accused"), [(36, 36), (28, 0), (4, 0)])
def test_a_noisy_corpus_is_counted(sides, accused):
    # 40 episodes, each too noisy by itself: 36 against 4 is 5.06 standard deviations from chance, 28 against 12 is 2.5.
    check = QuaternionOrder()
    manifest = manifest_of(check, list(recorded()) * 5)
    claimed = np.where(np.arange(40) < sides, 0.012, 0.010)
    cells = {"claimed_rad": claimed, "other_rad": 0.022 - claimed}
    found = list(check.judge(replace(manifest, cells=cells)))
    assert len(found) == accused
    assert all((f.measured, f.threshold) == pytest.approx((0.012, 1.05 * 0.010)) for f in found)


def test_what_is_counted_in_exceeds_what_it_is_measured_by():
    """Four episodes are clear; the other four hardly turn, and lie on the same side."""
    check = QuaternionOrder()
    manifest = manifest_of(check, list(recorded()))
    claimed, other = np.array([0.2] * 4 + [0.003] * 4), np.array([0.001] * 4 + [0.002] * 4)
    found = list(check.judge(replace(manifest, cells={"claimed_rad": claimed, "other_rad": other})))
    assert [f.threshold for f in found] == pytest.approx([0.004] * 4 + [0.002] * 4)
    assert all((f.measured or 0) > (f.threshold or 0) for f in found)
