"""Where everything visible is: the scene's solids and cameras in the world, for recorded configurations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import mujoco as _mujoco
import numpy as np

from gristmill.synth.ray_casting import BOX, CAPSULE
from gristmill.synth.scene import MAX_STEP_S, model

mujoco: Any = _mujoco  # the wheel's type stubs know none of its classes


@dataclass(frozen=True, slots=True)
class Solids:
    """The n visible solids of the scene; the table is painted apart from them."""

    geom: np.ndarray  # (n,) geom numbers
    kind: np.ndarray  # (n,) CAPSULE or BOX
    size: np.ndarray  # (n, 3) as MuJoCo gives them
    reach_m: np.ndarray  # (n,) radius of the bounding ball
    colour: np.ndarray  # (n, 3) in [0, 1]


@dataclass(frozen=True, slots=True)
class Lens:
    """How a camera of the scene looks."""

    focal: float  # focal length in heights of the picture
    fixed: bool  # it stands in the room; otherwise it rides on the arm


@dataclass(frozen=True, slots=True)
class Poses:
    """Where every visible solid and every camera is, for k frames."""

    solid_m: np.ndarray  # (k, n, 3)
    solid_rotation: np.ndarray  # (k, n, 3, 3)
    camera_m: dict[str, np.ndarray]  # (k, 3)
    camera_rotation: dict[str, np.ndarray]  # (k, 3, 3), x right, y up, z backwards


def poses(qpos: np.ndarray, goal_m: np.ndarray, cameras: tuple[str, ...]) -> Poses:
    """Forward kinematics of k configurations.

    Args:
        qpos: (k, nq) as in `scene.Rollout`.
        goal_m: (2,) centre of the goal mark.
        cameras: names of cameras of the scene.
    """
    world = model(MAX_STEP_S)
    data = mujoco.MjData(world)
    shown = solids().geom
    goal = int(np.flatnonzero(shown == world.geom("goal").id)[0])
    numbers = [world.camera(name).id for name in cameras]
    count = len(qpos)
    solid_m = np.empty((count, len(shown), 3))
    rotation = np.empty((count, len(shown), 9))
    camera_m, camera_rotation = np.empty((count, len(cameras), 3)), np.empty((count, len(cameras), 9))
    for k, configuration in enumerate(qpos):
        data.qpos[:] = configuration
        mujoco.mj_kinematics(world, data)
        mujoco.mj_camlight(world, data)
        solid_m[k], rotation[k] = data.geom_xpos[shown], data.geom_xmat[shown]
        camera_m[k], camera_rotation[k] = data.cam_xpos[numbers], data.cam_xmat[numbers]
    solid_m[:, goal, :2] = goal_m
    return Poses(
        solid_m=solid_m,
        solid_rotation=rotation.reshape(count, -1, 3, 3),
        camera_m={name: camera_m[:, i] for i, name in enumerate(cameras)},
        camera_rotation={name: camera_rotation[:, i].reshape(-1, 3, 3) for i, name in enumerate(cameras)},
    )


@cache
def solids() -> Solids:
    """The scene's solids, in one order everywhere."""
    world = model(MAX_STEP_S)
    geom = np.flatnonzero(world.geom_type != mujoco.mjtGeom.mjGEOM_PLANE)
    size = world.geom_size[geom]
    capsule = world.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CAPSULE
    return Solids(
        geom=geom,
        kind=np.where(capsule, CAPSULE, BOX),
        size=size,
        reach_m=np.where(capsule, size[:, 0] + size[:, 1], np.linalg.norm(size, axis=1)),
        colour=world.geom_rgba[geom, :3].astype(np.float64),
    )


def lens(camera: str) -> Lens:
    """How the camera of this name looks."""
    found = model(MAX_STEP_S).camera(camera)
    return Lens(focal=0.5 / float(np.tan(np.deg2rad(found.fovy[0]) / 2)), fixed=bool(found.bodyid[0] == 0))
