"""Views that are burnt out or drowned in black."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.footage import (
    blank,
    by_camera,
    camera_of,
    nested_runs,
    per_camera,
    quantile,
    smoothed,
    span_s,
    traces_of,
)
from gristmill.grouping import strongest
from gristmill.manifest import Manifest, finding
from gristmill.types import FloatArray

_WHITE, _BLACK = "white", "black"
_STEPS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)  # of the pixels, above the episode's own low


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """Is much of a camera's picture clipped to white or to black?

    Clipped pixels have lost what they showed for good. Lamps, windows and dark backgrounds clip a part of many
    pictures, the same part all the time: what counts is a share well above what the camera clips in the rest of
    the corpus.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(traces=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("white_low", per="camera", about="clipped to white in the least clipped twentieth of the frames"),
        Column("white_high", per="camera", about="the same in the most clipped twentieth", metric=True),
        Column("black_low", per="camera", about="clipped to black in the least clipped twentieth of the frames"),
        Column("black_high", per="camera", about="the same in the most clipped twentieth", metric=True),
    )
    fix: ClassVar[str] = "Cut the span out or drop the episode; fix the camera's exposure before recording more."
    source: ClassVar[str] = (
        "Grey levels of 250 and above, and of 16 and below, count as clipped: compression blurs the exact ends of "
        "the range. A tenth of the picture lost is more than a gripper covers in most views."
    )

    at_least_s: float = measuring(0.2)  # shorter spans are not kept
    max_white: float = 0.1  # of the pixels, above what is usual for the camera
    max_black: float = 0.25  # shadows are harmless longer than glare
    min_deviations: float = 6.0  # robust standard deviations of the corpus
    min_s: float = 0.5

    def measure(self, episode: Episode) -> Measured:
        """Spans that clip some steps more than the episode's low; strength is the least share, detail to what."""
        found, unknown = traces_of(episode)
        columns: dict[str, dict[str, float]] = {column.name: {} for column in self.columns}
        events: list[Event] = []
        for key, traces in found.items():
            shown = ~blank(traces)
            if not shown.any():
                continue
            for name, share in ((_WHITE, traces.bright), (_BLACK, traces.dark)):
                share = np.where(shown, np.nan_to_num(share), 0.0)
                low, high = quantile(share[shown], 0.05), quantile(share[shown], 0.95)
                columns[f"{name}_low"][key], columns[f"{name}_high"][key] = low, high
                smooth = np.where(shown, smoothed(share, max(1, round(0.1 * episode.rate_hz))), 0.0)
                shortest = max(2, round(self.at_least_s * episode.rate_hz))
                for start, stop, least in nested_runs(smooth, [low + step for step in _STEPS], shortest):
                    span = span_s(traces, start, stop, episode.rate_hz)
                    events.append(Event(*span, least, camera=key, detail=name))
        values = {name: per_camera(episode, cells) for name, cells in columns.items()}
        return Measured(values, strongest(events), unknown)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Spans, and whole episodes, that clip far more than is usual for the camera."""
        events = manifest.events
        column = camera_of(manifest)
        details = np.array(events.detail, object)
        for name, margin in ((_WHITE, self.max_white), (_BLACK, self.max_black)):
            low, high = manifest[f"{name}_low"], manifest[f"{name}_high"]
            if not len(low):
                return
            limit = self._limit(high, margin)
            whole = low > limit
            for row, camera in np.argwhere(whole).tolist():
                span = [(0.0, manifest.duration_s[row])]
                yield self._finding(manifest, name, row, camera, "throughout", low[row, camera], limit[camera], span)
            if not len(events):
                continue
            over = (events.strength > limit[column]) & (events.end_s - events.start_s >= self.min_s)
            keep = over & (details == name) & ~whole[events.row, column]
            for group in by_camera(events, keep):
                camera = manifest.cameras.index(group.channel or "")
                yield self._finding(
                    manifest, name, group.row, camera, group.when, group.strongest, limit[camera], group.spans_s
                )

    def _limit(self, high: FloatArray, margin: float) -> FloatArray:
        """(cameras,) clipped share from which a span counts."""
        usual = robust.median(high)
        return usual + np.fmax(margin, self.min_deviations * robust.deviation(high))

    def _finding(
        self,
        manifest: Manifest,
        name: str,
        row: int,
        camera: int,
        when: str,
        share: float,
        limit: float,
        spans_s: object,
    ) -> Finding:
        key = manifest.cameras[camera]
        over = name == _WHITE
        return finding(
            self,
            Kind.RISK,
            row,
            f"{share:.0%} of {key} of {manifest.where(row)} is clipped to {name} {when}, more than {limit:.0%}: what "
            f"this camera usually clips, and a tolerance; nothing can be learned from what the "
            f"{'glare' if over else 'dark'} hides",
            camera=key,
            spans_s=spans_s,
            measured=share,
            threshold=limit,
            unit="share of the pixels",
            code="overexposed" if over else "underexposed",
        )
