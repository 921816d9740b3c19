"""A scripted teleoperator: plans a task as submovements of the arm and lets the simulation answer.

Whether a demonstration succeeds is read from the simulated cube and gripper, never from the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gristmill.synth.inverse_kinematics import pointing_down, roll_onto_cube
from gristmill.synth.scene import CUBE_HALF_M, ENCODER_RAD, FINGER_TRAVEL_M, GRIPPER_STEP, Rollout, simulate
from gristmill.synth.submovements import Move, path, unsteadiness

CUBE_AT_GRIPPER = (CUBE_HALF_M - 0.0005) / FINGER_TRAVEL_M  # opening at which both fingers touch it
OPERATORS = ("ada", "ben", "chidi", "dara")
STATIONS = ("north_bench", "window_bench")
SENTENCES: Mapping[str, tuple[str, ...]] = {
    "reach": (
        "move the gripper above the red cube",
        "reach for the red cube",
        "bring the hand over the cube",
    ),
    "lift": (
        "lift the red cube off the table",
        "pick up the red cube",
        "grasp the cube and raise it",
    ),
    "pick_place": (
        "put the red cube on the green mark",
        "move the cube to the green square",
        "pick the red cube and place it on the green mark",
    ),
}
_LENGTH_S = {"reach": (3.0, 4.6), "lift": (4.0, 6.0), "pick_place": (5.4, 8.0)}
_GRASP_HEIGHT_M = 0.010
_WEAK_GRASPS = 0.03


@dataclass(frozen=True, slots=True)
class Style:
    """How one operator moves."""

    tempo: float  # factor on the length of a demonstration
    wander_rad: float  # standard deviation of the slow wander of each joint
    miss_m: float  # standard deviation of where a first reach ends, before it is corrected
    overlap: float  # share of a submovement during which the next one has begun already


STYLES = (
    Style(tempo=0.90, wander_rad=0.0020, miss_m=0.006, overlap=0.22),
    Style(tempo=1.00, wander_rad=0.0028, miss_m=0.009, overlap=0.15),
    Style(tempo=1.00, wander_rad=0.0016, miss_m=0.004, overlap=0.18),
    Style(tempo=1.10, wander_rad=0.0024, miss_m=0.007, overlap=0.10),
)


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One recorded episode of k frames, before any picture was taken."""

    task: str
    sentence: str
    operator: int
    station: int
    goal_m: np.ndarray  # (2,) centre of the green mark on the table
    state: np.ndarray  # (k, 6) float32, at encoder resolution: rad, and opening in [0, 1]
    action: np.ndarray  # (k, 6) float32, the commands
    success: np.ndarray  # (k,) bool: the task's condition holds in the simulation
    rollout: Rollout


def demonstrate(task: str, rng: np.random.Generator, rate_hz: float) -> Demonstration:
    """One episode of a task, its every choice drawn from `rng`."""
    operator = int(rng.integers(len(OPERATORS)))
    style = STYLES[operator]
    cube_m, goal_m = _places(rng)
    cube_yaw = rng.uniform(-np.pi, np.pi)
    start, moves, length_s = _plan(task, rng, style, cube_m, cube_yaw, goal_m)
    times_s = np.arange(round(length_s * rate_hz)) / rate_hz
    wander = unsteadiness(rng, times_s, np.array([style.wander_rad] * 5 + [0.004]))
    commands = path(start, moves, times_s) + wander
    commands[:, 5] = np.clip(commands[:, 5], 0, 1)
    steps = np.array([ENCODER_RAD] * 5 + [GRIPPER_STEP])
    commands = np.round(commands / steps) * steps  # the leader arm has encoders, too
    rollout = simulate(commands, cube_m, cube_yaw, rate_hz)
    fingers = rollout.qpos[:, 5:7].mean(axis=1, keepdims=True) / FINGER_TRAVEL_M
    joints = np.concatenate([rollout.qpos[:, :5], fingers], axis=1)
    noise = rng.normal(0, 0.35, joints.shape)
    return Demonstration(
        task=task,
        sentence=SENTENCES[task][int(rng.integers(len(SENTENCES[task])))],
        operator=operator,
        station=int(rng.integers(len(STATIONS))),
        goal_m=goal_m,
        state=(np.round(joints / steps + noise) * steps).astype(np.float32),
        action=commands.astype(np.float32),
        success=_SUCCESS[task](rollout, goal_m),
        rollout=rollout,
    )


