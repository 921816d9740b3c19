"""Views that are out of focus or smeared."""

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
from gristmill.traces import CameraTraces
from gristmill.types import FloatArray

_LEAST_CONTRAST = 4.0  # grey levels; below, noise is all there is
_LEAST_SHARPNESS = 1e-3
_OCTAVES = (1, 2, 3, 4, 5, 6, 7)  # below the episode's own sharpness


@dataclass(frozen=True, kw_only=True)
class Blur:
    """Is a camera's picture out of focus, smeared or steamed up?

    Sharpness is the variance of the Laplacian over the picture's contrast, so that darker or paler pictures of
    the same scene count as equally sharp. What is sharp depends on the scene: each camera is compared with its
    own softest moments in the rest of the corpus. Short blur is what motion does; only longer spans count.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(traces=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column(
            "sharp", unit="levels", per="camera", about="sharpness in the sharpest tenth of the frames", metric=True
        ),
        Column("soft", unit="levels", per="camera", about="sharpness in the softest twentieth of the frames"),
    )
    fix: ClassVar[str] = "Cut the span out or drop the episode; clean the lens and fix the focus before recording more."
    source: ClassVar[str] = (
        "Variance of the Laplacian (Pech-Pacheco et al., ICPR 2000). A Gaussian blur of 1 % of the height lowers it "
        "to a sixth, one of 3 % to a fiftieth; scenes change it by a factor of 2 to 4."
    )

    at_least_s: float = measuring(0.2)  # shorter spans are not kept
    max_share: float = 0.3  # of the sharpness that the camera's softest moments have elsewhere
    min_deviations: float = 6.0  # and so many robust standard deviations of its logarithm below
    min_s: float = 0.5

    def measure(self, episode: Episode) -> Measured:
        """Spans softer than the episode's sharp frames by one octave, two, ...; strength is their top sharpness."""
        found, unknown = traces_of(episode)
        sharp: dict[str, float] = {}
        soft: dict[str, float] = {}
        events: list[Event] = []
        for key, traces in found.items():
            level = sharpness(traces)
            shown = np.isfinite(level)
            if not shown.any() or not level[shown].any():
                continue
            sharp[key] = quantile(level[shown], 0.9)
            soft[key] = quantile(level[shown], 0.05)
            # Codecs draw every other frame softer: the mean over a few frames decides.
            filled = smoothed(np.where(shown, level, sharp[key]), max(1, round(0.1 * episode.rate_hz)))
            octaves = np.log2(sharp[key] / np.maximum(filled, _LEAST_SHARPNESS))
            for start, stop, least in nested_runs(octaves, _OCTAVES, max(2, round(self.at_least_s * episode.rate_hz))):
                span = span_s(traces, start, stop, episode.rate_hz)
                events.append(Event(*span, sharp[key] / 2**least, camera=key))
        # The softest ones are the ones to keep.
        kept = strongest([e._replace(strength=-e.strength) for e in events])
        values = {"sharp": per_camera(episode, sharp), "soft": per_camera(episode, soft)}
        return Measured(values, [e._replace(strength=-e.strength) for e in kept], unknown)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Spans, and whole episodes, far below the camera's softest moments in the corpus."""
        sharp, soft = manifest["sharp"], manifest["soft"]
        if not len(sharp):
            return
        limit = self._limit(sharp, soft)
        for row, camera in np.argwhere(sharp < limit).tolist():
            span = [(0.0, manifest.duration_s[row])]
            yield self._finding(manifest, row, camera, "throughout", sharp[row, camera], limit[camera], span)
        events = manifest.events
        if not len(events):
            return
        column = camera_of(manifest)
        below = (events.strength < limit[column]) & (events.end_s - events.start_s >= self.min_s)
        keep = below & ~(sharp[events.row, column] < limit[column])
        for group in by_camera(events, keep):
            camera = manifest.cameras.index(group.channel or "")
            level = float(group.strengths.min())
            yield self._finding(manifest, group.row, camera, group.when, level, limit[camera], group.spans_s)

    def _limit(self, sharp: FloatArray, soft: FloatArray) -> FloatArray:
        """(cameras,) sharpness below which a span counts as blurred."""
        # Where most episodes have a soft span, the usual soft moment is no reference; sharp frames are.
        usual = np.fmax(robust.median(soft), 0.3 * robust.median(sharp))
        logs = np.log(np.where(soft > 0, soft, np.nan))
        return np.fmin(self.max_share * usual, usual * np.exp(-self.min_deviations * robust.deviation(logs)))

    def _finding(
        self, manifest: Manifest, row: int, camera: int, when: str, level: float, limit: float, spans_s: object
    ) -> Finding:
        key = manifest.cameras[camera]
        return finding(
            self,
            Kind.RISK,
            row,
            f"{key} of {manifest.where(row)} is blurred {when}: sharpness {level:.3g} is below {limit:.3g}, which the "
            "camera's softest moments elsewhere do not reach; edges and contacts that a policy needs are gone",
            camera=key,
            spans_s=spans_s,
            measured=level,
            threshold=limit,
            unit="levels",
        )


def sharpness(traces: CameraTraces) -> FloatArray:
    """(t,) variance of the Laplacian over the contrast, in grey levels; NaN where nothing is shown."""
    level = traces.sharp / np.maximum(traces.std, _LEAST_CONTRAST)
    return np.where(blank(traces), np.nan, level).astype(np.float64)
