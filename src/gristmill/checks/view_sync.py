"""Views that show things later than the others, or than they happened."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from gristmill import delays, robust
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.footage import activity_of, blank, per_camera, rows_of, smoothed, traces_of
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of
from gristmill.runs import runs_of
from gristmill.traces import CameraTraces
from gristmill.types import FloatArray

# Added to changes before the logarithm: what coding alone changes in the busiest block of a still picture.
_CODING_LEVELS = 0.1
_STILL_ACTIVITY = 0.003  # whole motions a second
_NEARLY = 0.75
_SPARSEST = 4  # rows a frame
_RESEMBLES = 2  # times `slow_s` for which a view's changes may resemble themselves


@dataclass(frozen=True, kw_only=True)
class ViewSync:
    """Is one view late against the others, or all of them against the robot?

    The same motion changes every view. The logarithm of each view's change from frame to frame, in its busiest
    block, is correlated with that of the other views at every delay up to `max_delay_s`: as it is, and without
    what takes longer than a second, since the view decides how large a slow motion looks. The robot's own speed
    joins in as one more witness. The delay with the largest likelihood, refined by a parabola, says how late a
    view is. How far to trust it comes from the same likelihood, which counts as many samples as are independent:
    its curvature at the peak says how exact the delay is, and its rise over no delay how certain. Every view has a
    usual delay; a view is late when it differs from its own usual delay by more than the episode leaves open. All
    views together are held against the robot's motion, where only a larger delay can be told from chance.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = Reads(traces=True, motion=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column(
            "late_s", unit="s", per="camera", about="how late the view is against the median other view", metric=True
        ),
        Column("match", per="camera", about="correlation with the other views at that delay"),
        Column("certainty", per="camera", about="standard deviations from no delay, by the likelihood ratio"),
        Column("late_open_s", unit="s", per="camera", about="standard deviation of how late the view is"),
        Column("behind_s", unit="s", per="camera", about="how late the view is against the robot's motion"),
        Column("behind_match", per="camera", about="correlation with the robot's motion at that delay"),
        Column("behind_open_s", unit="s", per="camera", about="standard deviation of how late it is against that"),
    )
    fix: ClassVar[str] = "Shift the view by the delay, or drop the episode; stamp frames when they are exposed."
    source: ClassVar[str] = (
        "Delay of the largest cross-correlation, parabolic between samples (Knapp and Carter 1976). 0.13 s is "
        "four frames at 30 Hz: delays between clean views scatter by less. Exactness by the Cramer-Rao bound, "
        "certainty by the likelihood ratio of Wilks (1938), independent samples by Bartlett (1935), on the safe side; "
        "three deviations are one clean pair of views in 370."
    )

    max_delay_s: float = measuring(0.4)
    smooth_s: float = measuring(0.13)  # rounded to an even number of frames
    slow_s: float = measuring(1.0)
    max_off_s: float = 0.13  # from the usual delay
    max_behind_s: float = 0.15  # of all views against the robot, from what is usual
    min_deviations: float = 6.0  # robust standard deviations of the corpus
    min_match: float = 0.5  # correlation between views below which a delay means nothing
    min_certainty: float = 3.0  # deviations from no delay of cameras that usually have none, and beyond a frame
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
        if count > _SPARSEST * min(map(len, found.values())):
            return Measured(unknown="most frames are missing")
        slow = max(2, round(self.slow_s * episode.rate_hz))
        views = {key: _bands(_log_change(found[key], rows[key], count, width), slow) for key in found}
        activity = _moving(episode, count, reach)
        motion = None if activity is None else _bands(np.log(_averaged(activity, width) + _STILL_ACTIVITY), slow)
        values: dict[str, dict[str, float]] = {column.name: {} for column in self.columns}
        longest = _RESEMBLES * slow
        for key, others in _between(views, motion, reach, longest).items():
            if motion is not None:
                curve, weighed = _weighed(views[key][0], motion[0], reach, longest)
                behind, at = delays.best(curve)
                values["behind_s"][key], values["behind_match"][key] = behind / episode.rate_hz, float(curve[at])
                values["behind_open_s"][key] = delays.deviation(weighed, at) / episode.rate_hz
            if others:
                late, match, certainty, deviation = np.median(others, axis=0).tolist()
                values["late_s"][key], values["late_open_s"][key] = late / episode.rate_hz, deviation / episode.rate_hz
                values["match"][key], values["certainty"][key] = match, certainty
        return Measured({name: per_camera(episode, cells) for name, cells in values.items()}, unknown=unknown)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Views that are later than usual against the others, else all views against the robot."""
        late = np.where(manifest["match"] >= self.min_match, manifest["late_s"], np.nan)
        if not late.size:
            return
        usual = robust.median(late)
        limit = np.fmax(self.max_off_s, self.min_deviations * robust.deviation(late))
        off = late - usual
        # Cameras with a usual delay of their own are far from none all the time.
        certain = (manifest["certainty"] >= self.min_certainty) | (np.abs(usual) > limit)
        limit = np.fmax(limit, self._open(manifest, "late_open_s"))
        off = np.where(certain, off, np.nan)
        # Of two views that are apart, the later one is late: no camera shows what is still to come. Of more, the
        # odd one out is furthest from the others.
        apart = np.where(np.count_nonzero(~np.isnan(off), axis=1, keepdims=True) > 2, np.abs(off), off)
        furthest = np.fmax.reduce(apart, axis=1, initial=-np.inf)[:, None]
        guilty = (apart > limit) & (apart >= _NEARLY * furthest)
        for row, camera in np.argwhere(guilty).tolist():
            yield self._late(manifest, row, camera, off[row, camera], limit[row, camera])
        yield from self._behind(manifest, ~guilty.any(axis=1))

    def _behind(self, manifest: Manifest, rest: np.ndarray) -> Iterator[Finding]:
        """Episodes all of whose views are late against the robot."""
        behind = np.where(manifest["behind_match"] >= self.min_behind_match, manifest["behind_s"], np.nan)
        known = robust.known(behind)
        usual = robust.median(behind)
        limit = np.fmax(self.max_behind_s, self.min_deviations * robust.deviation(behind))
        limit = np.fmax(limit, self._open(manifest, "behind_open_s"))
        off = behind - usual
        judged = ~np.isnan(off) & (known >= self.min_episodes)
        late = judged.any(axis=1) & (~judged | (off > limit)).all(axis=1) & rest
        for row in np.flatnonzero(late).tolist():
            for camera in np.flatnonzero(judged[row]).tolist():
                yield self._late(
                    manifest, row, camera, off[row, camera], limit[row, camera], "robot's motion", "behind"
                )

    def _open(self, manifest: Manifest, column: str) -> FloatArray:
        """(n, cameras) seconds that an episode cannot tell: what its delay leaves open, and a frame."""
        rate = manifest.facts.rate_hz
        return self.min_certainty * manifest[column] + (1 / rate if rate > 0 else 0.0)

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


def _moving(episode: Episode, count: int, longest: int) -> FloatArray | None:
    """(count,) how fast the robot moved, by row; None where unknown.

    A driver that hangs repeats the whole state and then catches up in one leap. Neither was a motion that a view
    could have shown, so over repeats longer than `longest` the speed around them is interpolated.
    """
    activity = activity_of(episode, np.arange(count))
    if activity is None:
        return None
    hung = np.zeros(count, bool)
    for start, stop in runs_of(motion_of(episode).repeats, longest):
        hung[start + 1 : stop + 2] = True
    if hung.any() and not hung.all():
        rows = np.arange(count)
        activity = np.interp(rows, rows[~hung], activity[~hung])
    return activity


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


def _bands(signal: FloatArray, slow: int) -> tuple[FloatArray, FloatArray]:
    """The signal as it is, and without what is slower than `slow` samples."""
    return signal, signal - smoothed(signal, slow)


class _Delay(NamedTuple):
    """How much later one view is than another."""

    late: float  # frames; NaN at the ends of what was searched
    match: float  # correlation there
    certainty: float  # standard deviations from no delay, by the likelihood ratio
    deviation: float  # frames; of `late`, by the curvature of the likelihood


def _between(
    views: Mapping[str, Sequence[FloatArray]], motion: Sequence[FloatArray] | None, reach: int, longest: int
) -> dict[str, list[_Delay]]:
    """The delay of each view behind every other. `longest`: samples for which a signal may resemble itself."""
    found: dict[str, list[_Delay]] = {key: [] for key in views}
    moved = {
        key: [_weighed(v, m, reach, longest)[1] for v, m in zip(bands, motion, strict=True)]
        for key, bands in views.items()
        if motion is not None
    }
    for a, b in itertools.combinations(views, 2):
        both = [_weighed(x, y, reach, longest) for x, y in zip(views[a], views[b], strict=True)]
        total = np.sum([curve for _, curve in both], axis=0)
        if moved:
            total = total + np.sum([delays.through(x, y) for x, y in zip(moved[a], moved[b], strict=True)], axis=0)
        late, at = delays.best(total)
        match, certainty = float(both[0][0][at]), float(np.sqrt(total[at] - total[reach]))
        deviation = delays.deviation(total, at)
        found[a].append(_Delay(late, match, certainty, deviation))
        found[b].append(_Delay(-late, match, certainty, deviation))
    return found


def _weighed(late: FloatArray, early: FloatArray, reach: int, longest: int) -> tuple[FloatArray, FloatArray]:
    """Correlation at each delay, and twice the logarithm of its likelihood."""
    correlation = delays.correlations(late, early, reach)
    return correlation, delays.independent(late, early, longest) * delays.likelihood(correlation)
