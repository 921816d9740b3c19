"""Which signals of an episode a person should see next to its findings.

The episode's motion as a whole, for context; every dimension that a finding names, a state together with
the action that commands it; and what a camera check looks at, frame by frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gristmill.embodiment import Embodiment
from gristmill.episode import Channel, Dim, Episode
from gristmill.finding import Finding
from gristmill.report import envelope
from gristmill.report.envelope import drawable
from gristmill.types import FloatArray

PLOTS = 6  # of one episode, besides its motion
SMOOTH_S = 0.2  # mean that the motion is smoothed with
OF_FEATURE = 3  # dimensions drawn for a finding that names a whole feature
# What a camera check looks at, frame by frame: attribute of the traces, its name, its unit.
_TRACES = {
    "frozen_frames": ("diff", "Change to the frame before", "grey levels"),
    "black_frames": ("mean", "Mean brightness", "grey levels"),
    "exposure": ("bright", "Share of clipped pixels", ""),
    "blur": ("sharp", "Sharpness (Laplacian variance)", ""),
}


@dataclass(frozen=True, kw_only=True)
class Signal:
    """One plotted quantity: (t,) values at (t,) times, and the action that belongs to a state."""

    name: str  # of the dimension or quantity
    of: str  # the feature or camera that it belongs to
    unit: str
    times_s: FloatArray
    values: FloatArray
    action: FloatArray | None = None
    action_label: str = ""
    marks: tuple[int, ...] = ()  # numbers of the findings shown on it


def signals(episode: Episode, findings: Sequence[Finding], card: Embodiment) -> list[Signal]:
    """The motion first, then at most `PLOTS` signals; findings are numbered from 1 in the order given.

    Raises:
        RecordingError: the episode's channels cannot be read.
    """
    named = [*_named(episode, findings, card), *_traced(episode, findings)]
    return [*_motion(episode, findings), *named[:PLOTS]]


def _motion(episode: Episode, findings: Sequence[Finding]) -> list[Signal]:
    """How fast everything moves: the sum over state dimensions of speed in parts of the dimension's range.

    It is context, so it is smoothed: counts of a coarse sensor would show as a comb.
    """
    channel = next((c for c in episode.channels.values() if c.role == "state" and c.values.size), None)
    if channel is None or len(channel.values) < 3:
        return []
    values = drawable(channel.values)
    reach = np.fmax.reduce(values, axis=0) - np.fmin.reduce(values, axis=0)
    step = np.abs(np.diff(values, axis=0)) / np.where(reach > 0, reach, np.nan)
    speed = _smooth(np.nansum(step, axis=1) * episode.rate_hz, round(SMOOTH_S * episode.rate_hz))
    marks = tuple(i for i, f in enumerate(findings, 1) if f.spans_s)
    return [
        Signal(
            name="Motion of all dimensions",
            of=channel.key,
            unit="ranges/s",
            times_s=channel.times_s[1:],
            values=speed,
            marks=marks,
        )
    ]


def _named(episode: Episode, findings: Sequence[Finding], card: Embodiment) -> list[Signal]:
    """The dimensions that findings name, each once, with every finding about it."""
    chosen: dict[tuple[str, int], list[int]] = {}
    for number, finding in enumerate(findings, 1):
        for place in _places(episode, finding.channel):
            chosen.setdefault(place, []).append(number)
    signals: dict[tuple[str, int], Signal] = {}
    for (key, i), marks in chosen.items():
        channel = episode.channels[key]
        partner = _partner(episode, channel, i)
        if channel.role == "action" and partner and partner in signals:
            # The action is drawn over its state already; its findings are shown there.
            held = signals[partner]
            signals[partner] = replace(held, marks=tuple(sorted({*held.marks, *marks})))
            continue
        signals[key, i] = _signal(episode, channel, i, partner, tuple(marks), card)
    return list(signals.values())


def _signal(
    episode: Episode,
    channel: Channel,
    i: int,
    partner: tuple[str, int] | None,
    marks: tuple[int, ...],
    card: Embodiment,
) -> Signal:
    values = drawable(channel.values[:, i])
    action, action_label = None, ""
    if channel.role == "state" and partner:
        other = episode.channels[partner[0]]
        beside = drawable(other.values[:, partner[1]])
        if _comparable(values, beside):
            action, action_label = beside, label(other, partner[1])
    unit = ""
    if channel.role in ("state", "action"):
        joint = card.match_dims([Dim(channel.key, j, name, channel.role) for j, name in enumerate(channel.names)])[i]
        unit = joint.unit if joint is not None and joint.unit != "unknown" else ""
    return Signal(
        name=channel.names[i] if i < len(channel.names) and channel.names[i] else f"[{i}]",
        of=channel.key,
        unit=unit,
        times_s=channel.times_s,
        values=values,
        action=action,
        action_label=action_label,
        marks=marks,
    )


def _traced(episode: Episode, findings: Sequence[Finding]) -> list[Signal]:
    """Per-frame camera measurements, where they were kept and a camera check complains."""
    signals: dict[tuple[str, str], Signal] = {}
    for number, finding in enumerate(findings, 1):
        if finding.camera is None or finding.check not in _TRACES:
            continue
        attribute, name, unit = _TRACES[finding.check]
        key = (finding.camera, attribute)
        if key in signals:
            signals[key] = replace(signals[key], marks=(*signals[key].marks, number))
            continue
        traces = episode.traces(finding.camera)
        if traces is not None:
            signals[key] = Signal(
                name=name,
                of=finding.camera,
                unit=unit,
                times_s=np.asarray(traces.times_s, dtype=np.float64),
                values=drawable(getattr(traces, attribute)),
                marks=(number,),
            )
    return list(signals.values())


def label(channel: Channel, i: int) -> str:
    """How findings name a dimension: `observation.state[shoulder_pan]`."""
    name = channel.names[i] if i < len(channel.names) else ""
    return f"{channel.key}[{name or i}]"


def _places(episode: Episode, named: str | None) -> list[tuple[str, int]]:
    """Dimensions behind a finding's channel: one, or the liveliest few of a whole feature."""
    if named is None:
        return []
    if named in episode.channels:
        moved = np.nansum(np.abs(np.diff(drawable(episode.channels[named].values), axis=0)), axis=0)
        return [(named, int(i)) for i in np.argsort(-moved, kind="stable")[:OF_FEATURE]]
    key = named.rpartition("[")[0]
    channel = episode.channels.get(key)
    if channel is None:
        return []
    return [(key, i) for i in range(channel.values.shape[1]) if named in (label(channel, i), f"{key}[{i}]")][:1]


def _partner(episode: Episode, channel: Channel, i: int) -> tuple[str, int] | None:
    """The action that commands a state, or the state that an action commands: same name, else same place."""
    role = {"state": "action", "action": "state"}.get(channel.role)
    for other in episode.channels.values():
        if other.role != role or len(other.values) != len(channel.values):
            continue
        name = channel.names[i] if i < len(channel.names) else ""
        if name and name in other.names:
            return other.key, other.names.index(name)
        if other.values.shape[1] == channel.values.shape[1]:
            return other.key, i
    return None


def _comparable(a: FloatArray, b: FloatArray) -> bool:
    """Whether both fit one axis without either becoming a flat line."""
    bounds = [envelope.limits(x) for x in (a, b, np.concatenate((a, b)))]
    if any(x is None for x in bounds):
        return False
    mine, other, both = (x[1] - x[0] for x in bounds if x is not None)
    return both <= 2.5 * max(mine, other)


def _smooth(values: FloatArray, frames: int) -> FloatArray:
    """Centred moving mean over `frames` values, shorter at the ends."""
    frames = min(frames, len(values))
    if frames < 2:
        return values
    window = np.ones(frames)
    return np.convolve(values, window, "same") / np.convolve(np.ones(len(values)), window, "same")