def _places(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Cube (3,) and goal (2,), at least 10 cm apart, both within comfortable reach."""
    while True:
        radius, angle = rng.uniform(0.22, 0.34, 2), rng.uniform(-0.8, 0.8, 2)
        x, y = radius * np.cos(angle), radius * np.sin(angle)
        if np.hypot(x[0] - x[1], y[0] - y[1]) > 0.10:
            return np.array([x[0], y[0], CUBE_HALF_M]), np.array([x[1], y[1]])


def _plan(
    task: str, rng: np.random.Generator, style: Style, cube_m: np.ndarray, cube_yaw: float, goal_m: np.ndarray
) -> tuple[np.ndarray, list[Move], float]:
    """The first posture (6,), the submovements, and the episode's length in seconds."""
    home = np.array([0.0, 1.75, -1.75, -1.3, 0.0]) + rng.normal(0, [0.35, 0.10, 0.12, 0.12, 0.25])
    opening = rng.uniform(0.80, 0.97)
    # Now and then a hand does not close firmly enough, and the cube slips.
    squeeze = rng.uniform(0.20, 0.28) if rng.random() > _WEAK_GRASPS else CUBE_AT_GRIPPER - 0.01
    roll = roll_onto_cube(cube_m, cube_yaw)

    def above(point: np.ndarray, height_m: float, miss_m: float = 0.0, twist_rad: float = 0.0) -> np.ndarray:
        x, y, turn = rng.normal(0, 1, 3).clip(-2, 2)
        place = np.array([point[0] + x * miss_m, point[1] + y * miss_m, height_m])
        return pointing_down(place, roll + turn * twist_rad)

    # Postures to pass, each with a nominal duration and the gripper's opening on arrival.
    stops: list[tuple[np.ndarray, float, float]] = []
    if task == "reach":
        hover = CUBE_HALF_M + rng.uniform(0.065, 0.085)
        stops.append((above(cube_m, hover + rng.uniform(0.02, 0.05), 2.5 * style.miss_m, 0.2), 1.6, opening))
        stops.append((above(cube_m, hover, style.miss_m, 0.1), 0.7, opening))
        stops.append((above(cube_m, hover - rng.uniform(0.015, 0.025), 0.002, 0.1), 0.5, opening))
    else:
        grasp = above(cube_m, _GRASP_HEIGHT_M, 0.0012)
        stops.append((above(cube_m, rng.uniform(0.07, 0.11), style.miss_m, 0.1), 1.3, opening))
        stops.append((above(cube_m, 0.045, style.miss_m / 3), 0.6, opening))
        stops.append((grasp, 0.5, opening))
        stops.append((grasp, 0.4, squeeze))
        stops.append((above(cube_m, rng.uniform(0.11, 0.17), style.miss_m, 0.15), 1.0, squeeze))
    if task == "pick_place":
        put = above(goal_m, _GRASP_HEIGHT_M + 0.004, 0.004)
        stops.append((above(goal_m, rng.uniform(0.07, 0.10), style.miss_m, 0.3), 1.2, squeeze))
        stops.append((put, 0.8, squeeze))
        stops.append((put, 0.4, opening))
        stops.append((above(goal_m, rng.uniform(0.10, 0.15), style.miss_m, 0.1), 0.8, opening))
    first = np.append(home, rng.uniform(0.25, 0.6))
    return first, *_timed(first, stops, rng, style, rng.uniform(*_LENGTH_S[task]) * style.tempo)


def _timed(
    first: np.ndarray,
    stops: list[tuple[np.ndarray, float, float]],
    rng: np.random.Generator,
    style: Style,
    wish_s: float,
) -> tuple[list[Move], float]:
    """Submovements through the stops that take about `wish_s` together, within 3 to 8 s."""
    lead_s, rest_s = rng.uniform(0.05, 0.30), rng.uniform(0.10, 0.40)
    weights = np.array([duration for _, duration, _ in stops]) * rng.uniform(0.85, 1.15, len(stops))
    postures = np.array([first, *(np.append(joints, opening) for joints, _, opening in stops)])
    deltas = np.diff(postures, axis=0)
    gripping = np.abs(deltas[:, :5]).max(axis=1) < 1e-9
    # The hand waits while the fingers move: nothing may overlap a grip or a release.
    share = np.where(gripping | np.append(gripping[1:], True), 0.0, style.overlap)
    span = np.clip(wish_s, 3.0, 8.0) - lead_s - rest_s
    durations = weights * span / np.sum(weights * (1 - share))
    durations[gripping] = np.clip(durations[gripping], 0.3, 0.45)
    begin = lead_s + np.concatenate([[0.0], np.cumsum(durations * (1 - share))[:-1]])
    moves = [Move(float(b), float(d), delta) for b, d, delta in zip(begin, durations, deltas, strict=True)]
    return moves, float(np.clip(begin[-1] + durations[-1] + rest_s, 3.0, 8.0))


def _reached(rollout: Rollout, goal_m: np.ndarray) -> np.ndarray:
    offset = rollout.grasp_m - rollout.cube_m
    return (np.hypot(offset[:, 0], offset[:, 1]) < 0.025) & (offset[:, 2] < 0.09)


def _lifted(rollout: Rollout, goal_m: np.ndarray) -> np.ndarray:
    return (rollout.cube_m[:, 2] > 0.06) & (rollout.contact_n.min(axis=1) > 0)


def _placed(rollout: Rollout, goal_m: np.ndarray) -> np.ndarray:
    offset = rollout.cube_m[:, :2] - goal_m
    down = rollout.cube_m[:, 2] < CUBE_HALF_M + 0.004
    free = rollout.contact_n.max(axis=1) == 0
    return (np.hypot(*offset.T) < 0.03) & down & free & (rollout.cube_speed_m_s < 0.02)


_SUCCESS: Mapping[str, Callable[[Rollout, np.ndarray], np.ndarray]] = {
    "reach": _reached,
    "lift": _lifted,
    "pick_place": _placed,
}
TASKS = tuple(_SUCCESS)
