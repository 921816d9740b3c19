"""Lines, jumps and paces against what was planted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import theilslopes

from gristmill.episode import Channel
from gristmill.errors import UsageError
from gristmill.select.one_clock import require_one_clock
from gristmill.streams import line, own_clock, pace_of, relation_of, streams_of
from gristmill.testing import reaching


@given(st.integers(0, 1000), st.integers(3, 60))
def test_the_line_is_scipys(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = np.cumsum(rng.uniform(0.1, 1, count)), rng.normal(size=count)
    expected = theilslopes(y, x)
    slope, offset = line(x, y)
    assert slope == pytest.approx(expected.slope, abs=1e-12)
    assert offset == pytest.approx(np.median(y - slope * x), abs=1e-12)


def test_a_quarter_of_wild_points_moves_no_line() -> None:
    rng = np.random.default_rng(0)
    x = np.arange(1000.0)
    y = 3 + 0.5 * x
    y[rng.choice(1000, 200, replace=False)] += 1000
    assert line(x, y) == (pytest.approx(0.5, rel=1e-3), pytest.approx(3, abs=0.5))


def test_pace_counts_what_is_missing() -> None:
    rng = np.random.default_rng(3)
    times = np.arange(500) / 100 + rng.normal(0, 0.0005, 500)
    pace = pace_of(np.delete(times, np.r_[100:140, 300]))
    assert pace is not None
    assert pace.rate_hz == pytest.approx(100, rel=1e-4)
    assert pace.jitter_s == pytest.approx(0.0005, rel=0.1)
    assert pace.missing_s == pytest.approx(0.41, abs=0.01)
    assert pace.even
    assert pace_of(np.array([0.0, 0.0, np.nan, 1.0])) is None


def test_two_jumps_and_a_drift_are_told_apart() -> None:
    t = np.arange(2000) / 100
    offset = 0.1 + 1e-4 * t + 0.05 * (t >= 6) - 0.08 * (t >= 14)
    found = relation_of(t, t - offset, least_s=0.01)
    assert found is not None
    assert found.drift == pytest.approx(1e-4, rel=0.02)
    assert found.jumps == (
        (pytest.approx(6.0, abs=0.011), pytest.approx(0.05, abs=1e-3)),
        (pytest.approx(14.0, abs=0.011), pytest.approx(-0.08, abs=1e-3)),
    )
    assert relation_of(t[:2], t[:2], 0.01) is None


def test_a_single_late_message_is_no_jump() -> None:
    t = np.arange(200) / 50
    late = t.copy()
    late[[50, 51, 120]] += 0.4
    found = relation_of(late, t, least_s=0.01)
    assert found is not None
    assert found.jumps == ()
    assert found.drift == pytest.approx(0, abs=1e-9)


def test_which_channel_has_a_clock_of_its_own() -> None:
    raw = reaching(0)
    assert own_clock(raw) == ""
    state, action = raw.channels.values()

    def other(times, values=action.values):
        made = {state.key: state, action.key: Channel(action.key, "action", values, times, action.names)}
        return replace(raw, load_channels=lambda: made)

    assert own_clock(other(action.times_s.copy())) == ""
    assert own_clock(other(action.times_s + 1e-5)) == ""  # recorders round
    assert own_clock(other(action.times_s + 0.02)) == "channel action is up to 20 ms beside the frames"
    assert own_clock(other(action.times_s[::2], action.values[::2])) == "channel action has 60 samples for 120 frames"
    assert list(streams_of(other(action.times_s.copy()))) == ["observation.state"]
    assert list(streams_of(other(action.times_s + 0.02))) == ["observation.state", "action"]
    with pytest.raises(UsageError, match=r"episode made/000000: channel action .* add \[resample\] with rate_hz"):
        require_one_clock(other(action.times_s + 0.02))
