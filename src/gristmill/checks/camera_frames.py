"""Frames that the metadata promises and the video file does not hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.episode import Episode
from gristmill.errors import MissingVideoError, VideoError
from gristmill.finding import Event, Finding, Kind
from gristmill.footage import by_camera, per_camera
from gristmill.grouping import Group, strongest
from gristmill.manifest import Manifest, finding
from gristmill.streams import in_step
from gristmill.video.packets import Packets

_OWN = "pictures have a clock of their own; [resample] in the recipe brings them to one timeline"
_END, _GAP, _UNREADABLE = "end", "gap", "unreadable"


@dataclass(frozen=True, kw_only=True)
class CameraFrames:
    """Does every camera have a frame at the time of every row?

    Packets are read without decoding. Frame k belongs at k / rate from the episode's start, within half a
    frame; times without a packet are missing frames. A loader that asks for one either fails or silently gives
    another frame, so that pictures and actions part company.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(packets=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("missing", "int", unit="frames", per="camera", about="promised frames that the file does not hold"),
        Column("surplus", "int", unit="frames", per="camera", about="frames after the last promised one"),
        Column("pace", per="camera", about="median time between frames, in periods of the declared rate"),
    )
    fix: ClassVar[str] = "Copy the video again from its source, or cut the episode to the frames that exist."
    source: ClassVar[str] = "LeRobot's loader asks for a frame within 0.1 ms of every row's timestamp."

    max_missing: int = 0  # frames
    max_surplus: int = 1  # frames; encoders repeat a last frame
    max_pace_error: float = 0.02  # of the declared period

    def measure(self, episode: Episode) -> Measured:
        """Stretches without frames; strength is the number of missing frames, detail says where or why."""
        missing: dict[str, float] = {}
        surplus: dict[str, float] = {}
        pace: dict[str, float] = {}
        events: list[Event] = []
        unknown, own = [], []
        for key, camera in episode.cameras.items():
            try:
                packets = camera.packets()
                if camera.info.own_clock and not _in_step(packets, episode):
                    own.append(key)
                    continue
            except MissingVideoError:
                unknown.append(key)  # the check `files` tells of it
                continue
            except VideoError as error:
                events.append(_event(key, 0, camera.frames, episode.rate_hz, f"{_UNREADABLE}: {error}"))
                continue
            gaps = _gaps(packets, camera.frames, episode.rate_hz)
            missing[key] = sum(stop - start for start, stop in gaps)
            surplus[key] = packets.surplus
            if len(packets) > 2:
                pace[key] = float(np.median(np.diff(packets.times_s)) * episode.rate_hz)
            for start, stop in gaps:
                where = _END if stop == camera.frames else _GAP
                events.append(_event(key, start, stop, episode.rate_hz, where))
        values = {"missing": missing, "surplus": surplus, "pace": pace}
        return Measured(
            {name: per_camera(episode, cells) for name, cells in values.items()},
            strongest(events),
            f"no video file of {', '.join(unknown)}" if unknown else f"{', '.join(own)}: {_OWN}" if own else None,
        )

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Missing frames, files at another rate than declared, and files that hold more than was promised."""
        off_pace = np.abs(manifest["pace"] - 1) > self.max_pace_error
        for row, camera in np.argwhere(off_pace).tolist():
            yield self._off_pace(manifest, row, camera)
        for row, camera in np.argwhere((manifest["surplus"] > self.max_surplus) & ~off_pace).tolist():
            yield self._surplus(manifest, row, camera)
        column = {key: i for i, key in enumerate(manifest.cameras)}
        for group in by_camera(manifest.events):
            if off_pace[group.row, column.get(group.channel or "", 0)]:
                continue
            if group.strengths.sum() > self.max_missing:
                yield self._missing(manifest, group)

    def _missing(self, manifest: Manifest, group: Group) -> Finding:
        where, camera, count = manifest.where(group.row), group.channel, int(group.strengths.sum())
        promised = int(manifest.length[group.row])
        details = set(group.details)
        broken = next((d for d in group.details if d.startswith(_UNREADABLE)), None)
        if broken:
            code, what = "video_unreadable", f"the video file cannot be read ({broken.partition(': ')[2]})"
        elif details == {_END}:
            code, what = "video_truncated", f"the video ends {group.total_s:.2f} s early"
        else:
            code, what = "video_gap", f"the video has no frames {group.when}"
        return finding(
            self,
            Kind.DEFECT,
            group.row,
            f"{camera} of {where}: {what}; {count} of {promised} promised frames are missing, and a loader fails on "
            "them or gives others in their place",
            camera=camera,
            spans_s=group.spans_s,
            measured=count,
            threshold=self.max_missing,
            unit="frames",
            code=code,
        )

    def _off_pace(self, manifest: Manifest, row: int, camera: int) -> Finding:
        key, pace, rate_hz = manifest.cameras[camera], manifest["pace"][row, camera], manifest.facts.rate_hz
        return finding(
            self,
            Kind.DEFECT,
            row,
            f"{key} of {manifest.where(row)} has a frame every {1e3 * pace / rate_hz:.1f} ms and not every "
            f"{1e3 / rate_hz:.1f} ms as declared; rows and frames drift apart",
            camera=key,
            spans_s=[(0.0, manifest.duration_s[row])],
            measured=abs(pace - 1),
            threshold=self.max_pace_error,
            code="video_rate",
            fix="Declare the true rate, or encode the video again with one frame a row.",
        )

    def _surplus(self, manifest: Manifest, row: int, camera: int) -> Finding:
        key, count = manifest.cameras[camera], int(manifest["surplus"][row, camera])
        return finding(
            self,
            Kind.RISK,
            row,
            f"{key} of {manifest.where(row)}: the file holds {count} frames more than the {int(manifest.length[row])} "
            "rows; if rows were lost at the start, all pictures are late",
            camera=key,
            measured=count,
            threshold=self.max_surplus,
            unit="frames",
            code="video_surplus",
            fix="Compare the first frames with the first rows; cut the video to the rows if they agree.",
        )


def _in_step(packets: Packets, episode: Episode) -> bool:
    """Whether pictures that came when they came are one a row all the same."""
    if not episode.rate_hz > 0:
        return False
    return in_step(packets.times_s, np.arange(episode.length) / episode.rate_hz, episode.rate_hz)


def _gaps(packets: Packets, frames: int, rate_hz: float) -> list[tuple[int, int]]:
    """(start, stop) of every stretch of promised frames without a packet; a false promise costs no memory."""
    number = np.unique(np.rint(packets.times_s * rate_hz).astype(np.int64))
    edges = np.concatenate([[-1], number[(number >= 0) & (number < frames)], [frames]])
    wide = np.flatnonzero(np.diff(edges) > 1)
    return list(zip((edges[wide] + 1).tolist(), edges[wide + 1].tolist(), strict=True))


def _event(camera: str, start: int, stop: int, rate_hz: float, detail: str) -> Event:
    return Event(start / rate_hz, stop / rate_hz, stop - start, camera=camera, detail=detail)
