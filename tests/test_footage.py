import numpy as np
import pytest

from gristmill.finding import Span
from gristmill.footage import activity_of, blank, merged, nested_runs, rows_of, smoothed, span_s, traces_of
from gristmill.testing import ArrayCamera, make_episode, reaching
from gristmill.testing.filming import FRONT, filmed
from gristmill.traces import trace


def test_nested_runs_give_each_stretch_with_its_least_value():
    values = np.array([0, 3, 3, 6, 6, 6, 2, 0, 0, 4, 4, 0.0])
    assert nested_runs(values, [1, 5, 9], 2) == [(1, 7, 2.0), (9, 11, 4.0), (3, 6, 6.0)]


def test_nested_runs_list_a_steep_stretch_once():
    values = np.array([0, 8, 8, 8, 0.0])
    assert nested_runs(values, [1, 2, 4], 2) == [(1, 4, 8.0)]
    assert nested_runs(values, [1, 2, 4], 4) == []
    assert nested_runs(np.zeros(0), [1], 1) == []


def test_merged_spans():
    spans = [Span(3, 4), Span(0, 1), Span(0.5, 2), Span(2, 2.5)]
    assert merged(spans) == [(0, 2.5), (3, 4)]


def test_smoothing_shortens_at_the_ends():
    assert smoothed(np.array([1.0, 2, 3, 4]), 3).tolist() == pytest.approx([1.5, 2, 3, 3.5])
    assert smoothed(np.array([1.0, 2]), 1).tolist() == [1, 2]
    assert smoothed(np.array([5.0, 7]), 9).tolist() == [5, 6]


def test_blank_frames():
    luma = np.random.default_rng(0).integers(0, 255, (4, 32, 32)).astype(np.uint8)
    luma[1] = 0
    luma[2] = 130
    assert blank(trace(ArrayCamera(luma))).tolist() == [False, True, True, False]


def test_rows_and_spans_follow_the_frames_times():
    camera = ArrayCamera(np.zeros((5, 8, 8), np.uint8), rate_hz=10)
    traces = trace(camera)
    shifted = type(traces)(
        **{n: getattr(traces, n) for n in traces.__slots__} | {"times_s": np.array([0, 0.1, 0.31, 0.4, np.nan])}
    )
    assert rows_of(shifted, 10).tolist() == [0, 1, 3, 4, 0]
    assert span_s(shifted, 1, 4, 10) == pytest.approx((0.1, 0.5))
    assert span_s(shifted, 3, 5, 10) == pytest.approx((0.1, 0.4))


def test_activity_is_that_of_the_step_into_a_row():
    state = np.cumsum([0, 0, 0, 1, 0, 0.0])[:, None] + np.linspace(0, 1e-6, 6)[:, None]
    activity = activity_of(make_episode(state=state, rate_hz=10), np.arange(6))
    assert activity is not None
    assert activity.argmax() == 3
    assert activity_of(make_episode(length=5), np.arange(5)) is None


def test_cameras_without_traces_are_named():
    assert traces_of(filmed(0))[1] is None
    assert list(traces_of(filmed(0))[0]) == list(filmed(0).cameras)
    dark = reaching(0, cameras={FRONT: ArrayCamera(np.zeros((5, 8, 8), np.uint8))})
    assert traces_of(dark) == ({}, f"no decoded frames of {FRONT}")
