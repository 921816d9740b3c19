"""Missing time steps by severity, at 10 Hz."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.finding import Finding, Kind
from gristmill.kept import Fill, filled
from gristmill.select.dropped_frames import DroppedFrames, is_gap


def _times(*missing: int, n: int = 20) -> np.ndarray:
    """Times of n steps without these ones."""
    return np.delete(np.arange(n), missing) / 10


def test_none_missing() -> None:
    handled = DroppedFrames().handle(_times(), 10)
    assert (handled.outcome, handled.rule) == ("none", "")
    assert DroppedFrames().handle(np.array([0.0]), 10).outcome == "none"


def test_jitter_is_no_gap() -> None:
    times = np.arange(20) / 10 + np.where(np.arange(20) % 2, 0.02, -0.02)
    assert DroppedFrames().handle(times, 10).outcome == "none"


def test_by_severity() -> None:
    rule = DroppedFrames(tolerate_steps=1, fill_steps=3)
    assert rule.handle(_times(5), 10).outcome == "tolerate"
    assert rule.handle(_times(5, 9), 10).outcome == "tolerate"
    handled = rule.handle(_times(5, 9, 10, 11), 10)
    assert (handled.outcome, handled.missing) == ("fill", 3)
    # Step 5 is missing: it follows frame 4. Steps 9 to 11 follow step 8, which is frame 7.
    assert handled.fills == (Fill(4, 1), Fill(7, 3))
    assert rule.handle(_times(5, 6, 7, 8), 10).rule == "dropped_frames.quarantine"
    assert DroppedFrames().handle(_times(5, 6), 10).outcome == "quarantine"


def test_frames_are_numbered_in_the_episode() -> None:
    handled = DroppedFrames(fill_steps=5).handle(_times(5, 6), 10, start=100)
    assert handled.fills == (Fill(104, 2),)


def test_filled_rows_repeat_the_frame_before_the_gap() -> None:
    assert filled(3, 8, ()).tolist() == [3, 4, 5, 6, 7]
    assert filled(3, 8, (Fill(4, 2), Fill(7, 1))).tolist() == [3, 4, 4, 4, 5, 6, 7, 7]


@pytest.mark.parametrize("times", [[0, np.nan, 0.2], [0, np.inf, 0.2], [0.2, 0.1, 0.0]])
def test_broken_times_are_not_gaps(times) -> None:
    assert DroppedFrames().handle(np.array(times), 10).outcome == "none"


def test_which_findings_it_answers() -> None:
    def finding(check: str, code: str) -> Finding:
        return Finding(check=check, code=code, kind=Kind.DEFECT, row=0, message="m", fix="f")

    assert is_gap(finding("timestamps", "time_gap"))
    assert is_gap(finding("timestamps", "dropped_frames"))
    assert not is_gap(finding("timestamps", "order"))
    assert not is_gap(finding("spike", "time_gap"))
