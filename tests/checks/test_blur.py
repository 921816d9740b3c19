import numpy as np
import pytest

from gristmill.checks.blur import Blur, sharpness
from gristmill.testing import CheckContract, judge
from gristmill.testing.filming import FRONT, WRIST, filmed


def soften(luma, sigma_px):
    """Gaussian blur (n, h, w), edges repeated."""
    reach = int(4 * sigma_px) + 1
    at = np.arange(-reach, reach + 1)
    kernel = np.exp(-0.5 * (at / sigma_px) ** 2)
    kernel /= kernel.sum()
    soft = np.pad(luma.astype(np.float64), ((0, 0), (reach, reach), (reach, reach)), mode="edge")
    soft = np.apply_along_axis(np.convolve, 1, soft, kernel, "valid")
    soft = np.apply_along_axis(np.convolve, 2, soft, kernel, "valid")
    return np.rint(soft).astype(np.uint8)


def blurred(start, stop, sigma_px=1.5):
    def spoil(luma):
        luma[start:stop] = soften(luma[start:stop], sigma_px)
        return luma

    return spoil


class TestBlur(CheckContract):
    check = Blur()

    def clean_episode(self, index):
        return filmed(index)

    def broken_episode(self, index):
        return filmed(index, spoil={WRIST: blurred(30, 90)})


def test_the_span_is_that_of_the_soft_frames():
    episodes = [filmed(0, spoil={WRIST: blurred(30, 90)}), *(filmed(i) for i in range(1, 5))]
    (found,) = judge(Blur(), episodes)
    assert (found.row, found.camera) == (0, WRIST)
    assert found.spans_s[0] == pytest.approx((1.0, 3.0), abs=0.07)


def test_a_whole_episode_out_of_focus():
    episodes = [filmed(0, spoil={FRONT: blurred(0, 120)}), *(filmed(i) for i in range(1, 5))]
    (found,) = judge(Blur(), episodes)
    assert found.spans_s == ((0.0, 4.0),)


def test_short_blur_is_what_motion_does():
    episodes = [filmed(0, spoil={FRONT: blurred(50, 60)}), *(filmed(i) for i in range(1, 5))]
    assert judge(Blur(), episodes) == []


def test_a_camera_that_is_soft_everywhere_is_judged_by_itself():
    assert judge(Blur(), [filmed(i, spoil={FRONT: blurred(0, 120)}) for i in range(5)]) == []


def test_a_darker_picture_is_as_sharp():
    def dim(luma):
        return (luma // 2).astype(np.uint8)

    bright, dark = (filmed(0, spoil=s).traces(FRONT) for s in (None, {FRONT: dim}))
    assert np.median(sharpness(dark) / sharpness(bright)) == pytest.approx(0.5, abs=0.1)
    assert judge(Blur(), [filmed(0, spoil={FRONT: dim}), *(filmed(i) for i in range(1, 5))]) == []
