"""Painted frames: what moves is seen to move, what is near hides what is far."""

from __future__ import annotations

import time

import numpy as np
import pytest

from gristmill.synth.expert import demonstrate
from gristmill.synth.painting import LOOKS, paint
from gristmill.synth.poses import lens, poses


@pytest.fixture(scope="module")
def shown():
    d = demonstrate("pick_place", np.random.default_rng(2), 30.0)
    return d, poses(d.rollout.qpos, d.goal_m, ("front", "wrist", "side"))


def film(world, camera: str, size: int = 64, seed: int = 0) -> np.ndarray:
    return paint(world, camera, size, LOOKS[0], np.random.default_rng(seed))


def is_red(frames: np.ndarray) -> np.ndarray:
    return (frames[..., 0] > 70) & (frames[..., 0] > 3 * frames[..., 1]) & (frames[..., 0] > 3 * frames[..., 2])


@pytest.mark.parametrize("camera", ["front", "wrist", "side"])
def test_frames_are_sharp_well_lit_and_change_with_the_arm(shown, camera):
    d, world = shown
    frames = film(world, camera).astype(float)
    grey = frames.mean(axis=3)
    assert frames.shape == (len(d.state), 64, 64, 3)
    assert 60 < grey.mean() < 200
    assert (grey > 250).mean() < 0.01 and (grey < 10).mean() < 0.05
    change = np.abs(np.diff(grey, axis=0)).mean(axis=(1, 2))
    speed = np.abs(np.diff(d.state[:, :5], axis=0)).sum(axis=1)
    moving, still = speed > np.quantile(speed, 0.8), speed < np.quantile(speed, 0.1)
    noise = 1.6 * np.sqrt(4 / np.pi / 3)  # mean difference of two draws, averaged over three channels
    assert change[moving].mean() - noise > 3 * (change[still].mean() - noise) > 0


def test_the_sensor_is_noisy_and_reproducible(shown):
    _, world = shown
    a, b = film(world, "wrist"), film(world, "wrist")
    assert np.array_equal(a, b)
    other = film(world, "wrist", seed=1).astype(float) - a
    assert 1.5 < other.std() < 3.5  # two draws of noise of 1.6 levels


def test_the_red_cube_is_where_the_camera_model_says(shown):
    d, world = shown
    frames = film(world, "side", 96).astype(int)
    red = is_red(frames[0])
    rows, columns = np.nonzero(red)
    offset = world.camera_rotation["side"][0].T @ (d.rollout.cube_m[0] - world.camera_m["side"][0])
    scale = 96 * lens("side").focal
    assert columns.mean() == pytest.approx(48 + scale * offset[0] / -offset[2], abs=4)
    assert rows.mean() == pytest.approx(48 - scale * offset[1] / -offset[2], abs=4)


def test_a_camera_on_the_hand_sees_the_cube_come_close(shown):
    d, world = shown
    frames = film(world, "wrist").astype(int)
    red = is_red(frames).mean(axis=(1, 2))
    held = d.rollout.contact_n.min(axis=1) > 0.5
    assert red[held].mean() > 0.05 > 3 * red[0]


def test_stations_look_different(shown):
    _, world = shown
    a = paint(world, "front", 64, LOOKS[0], np.random.default_rng(0)).astype(float)
    b = paint(world, "front", 64, LOOKS[1], np.random.default_rng(0)).astype(float)
    assert np.abs(a[0].mean(axis=(0, 1)) - b[0].mean(axis=(0, 1))).max() > 5


def test_speed(shown):
    _, world = shown
    film(world, "front")
    start = time.process_time()
    film(world, "front")
    film(world, "wrist")
    assert 2 * len(world.solid_m) / (time.process_time() - start) > 700  # 4,000 on an idle machine
