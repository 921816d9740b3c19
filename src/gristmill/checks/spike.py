"""Single samples that the joint cannot have reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
from gristmill.types import FloatArray

_MOST = 8  # spikes kept of one dimension
# Jumps below this share of the episode's own range are not looked at closely; it only saves time.
_LOOKED_AT = 0.03
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
    joints travel, so that the hum of a joint at rest does not count either. A step that stays is no spike, and a
    missing stretch of time is none either.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("range", per="dim", about="second largest minus second smallest value, in the dimension's unit"),
        Column("resolution", per="dim", about="smallest step, in the dimension's unit"),
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
    min_of_widest: float = 0.003  # and of the widest range among its peers: arm joints, hand joints or grippers

    def measure(self, episode: Episode) -> Measured:
        """Samples that reverse at once; strength is the height that nearby motion does not explain."""
        motion = motion_of(episode)
        if motion.frames < 4:
            return Measured(unknown="fewer than 4 samples")
        reach = (_LOOKED_AT * motion.range) ** 2
        rows = np.flatnonzero(motion.turns.min(axis=1) < -reach)
        events = [e for row in rows.tolist() for e in self._of_dim(motion, row, float(reach[row]))]
        return Measured({"range": motion.range, "resolution": motion.resolution}, events)

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
                f"({self.min_height:.1%} of its range) is allowed, and a policy that copies it commands a jerk",
                channel=group.channel,
                spans_s=group.spans_s,
                measured=group.strongest,
                threshold=least,
                unit=unit,
            )

    def _floors(self, manifest: Manifest, layout: Layout) -> FloatArray:
        """(D,) smallest height of each dimension that is a spike, in its unit."""
        wide = robust.quantile(manifest["range"], 0.9)[: len(layout.dims)]
        floor = np.fmax(self.min_height * wide, self.min_of_widest * layout.widest(np.nan_to_num(wide)))
        # A slow episode shows the resolution; one that holds a single spike shows the spike.
        steps = manifest["resolution"][:, : len(layout.dims)]
        steps = np.where(steps > 0, steps, np.nan)
        shown = robust.known(steps) >= max(_SHOWN, _SHOWN_SHARE * len(steps))
        return np.where(shown, np.fmax(floor, self.counts * robust.quantile(steps, 0.1)), floor)

    def _of_dim(self, motion: Motion, row: int, reach: float) -> list[Event]:
        values = motion.values[row].astype(np.float64)
        # Beyond the ends, values that make the cubic through four samples the parabola through the three there are.
        before, after = 2 * values[0] - 2 * values[2] + values[3], 2 * values[-1] - 2 * values[-3] + values[-4]
        values = np.concatenate([[before], values, [after]])
        steps = np.diff(values)
        at = np.flatnonzero(motion.turns[row] < -reach) + 2  # the samples in `values`
        height = np.abs(values[at] - (4 * (values[at - 1] + values[at + 1]) - values[at - 2] - values[at + 2]) / 6)
        nearby = np.abs([steps[at - 2], steps[at + 1], (steps[at - 1] + steps[at]) / 2]).max(axis=0)
        beyond = height - self.explained * nearby
        order = np.argsort(-beyond, kind="stable")[:_MOST]
        label = motion.layout.labels[row]
        return [
            Event(*motion.clock.span_s(int(at[i]) - 1, int(at[i])), float(beyond[i]), label)
            for i in order.tolist()
            if beyond[i] > 0
        ]
