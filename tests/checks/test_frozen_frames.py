import numpy as np
import pytest

from gristmill.checks.frozen_frames import FrozenFrames
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode
from gristmill.testing.filming import FRONT, WRIST, filmed


def freeze(start, stop):
    def spoil(luma):
        luma[start:stop] = luma[start]
        return luma

    return spoil


class TestFrozenFrames(CheckContract):
    check = FrozenFrames()

    def clean_episode(self, index):
        return filmed(index)

    def broken_episode(self, index):
        return filmed(index, spoil={FRONT: freeze(40, 70)})


def corpus(**broken):
    return [filmed(0, **broken), *(filmed(i) for i in range(1, 5))]


def test_the_span_is_that_of_the_repeated_frame():
    (found,) = judge(FrozenFrames(), corpus(spoil={WRIST: freeze(30, 60)}))
    assert (found.row, found.camera, found.kind) == (0, WRIST, Kind.DEFECT)
    assert found.spans_s == ((1.0, 2.0),)
    assert found.measured == pytest.approx(1.0)


def test_a_redrawn_keyframe_does_not_split_the_span():
    def redrawn(luma):
        luma = freeze(30, 60)(luma)
        noise = np.random.default_rng(3).integers(-3, 4, luma[45].shape)
        luma[45:60] = np.clip(luma[45] + noise, 0, 255)
        return luma

    (found,) = judge(FrozenFrames(), corpus(spoil={FRONT: redrawn}))
    assert found.spans_s == ((1.0, 2.0),)


def test_neither_do_two_redrawn_keyframes_close_together():
    def redrawn(luma):
        luma = freeze(30, 60)(luma)
        noise = np.random.default_rng(3).integers(-3, 4, (2, *luma[45].shape))
        luma[44:60] = np.clip(luma[44] + noise[0], 0, 255)
        luma[46:60] = np.clip(luma[46] + noise[1], 0, 255)
        return luma

    (found,) = judge(FrozenFrames(), corpus(spoil={FRONT: redrawn}))
    assert found.spans_s == ((1.0, 2.0),)


@pytest.mark.parametrize("repeats", [2, 3, 4, 6])
def test_a_slow_camera_is_not_frozen(repeats):
    def slow(luma):
        return luma[np.arange(len(luma)) // repeats * repeats]

    assert judge(FrozenFrames(), [filmed(i, spoil={FRONT: slow}) for i in range(5)]) == []


def test_a_still_robot_before_a_still_camera_is_no_fault():
    episodes = []
    for index in range(5):
        seen = filmed(index, spoil={FRONT: freeze(40, 80)})
        state = seen.channels["observation.state"].values.copy()
        state[40:80] = state[40]
        traces = {key: seen.traces(key) for key in seen.cameras}
        episodes.append(make_episode(state=state, index=index, cameras=seen.cameras, traces=traces))
    assert judge(FrozenFrames(), episodes) == []


def test_a_camera_that_never_sees_the_robot_is_told_once():
    episodes = [filmed(i, spoil={FRONT: freeze(0, 120)}) for i in range(5)]
    (found,) = judge(FrozenFrames(), episodes)
    assert (found.row, found.kind, found.code, found.camera) == (None, Kind.RISK, "blind_camera", FRONT)


def test_black_frames_are_left_to_another_check():
    def black(luma):
        luma[30:60] = 0
        return luma

    assert judge(FrozenFrames(), corpus(spoil={FRONT: black})) == []
