import pytest

from gristmill.checks.black_frames import BlackFrames
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge
from gristmill.testing.filming import FRONT, WRIST, filmed


def fill(start, stop, level):
    def spoil(luma):
        luma[start:stop] = level
        return luma

    return spoil


class TestBlackFrames(CheckContract):
    check = BlackFrames()

    def clean_episode(self, index):
        return filmed(index)

    def broken_episode(self, index):
        return filmed(index, spoil={WRIST: fill(30, 60, 0)})


@pytest.mark.parametrize(("level", "code"), [(0, "black"), (16, "black"), (128, "blank"), (255, "blank")])
def test_any_single_colour_shows_nothing(level, code):
    episodes = [filmed(0, spoil={FRONT: fill(30, 60, level)}), *(filmed(i) for i in range(1, 5))]
    (found,) = judge(BlackFrames(), episodes)
    assert (found.row, found.camera, found.code, found.kind) == (0, FRONT, code, Kind.DEFECT)
    assert found.spans_s == ((1.0, 2.0),)
    assert found.measured == pytest.approx(1.0)


def test_one_frame_is_enough():
    episodes = [filmed(0, spoil={FRONT: fill(50, 51, 0)}), *(filmed(i) for i in range(1, 5))]
    (found,) = judge(BlackFrames(), episodes)
    assert found.spans_s[0] == pytest.approx((50 / 30, 51 / 30))


def test_a_dead_camera_is_told_once():
    (found,) = judge(BlackFrames(), [filmed(i, spoil={WRIST: fill(0, 120, 0)}) for i in range(5)])
    assert (found.row, found.code, found.camera) == (None, "dead_camera", WRIST)
