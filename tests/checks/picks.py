"""Episodes in which something is picked, carried and put down, with a sensor at the fingers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gristmill.embodiment import Embodiment, Gripper, Joint
from gristmill.episode import Episode
from gristmill.testing import make_episode

NAMES = ("pan", "lift", "elbow", "gripper")
CLOSES_S, OPENS_S = 1.3, 3.2  # when the gripper is told to close and to open
WIDTH = 0.4  # opening at which the fingers meet the object
T = np.arange(120) / 30

CARD = Embodiment(
    key="made",
    title="made",
    joints=tuple(Joint(name=n, kind="gripper" if n == "gripper" else "revolute") for n in NAMES),
    grippers=(Gripper(joint="gripper", closed=0.0, open=1.0),),
)


def pick(
    index: int = 0,
    *,
    width: float = WIDTH,
    slips_s: float | None = None,
    closes: float = 1.0,
    force_n: float = 4.0,
    noise_n: float = 0.02,
    zero_n: float = 0.5,
    sensor: str | None = "observation.contact_force",
    names: tuple[str, ...] | None = None,
    card: Embodiment | None = CARD,
    task: str = "pick up the cube",
    command: bool = True,
    success: bool | None = None,
    flipped: bool = False,
) -> Episode:
    """Four seconds: the gripper closes on an object of this width, carries it, and opens.

    Args:
        index: the episode's number; it draws the noise.
        width: opening at which the fingers stop; 0 is nothing.
        slips_s: when the object slips out, so that the fingers close on and the force goes.
        closes: how far the gripper is told to close, as a share of its range.
        force_n: what the sensor feels while the object is held.
        noise_n: its noise.
        zero_n: what it says when nothing is held.
        sensor: its channel; None leaves it out.
        names: names of the sensor's dimensions.
        card: the robot's card; None has one inferred, without polarity.
        task: what the episode claims.
        command: whether commands were recorded.
        success: what a success channel says at the end; None leaves it out.
        flipped: numbers of the gripper grow as it closes, on recordings without a card that says so.
    """
    rng = np.random.default_rng([index, 7])
    told = 1 - closes * (np.clip((T - CLOSES_S) / 0.3, 0, 1) - np.clip((T - OPENS_S) / 0.3, 0, 1))
    at = np.interp(T - 0.1, T, told)
    slipped = slips_s <= T if slips_s is not None else np.zeros(len(T), bool)
    held = (at < width) & ~slipped
    state = np.zeros((len(T), 4))
    state[:, :3] = 0.4 * np.sin(0.5 * T[:, None] + rng.uniform(0, 6, 3))
    state[:, 3] = np.where(held, width, at)
    action = state.copy()
    action[:, 3] = told
    state += rng.normal(0, 5e-4, state.shape)
    if flipped:
        state[:, 3], action[:, 3] = 1 - state[:, 3], 1 - action[:, 3]
    extra: dict[str, Any] = {}
    if sensor is not None:
        columns = max(1, len(names or ()))
        felt = zero_n + force_n * held[:, None] + rng.normal(0, noise_n, (len(T), columns))
        extra[sensor] = ("other", felt.astype(np.float32))
    if success is not None:
        extra["next.success"] = ("success", np.repeat(success, len(T)))
    made = make_episode(
        state=state.astype(np.float32),
        action=action.astype(np.float32) if command else None,
        names=NAMES,
        tasks=[task],
        index=index,
        embodiment=card,
        extra=extra,
    )
    return renamed(made, sensor, names) if sensor is not None and names else made


def renamed(episode: Episode, key: str, names: tuple[str, ...]) -> Episode:
    """The episode with other names for the dimensions of a channel."""
    from dataclasses import replace

    channels = dict(episode.channels)
    channels[key] = replace(channels[key], names=names)
    return with_channels(episode, channels)


def with_channels(episode: Episode, channels: dict[str, Any]) -> Episode:
    """The episode with other channels."""
    changed = Episode(
        id=episode.id,
        corpus=episode.corpus,
        index=episode.index,
        length=episode.length,
        rate_hz=episode.rate_hz,
        tasks=episode.tasks,
        embodiment=episode.embodiment,
        cameras=episode.cameras,
        load_channels=lambda: channels,
        load_index_columns=episode.load_index_columns,
    )
    return changed
