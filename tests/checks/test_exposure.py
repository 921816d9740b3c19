import numpy as np
import pytest

from gristmill.checks.exposure import Exposure
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge
from gristmill.testing.filming import FRONT, WRIST, filmed


def clipped(start, stop, share, level=255):
    """The given share of every picture's columns is burnt out, or black."""

    def spoil(luma):
        luma[start:stop, :, : round(share * luma.shape[2])] = level
        return luma

    return spoil


class TestExposure(CheckContract):
    check = Exposure()

    def clean_episode(self, index):
        return filmed(index)

    def broken_episode(self, index):
        return filmed(index, spoil={FRONT: clipped(30, 90, 0.3)})


@pytest.mark.parametrize(("level", "share", "code"), [(255, 0.25, "overexposed"), (0, 0.5, "underexposed")])
def test_clipped_pixels_are_measured(level, share, code):
    episodes = [filmed(0, spoil={FRONT: clipped(30, 90, share, level)}), *(filmed(i) for i in range(1, 5))]
    (found,) = judge(Exposure(), episodes)
    assert (found.row, found.camera, found.code, found.kind) == (0, FRONT, code, Kind.RISK)
    assert found.spans_s[0] == pytest.approx((1.0, 3.0), abs=0.07)
    assert found.measured == pytest.approx(share, abs=0.05)


def test_a_whole_episode():
    episodes = [filmed(0, spoil={WRIST: clipped(0, 120, 0.4)}), *(filmed(i) for i in range(1, 5))]
    (found,) = judge(Exposure(), episodes)
    assert found.spans_s == ((0.0, 4.0),)


def test_a_window_that_is_always_there_is_usual():
    assert judge(Exposure(), [filmed(i, spoil={FRONT: clipped(0, 120, 0.3)}) for i in range(5)]) == []


def test_black_frames_are_left_to_another_check():
    def black(luma):
        luma[30:60] = 0
        return luma

    assert judge(Exposure(), [filmed(0, spoil={FRONT: black}), *(filmed(i) for i in range(1, 5))]) == []


def test_limits_follow_the_corpus():
    # Shares of 0.1, 0.15, ..., 0.3: median 0.2, deviation 1.4826 * 0.05, so the limit is 0.2 + 6 * 0.074 = 0.64.
    high = np.array([[0.10], [0.15], [0.20], [0.25], [0.30]])
    assert Exposure()._limit(high, 0.1) == pytest.approx([0.2 + 6 * 1.4826 * 0.05])
