"""Episodes made of arrays, as a source would hand them over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gristmill.embodiment import Embodiment, Joint
from gristmill.episode import Camera, Channel, CorpusFacts, Episode, Role, dims_of, episode_id
from gristmill.finding import Issue


def make_episode(
    *,
    state: np.ndarray | None = None,
    action: np.ndarray | None = None,
    rate_hz: float = 30.0,
    times_s: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    tasks: Sequence[str] = ("pick the cube",),
    index: int = 0,
    length: int | None = None,
    corpus: str = "made",
    cameras: Mapping[str, Camera] | None = None,
    traces: Mapping[str, Any] | None = None,
    embodiment: Embodiment | None = None,
    issues: Iterable[Issue] = (),
    declared_stats: Mapping[str, Mapping[str, Any]] | None = None,
    index_columns: Mapping[str, np.ndarray] | None = None,
    extra: Mapping[str, tuple[Role, np.ndarray]] | None = None,
) -> Episode:
    """An episode of arrays, all at the same times.

    Args:
        state: (t, d) or (t,), becomes `observation.state`; dtype kept. None leaves the channel out.
        action: (t, a) or (t,), becomes `action`.
        rate_hz: declared rate.
        times_s: (t,) frame times; by default frame / rate.
        names: names of the state's dimensions, and of the action's when it is as wide;
            by default `joint_0`, `joint_1`, ...
        tasks: task texts.
        index: native index; the id is `corpus/index`.
        length: declared frames; by default the true number.
        corpus: key of the corpus.
        cameras: camera key -> camera.
        traces: camera key -> `CameraTraces`.
        embodiment: the card; by default an inferred one without limits.
        issues: what the reader found wrong.
        declared_stats: feature -> statistic -> values.
        index_columns: bookkeeping columns; by default the consistent ones of an episode at the corpus's start.
        extra: further channels, key -> (role, values).
    """
    given: dict[str, tuple[Role, np.ndarray]] = {}
    if state is not None:
        given["observation.state"] = ("state", state)
    if action is not None:
        given["action"] = ("action", action)
    given |= dict(extra or {})
    arrays: dict[str, tuple[Role, np.ndarray]] = {key: (role, _table(values)) for key, (role, values) in given.items()}
    frames = next((len(v) for _, v in arrays.values()), length or 0)
    times = np.arange(frames) / rate_hz if times_s is None else np.asarray(times_s, np.float64)
    channels = {
        key: Channel(key, role, values, times, _names(names, role, values.shape[1]))
        for key, (role, values) in arrays.items()
    }
    dims = dims_of(channels)
    card = embodiment or Embodiment(
        key="made",
        title="A robot made for a test",
        joints=tuple(Joint(name=d.name, unit="unknown") for d in dims if d.role == "state"),
        inferred=True,
    )
    if index_columns is None:
        count = np.arange(frames)
        index_columns = {
            "timestamp": times.astype(np.float32),
            "frame_index": count,
            "episode_index": np.full(frames, index),
            "index": count,
            "task_index": np.zeros(frames, np.int64),
        }
    bookkeeping = index_columns
    kept_traces = dict(traces or {})
    return Episode(
        id=episode_id(corpus, index),
        corpus=corpus,
        index=index,
        length=frames if length is None else length,
        rate_hz=rate_hz,
        tasks=tuple(tasks),
        embodiment=card,
        cameras=dict(cameras or {}),
        issues=tuple(issues),
        declared_stats={
            feature: {stat: np.asarray(value) for stat, value in stats.items()}
            for feature, stats in (declared_stats or {}).items()
        },
        load_channels=lambda: channels,
        load_traces=kept_traces.get,
        load_index_columns=lambda: bookkeeping,
    )


def reaching(index: int = 0, *, frames: int = 120, dims: int = 6, rate_hz: float = 30.0, **more: Any) -> Episode:
    """A clean episode: smooth joints that follow their actions two frames later, with encoder-sized noise.

    The same index gives the same episode; other arguments go to `make_episode`.
    """
    rng = np.random.default_rng([index, dims])
    t = np.arange(frames + 2) / rate_hz
    waves = rng.uniform(0.2, 0.6, (3, dims)), rng.uniform(0.2, 0.7, (3, dims)), rng.uniform(0, 2 * np.pi, (3, dims))
    path = np.sum([a * np.sin(2 * np.pi * f * t[:, None] + p) for a, f, p in zip(*waves, strict=True)], axis=0)
    state = path[:frames] + rng.normal(0, 5e-4, (frames, dims))
    more = {"action": path[2:].astype(np.float32)} | more
    return make_episode(state=state.astype(np.float32), rate_hz=rate_hz, index=index, **more)


def facts_of(episodes: Sequence[Episode], **more: Any) -> CorpusFacts:
    """What a corpus of these episodes declares; its layout is that of the episode with most dimensions."""
    widest = max(episodes, key=lambda e: len(e.dims), default=None)
    facts: dict[str, Any] = {
        "key": "made",
        "root": "made",
        "format": "made of arrays",
        "robot_type": "made",
        "rate_hz": widest.rate_hz if widest else 30.0,
        "features": {},
        "cameras": {k: c.info for k, c in widest.cameras.items()} if widest else {},
        "dims": widest.dims if widest else (),
    }
    if widest:
        facts["features"] = {
            k: {"dtype": str(c.values.dtype), "shape": [c.values.shape[1]], "names": list(c.names)}
            for k, c in widest.channels.items()
        }
    return CorpusFacts(**(facts | more))


def _table(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values)
    return values[:, None] if values.ndim == 1 else values


def _names(names: Sequence[str] | None, role: Role, width: int) -> tuple[str, ...]:
    if role not in ("state", "action"):
        return ("",) * width
    if names is not None and len(names) == width:
        return tuple(names)
    return tuple(f"joint_{i}" for i in range(width))
