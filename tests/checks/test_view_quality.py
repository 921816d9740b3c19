import numpy as np
import pytest

from gristmill.checks.view_quality import ViewQuality
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, manifest_of
from gristmill.testing.filming import FRONT, WRIST, filmed


def scaled(gain, offset=0.0):
    def spoil(luma):
        return np.clip(np.rint(luma * gain + offset), 0, 255).astype(np.uint8)

    return spoil


def snowy(luma):
    noise = np.random.default_rng(0).normal(0, 120, luma.shape)
    return np.clip(np.rint(luma + noise), 0, 255).astype(np.uint8)


class TestViewQuality(CheckContract):
    check = ViewQuality()

    def clean_episode(self, index):
        return filmed(index)

    def broken_episode(self, index):
        return filmed(index, spoil={FRONT: scaled(0.3)})


@pytest.mark.parametrize(
    ("spoil", "codes"),
    [
        (scaled(0.3, 90), {"pale"}),
        (scaled(0.4), {"dim", "pale"}),
        (scaled(1.0, 140), {"glaring", "pale"}),
    ],
)
def test_what_is_wrong_with_a_view(spoil, codes):
    found = judge(ViewQuality(), [filmed(0, spoil={WRIST: spoil}), *(filmed(i) for i in range(1, 6))])
    assert {f.code for f in found} <= codes
    assert {(f.row, f.camera, f.kind) for f in found} == {(0, WRIST, Kind.RISK)}


def test_grain_is_noise():
    def smooth(luma):
        mean = luma.astype(np.float64)
        mean = (mean[:, :, :-2] + mean[:, :, 1:-1] + mean[:, :, 2:]) / 3
        return np.rint(np.pad(mean, ((0, 0), (0, 0), (1, 1)), mode="edge")).astype(np.uint8)

    episodes = [filmed(i, spoil={FRONT: smooth}) for i in range(6)]
    episodes[0] = filmed(0, spoil={FRONT: snowy})
    found = judge(ViewQuality(), episodes)
    assert [(f.row, f.camera, f.code) for f in found] == [(0, FRONT, "noisy")]


def test_when_all_views_change_the_light_did():
    dark = filmed(0, spoil={FRONT: scaled(0.3), WRIST: scaled(0.3)})
    assert judge(ViewQuality(), [dark, *(filmed(i) for i in range(1, 6))]) == []


def test_passing_trouble_is_left_to_other_checks():
    def for_a_while(luma):
        luma[:60] = luma[:60] // 4
        return luma

    assert judge(ViewQuality(), [filmed(0, spoil={FRONT: for_a_while}), *(filmed(i) for i in range(1, 6))]) == []


def test_one_camera_has_no_other_to_compare_with():
    manifest = manifest_of(ViewQuality(), [filmed(0, cameras=(FRONT,))])
    assert manifest.unknown == ("there is no second view to compare with",)
