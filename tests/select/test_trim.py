"""What is left of an episode, worked out by hand at 10 Hz: frame k stands at k / 10 s."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.finding import Finding, Kind, Span
from gristmill.select.trim import Trim


def _idle(place: str, *spans: tuple[float, float], check: str = "idle") -> Finding:
    return Finding(
        check=check,
        kind=Kind.RISK,
        row=0,
        message="m",
        fix="f",
        code=f"idle_{place}" if check == "idle" else "",
        spans_s=tuple(Span(*s) for s in spans),
    )


def test_nothing_to_cut() -> None:
    trimmed = Trim().apply([], 100, 10)
    assert trimmed.spans == ((0, 100),)
    assert trimmed.rules == ()


def test_an_idle_head_goes_but_for_a_moment() -> None:
    # Still during 0 .. 3 s: frames 0..29. One frame (0.1 s) of stillness stays.
    trimmed = Trim().apply([_idle("head", (0.0, 3.0))], 100, 10)
    assert trimmed.spans == ((29, 100),)
    assert trimmed.rules == ("trim.head",)


def test_a_head_that_begins_a_little_late_goes_from_the_start() -> None:
    assert Trim().apply([_idle("head", (0.2, 3.0))], 100, 10).spans == ((29, 100),)


def test_a_short_rest_at_the_end_stays() -> None:
    # Still from 7 s on: half a second of it stays, frames 70..74.
    trimmed = Trim().apply([_idle("tail", (7.0, 10.0))], 100, 10)
    assert trimmed.spans == ((0, 75),)
    assert trimmed.rules == ("trim.tail",)
    assert Trim(keep_tail_s=3).apply([_idle("tail", (7.0, 10.0))], 100, 10).spans == ((0, 100),)


def test_a_pause_is_cut_only_when_long() -> None:
    pause = _idle("middle", (3.0, 6.0))
    untouched = Trim().apply([pause], 100, 10)
    assert untouched.spans == ((0, 100),)
    assert untouched.rules == ()
    # Half a second stays on either side: frames 35..54 go.
    cut = Trim(cut_pauses_over_s=2.0).apply([pause], 100, 10)
    assert cut.spans == ((0, 35), (55, 100))
    assert cut.rules == ("trim.middle",)


def test_all_three_at_once() -> None:
    findings = [_idle("head", (0.0, 1.0)), _idle("middle", (3.0, 6.0)), _idle("tail", (8.0, 10.0))]
    trimmed = Trim(cut_pauses_over_s=2.0).apply(findings, 100, 10)
    assert trimmed.spans == ((9, 35), (55, 85))
    assert trimmed.rules == ("trim.head", "trim.middle", "trim.tail")


def test_short_pieces_are_not_worth_an_episode() -> None:
    trimmed = Trim(cut_pauses_over_s=2.0).apply([_idle("middle", (0.3, 6.0))], 100, 10)
    assert trimmed.spans == ((55, 100),)  # the 8 frames before are shorter than a second


def test_nobody_loses_a_whole_episode_to_idleness_unless_asked() -> None:
    findings = [_idle("head", (0.0, 9.8))]
    kept = Trim().apply(findings, 100, 10)
    assert kept.spans == ((0, 100),)
    assert kept.rules == ("trim.too_little_left",)
    dropped = Trim(drop_idle_episodes=True).apply(findings, 100, 10)
    assert dropped.spans == ()
    assert dropped.rules == ("trim.head", "trim.nothing_left")


def test_spans_of_other_checks_are_cut_as_they_are() -> None:
    trimmed = Trim().apply([_idle("", (2.0, 4.0), (3.5, 5.0), check="frozen_frames")], 100, 10)
    assert trimmed.spans == ((0, 20), (50, 100))
    assert trimmed.rules == ("trim.frozen_frames",)


@pytest.mark.parametrize("span", [(-1.0, 0.0), (9.99, 20.0), (50.0, 60.0)])
def test_spans_outside_the_episode_do_no_harm(span) -> None:
    (kept,) = Trim(keep_head_s=0).apply([_idle("", span, check="x")], 100, 10).spans
    assert 0 <= kept.start < kept.stop <= 100


def test_recorded_times_say_which_frames_a_span_holds() -> None:
    # A clock that begins at 5 s: the span 5 .. 8 s holds frames 0..29.
    late = 5 + np.arange(100) / 10
    assert Trim().apply([_idle("head", (5.0, 8.0))], 100, 10, late).spans == ((29, 100),)
    # One second is missing after frame 49: 8 .. 9 s are frames 70..79.
    gapped = np.r_[0:50, 60:110] / 10
    assert Trim().apply([_idle("", (8.0, 9.0), check="spike")], 100, 10, gapped).spans == ((0, 70), (80, 100))


def test_spans_of_cameras_count_their_frames() -> None:
    late = 5 + np.arange(100) / 10
    blurred = replace(_idle("", (2.0, 3.0), check="blur"), camera="front")
    assert Trim().apply([blurred], 100, 10, late).spans == ((0, 20), (30, 100))


def test_a_gap_splits_and_takes_no_sample() -> None:
    # From the sample at 4.9 s to the one at 6 s.
    gapped = np.r_[0:50, 60:110] / 10
    gap = _idle("", (4.9, 6.0), check="timestamps")
    assert Trim().apply([gap], 100, 10, gapped).spans == ((0, 50), (50, 100))


def test_times_that_run_backwards_or_are_none_cut_all_the_same() -> None:
    times = np.arange(100) / 10
    times[40:45], times[60] = 1.0, np.nan
    assert Trim().apply([_idle("", (7.0, 8.0), check="spike")], 100, 10, times).spans == ((0, 70), (80, 100))
