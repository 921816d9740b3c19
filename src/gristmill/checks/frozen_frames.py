"""Cameras that repeat one frame while the robot moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.footage import activity_of, blank, by_camera, camera_of, per_camera, quantile, rows_of, span_s, traces_of
from gristmill.grouping import strongest
from gristmill.manifest import Manifest, finding
from gristmill.runs import runs_of
from gristmill.traces import CameraTraces
from gristmill.types import Mask

# A keyframe of a still picture is coded afresh: its noise changes, its mean and contrast hardly do. Encoders do
# that once in a while; a slow camera, which repeats each frame a few times, changes more often.
_AROUND = 4  # frames on either side; all of them but one equal the one before
_CODING = 0.5  # grey levels
_MOSTLY = 0.8  # of a run's frames equal the one before
_UNBROKEN_S = 0.3  # that a run holds without any change; a slow camera holds no picture for so long


@dataclass(frozen=True, kw_only=True)
class FrozenFrames:
    """Does a camera repeat one frame while the robot moves?

    Frames are equal when not even the busiest of 8 x 8 blocks changes by more than `same_below` grey levels on
    average. Recorders that repeat single frames, because they run faster than the camera, make runs of two or
    three; a driver that hangs makes long ones. A run counts when the robot moved meanwhile, compared with how
    it moves in the whole episode: a still robot before a still camera is no fault. A camera that shows no
    motion in most episodes looks elsewhere, or is dead; that is told once, for the corpus.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(traces=True, motion=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("repeated", per="camera", about="share of the frames that equal the one before", metric=True),
        Column("blind", per="camera", about="share of the robot's motion during which the picture stood still"),
    )
    fix: ClassVar[str] = "Cut the span out or drop the episode; check the camera's bandwidth and its driver's queue."
    source: ClassVar[str] = (
        "A quarter of a grey level in the busiest block is below the noise of any live sensor and above what "
        "decoders differ by; 0.5 s is five times the longest run that recorders at three times the camera's rate make."
    )

    same_below: float = measuring(0.25)  # grey levels
    at_least_s: float = measuring(0.2)  # shorter runs are not kept
    max_still_s: float = 0.5
    min_motion: float = 0.3  # of the episode's usual motion
    blind_share: float = 0.5  # of the motion, in most episodes: the camera does not see it

    def measure(self, episode: Episode) -> Measured:
        """Runs of equal frames; strength is the motion meanwhile, as a share of the episode's upper quartile."""
        found, unknown = traces_of(episode)
        repeated: dict[str, float] = {}
        blind: dict[str, float] = {}
        events: list[Event] = []
        for key, traces in found.items():
            same = self._same(traces)
            repeated[key] = float(same.mean())
            activity = activity_of(episode, rows_of(traces, episode.rate_hz))
            if activity is None:
                unknown = unknown or "the robot's motion is not recorded"
                continue
            usual = quantile(activity, 0.75)
            still = np.zeros(len(traces), bool)
            for start, stop in self._runs(traces, same, episode.rate_hz):
                still[start:stop] = True
                strength = float(activity[start:stop].mean()) / usual if usual > 0 else 0.0
                # The frame that is repeated belongs to the span.
                events.append(Event(*span_s(traces, max(0, start - 1), stop, episode.rate_hz), strength, camera=key))
            total = float(activity.sum())
            blind[key] = float(activity[still].sum()) / total if total > 0 else np.nan
        values = {"repeated": per_camera(episode, repeated), "blind": per_camera(episode, blind)}
        return Measured(values, strongest(events), unknown)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Runs longer than `max_still_s` during which the robot moved, of cameras that see it move elsewhere."""
        blind = manifest["blind"]
        dead = robust.median(blind) > self.blind_share if len(blind) else np.zeros(len(manifest.cameras), bool)
        for camera in np.flatnonzero(dead).tolist():
            yield self._blind(manifest, camera)
        events = manifest.events
        if not len(events):
            return
        long = events.end_s - events.start_s >= self.max_still_s
        keep = long & (events.strength >= self.min_motion) & ~dead[camera_of(manifest)]
        for group in by_camera(events, keep):
            still_s = max(b - a for a, b in group.spans_s)
            yield finding(
                self,
                Kind.DEFECT,
                group.row,
                f"{group.channel} of {manifest.where(group.row)} repeats one frame {group.when} while the robot moves "
                f"at {group.strongest:.0%} of its usual speed; {still_s:.2f} s without a new picture is more than "
                f"{self.max_still_s:g} s, and a policy learns to act on what it cannot see",
                camera=group.channel,
                spans_s=group.spans_s,
                measured=still_s,
                threshold=self.max_still_s,
                unit="s",
            )

    def _blind(self, manifest: Manifest, camera: int) -> Finding:
        key, blind = manifest.cameras[camera], manifest["blind"][:, camera]
        return finding(
            self,
            Kind.RISK,
            None,
            f"{key} shows nothing of {robust.median(blind):.0%} of the robot's motion in the median episode; it was "
            "dead, or it does not see the robot",
            camera=key,
            measured=robust.median(blind),
            threshold=self.blind_share,
            code="blind_camera",
            fix="Look at a few episodes; train without this camera if it shows one picture throughout.",
        )

    def _same(self, traces: CameraTraces) -> Mask:
        """(t,) frames that equal the one before and show something."""
        change = np.nan_to_num(traces.diff_peak, nan=np.inf)
        return (change <= self.same_below) & ~blank(traces)

    def _runs(self, traces: CameraTraces, same: Mask, rate_hz: float) -> list[tuple[int, int]]:
        """Runs of equal frames, also across single frames that only the encoder drew anew."""
        shortest, held = max(2, round(self.at_least_s * rate_hz)), max(2, round(_UNBROKEN_S * rate_hz))
        whole = same | _redrawn(traces, same)
        runs = []
        for start, stop in runs_of(whole, shortest):
            part = same[start:stop]
            if part.all() or (runs_of(part, held) and part.mean() >= _MOSTLY):
                runs.append((start, stop))
            else:
                runs += [(start + a, start + b) for a, b in runs_of(part, shortest)]
        return runs


def _redrawn(traces: CameraTraces, same: Mask) -> Mask:
    """(t,) frames amid equal ones that differ by coding alone, as a new keyframe of the same picture does."""
    redrawn = np.zeros(len(same), bool)
    if len(same) <= 2 * _AROUND:
        return redrawn
    around = np.convolve(same, np.ones(2 * _AROUND + 1), "valid")
    redrawn[_AROUND:-_AROUND] = (around >= 2 * _AROUND - 1) & ~same[_AROUND:-_AROUND]
    for values in (traces.mean, traces.std):
        redrawn[1:] &= np.abs(np.diff(values)) <= _CODING
    return redrawn
