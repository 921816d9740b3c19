"""Shares of values that were not observed, holes that were filled, and what is missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.checks.non_finite import NonFinite
from gristmill.checks.resampled import Resampled
from gristmill.episode import Channel
from gristmill.finding import Kind
from gristmill.resample import Provenance, Resample, resample
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
    # A NaN that was recorded is no sample: it is filled in from beside it, and counted so. An infinity stays.
    action = np.array(reaching(0).channels[ACTION].values)
    action[10, 2] = np.nan
    filled = resample(reaching(0, action=action), rule)
    assert judge(NonFinite(), [filled]) == []
    assert [(f.kind, f.channel, f.measured) for f in judge(Resampled(), [filled])] == [
        (Kind.TRAIT, ACTION, pytest.approx(1 / 120))
    ]
    action[10, 2] = np.inf
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


def streamed(times: np.ndarray, rule: Resample, *, span_s: float = 0.0):
    """An episode with a state at these times, beside an even action at 100 Hz over `span_s`, resampled."""
    span_s = span_s or float(times[-1])
    even = np.arange(round(span_s * 100) + 1) / 100
    made = {
        ACTION: Channel(ACTION, "action", even[:, None], even, ("a",)),
        "wrench": Channel("wrench", "other", times[:, None], times, ("b",)),
    }
    return resample(replace(reaching(0), load_channels=lambda: made), rule)


def test_all_holes_count_however_many_there_are():
    """1500 times 30 samples at 100 Hz, and 20 lacking between them."""
    times = np.arange(1500 * 50).reshape(1500, 50)[:, :30].ravel() / 100
    episode = streamed(times, Resample(rate_hz=100))
    (measured,) = measure_all(Resampled(), [episode])
    codes = episode.channels["provenance.wrench"].values[:, 0]
    unobserved_s = np.count_nonzero(codes != Provenance.OBSERVED) / 100
    assert unobserved_s == pytest.approx(1499 * 0.2)
    assert sum(e.strength for e in measured.events) == pytest.approx(unobserved_s)
    assert len(measured.events) == 513  # 1024 for two streams, and one for the rest
    (risk,) = [f for f in judge(Resampled(), [episode]) if f.kind is Kind.RISK]
    assert risk.measured == pytest.approx(unobserved_s)
    assert len(risk.spans_s) == 512
    assert f"{987 * 0.2:.2f} s of it in stretches that are not among the spans" in risk.message
    # Where even some of the kept ones are too short to be told, so is the rest.
    assert [f.kind for f in judge(replace(Resampled(), min_gap_s=0.3), [episode])] == []


@pytest.mark.parametrize("max_gap_s", [1.0, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_events_add_up_to_what_was_not_observed(seed: int, max_gap_s: float):
    """Of a stream that is as fast as the timeline, with holes anywhere, at its beginning and end too."""
    rng = np.random.default_rng(seed)
    times = np.arange(600) / 100
    stays = np.ones(600, bool)
    for start in rng.integers(0, 560, 8):
        stays[start : start + rng.integers(2, 60)] = False
    stays[: rng.integers(5, 40)] = stays[600 - rng.integers(5, 40) :] = False
    episode = streamed(times[stays], Resample(rate_hz=100, max_gap_s=max_gap_s), span_s=5.99)
    (measured,) = measure_all(Resampled(), [episode])
    codes = episode.channels["provenance.wrench"].values[:, 0]
    assert sum(e.strength for e in measured.events) == pytest.approx(
        np.count_nonzero(codes != Provenance.OBSERVED) / 100
    )
    missing = sum(e.strength for e in measured.events if e.detail == "missing")
    assert missing == pytest.approx(np.count_nonzero(codes == Provenance.MISSING) / 100)


def test_pictures_before_the_first_and_after_the_last_were_seen_by_nobody():
    """A camera at 10 Hz that begins 0.4 s after the robot and ends 0.3 s before it."""
    camera = ArrayCamera(footage(0, 33, FRONT), key=FRONT, rate_hz=10)
    camera.times_s = 0.4 + np.arange(33) / 10  # type: ignore[attr-defined]
    # Frames 0 .. 11 lie before 0.4 s = 12 / 30; those behind the last picture at 3.6 s = 108 / 30 are 109 .. 119.
    found = judge(Resampled(), [resample(reaching(0, cameras={FRONT: camera}), RULE)])
    (risk,) = [f for f in found if f.kind is Kind.RISK]
    assert (risk.camera, risk.code) == (FRONT, "filled_gap")
    assert risk.spans_s == ((0.0, pytest.approx(12 / 30)), (pytest.approx(109 / 30), pytest.approx(120 / 30)))
    assert risk.measured == pytest.approx(23 / 30)
