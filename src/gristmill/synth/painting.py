"""Colour frames of the scene, cast ray by ray from body poses; no OpenGL, no display.

Capsules and boxes are intersected exactly, the table carries a fine texture and soft shadows under the
arm, and the sensor adds noise, so that blur, exposure, frozen frames and motion look as in a recording.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from gristmill.synth.poses import Poses, lens, solids
from gristmill.synth.ray_casting import NOISE_SIZE, cast
from gristmill.types import Rgb

_TEXELS = 512


@dataclass(frozen=True, slots=True)
class Look:
    """What differs between stations: light, table, and how exactly the cameras were mounted."""

    gain: float  # exposure
    light: tuple[float, float, float]  # direction towards the lamp
    table_rgb: tuple[float, float, float]
    shift_m: float  # standard deviation of a camera's mounting


LOOKS = (
    Look(gain=1.0, light=(0.35, 0.30, 0.89), table_rgb=(0.66, 0.58, 0.48), shift_m=0.01),
    Look(gain=1.12, light=(-0.20, -0.45, 0.87), table_rgb=(0.52, 0.56, 0.60), shift_m=0.01),
)


def paint(world: Poses, camera: str, size_px: int, look: Look, rng: np.random.Generator) -> Rgb:
    """Frames (k, size, size, 3) of one camera, uint8; the same `rng` state gives the same pixels."""
    shapes, view = solids(), lens(camera)
    light = np.array(look.light) / np.linalg.norm(look.light)
    shift = rng.normal(0, look.shift_m, 3).clip(-2 * look.shift_m, 2 * look.shift_m)
    out = np.empty((len(world.solid_m), size_px, size_px, 3), np.uint8)
    eye = world.camera_m[camera] + (shift if view.fixed else 0.0)
    eye_rotation = world.camera_rotation[camera]
    from_eye = world.solid_m - eye[:, None]
    cast(
        out,
        eye,
        eye_rotation,
        size_px * view.focal,
        shapes.kind,
        shapes.size,
        shapes.reach_m,
        shapes.colour,
        world.solid_m,
        np.einsum("kji,knj->kni", eye_rotation, from_eye),
        np.einsum("knji,kjl->knil", world.solid_rotation, eye_rotation),
        -np.einsum("knji,knj->kni", world.solid_rotation, from_eye),
        np.einsum("knji,j->kni", world.solid_rotation, light),
        light,
        _texture() * np.array(look.table_rgb),
        rng.normal(0, 1.6, NOISE_SIZE),
        rng.integers(0, NOISE_SIZE, len(out)),
        look.gain,
    )
    return out


@cache
def _texture() -> np.ndarray:
    """Brightness (n, n, 1) of a speckled table top with planks; the same on every call."""
    rng = np.random.default_rng(7)
    fine = rng.uniform(0.86, 1.06, (_TEXELS, _TEXELS))
    grain = np.repeat(rng.uniform(0.90, 1.06, (_TEXELS, _TEXELS // 8)), 8, axis=1)
    planks = np.where(np.arange(_TEXELS) % 32 < 2, 0.62, 1.0)[:, None]
    patches = np.kron(rng.uniform(0.88, 1.08, (_TEXELS // 32, _TEXELS // 32)), np.ones((32, 32)))
    return (fine * grain * planks * patches)[:, :, None]
