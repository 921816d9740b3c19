"""Single samples that the joint cannot have reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.grouping import by_channel
from gristmill.layout import Layout, layout_of_dims
from gristmill.manifest import Manifest, finding
from gristmill.motion import Motion, motion_of
from gristmill.types import FloatArray, IntArray, Mask

_MOST = 8  # spikes kept of one dimension
# Jumps below this share of the episode's own range are not looked at closely; it only saves time.
_LOOKED_AT = 0.03
# A dimension that turns round at more of its samples than this is not sampled densely enough for four neighbours to
# tell the one between them. Noise with a flat spectrum up to f has 2 f sqrt(3 / 5) extremes a second (Rice 1944), and
# neighbours two periods apart tell nothing above a quarter of the rate: 0.39. Of 200,000 samples of such noise none
# passes `min_height` at 0.33, 7 do at 0.38 and one in 380 at 0.45.
_JAGGED = 1 / 3
# How a dimension turns is read from episodes in which it moves at least this share of its usual range.
_MOVES = 0.5
# A resolution is believed when it shows in so many episodes, and in this share of them.
_SHOWN, _SHOWN_SHARE = 3, 0.1


@dataclass(frozen=True, kw_only=True)
class Spike:
    """Does a single sample stand out from both its neighbours?

    A one-sample glitch leaves a dimension and comes back at once. Its height is the distance to the cubic through
    the two samples before and the two after, which smooth motion follows however fast it is; from it, one and a
    half times the largest step close by is taken, so that a trembling hand or a sharp turn explains itself.
    What remains is compared with the dimension's range over the corpus. It must exceed a few steps of the
    sensor's resolution, so that a coarse sensor does not spike by one count, and a small share of what the other
    joints travel, so that the hum of a joint at rest does not count either. A dimension that turns round all the time,
    such as the steps that a person's hand commands five times a second, has no smooth motion to compare with; there a
    sample must leave the dimension's whole usual range. A step that stays is no spike, a key that is pressed for one
    sample is none, and neither is a missing stretch of time.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(motion=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("range", per="dim", about="second largest minus second smallest value, in the dimension's unit"),
        Column("resolution", per="dim", about="smallest step, in the dimension's unit"),
        Column("reversals", per="dim", about="share of the samples at which it turns round"),
    )
    fix: ClassVar[str] = (
        "Replace the sample by the mean of its neighbours or trim around it; check the cable and the encoder."
    )
    source: ClassVar[str] = (
        "Interpolation residual against a local scale, as in the identifier of Hampel (1974). A rule of 30 times the "
        "median step flags a tenth of good human demonstrations at 10 Hz, so nearby steps are the yardstick."
    )

    explained: float = measuring(1.5)  # how many of the largest nearby steps the neighbours explain
    min_height: float = 0.045  # share of the dimension's range over the corpus
    counts: float = 8.0  # and steps of the sensor's resolution, where the corpus shows one
    jagged_height: float = 1.0  # the same, of a dimension that turns round all the time
    min_of_widest: float = 0.003  # and of the widest range among its peers: arm joints, hand joints or grippers

    def measure(self, episode: Episode) -> Measured:
        """Samples that reverse at once; strength is the height that nearby motion does not explain."""
        motion = motion_of(episode)
        if motion.frames < 4:
            return Measured(unknown="fewer than 4 samples")
        turns = motion.turns
        reversals = (turns < 0).astype(turns.dtype) @ _ones(turns.shape[1], turns.dtype) / turns.shape[1]
        return Measured(
            {"range": motion.range, "resolution": motion.resolution, "reversals": reversals}, self._events(motion)
        )

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Heights above `min_height` of the range that the dimension has over the corpus."""
        if not len(manifest.events) or not manifest.dims:
            return
        layout = layout_of_dims(manifest.dims, manifest.embodiment)
        floors = self._floors(manifest, layout)
        rows = layout.rows_of(manifest.events.channel)
        spikes = (rows >= 0) & (manifest.events.strength > floors[rows])
        for group in by_channel(manifest.events, spikes):
            dim = int(layout.rows_of([group.channel])[0])
            unit, least = layout.unit(dim), float(floors[dim])
            yield finding(
                self,
                Kind.DEFECT,
                group.row,
                f"{group.channel} of {manifest.where(group.row)} jumps by {group.strongest:.3g} {unit or 'units'} for "
                f"one sample {group.when} and comes straight back; beyond nearby motion at most {least:.3g} "
                f"is allowed, and a policy that copies it commands a jerk",
                channel=group.channel,
                spans_s=group.spans_s,
                measured=group.strongest,
                threshold=least,
                unit=unit,
            )

    def _floors(self, manifest: Manifest, layout: Layout) -> FloatArray:
        """(D,) smallest height of each dimension that is a spike, in its unit."""
        ranges = manifest["range"][:, : len(layout.dims)]
        wide = robust.quantile(ranges, 0.9)
        moving = np.where(ranges >= _MOVES * wide, manifest["reversals"][:, : len(layout.dims)], np.nan)
        # A share is bounded, so that a mean of it needs no protection, and a median of ten samples is coarse.
        turning = np.nansum(moving, axis=0) / np.maximum(robust.known(moving), 1)
        share = np.where(turning > _JAGGED, self.jagged_height, self.min_height)
        floor = np.fmax(share * wide, self.min_of_widest * layout.widest(np.nan_to_num(wide)))
        # A slow episode shows the resolution; one that holds a single spike shows the spike.
        steps = manifest["resolution"][:, : len(layout.dims)]
        steps = np.where(steps > 0, steps, np.nan)
        shown = robust.known(steps) >= max(_SHOWN, _SHOWN_SHARE * len(steps))
        return np.where(shown, np.fmax(floor, self.counts * robust.quantile(steps, 0.1)), floor)

    def _events(self, motion: Motion) -> list[Event]:
        """Samples that jump there and back, the highest of each dimension first, at most `_MOST` of each."""
        turns, reach = motion.turns, (_LOOKED_AT * motion.range) ** 2
        if not np.logical_or.reduce(np.minimum.reduce(turns, axis=1) < -reach):
            return []
        rows, turn = (turns < -reach[:, None]).nonzero()
        beyond = self._beyond(motion.path, rows, turn + 1)
        high = ((beyond > 0) & ~_switches(motion.values, rows)).nonzero()[0]
        high = high[np.lexsort((-beyond[high], rows[high]))]
        rank = np.arange(len(high)) - np.searchsorted(rows[high], rows[high])
        high = high[rank < _MOST]
        clock, labels = motion.clock, motion.layout.labels
        return [
            Event(*clock.span_s(sample, sample + 1), height, labels[row])
            for row, sample, height in zip(
                rows[high].tolist(), (turn[high] + 1).tolist(), beyond[high].tolist(), strict=True
            )
        ]

    def _beyond(self, values: FloatArray, rows: IntArray, samples: IntArray) -> FloatArray:
        """Height (k,) of some samples of some rows over what their neighbours explain.

        Args:
            values: (D, t), t >= 4.
            rows: (k,) row of each sample.
            samples: (k,) neither the first nor the last.
        """
        wide = np.empty((len(values), values.shape[1] + 2))
        wide[:, 1:-1] = values
        # Beyond the ends, values that make the cubic through four samples the parabola through the three there are.
        wide[:, 0] = 2 * wide[:, 1] - 2 * wide[:, 3] + wide[:, 4]
        wide[:, -1] = 2 * wide[:, -2] - 2 * wide[:, -4] + wide[:, -5]
        at = rows * wide.shape[1] + samples + 1
        first, before, here, after, last = (wide.reshape(-1)[at + i] for i in (-2, -1, 0, 1, 2))
        height = np.abs(here - (4 * (before + after) - first - last) / 6)
        across = ((here - before) + (after - here)) / 2
        nearby = np.maximum.reduce(np.abs([before - first, last - after, across]), axis=0)
        return height - self.explained * nearby


@lru_cache(maxsize=16)
def _ones(count: int, dtype: np.dtype) -> FloatArray:
    return np.ones(count, dtype)


def _switches(values: FloatArray, rows: IntArray) -> Mask:
    """(k,) whether a row (D, t) holds nothing but 0 and 1, as keys and one-hot choices do."""
    looked_at = np.zeros(len(values), bool)
    looked_at[rows] = True
    switch = np.zeros(len(values), bool)
    switch[looked_at] = np.logical_and.reduce(np.square(values[looked_at]) == values[looked_at], axis=1)
    return switch[rows]
