"""Gaps, repeats and reversals."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.checks.timestamps import Timestamps
from gristmill.episode import Channel
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, manifest_of, reaching
from gristmill.testing.filming import filmed


def at(times, index=0, rate_hz=30.0):
    times = np.asarray(times, float)
    return make_episode(state=np.zeros((len(times), 1)), times_s=times, rate_hz=rate_hz, index=index)


def gapped(index, missing=9, rate_hz=30.0):
    keep = np.r_[0:40, 40 + missing : 120]
    clean = reaching(index, rate_hz=rate_hz)
    state, action = (clean.channels[k].values[keep] for k in ("observation.state", "action"))
    return make_episode(state=state, action=action, times_s=keep / rate_hz, rate_hz=rate_hz, index=index)


class TestGap(CheckContract):
    check = Timestamps()

    def broken_episode(self, index):
        return gapped(index)


class TestBackwards(TestGap):
    def broken_episode(self, index):
        times = np.arange(120) / 30
        times[50:60] -= 1
        return reaching(index, times_s=times)


class TestRepeated(TestGap):
    def broken_episode(self, index):
        times = np.arange(120) / 30
        times[50] = times[49]
        return reaching(index, times_s=times)


@pytest.mark.parametrize(("rate_hz", "missing"), [(10.0, 3), (20.0, 6), (30.0, 9), (100.0, 30)])
def test_three_tenths_of_a_second_are_a_gap_at_any_rate(rate_hz, missing):
    (found,) = judge(Timestamps(), [reaching(0, rate_hz=rate_hz), gapped(1, missing, rate_hz)])
    assert (found.row, found.code, found.kind) == (1, "time_gap", Kind.DEFECT)
    assert found.measured == pytest.approx(0.3)
    np.testing.assert_allclose(found.spans_s, [(39 / rate_hz, (40 + missing) / rate_hz)])


def test_one_dropped_frame_is_a_risk():
    (found,) = judge(Timestamps(), [gapped(0, missing=1)])
    assert (found.code, found.kind) == ("dropped_frames", Kind.RISK)
    assert found.measured == pytest.approx(1 / 30)


def test_episodes_are_never_compared_with_their_neighbours():
    # One after the other on a clock that runs through, as rows lie in a file.
    found = judge(Timestamps(), [at(np.arange(60) / 30 + i * 100, i) for i in range(3)])
    assert [(f.row, f.code, f.kind, f.measured) for f in found] == [
        (1, "offset", Kind.RISK, 100),
        (2, "offset", Kind.RISK, 200),
    ]


def test_times_that_begin_late_find_other_frames_where_there_are_cameras():
    late = filmed(1, times_s=np.arange(120) / 30 + 5)
    (found,) = judge(Timestamps(), [filmed(0), late])
    assert (found.row, found.code, found.kind) == (1, "offset", Kind.DEFECT)
    assert found.measured == pytest.approx(5)


@pytest.mark.parametrize(("times", "stray"), [(np.arange(60) / 30, 0), (np.arange(60) / 30 + 0.1, 3)])
def test_how_far_times_stray_from_the_declared_rate(times, stray):
    assert manifest_of(Timestamps(), [at(times)])["stray"] == pytest.approx(stray, abs=1e-3)


def test_jitter_is_no_gap():
    rng = np.random.default_rng(0)
    assert judge(Timestamps(), [at(np.arange(300) / 30 + rng.uniform(-0.006, 0.006, 300))]) == []


def test_counts_of_repeats_and_reversals():
    found = {f.code: f for f in judge(Timestamps(), [at([0, 1, 1, 1, 2, 1.5, 3, 4, 5], rate_hz=1)])}
    assert found["duplicate"].measured == 2
    assert found["order"].measured == 1
    assert found["order"].spans_s == ((1.5, 2.0),)


def test_times_that_are_none():
    times = np.arange(30) / 30
    times[10] = np.nan
    (found,) = judge(Timestamps(), [at(times)])
    assert (found.code, found.measured) == ("order", 2.0)


def test_a_channel_with_a_clock_of_its_own():
    base = at(np.arange(40) / 10, rate_hz=10)
    times = np.r_[np.arange(10), np.arange(30, 40)] / 10
    other = Channel("observation.force", "other", np.zeros((20, 1)), times, ("",))
    base.load_channels = lambda load=base.load_channels: {**load(), "observation.force": other}
    (found,) = judge(Timestamps(), [base])
    assert (found.channel, found.code) == ("observation.force", "time_gap")
    assert found.measured == pytest.approx(2.0)
