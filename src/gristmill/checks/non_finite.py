"""NaN and infinities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.clock import Clock
from gristmill.episode import Channel, Dim, Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.grouping import Group, by_channel, strongest
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of
from gristmill.runs import runs_of
from gristmill.timeline import Provenance, provenance_key


@dataclass(frozen=True, kw_only=True)
class NonFinite:
    """Is every number in the recording a number?

    Looks for NaN and infinities in every low-dimensional channel, dimension by dimension. One of them makes
    the loss of a whole training batch NaN, and the mean and standard deviation of its channel with it. It is a
    defect in states, actions, rewards and flags, and a risk in channels that nobody may train on. A channel
    that is so in nearly every episode is named once, for the corpus.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(channels=True, motion=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("samples", "int", about="values that are NaN or infinite, over all channels"),
    )
    fix: ClassVar[str] = (
        "Trim or drop the episode, or fill the named samples from their neighbours and recompute the statistics; "
        "then look for the driver that wrote them."
    )
    source: ClassVar[str] = "IEEE 754: arithmetic with NaN gives NaN, so no sample of it can be averaged away."

    always: float = 0.9  # share of the episodes from which on a channel is named once for the corpus

    def measure(self, episode: Episode) -> Measured:
        """Runs of NaN or infinity in each dimension; strength is their number of samples."""
        moved = motion_of(episode).gaps is not None
        count, events = 0, []
        for key, channel in episode.channels.items():
            if channel.role in ("state", "action") and not moved:
                continue
            if channel.values.dtype.kind != "f":
                continue
            finite = np.isfinite(channel.values)
            if not finite.all() and provenance_key(key) in episode.channels:
                # What resampling found no sample for is told by the check `resampled`.
                finite |= episode.channels[provenance_key(key)].values == Provenance.MISSING
            if not finite.all():
                count += int(finite.size - np.count_nonzero(finite))
                events += _events(channel, ~finite, episode.rate_hz)
        return Measured({"samples": count}, strongest(events))

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Every channel with such samples; one finding for the corpus where nearly all episodes have them."""
        groups = list(by_channel(manifest.events))
        rows = Counter(group.channel for group in groups)
        most = self.always * np.count_nonzero(manifest.measured)
        always = {c for c, k in rows.items() if k >= max(2, most)}
        for channel in sorted(always, key=str):
            kind = _kind(next(g for g in groups if g.channel == channel))
            yield finding(
                self,
                kind,
                None,
                f"{channel} holds values that are not finite in {rows[channel]} of {len(manifest)} episodes; "
                "statistics and losses that touch it become NaN",
                channel=channel,
                code="always",
                measured=rows[channel] / max(len(manifest), 1),
                threshold=self.always,
                unit="share of episodes",
                fix="Leave the channel out of training, or write the value that its source meant.",
            )
        for group in groups:
            if group.channel in always:
                continue
            count = int(group.strengths.sum())
            yield finding(
                self,
                _kind(group),
                group.row,
                f"{group.channel} of {manifest.where(group.row)} is not finite in {count} "
                f"sample{'s' if count > 1 else ''} {group.when} (allowed: 0); one such value "
                "turns the loss of its whole batch into NaN",
                channel=group.channel,
                spans_s=group.spans_s,
                measured=count,
                threshold=0,
                unit="samples",
            )


def _kind(group: Group) -> Kind:
    return Kind.RISK if group.details[0] == "other" else Kind.DEFECT


def _events(channel: Channel, bad: np.ndarray, rate_hz: float) -> Iterator[Event]:
    clock = Clock(channel.times_s, rate_hz)
    for i in np.flatnonzero(bad.any(axis=0)).tolist():
        name = channel.names[i] if i < len(channel.names) else ""
        label = Dim(channel.key, i, name, channel.role).label
        for start, stop in runs_of(bad[:, i]):
            yield Event(*clock.span_s(start, stop), stop - start, label, None, channel.role)
