from dataclasses import replace

import numpy as np
import pytest

from gristmill.checks.view_sync import ViewSync
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, manifest_of
from gristmill.testing.filming import FRONT, WRIST, filmed

FRAMES = 180
SIDE = "observation.images.side"


def late(frames):
    """Everything comes so many frames later; the first frame stands in until then."""

    def spoil(luma):
        return luma[np.maximum(np.arange(len(luma)) - frames, 0)]

    return spoil


def episode(index, **more):
    return filmed(index, frames=FRAMES, **more)


class TestViewSync(CheckContract):
    check = ViewSync()

    def clean_episode(self, index):
        return episode(index)

    def broken_episode(self, index):
        return episode(index, spoil={WRIST: late(6)})


@pytest.mark.parametrize("camera", [FRONT, WRIST])
def test_the_later_of_two_views_is_late(camera):
    (found,) = judge(ViewSync(), [episode(0, spoil={camera: late(6)}), *(episode(i) for i in range(1, 6))])
    assert (found.row, found.camera, found.kind) == (0, camera, Kind.DEFECT)
    assert found.measured == pytest.approx(0.2, abs=0.04)


def test_the_odd_one_of_three_views_is_named():
    cameras = (FRONT, WRIST, SIDE)
    clean = [episode(i, cameras=cameras) for i in range(1, 6)]
    broken = episode(0, cameras=cameras, spoil={SIDE: late(6)})
    (found,) = judge(ViewSync(), [broken, *clean])
    assert (found.row, found.camera) == (0, SIDE)


def test_a_view_that_is_always_late_is_usual():
    assert judge(ViewSync(), [episode(i, spoil={WRIST: late(6)}) for i in range(8)]) == []


def visible(index, shift=0, hung=(0, 0), **more):
    """An episode with just those two joints that the cameras see.

    `shift` makes the state late, in frames; from `hung[0]` to `hung[1]` it repeats.
    """
    seen = episode(index, **more)
    rows = np.maximum(np.arange(FRAMES) - shift, 0)
    rows[slice(*hung)] = hung[0]
    state = seen.channels["observation.state"].values[rows, :2]
    traces = {key: seen.traces(key) for key in seen.cameras}
    return make_episode(state=state, index=index, cameras=seen.cameras, traces=traces)


def test_all_views_late_against_the_robot():
    episodes = [visible(i) for i in range(12)]
    episodes[3] = visible(3, spoil={FRONT: late(9), WRIST: late(9)})
    found = judge(ViewSync(), episodes)
    assert {(f.row, f.code) for f in found} == {(3, "behind")}
    assert all(f.measured == pytest.approx(9 / 30, abs=0.06) for f in found)


def test_a_late_state_is_not_a_late_view():
    episodes = [visible(i) for i in range(12)]
    episodes[3] = visible(3, shift=9)
    assert judge(ViewSync(), episodes) == []


@pytest.mark.parametrize("start", [30, 60, 90, 120])
def test_a_state_that_hung_is_no_witness(start):
    episodes = [visible(i) for i in range(12)]
    clean = manifest_of(ViewSync(), episodes)["behind_s"][3]
    episodes[3] = visible(3, hung=(start, start + 40))
    assert manifest_of(ViewSync(), episodes)["behind_s"][3] == pytest.approx(clean, abs=0.04)


def test_frames_far_apart_are_not_judged():
    sparse = {key: replace(t, times_s=t.times_s * 1e6) for key, t in ((k, filmed(0).traces(k)) for k in (FRONT, WRIST))}
    manifest = manifest_of(ViewSync(), [filmed(0, traces=sparse)])
    assert manifest.unknown[0] == "most frames are missing"


def test_short_episodes_are_not_judged():
    manifest = manifest_of(ViewSync(), [filmed(0, frames=30)])
    assert manifest.unknown[0] == "shorter than 1.6 s"
