"""Frames that show nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.footage import BLACK_LEVEL, blank, by_camera, camera_of, per_camera, span_s, traces_of
from gristmill.grouping import strongest
from gristmill.manifest import Manifest, finding
from gristmill.runs import runs_of


@dataclass(frozen=True, kw_only=True)
class BlackFrames:
    """Does a camera show black, or a single colour, for a while?

    A frame shows nothing when 98 % of its pixels are at grey level 24 of 255 or below, or when its 2nd and 98th
    percentile lie within 3 levels: drivers hand out such frames when they have lost the camera, and encoders
    when they were given none. A policy sees them as a view of the world. A camera that is blank in most
    episodes is reported once, for the corpus.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(traces=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("blank", per="camera", about="share of the frames that show nothing", metric=True),
    )
    fix: ClassVar[str] = "Cut the span out, drop the episode, or train without this camera; check its cable."
    source: ClassVar[str] = (
        "Level 24 is 8 above the level at which ITU-R BT.709 video clips to black, room for noise; ffmpeg's "
        "blackdetect asks for 98 % of the pixels, too."
    )

    max_blank_s: float = 0.0  # any blank frame counts
    dead_share: float = 0.9  # of an episode's frames, in most episodes: the camera is dead

    def measure(self, episode: Episode) -> Measured:
        """Runs of blank frames; strength is their length in s, detail what they show."""
        found, unknown = traces_of(episode)
        share: dict[str, float] = {}
        events = []
        for key, traces in found.items():
            nothing = blank(traces)
            share[key] = float(nothing.mean())
            for start, stop in runs_of(nothing):
                begin, end = span_s(traces, start, stop, episode.rate_hz)
                dark = np.median(traces.p98[start:stop]) <= BLACK_LEVEL
                events.append(Event(begin, end, end - begin, camera=key, detail="black" if dark else "a single colour"))
        return Measured({"blank": per_camera(episode, share)}, strongest(events), unknown)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Blank spans of cameras that work elsewhere, and cameras that are blank throughout."""
        share = manifest["blank"]
        dead = robust.median(share) >= self.dead_share if len(share) else np.zeros(len(manifest.cameras), bool)
        for camera in np.flatnonzero(dead).tolist():
            yield self._dead(manifest, camera)
        events = manifest.events
        keep = (events.strength > self.max_blank_s) & ~dead[camera_of(manifest)] if len(events) else None
        for group in by_camera(events, keep):
            shown = sorted(set(group.details))
            yield finding(
                self,
                Kind.DEFECT,
                group.row,
                f"{group.channel} of {manifest.where(group.row)} shows nothing but {' or '.join(shown)} {group.when}; "
                "a policy takes these frames for a view of the world",
                camera=group.channel,
                spans_s=group.spans_s,
                measured=group.total_s,
                threshold=self.max_blank_s,
                unit="s",
                code="black" if shown == ["black"] else "blank",
            )

    def _dead(self, manifest: Manifest, camera: int) -> Finding:
        key, share = manifest.cameras[camera], manifest["blank"][:, camera]
        return finding(
            self,
            Kind.DEFECT,
            None,
            f"{key} shows nothing in {np.count_nonzero(share >= self.dead_share)} of {robust.known(share)} episodes; "
            "the camera was dead or its frames were never stored",
            camera=key,
            measured=robust.median(share),
            threshold=self.dead_share,
            code="dead_camera",
            fix="Train without this camera, or fetch its recordings.",
        )
