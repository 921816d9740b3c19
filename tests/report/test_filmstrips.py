"""Filmstrips: which frames, and that they are the frames."""

from __future__ import annotations

import base64
import io

import av
import numpy as np
import pytest
from made_audits import TOP, camera_finding

from gristmill.errors import VideoError
from gristmill.finding import Span
from gristmill.report.filmstrips import STRIPS_OF_EPISODE, WIDTH, Allowance, filmstrips, frame_numbers, jpeg
from gristmill.testing import ArrayCamera, reaching


def decoded(data: bytes) -> np.ndarray:
    with av.open(io.BytesIO(data)) as container:
        return next(container.decode(video=0)).to_ndarray(format="rgb24")


def test_frames_lie_before_within_and_after() -> None:
    # 2.0 to 3.0 s at 30 Hz are the frames 60 to 89; a quarter of the span away are 52.5 and 96.5.
    chosen = frame_numbers(Span(2.0, 3.0), 30.0, 300)
    assert [n for n, inside in chosen if inside] == [60, 67, 74, 82, 89]
    assert [n for n, inside in chosen if not inside] == [52, 97]


@pytest.mark.parametrize(
    ("span", "frames", "inside", "outside"),
    [
        (Span(0.0, 0.1), 3, [0, 1, 2], []),  # the whole episode
        (Span(0.5, 0.5), 90, [15], [12, 18]),  # a moment
        (Span(8.0, 9.0), 30, [29], [21]),  # beyond the last frame: the last one stands in
        (Span(0.0, 1.0), 1, [0], []),
    ],
)
def test_frames_stay_within_the_episode(span: Span, frames: int, inside: list[int], outside: list[int]) -> None:
    chosen = frame_numbers(span, 30.0, frames)
    assert [n for n, flagged in chosen if flagged] == inside
    assert [n for n, flagged in chosen if not flagged] == outside


def test_colours_and_shape_survive() -> None:
    frame = np.zeros((240, 320, 3), np.uint8)
    frame[:, :160] = (200, 40, 40)
    frame[:, 160:] = (30, 60, 210)
    data, width, height = jpeg(frame)
    picture = decoded(data)
    assert (width, height) == (WIDTH, 132)
    assert picture.shape == (132, WIDTH, 3)
    assert np.abs(picture[66, 20].astype(int) - (200, 40, 40)).max() < 12
    assert np.abs(picture[66, 150].astype(int) - (30, 60, 210)).max() < 12


def test_small_and_odd_frames_are_not_enlarged() -> None:
    _, width, height = jpeg(np.zeros((1, 33, 3), np.uint8))
    assert (width, height) == (32, 2)


def test_a_strip_holds_the_frames_of_its_span() -> None:
    grey = np.arange(90, dtype=np.uint8)[:, None, None] * 2 + np.zeros((90, 32, 32), np.uint8)
    episode = reaching(0, frames=90, cameras={TOP: ArrayCamera(grey)})
    (strip,) = filmstrips(episode, [camera_finding(0, spans_s=(Span(0, 0.1), Span(1.0, 2.0)))], Allowance())
    assert strip.span == "1\u20132\u202fs", "the longest span is shown"
    # A quarter of a second away from 1 s is frame 30 - 8 = 22 (7.5 rounds to even).
    assert [p.time for p in strip.pictures] == ["0.73", "1", "1.23", "1.47", "1.73", "1.97", "2.23"]
    picture = decoded(base64.b64decode(strip.pictures[1].source.partition(",")[2]))
    assert picture.mean() == pytest.approx(60, abs=3)


def test_strips_are_bounded_and_the_rest_is_counted() -> None:
    episode = reaching(0, cameras={TOP: ArrayCamera(np.zeros((120, 16, 16), np.uint8))})
    findings = [camera_finding(0, spans_s=(Span(i / 4, i / 4 + 0.2),)) for i in range(6)]
    allowance = Allowance(left=STRIPS_OF_EPISODE + 1)
    assert len(filmstrips(episode, findings, allowance)) == STRIPS_OF_EPISODE
    assert len(filmstrips(episode, findings, allowance)) == 1
    assert (allowance.left, allowance.refused) == (0, STRIPS_OF_EPISODE - 1)


def test_a_broken_file_is_told_in_its_place() -> None:
    class Broken(ArrayCamera):
        def rgb(self, frames):
            raise VideoError("top.mp4: not a video; record it again")

    episode = reaching(0, cameras={TOP: Broken(np.zeros((9, 8, 8), np.uint8))})
    (strip,) = filmstrips(episode, [camera_finding(0)], Allowance())
    assert strip.trouble == "top.mp4: not a video; record it again"
    assert strip.pictures == ()


def test_findings_without_a_camera_have_no_strip() -> None:
    episode = reaching(0, cameras={TOP: ArrayCamera(np.zeros((9, 8, 8), np.uint8))})
    findings = [camera_finding(0, camera=None), camera_finding(0, camera="observation.images.gone")]
    assert filmstrips(episode, findings, Allowance()) == []


def test_trouble_of_a_whole_video_shows_it_from_end_to_end() -> None:
    episode = reaching(0, cameras={TOP: ArrayCamera(np.zeros((91, 8, 8), np.uint8))})
    (strip,) = filmstrips(episode, [camera_finding(0, spans_s=())], Allowance())
    assert strip.span == ""
    assert [p.time for p in strip.pictures] == ["0", "0.5", "1", "1.5", "2", "2.5", "3"]
    assert not any(p.flagged for p in strip.pictures)
