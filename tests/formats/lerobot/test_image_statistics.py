"""Camera statistics: histograms against numpy, statistics carried over against the whole."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.formats.lerobot.image_statistics import (
    SAMPLED,
    CameraStatistics,
    PixelHistogram,
    of_camera,
    sampled,
    usable,
)
from gristmill.statistics import QUANTILES
from gristmill.testing import ArrayCamera


def _pictures(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, 6, 8, 3), dtype=np.uint8)


def _histogram(pictures: np.ndarray) -> PixelHistogram:
    histogram = PixelHistogram()
    histogram.add(pictures)
    return histogram


def test_histogram_equals_numpy() -> None:
    pictures = _pictures(3, 0)
    found = _histogram(pictures).statistics()
    pixels = pictures.reshape(-1, 3) / 255
    assert found["count"].tolist() == [3]
    for name, value in {
        "min": pixels.min(0),
        "max": pixels.max(0),
        "mean": pixels.mean(0),
        "std": pixels.std(0),
    }.items():
        assert found[name].shape == (3, 1, 1)
        np.testing.assert_allclose(found[name].ravel(), value)
    for name, share in QUANTILES.items():
        np.testing.assert_allclose(found[name].ravel(), np.quantile(pixels, share, axis=0))


def test_large_pictures_are_thinned() -> None:
    pictures = np.zeros((1, 480, 640, 3), np.uint8)
    pictures[:, ::4, ::4] = 255  # every fourth pixel both ways: the ones that are looked at
    assert _histogram(pictures).statistics()["mean"].ravel().tolist() == [1, 1, 1]


def test_carried_moments_merge_exactly_and_quantiles_are_left_out() -> None:
    a, b, c = (_pictures(n, n) for n in (2, 5, 3))
    camera = CameraStatistics()
    camera.add({k: v for k, v in _histogram(a).statistics().items() if k not in QUANTILES})
    camera.add(_histogram(b))
    camera.add(_histogram(c))
    found = camera.finish()
    assert found is not None
    pixels = np.concatenate([a, b, c]).reshape(-1, 3) / 255
    np.testing.assert_allclose(found["mean"].ravel(), pixels.mean(0))
    np.testing.assert_allclose(found["std"].ravel(), pixels.std(0))
    np.testing.assert_allclose(found["min"].ravel(), pixels.min(0))
    assert found["count"].tolist() == [10]
    assert not QUANTILES.keys() & found.keys()


def test_histograms_alone_keep_quantiles() -> None:
    a, b = _pictures(2, 0), _pictures(5, 1)
    camera = CameraStatistics()
    camera.add(_histogram(a))
    camera.add(_histogram(b))
    found = camera.finish()
    assert found is not None
    pixels = np.concatenate([a, b]).reshape(-1, 3) / 255
    np.testing.assert_allclose(found["q90"].ravel(), np.quantile(pixels, 0.9, axis=0))
    assert CameraStatistics().finish() is None


def test_sampling_is_even_and_bounded() -> None:
    assert sampled(1) == [0]
    assert sampled(5) == [0, 1, 2, 3, 4]
    long = sampled(1000)
    assert (len(long), long[0], long[-1]) == (SAMPLED, 0, 999)
    assert set(np.diff(long)) <= {32, 33}


def test_of_camera_looks_at_the_given_frames() -> None:
    luma = np.repeat(np.arange(100, dtype=np.uint8)[:, None, None], 4, axis=1).repeat(4, axis=2)
    found = of_camera(ArrayCamera(luma), range(40, 50)).statistics()
    np.testing.assert_allclose(found["min"].ravel() * 255, 40)
    np.testing.assert_allclose(found["max"].ravel() * 255, 49)
    assert found["count"].tolist() == [10]


@pytest.mark.parametrize(
    "change",
    [
        {"max": np.full((3, 1, 1), 255.0)},
        {"mean": np.full((3, 1, 1), np.nan)},
        {"std": np.full(3, -1.0)},
        {"mean": np.zeros(1)},
        {"count": np.array([0])},
        {"count": None},
    ],
)
def test_declared_statistics_that_make_no_sense_are_refused(change) -> None:
    sound = _histogram(_pictures(3, 0)).statistics()
    assert usable(sound) is not None
    assert usable({k: v.reshape(-1) for k, v in sound.items()}) is not None
    assert usable({k: v for k, v in (sound | change).items() if v is not None}) is None
    assert usable(None) is None
