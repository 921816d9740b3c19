"""Episodes that no check may stumble over: NaN, infinities, nothing, one frame, constants, integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from gristmill.episode import Channel, Episode


def hostile_episodes(clean: Episode) -> Iterator[tuple[str, Episode]]:
    """Distorted copies of an episode, each with a name that says how it is distorted."""
    frames = clean.frames
    yield "NaN everywhere", _with(clean, lambda v: np.full(v.shape, np.nan))
    yield "one NaN", _with(clean, lambda v: _poke(v, np.nan))
    yield "one infinity", _with(clean, lambda v: _poke(v, np.inf))
    yield "infinities everywhere", _with(clean, lambda v: np.full(v.shape, -np.inf))
    yield "values at the end of float32", _with(clean, lambda v: np.full(v.shape, np.finfo(np.float32).max, np.float32))
    yield "constant", _with(clean, lambda v: np.ones(v.shape, np.float32))
    yield "integers", _with(clean, lambda v: np.round(np.nan_to_num(v.astype(np.float64)) * 100).astype(np.int64))
    yield "small unsigned integers", _with(clean, lambda v: np.arange(v.size).reshape(v.shape).astype(np.uint8))
    yield "booleans", _with(clean, lambda v: v > 0)
    for count in (0, 1, 2, 3):
        if count <= frames:
            yield f"{count} frames", _cut(clean, count)
    yield "no action", _only(clean, lambda c: c.role != "action")
    yield "no state", _only(clean, lambda c: c.role != "state")
    yield "no channels", _only(clean, lambda c: False)
    yield "all frames at one time", _at(clean, np.zeros(frames))
    yield "times run backwards", _at(clean, clean.times_s[::-1].copy())
    yield "times are NaN", _at(clean, np.full(frames, np.nan))
    yield "no cameras", replace(clean, cameras={}, load_traces=lambda camera: None)
    yield "no traces", replace(clean, load_traces=lambda camera: None)
    yield "NaN in traces", replace(clean, load_traces=_traces(clean, _nan))
    yield "no tasks", replace(clean, tasks=())


def _with(clean: Episode, change: Callable[[np.ndarray], np.ndarray]) -> Episode:
    return _channels(clean, {k: replace(c, values=change(c.values)) for k, c in clean.channels.items()})


def _only(clean: Episode, keep: Callable[[Channel], bool]) -> Episode:
    return _channels(clean, {k: c for k, c in clean.channels.items() if keep(c)})


def _at(clean: Episode, times_s: np.ndarray) -> Episode:
    return _channels(clean, {k: replace(c, times_s=times_s) for k, c in clean.channels.items()})


def _channels(clean: Episode, channels: Mapping[str, Channel]) -> Episode:
    return replace(clean, load_channels=lambda: channels)


def _cut(clean: Episode, count: int) -> Episode:
    channels = {k: replace(c, values=c.values[:count], times_s=c.times_s[:count]) for k, c in clean.channels.items()}
    columns = {k: v[:count] for k, v in clean.index_columns.items()}
    return replace(
        clean,
        length=count,
        load_channels=lambda: channels,
        load_index_columns=lambda: columns,
        load_traces=_traces(clean, lambda array: array[:count]),
    )


def _poke(values: np.ndarray, value: float) -> np.ndarray:
    poked = values.astype(np.float64)
    if poked.size:
        poked[len(poked) // 2, -1] = value
    return poked


def _traces(clean: Episode, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[str], Any]:
    def load(camera: str) -> Any:
        traces = clean.traces(camera)
        if traces is None or not is_dataclass(traces):
            return traces
        arrays = {f.name: getattr(traces, f.name) for f in fields(traces)}
        changed = {k: change(v) for k, v in arrays.items() if isinstance(v, np.ndarray)}
        return replace(traces, **changed)  # type: ignore[type-var]

    return load


def _nan(array: np.ndarray) -> np.ndarray:
    return np.full_like(array, np.nan) if array.dtype.kind == "f" else array
