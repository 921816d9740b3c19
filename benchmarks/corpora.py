"""Corpora for benchmarks: any number of episodes of exactly 200 frames, made in seconds by smoothing noise.

They are not meant to be good demonstrations, only to have the shape and the smoothness of recordings.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gristmill.formats.lerobot.write import DatasetWriter

FRAMES = 200
RATE_HZ = 30
NAMES = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")


def smooth_corpus(root: Path, episodes: int, *, seed: int = 0) -> Path:
    """Write a corpus of `episodes` episodes, 200 frames each, 6 state and 6 action dimensions; made once."""
    if root.exists():
        return root
    column = {"dtype": "float32", "shape": [len(NAMES)], "names": list(NAMES)}
    writer = DatasetWriter(
        root, fps=RATE_HZ, features={"observation.state": column, "action": dict(column)}, robot_type="bench_arm"
    )
    with writer:
        for number in range(episodes):
            state, action = motion(seed, number)
            writer.add_episode({"observation.state": state, "action": action}, ["pick up the cube"], {})
        writer.close()
    return root


def motion(seed: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Joint positions in radians at an encoder's resolution, and commands that lead them by two frames."""
    rng = np.random.default_rng((seed, number))
    knots = rng.uniform(-1.0, 1.0, (9, len(NAMES)))
    at = np.linspace(0, 8, FRAMES + 2)
    left = np.minimum(at.astype(int), 7)
    s = (at - left)[:, None]
    path = knots[left] + (knots[left + 1] - knots[left]) * (10 * s**3 - 15 * s**4 + 6 * s**5)
    path[:, 5] = (path[:, 5] + 1) / 2
    state = np.round((path[:FRAMES] + rng.normal(0, 5e-4, (FRAMES, len(NAMES)))) / 1.5e-3) * 1.5e-3
    return state.astype(np.float32), path[2:].astype(np.float32)
