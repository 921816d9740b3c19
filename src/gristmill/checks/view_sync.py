"""Views that show things later than the others, or than they happened."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill import robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.footage import activity_of, blank, per_camera, rows_of, traces_of
from gristmill.manifest import Manifest, finding
from gristmill.traces import CameraTraces
from gristmill.types import FloatArray

# Added to changes before the logarithm: what coding alone changes in the busiest block of a still picture.
_CODING_LEVELS = 0.1
_STILL_ACTIVITY = 0.003  # whole motions a second
# The robot's motion explains a camera's changes less well than another camera does.
_MOTION_WEIGHT = 0.5
_NEARLY = 0.75
_AGREES = 0.25
_SAME_LEVELS = 0.25  # change in the busiest block of a picture that is repeated


@dataclass(frozen=True, kw_only=True)
class ViewSync:
    """Is one view late against the others, or all of them against the robot?

    The same motion changes every view. The logarithm of each view's change from frame to frame, in its busiest
    block, is correlated with that of the other views at every delay up to `max_delay_s`; the robot's own speed
    joins in as one more, weaker witness. The delay with the largest likelihood, refined by a parabola, says how
    late a view is; a view that repeats its first picture while others go on backs it up. Every view has a usual
    delay; a view is late when it differs from its own usual delay. All views together are held against the
    robot's motion, where only a larger delay can be told from chance.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(traces=True, motion=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column(
            "late_s", unit="s", per="camera", about="how late the view is against the median other view", metric=True
        ),
        Column("match", per="camera", about="correlation with the other views at that delay"),
        Column("gain", per="camera", about="log-likelihood a sample of that delay over no delay"),
        Column(
            "stale_s", unit="s", per="camera", about="how long the view shows its first picture, beyond other views"
        ),
        Column("behind_s", unit="s", per="camera", about="how late the view is against the robot's motion"),
        Column("behind_match", per="camera", about="correlation with the robot's motion at that delay"),
    )
    fix: ClassVar[str] = "Shift the view by the delay, or drop the episode; stamp frames when they are exposed."
    source: ClassVar[str] = (
        "Delay of the largest cross-correlation, parabolic between samples (Knapp and Carter 1976). An "
        "eighth of a second is four frames at 30 Hz: delays between clean views scatter by less."
    )

    max_delay_s: float = measuring(0.4)
    smooth_s: float = measuring(0.13)  # rounded to an even number of frames
    max_off_s: float = 0.125  # from the usual delay
    max_behind_s: float = 0.15  # of all views against the robot, from what is usual
    min_deviations: float = 6.0  # robust standard deviations of the corpus
    min_match: float = 0.6  # correlation between views below which a delay means nothing
    min_gain: float = 0.15  # likelihood over no delay, of cameras that usually have none
    min_behind_match: float = 0.4  # correlation with the robot's motion below which a delay means nothing
    min_episodes: int = 8  # that a usual delay against the robot's motion takes

    def measure(self, episode: Episode) -> Measured:
        """Delay of each view against the others and against the robot."""
        found, unknown = traces_of(episode)
        if not found:
            return Measured(unknown=unknown)
        reach = max(1, round(self.max_delay_s * episode.rate_hz))
        width = 2 * max(1, round(self.smooth_s / 2 * episode.rate_hz))
        rows = {key: rows_of(traces, episode.rate_hz) for key, traces in found.items()}
        count = 1 + min(int(r.max()) for r in rows.values())
        if count < 4 * reach:
            return Measured(unknown=f"shorter than {4 * self.max_delay_s:g} s")
        views = {key: _log_change(found[key], rows[key], count, width) for key in found}
        activity = activity_of(episode, np.arange(count))
        motion = None if activity is None else np.log(_averaged(activity, width) + _STILL_ACTIVITY)
        moved = {key: _correlations(view, motion, reach) for key, view in views.items()} if motion is not None else {}
        values: dict[str, dict[str, float]] = {column.name: {} for column in self.columns}
        for key, curve in moved.items():
            values["behind_s"][key], values["behind_match"][key] = _delay(curve, curve, episode.rate_hz)
        for key, others in _between(views, moved, reach, episode.rate_hz).items():
            if others:
                late_s, match, gain = np.median(others, axis=0).tolist()
                values["late_s"][key], values["match"][key], values["gain"][key] = late_s, match, gain
        values["stale_s"] = _stale(found, episode.rate_hz)
        return Measured({name: per_camera(episode, cells) for name, cells in values.items()}, unknown=unknown)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Views that are later than usual against the others, else all views against the robot."""
        late = np.where(manifest["match"] >= self.min_match, manifest["late_s"], np.nan)
        if not late.size:
            return
        usual = robust.median(late)
        limit = np.fmax(self.max_off_s, self.min_deviations * robust.deviation(late))
        off = late - usual
        # Short motions make broad peaks: where a view also begins late by more, that says by how much.
        stale = manifest["stale_s"]
        off = np.where((stale > limit) & (off > _AGREES * stale), np.fmax(off, stale), off)
        # A flat peak says little. Cameras with a usual delay of their own gain by it all the time.
        sure = (manifest["gain"] >= self.min_gain) | (np.abs(usual) > limit) | (stale > limit)
        off = np.where(sure, off, np.nan)
        # Of two views that are apart, the later one is late: no camera shows what is still to come. Of more, the
        # odd one out is furthest from the others.
        apart = np.where(np.count_nonzero(~np.isnan(off), axis=1, keepdims=True) > 2, np.abs(off), off)
        furthest = np.fmax.reduce(apart, axis=1, initial=-np.inf)[:, None]
        guilty = (apart > limit) & (apart >= _NEARLY * furthest)
        for row, camera in np.argwhere(guilty).tolist():
            yield self._late(manifest, row, camera, off[row, camera], limit[camera])
        yield from self._behind(manifest, ~guilty.any(axis=1))

    def _behind(self, manifest: Manifest, rest: np.ndarray) -> Iterator[Finding]:
        """Episodes all of whose views are late against the robot."""
        behind = np.where(manifest["behind_match"] >= self.min_behind_match, manifest["behind_s"], np.nan)
        known = robust.known(behind)
        usual = robust.median(behind)
        limit = np.fmax(self.max_behind_s, self.min_deviations * robust.deviation(behind))
        off = behind - usual
        judged = ~np.isnan(off) & (known >= self.min_episodes)
        late = judged.any(axis=1) & (~judged | (off > limit)).all(axis=1) & rest
        for row in np.flatnonzero(late).tolist():
            for camera in np.flatnonzero(judged[row]).tolist():
                yield self._late(manifest, row, camera, off[row, camera], limit[camera], "robot's motion", "behind")

    def _late(
        self,
        manifest: Manifest,
        row: int,
        camera: int,
        off_s: float,
        limit_s: float,
        against: str = "other views",
        code: str = "late",
    ) -> Finding:
        key = manifest.cameras[camera]
        return finding(
            self,
            Kind.DEFECT,
            row,
            f"{key} of {manifest.where(row)} is {abs(off_s):.2f} s {'later' if off_s > 0 else 'earlier'} against the "
            f"{against} than it usually is (at most {limit_s:.2f} s allowed); what a policy sees and what it does "
            "belong to different moments",
            camera=key,
            measured=abs(off_s),
            threshold=limit_s,
            unit="s",
            code=code,
        )


def _stale(found: Mapping[str, CameraTraces], rate_hz: float) -> dict[str, float]:
    """Seconds for which each view repeats its first picture, beyond the view that goes on first."""
    starts = {}
    for key, traces in found.items():
        changes = np.flatnonzero(~(traces.diff_peak[1:] <= _SAME_LEVELS))
        starts[key] = (changes[0] if len(changes) else len(traces)) / rate_hz
    return {key: start - min(starts.values()) for key, start in starts.items()} if len(starts) > 1 else {}


def _log_change(traces: CameraTraces, rows: np.ndarray, count: int, width: int) -> FloatArray:
    """(count,) logarithm of the change from frame to frame, by row; what is missing or blank is interpolated."""
    nothing = blank(traces)
    # The frames before and after a blank one differ from it by everything.
    known = np.isfinite(traces.diff_peak) & ~nothing & ~np.r_[False, nothing[:-1]] & (rows < count)
    change = np.zeros(count)
    if known.any():
        change = np.interp(np.arange(count), rows[known], traces.diff_peak[known].astype(np.float64))
    return np.log(_averaged(change, width) + _CODING_LEVELS)


def _averaged(values: FloatArray, width: int) -> FloatArray:
    """Moving mean (t,) of `width` samples, whole ones only: those at the ends are repeated, the first is left out.

    Codecs with a keyframe every other frame change the picture in steps of two. A window that cut such a pair
    in half would stand out in all views at once, as if they moved together; and no frame is before the first.
    """
    mean = np.convolve(values[1:], np.full(width, 1 / width), "valid")
    return np.pad(mean, (width // 2 + 1, len(values) - len(mean) - width // 2 - 1), mode="edge")


def _correlations(view: FloatArray, other: FloatArray, reach: int) -> FloatArray:
    """(2 reach + 1,) correlation of `view` at t + d with `other` at t, for d from -reach to reach.

    Each over all samples that overlap at that delay: how a motion begins and ends tells most.
    """
    n = len(view)
    view, other = view - view.mean(), other - other.mean()
    delays = np.arange(-reach, reach + 1)
    first, last = np.maximum(delays, 0), n + np.minimum(delays, 0)  # of `view`
    count = last - first
    products = np.correlate(np.pad(view, reach), other, "valid")
    sums, powers = _over(view, first, last), _over(view**2, first, last)
    other_sums, other_powers = (
        _over(other, first - delays, last - delays),
        _over(other**2, first - delays, last - delays),
    )
    power = np.maximum(powers - sums**2 / count, 0) * np.maximum(other_powers - other_sums**2 / count, 0)
    return np.divide(
        products - sums * other_sums / count, np.sqrt(power), out=np.zeros(len(delays)), where=power > 1e-12
    )


def _over(values: FloatArray, first: np.ndarray, last: np.ndarray) -> FloatArray:
    """Sums of values[first:last] for many pairs."""
    running = np.concatenate([[0.0], np.cumsum(values)])
    return running[last] - running[first]


def _likelihood(correlation: FloatArray) -> FloatArray:
    """Log-likelihood a sample of a delay, up to a constant, for signals in Gaussian noise."""
    return -np.log(1 - np.clip(correlation, 0, 0.999) ** 2)


def _delay(likelihood: FloatArray, correlation: FloatArray, rate_hz: float) -> tuple[float, float]:
    """The most likely delay in s, between samples by a parabola, and the correlation there; NaN at the range's ends."""
    best, reach = int(likelihood.argmax()), len(likelihood) // 2
    if not 0 < best < len(likelihood) - 1:
        return np.nan, float(correlation[best])
    before, peak, after = (float(x) for x in likelihood[best - 1 : best + 2])
    bend = before - 2 * peak + after
    shift = 0.5 * (before - after) / bend if bend < 0 else 0.0
    return (best - reach + shift) / rate_hz, float(correlation[best])


def _between(
    views: Mapping[str, FloatArray], moved: Mapping[str, FloatArray], reach: int, rate_hz: float
) -> dict[str, list[tuple[float, float, float]]]:
    """For each view, against every other: its delay in s, the correlation there, the likelihood over no delay."""
    found: dict[str, list[tuple[float, float, float]]] = {key: [] for key in views}
    for a, b in itertools.combinations(views, 2):
        correlation = _correlations(views[a], views[b], reach)
        likelihood = _likelihood(correlation)
        if moved:
            likelihood = likelihood + _MOTION_WEIGHT * _through_motion(moved[a], moved[b])
        delay_s, match = _delay(likelihood, correlation, rate_hz)
        gain = float(likelihood.max() - likelihood[reach])
        found[a].append((delay_s, match, gain))
        found[b].append((-delay_s, match, gain))
    return found


def _through_motion(a: FloatArray, b: FloatArray) -> FloatArray:
    """(2 reach + 1,) best joint likelihood of both views' delays against the motion, by their difference."""
    first, second = _likelihood(a), _likelihood(b)
    n = len(first)
    sums = first[:, None] + second[None, :]
    return np.array([sums.diagonal(-d).max() for d in range(-(n // 2), n // 2 + 1)])
