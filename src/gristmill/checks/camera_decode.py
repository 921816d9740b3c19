"""Frames whose data is there and damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.episode import Camera, Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.footage import by_camera, per_camera, span_s
from gristmill.manifest import Manifest, finding
from gristmill.traces import CameraTraces


@dataclass(frozen=True, kw_only=True)
class CameraDecode:
    """Does every frame decode?

    A file can have all its packets and still be damaged inside: a bad disk, an interrupted copy. Decoding
    of a video stops at the first frame that fails; what comes after is counted as lost. Of pictures that stand each
    for itself, only those are lost that do not decode.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(traces=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("lost", "int", unit="frames", per="camera", about="packets that gave no frame"),
    )
    fix: ClassVar[str] = "Copy the video again from its source, or cut the episode where the damage begins."
    source: ClassVar[str] = "The decoder's own verdict; a player conceals damage, a training loader stops on it."

    max_lost: int = 0  # frames

    def measure(self, episode: Episode) -> Measured:
        """Where decoding stopped; strength is the number of frames lost from there on."""
        lost: dict[str, float] = {}
        events = []
        missing = []
        for key, camera in episode.cameras.items():
            traces = episode.traces(key)
            if traces is None:
                missing.append(key)
                continue
            lost[key] = traces.lost
            if traces.lost and (alone := _alone(traces, camera)) is not None:
                period_s = 1 / episode.rate_hz
                events += [Event(t, t + period_s, traces.lost, camera=key) for t in alone]
            elif traces.lost:
                n = len(traces)
                from_s = span_s(traces, n - 1, n, episode.rate_hz)[1] if n else 0.0
                until_s = max(from_s + 1 / episode.rate_hz, camera.frames / episode.rate_hz)
                events.append(Event(from_s, until_s, traces.lost, camera=key))
        unknown = f"no decoded frames of {', '.join(missing)}" if missing else None
        return Measured({"lost": per_camera(episode, lost)}, events, unknown)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Cameras that lost more than `max_lost` frames."""
        for group in by_camera(manifest.events, np.asarray(manifest.events.strength) > self.max_lost):
            count = int(group.strongest)
            frames = "1 frame does not decode" if count == 1 else f"{count} frames do not decode"
            yield finding(
                self,
                Kind.DEFECT,
                group.row,
                f"{group.channel} of {manifest.where(group.row)}: {frames}, from {group.spans_s[0].start_s:.2f} s on; "
                "a training loader stops there",
                camera=group.channel,
                spans_s=group.spans_s,
                measured=group.strongest,
                threshold=self.max_lost,
                unit="frames",
                code="video_damaged",
            )


def _alone(traces: CameraTraces, camera: Camera) -> list[float] | None:
    """Times of lost pictures that others follow, in s; None where all that was lost is the end."""
    times_s = getattr(camera, "times_s", None)
    if times_s is None or not len(traces) or len(times_s) != len(traces) + traces.lost:
        return None
    last = float(traces.times_s[-1])
    lost = times_s[~np.isin(times_s, traces.times_s)]
    return lost.tolist() if len(lost) == traces.lost and (lost < last).any() else None
