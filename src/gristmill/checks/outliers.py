"""Values where no other episode has any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.grouping import by_channel, strongest
from gristmill.layout import layout_of_dims
from gristmill.manifest import Manifest, finding
from gristmill.motion import Motion, motion_of
from gristmill.runs import runs_of
from gristmill.types import FloatArray

_SHARE_OF_WIDEST = 0.1  # of its peers' widest band: a dimension with less rests, whatever its own band says
_LEAP = 0.5  # share of an episode's own range from which on a step is no motion


@dataclass(frozen=True, kw_only=True)
class Outliers:
    """Does a dimension leap to values that no other episode comes near?

    A burst of garbage lasts for several samples, so no single one stands out from its neighbours. Compared are an
    episode's second largest and second smallest value with the band that most episodes keep to, from the lower
    quartile of the smallest to the upper quartile of the largest values. Beyond it by more than the band's own
    width, and reached by leaps as large, nothing has moved there; far beyond, without a leap, the whole episode is
    in another unit. A dimension that rests in most episodes is measured by the widest band among its peers. Between
    keys and other choices nothing leaps.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("low", per="dim", about="second smallest value, in the dimension's unit"),
        Column("high", per="dim", about="second largest value, in the dimension's unit"),
        Column("leap", per="dim", about="second largest step from sample to sample, in the dimension's unit"),
    )
    fix: ClassVar[str] = "Cut the span out or drop the episode; look for lost messages or a wrong decoder."
    source: ClassVar[str] = (
        "Fences around quartiles, as in the box plot of Tukey (1977). His far-out fence lies three interquartile "
        "ranges away, which for evenly spread values is once and a half, for normal ones once their whole band."
    )

    burst_s: float = measuring(2.0)  # longer stretches are no burst, and are not marked
    max_beyond: float = 1.0  # widths of the band beyond it, when it is leapt to
    max_beyond_unit: float = 10.0  # and when it is not: degrees are 57 radians
    min_episodes: int = 4

    def measure(self, episode: Episode) -> Measured:
        """The band of each dimension, and the stretches that are leapt to; the detail is the value there."""
        motion = motion_of(episode)
        if motion.frames < 4 or not len(motion.values):
            return Measured(unknown="no state or action, or fewer than 4 samples")
        leap = motion.sorted_steps[:, -2]
        values = {"low": motion.low, "high": motion.high, "leap": leap}
        leaping = leap > _LEAP * motion.range
        leaping[motion.layout.grippers] = False  # commanded open or closed, one leaps all the time
        dims = leaping.nonzero()[0].tolist()
        if dims and motion.choices.any():
            values["leap"] = np.where(motion.choices, np.nan, leap)  # from choice to choice nothing leaps
            dims = (leaping & ~motion.choices).nonzero()[0].tolist()
        return Measured(values, strongest(list(self._bursts(motion, dims))) if dims else ())

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Bands that reach out of the corpus's band by more than its width."""
        width = len(manifest.dims)
        low, high, leap = (manifest[name][:, :width] for name in ("low", "high", "leap"))
        if not width or robust.known(high).max(initial=0) < self.min_episodes:
            return
        layout = layout_of_dims(manifest.dims, manifest.embodiment)
        bottom, top = robust.quantile(low, 0.25), robust.quantile(high, 0.75)
        band = np.nan_to_num(top - bottom)
        widest = layout.widest(band)
        rests = robust.median(high - low) < _LEAP * band
        band = np.where(rests | (band < _SHARE_OF_WIDEST * widest), widest, band)
        off = np.fmax(high - top, bottom - low)
        leapt = (off > self.max_beyond * band) & (leap > self.max_beyond * band) & (leap > _LEAP * (high - low))
        alien = (off > self.max_beyond_unit * widest) & (widest > 0)
        beyond = off / np.where(band > 0, band, np.nan)
        spans = {
            (g.row, g.channel): g.spans_s for g in by_channel(manifest.events, self._far(manifest, top, bottom, band))
        }
        for row, dim in np.argwhere(leapt | alien).tolist():
            label, unit = layout.labels[dim], layout.unit(dim)
            value = high[row, dim] if high[row, dim] - top[dim] > bottom[dim] - low[row, dim] else low[row, dim]
            how = "leaps to" if leapt[row, dim] else "lies at"
            yield finding(
                self,
                Kind.DEFECT,
                row,
                f"{label} of {manifest.where(row)} {how} {value:.3g} {unit or 'units'}, {beyond[row, dim]:.3g} times "
                f"the width of the usual band ({bottom[dim]:.3g} to {top[dim]:.3g}) away from it (at most "
                f"{self.max_beyond if leapt[row, dim] else self.max_beyond_unit:g} allowed); a policy that is trained "
                "on it commands what no robot can do, and statistics are of it alone",
                channel=label,
                spans_s=spans.get((row, label), ()),
                code="burst" if leapt[row, dim] else "other_unit",
                measured=beyond[row, dim],
                threshold=self.max_beyond if leapt[row, dim] else self.max_beyond_unit,
                unit="bands",
            )

    def _far(self, manifest: Manifest, top: FloatArray, bottom: FloatArray, band: FloatArray) -> np.ndarray:
        """Which events lie beyond the fences."""
        events = manifest.events
        rows = layout_of_dims(manifest.dims, manifest.embodiment).rows_of(events.channel)
        value = np.array([float(text) for text in events.detail])
        off = np.fmax(value - top[rows], bottom[rows] - value)
        return (rows >= 0) & (off > self.max_beyond * band[rows])

    def _bursts(self, motion: Motion, dims: list[int]) -> Iterator[Event]:
        """Stretches beyond the middle between a dimension's median and its extremes."""
        longest = motion.clock.frames(self.burst_s)
        for dim in dims:
            values = motion.values[dim]
            middle = float(motion.sorted[dim, motion.frames // 2])
            for extreme in {float(motion.high[dim]), float(motion.low[dim])} - {middle}:
                half = (extreme + middle) / 2
                beyond = values >= half if extreme > middle else values <= half
                for start, stop in runs_of(beyond, 1):
                    if stop - start <= longest:
                        span = motion.clock.span_s(start, stop)
                        yield Event(*span, abs(extreme - middle), motion.layout.labels[dim], detail=repr(extreme))
