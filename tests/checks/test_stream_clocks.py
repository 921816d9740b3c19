"""Clocks of streams that part: planted rates, lateness, drift and jumps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.checks import stream_clocks
from gristmill.checks.stream_clocks import StreamClocks
from gristmill.episode import Channel
from gristmill.finding import Kind
from gristmill.resample import Resample, resample
from gristmill.testing import CheckContract, judge, measure_all, reaching

STATE, ACTION = "observation.state", "action"
CHECK = StreamClocks()


def clocked(
    index: int = 0, *, rate_hz: float = 50.0, late_s: float = 0.0, early_s: float = 0.0, jitter_s=0.0, headers=None
):
    """A reaching episode of 8 s whose actions have a clock of their own; further clocks of the state by name."""
    rng = np.random.default_rng(index)
    raw = reaching(index, frames=240)
    times = np.arange(late_s, 8 - early_s, 1 / rate_hz)
    times = times + rng.uniform(-jitter_s, jitter_s, len(times))
    state = raw.channels[STATE]
    at = np.clip(np.rint(times * 30).astype(int), 0, 239)
    made = {
        STATE: state,
        ACTION: Channel(ACTION, "action", raw.channels[ACTION].values[at], times, raw.channels[ACTION].names),
    }
    clocks = {} if headers is None else {STATE: {"log": state.times_s, **headers(state.times_s)}}
    return replace(raw, load_channels=lambda: made, load_clocks=lambda: clocks)


class TestRates(CheckContract):
    check = CHECK

    def clean_episode(self, index):
        return clocked(index, jitter_s=0.002)

    def broken_episode(self, index):
        return clocked(index, rate_hz=29.8)


class TestDrift(TestRates):
    def broken_episode(self, index):
        return clocked(index, headers=lambda t: {"header": t * 0.995})


def trouble(*episodes):
    return [f for f in judge(CHECK, episodes) if f.kind is not Kind.TRAIT]


def test_one_clock_is_not_asked():
    (measured,) = measure_all(CHECK, [reaching(0)])
    assert measured.unknown == "all channels share one clock, and no other times are recorded"


def test_each_stream_is_told_with_its_rate():
    found = [f for f in judge(CHECK, [clocked(i, jitter_s=0.002) for i in range(3)]) if f.code == "stream"]
    assert [(f.channel, f.row) for f in found] == [(STATE, None), (ACTION, None)]
    assert [f.measured for f in found] == [pytest.approx(30, abs=1e-6), pytest.approx(50, rel=1e-3)]
    assert "0 of 3 episodes have gaps" in found[1].message
    (measured,) = measure_all(CHECK, [clocked(0, jitter_s=0.002)])
    # Uniform within 2 ms: the median distance from the line is 1 ms.
    assert measured.values["jitter_s"] == pytest.approx(1.4826e-3, rel=0.15)
    assert measured.values["clocks"] == 2


def test_rates_that_are_meant_to_be_equal_slip():
    (found,) = trouble(clocked(0, rate_hz=29.8))
    assert found.code == "rates_apart"
    # 0.2 samples a second over the common 7.95 s.
    assert found.measured == pytest.approx(0.2 * 7.95, rel=0.02)
    assert trouble(clocked(0, rate_hz=29.9)) == []  # 0.8 samples
    assert trouble(clocked(0, rate_hz=25)) == []  # another nominal rate


def test_a_stream_that_begins_late_or_ends_early():
    late, early = trouble(clocked(0, late_s=0.4), clocked(1, early_s=0.3))
    assert (late.row, late.code, late.channel) == (0, "starts_late", ACTION)
    assert late.spans_s == ((0.0, pytest.approx(0.4)),)
    assert (early.row, early.code) == (1, "ends_early")
    # The last action at 7.68 s, the last state at 7.967 s.
    assert early.measured == pytest.approx(239 / 30 - 7.68)


def test_what_all_episodes_share_is_said_once():
    found = trouble(*[clocked(i, late_s=0.4) for i in range(5)])
    assert [(f.row, f.code) for f in found] == [(None, "starts_late")]
    assert "5 of 5 episodes" in found[0].message


def test_header_and_log_time_that_drift_or_jump():
    found = trouble(clocked(0, headers=lambda t: {"header": t * 0.995 - 1.5}))
    assert [(f.code, f.channel) for f in found] == [("clock_drift", STATE)]
    assert found[0].measured == pytest.approx(0.005 * 239 / 30, rel=1e-6)
    assert "against its header time" in found[0].message
    rng = np.random.default_rng(0)
    noisy = rng.exponential(0.002, 240)  # messages that arrive late, each by itself
    found = trouble(clocked(0, headers=lambda t: {"header": t - noisy - 0.25 * (t >= 4)}))
    assert [f.code for f in found] == ["clock_jump"]
    assert found[0].measured == pytest.approx(0.25, abs=0.005)
    assert found[0].spans_s[0].start_s == pytest.approx(4.0, abs=0.04)
    assert trouble(clocked(0, headers=lambda t: {"header": t - noisy})) == []
    (measured,) = measure_all(CHECK, [clocked(0, headers=lambda t: {"header": t - noisy - 0.7})])
    assert measured.values["offset_s"] == pytest.approx(0.7 + 0.002 * np.log(2), abs=5e-4)


def stamped(index: int, *, command_s: float, picture_s: float):
    """States and commands at 30 and 50 Hz, pictures at 10 Hz, all with header times; so much later than by the log."""
    raw = clocked(index)
    pictures = np.arange(80) / 10
    clocks = {
        STATE: {"log": raw.channels[STATE].times_s, "header": raw.channels[STATE].times_s},
        ACTION: {"log": raw.channels[ACTION].times_s, "header": raw.channels[ACTION].times_s + command_s},
        "camera": {"log": pictures, "header": pictures + picture_s},
    }
    return replace(raw, load_clocks=lambda: clocks)


def test_streams_whose_stamps_stand_apart():
    episodes = [stamped(i, command_s=0.05, picture_s=-0.045) for i in range(3)]
    found = judge(CHECK, episodes)
    offsets = {f.channel: f for f in found if f.code == "clock_offset"}
    assert {key: f.measured for key, f in offsets.items()} == {
        STATE: 0,
        ACTION: pytest.approx(0.05),
        "camera": pytest.approx(-0.045),
    }
    assert {f.kind for f in offsets.values()} == {Kind.TRAIT}
    assert "header time stands +50.0 ms from its log time and drifts by +0 us a second" in offsets[ACTION].message
    # 0.05 s are 1.5 periods of the state's 30 Hz; 0.095 s between command and picture are less than one of 10 Hz.
    (apart,) = [f for f in found if f.kind is Kind.RISK]
    assert (apart.code, apart.channel, apart.row) == ("clocks_apart", ACTION, None)
    assert apart.measured == pytest.approx(1.5, rel=1e-6)
    assert f"beside {STATE} by header time in 3 of 3 episodes" in apart.message
    (measured,) = measure_all(CHECK, episodes[:1])
    assert measured.values["apart_s"] == pytest.approx(0.095)
    assert trouble(stamped(0, command_s=0.03, picture_s=-0.06)) == []
    (resampled,) = trouble(resample(episodes[0], Resample(rate_hz=30)))
    assert (resampled.code, resampled.kind) == ("clocks_apart", Kind.RISK)


def test_resampling_mends_rates_and_ends_but_no_clock():
    rule = Resample(rate_hz=30)
    found = judge(CHECK, [resample(clocked(0, rate_hz=29.8, late_s=0.4), rule)])
    assert {(f.code, f.kind) for f in found} == {
        ("stream", Kind.TRAIT),
        ("rates_apart", Kind.TRAIT),
        ("starts_late", Kind.TRAIT),
    }
    drifting = resample(clocked(0, headers=lambda t: {"header": t * 0.995}), rule)
    assert [f.code for f in trouble(drifting)] == ["clock_drift"]


def test_pictures_with_gaps_of_their_own():
    times = np.delete(np.arange(80) / 10, np.arange(31, 36))  # 3.1 to 3.5 s
    raw = replace(reaching(0, frames=240), load_clocks=lambda: {"observation.images.top": {"log": times}})
    (found,) = trouble(raw)
    assert (found.code, found.channel) == ("stream_gap", "observation.images.top")
    assert found.measured == pytest.approx(0.5)
    assert found.spans_s == ((pytest.approx(3.0), pytest.approx(3.6)),)


def test_messages_that_come_when_something_happens_have_no_gaps():
    rng = np.random.default_rng(1)
    times = np.sort(rng.uniform(0, 8, 12))
    raw = replace(reaching(0, frames=240), load_clocks=lambda: {"buttons": {"log": np.r_[0.0, times, 7.96]}})
    assert trouble(raw) == []


def test_the_delay_from_command_to_state_comes_from_the_signals():
    # `reaching` has its states two frames behind its actions; here the actions' clock is 50 Hz.
    (measured,) = measure_all(CHECK, [clocked(0, rate_hz=60)])
    assert measured.values["signal_delay_s"] == pytest.approx(2 / 30, abs=0.01)


def test_channels_that_share_their_times_cost_nothing_more(monkeypatch):
    raw = reaching(0)
    copied = dict(raw.channels)
    state = copied[STATE]
    copied[STATE] = Channel(STATE, state.role, state.values, state.times_s.copy(), state.names)
    alike = replace(raw, load_channels=lambda: copied)
    other = replace(raw, load_clocks=lambda: {STATE: {"log": state.times_s, "header": state.times_s * 0.99}})
    # What is equal but not the same is compared; other clocks are looked at although the times are shared.
    assert CHECK.measure(alike) == CHECK.measure(raw)
    assert CHECK.measure(other).unknown is None

    def never(episode):
        raise AssertionError(f"streams of {episode.id} were asked for")

    monkeypatch.setattr(stream_clocks, "streams_of", never)
    assert CHECK.measure(raw).unknown is not None
    with pytest.raises(AssertionError, match="were asked for"):
        CHECK.measure(alike)
