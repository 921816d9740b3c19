"""Cuts move inward to where packets can be cut, or the camera is marked."""

from __future__ import annotations

import numpy as np

from gristmill.select.align import Align, Cuttable, cuttable
from gristmill.select.trim import Stretch
from gristmill.testing import ArrayCamera

EVERY_SECOND = Cuttable(np.arange(0, 100, 2), np.arange(1, 101))
ONE_KEYFRAME = Cuttable(np.array([0]), np.arange(1, 101))
B_FRAMES = Cuttable(np.arange(0, 100, 10), np.arange(0, 101, 5))


def _align(start: int, stop: int, shift: int = 2, **cameras: Cuttable):
    aligned = Align(max_shift_frames=shift).apply(Stretch(start, stop), 100, cameras)
    return tuple(aligned.stretch), aligned.reencode, aligned.moved


def test_a_whole_episode_is_left_alone() -> None:
    assert _align(0, 100, top=ONE_KEYFRAME) == ((0, 100), (), False)
    # An end of the episode is never moved: an episode that does not begin with a keyframe is marked.
    assert _align(0, 100, top=Cuttable(np.array([1]), np.array([100]))) == ((0, 100), ("top",), False)


def test_without_cameras_nothing_moves() -> None:
    assert _align(7, 93) == ((7, 93), (), False)


def test_moves_inward_to_the_next_keyframe() -> None:
    assert _align(7, 100, top=EVERY_SECOND) == ((8, 100), (), True)
    assert _align(8, 100, top=EVERY_SECOND) == ((8, 100), (), False)
    assert _align(9, 62, shift=2, top=B_FRAMES) == ((10, 60), (), True)


def test_marks_what_is_out_of_reach() -> None:
    assert _align(7, 100, top=ONE_KEYFRAME) == ((7, 100), ("top",), False)
    assert _align(9, 64, top=B_FRAMES) == ((10, 64), ("top",), True)
    assert _align(7, 100, shift=0, top=EVERY_SECOND) == ((7, 100), ("top",), False)


def test_serves_as_many_cameras_as_possible() -> None:
    assert _align(7, 100, top=EVERY_SECOND, wrist=ONE_KEYFRAME) == ((8, 100), ("wrist",), True)
    odd = Cuttable(np.arange(1, 100, 2), np.arange(1, 101))
    assert _align(7, 100, top=EVERY_SECOND, wrist=odd) == ((7, 100), ("top",), False)


def test_a_short_stretch_keeps_a_frame() -> None:
    assert _align(7, 8, top=B_FRAMES) == ((7, 8), ("top",), False)


def test_pictures_of_their_own_can_be_cut_anywhere() -> None:
    cuts = cuttable(ArrayCamera(np.zeros((5, 4, 4), np.uint8)), 5)
    assert cuts.starts.tolist() == [0, 1, 2, 3, 4]
    assert cuts.stops.tolist() == [1, 2, 3, 4, 5]
