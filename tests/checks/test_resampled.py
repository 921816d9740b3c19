"""Shares of values that were not observed, holes that were filled, and what is missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.checks.non_finite import NonFinite
from gristmill.checks.resampled import Resampled
from gristmill.episode import Channel
from gristmill.finding import Kind
from gristmill.resample import Resample, resample
from gristmill.testing import ArrayCamera, CheckContract, judge, measure_all, reaching
from gristmill.testing.filming import FRONT, footage

STATE, ACTION = "observation.state", "action"
RULE = Resample(rate_hz=30)


def holed(
    index: int, first: int = 40, stop: int = 52, *, key: str = STATE, rule: Resample = RULE, frames: int = 120, **more
):
    """A reaching episode whose state (or action) lacks the samples first+1 .. stop-1, resampled."""
    raw = reaching(index, frames=frames, **more)
    stays = np.r_[0 : first + 1, stop:frames]
    made = dict(raw.channels)
    channel = made[key]
    made[key] = Channel(key, channel.role, channel.values[stays], channel.times_s[stays], channel.names)
    return resample(replace(raw, load_channels=lambda: made), rule)


class TestResampled(CheckContract):
    check = Resampled()

    def clean_episode(self, index):
        return resample(reaching(index), RULE)

    def broken_episode(self, index):
        return holed(index)


class TestMissing(TestResampled):
    def broken_episode(self, index):
        return holed(index, rule=Resample(rate_hz=30, max_gap_s=0.1))


def test_the_share_of_interpolated_values_is_the_planted_one():
    (measured,) = measure_all(Resampled(), [holed(0)])
    assert measured.values["interpolated"].tolist() == [pytest.approx(11 / 120)] * 6 + [0] * 6
    assert measured.values["missing"].tolist() == measured.values["held"].tolist() == [0] * 12
    assert measured.values["unobserved"] == pytest.approx(11 / 120)
    found = judge(Resampled(), [holed(0), holed(1), resample(reaching(2), RULE)])
    (trait,) = [f for f in found if f.kind is Kind.TRAIT]
    assert (trait.row, trait.channel, trait.code) == (None, STATE, "filled")
    assert trait.measured == pytest.approx(22 / 360)
    assert "6.11% interpolated, 0.00% held, 0.00% missing" in trait.message
    risks = [f for f in found if f.kind is Kind.RISK]
    assert [(f.row, f.channel, f.code) for f in risks] == [(0, STATE, "filled_gap"), (1, STATE, "filled_gap")]
    assert risks[0].spans_s == ((pytest.approx(41 / 30), pytest.approx(52 / 30)),)
    assert risks[0].measured == pytest.approx(11 / 30)


def test_a_short_hole_is_a_trait_only():
    found = judge(Resampled(), [holed(0, 40, 42)])
    assert [f.kind for f in found] == [Kind.TRAIT]


def test_a_slow_stream_has_values_between_and_no_holes():
    raw = reaching(0)
    made = dict(raw.channels)
    action = made[ACTION]
    made[ACTION] = Channel(ACTION, "action", action.values[::6], action.times_s[::6], action.names)  # 5 Hz
    episode = resample(replace(raw, load_channels=lambda: made), RULE)
    (trait,) = judge(Resampled(), [episode])
    assert trait.channel == ACTION
    assert trait.measured == pytest.approx(95 / 115)  # 20 samples in 115 frames


def test_what_is_missing_is_a_defect_with_its_spans_and_told_once():
    rule = Resample(rate_hz=30, max_gap_s=0.1)
    episode = holed(0, rule=rule)
    (defect,) = [f for f in judge(Resampled(), [episode]) if f.kind is Kind.DEFECT]
    assert (defect.channel, defect.code) == (STATE, "missing")
    # 3 frames from either edge are near enough; 5 of 11 are not.
    assert defect.spans_s == ((pytest.approx(44 / 30), pytest.approx(49 / 30)),)
    assert defect.measured == pytest.approx(5 / 30)
    assert np.isnan(episode.channels[STATE].values[44:49]).all()
    assert judge(NonFinite(), [episode]) == []
    # A NaN that was recorded is still its finding.
    action = np.array(reaching(0).channels[ACTION].values)
    action[10, 2] = np.nan
    assert [f.check for f in judge(NonFinite(), [resample(reaching(0, action=action), rule)])] == ["non_finite"]


def test_pictures_that_repeat_are_a_trait_and_missing_ones_a_defect_of_the_camera():
    camera = ArrayCamera(footage(0, 40, FRONT), key=FRONT, rate_hz=10)
    camera.times_s = np.arange(40) / 10  # type: ignore[attr-defined]
    late = ArrayCamera(footage(0, 20, FRONT), key=FRONT, rate_hz=10)
    late.times_s = 2 + np.arange(20) / 10  # type: ignore[attr-defined]
    raw = [reaching(0, cameras={FRONT: camera}), reaching(1, cameras={FRONT: late})]
    episodes = [resample(e, RULE) for e in raw]
    first, second = measure_all(Resampled(), episodes)
    assert first.values["pictures_held"] == [pytest.approx(80 / 120)]
    assert first.values["pictures_missing"] == [0]
    # 1.5 s of the 2 s before its first picture are out of reach.
    assert second.values["pictures_missing"] == [pytest.approx(45 / 120)]
    found = judge(Resampled(), episodes)
    (defect,) = [f for f in found if f.kind is Kind.DEFECT]
    assert (defect.row, defect.camera, defect.channel) == (1, FRONT, None)
    assert defect.spans_s == ((0.0, pytest.approx(1.5)),)
    assert [f.camera for f in found if f.kind is Kind.TRAIT] == [FRONT]


def test_an_episode_as_recorded_has_nothing_to_tell():
    assert judge(Resampled(), [reaching(0)]) == []
