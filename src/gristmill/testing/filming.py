"""Episodes with pictures, for authors of camera checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gristmill.episode import Episode
from gristmill.testing.cameras import ArrayCamera
from gristmill.testing.episodes import reaching
from gristmill.traces import CameraTraces, trace
from gristmill.types import Luma

FRONT, WRIST = "observation.images.front", "observation.images.wrist"
_HEIGHT, _WIDTH = 48, 64
_NOISE_LEVELS = 1.5

# Spoils the frames (t, h, w) of one camera.
Spoil = Callable[[Luma], Luma]


def filmed(
    index: int = 0,
    *,
    frames: int = 120,
    cameras: Sequence[str] = (FRONT, WRIST),
    spoil: Mapping[str, Spoil] | None = None,
    **more: Any,
) -> Episode:
    """A clean episode seen by a fixed and by a moving camera, with traces; the same index gives the same episode.

    Args:
        index: native index.
        frames: length.
        cameras: keys; a key that ends in `wrist` names the camera that moves with the robot.
        spoil: camera key -> function that spoils its frames before they are measured.
        more: goes to `make_episode`.
    """
    views = {key: _view(index, frames, key) for key in cameras}
    for key, spoils in (spoil or {}).items():
        camera = ArrayCamera(spoils(footage(index, frames, key).copy()), key=key)
        views[key] = camera, trace(camera)
    seen = {"cameras": {k: c for k, (c, _) in views.items()}, "traces": {k: t for k, (_, t) in views.items()}}
    return reaching(index, frames=frames, **seen | more)


@lru_cache(maxsize=256)
def _view(index: int, frames: int, key: str) -> tuple[ArrayCamera, CameraTraces]:
    camera = ArrayCamera(footage(index, frames, key), key=key)
    return camera, trace(camera)


@lru_cache(maxsize=64)
def footage(index: int, frames: int, camera: str) -> Luma:
    """What a camera sees of `reaching(index)`: a textured table, a textured gripper, sensor noise. Read-only."""
    state = reaching(index, frames=frames).channels["observation.state"].values.astype(np.float64)
    rng = np.random.default_rng([index, *camera.encode()])
    table = np.random.default_rng(list(camera.encode())).integers(60, 190, (4 * _HEIGHT, 4 * _WIDTH)).astype(np.float64)
    gripper = np.random.default_rng(7).integers(20, 235, (16, 16)).astype(np.float64)
    at = np.rint((state[:, :2] + 2) * [6, 8]).astype(int) % [_HEIGHT - 16, _WIDTH - 16]
    luma = np.empty((frames, _HEIGHT, _WIDTH), np.uint8)
    for k in range(frames):
        y, x = at[k] * 2 if camera.endswith("wrist") else (0, 0)
        picture = table[y : y + _HEIGHT, x : x + _WIDTH].copy()
        if camera.endswith("wrist"):
            picture[-16:, 24:40] = gripper
        else:
            picture[at[k, 0] : at[k, 0] + 16, at[k, 1] : at[k, 1] + 16] = gripper
        noisy = picture + rng.normal(0, _NOISE_LEVELS, picture.shape)
        luma[k] = np.clip(np.rint(noisy), 0, 255)
    luma.setflags(write=False)
    return luma
