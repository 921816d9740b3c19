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


def few_frames(index, rate_hz, noise):
    """4.5 s of two views of one motion, each with changes of its own that last as long, and nothing late."""
    frames = round(4.5 * rate_hz)
    rng = np.random.default_rng(index)
    bump = np.hanning(rate_hz // 2 + 2)  # half a second
    shared, *own = (np.convolve(rng.normal(size=frames + len(bump) - 1), bump, "valid") for _ in range(3))
    seen = filmed(0, frames=frames)
    traces = {}
    for key, alone in zip(seen.cameras, own, strict=True):
        told = seen.traces(key)
        assert told is not None
        changes = 4 * np.exp(shared + noise * alone)
        traces[key] = replace(told, times_s=np.arange(frames) / rate_hz, diff_peak=changes)
    state = np.cumsum(np.exp(shared))
    return make_episode(state=state, rate_hz=rate_hz, index=index, cameras=seen.cameras, traces=traces)


@pytest.mark.parametrize(("rate_hz", "noise"), [(5, 1.0), (10, 1.3), (15, 1.0)])
def test_a_delay_that_few_frames_cannot_tell_is_none(rate_hz, noise):
    # At 5 and 10 Hz, the likeliest delays of a few clean episodes are beyond what is allowed.
    assert judge(ViewSync(), [few_frames(i, rate_hz, noise) for i in range(60)]) == []


def test_what_is_allowed_grows_with_the_frame_and_with_what_is_left_open():
    manifest = manifest_of(ViewSync(), [episode(0, spoil={WRIST: late(6)}), *(episode(i) for i in range(1, 6))])
    (found,) = ViewSync().judge(manifest)
    assert found.threshold == ViewSync().max_off_s
    for deviation_s, allowed in ((0.035, 0.105 + 1 / 30), (0.07, None)):
        open_s = np.full_like(manifest["late_open_s"], deviation_s)
        findings = list(ViewSync().judge(replace(manifest, cells={**manifest.cells, "late_open_s": open_s})))
        assert [f.threshold for f in findings] == ([pytest.approx(allowed)] if allowed else [])


def test_an_uncertain_delay_is_none():
    manifest = manifest_of(ViewSync(), [episode(0, spoil={WRIST: late(6)}), *(episode(i) for i in range(1, 6))])
    certainty = np.full_like(manifest["certainty"], 2.9)
    assert list(ViewSync().judge(replace(manifest, cells={**manifest.cells, "certainty": certainty}))) == []
