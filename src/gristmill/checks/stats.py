"""Declared statistics against the values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gristmill import issues
from gristmill.check import Column, Measured, Reads, measuring
from gristmill.declared import Disagreement, disagreements, pooled
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.motion import motion_of

_IMAGES = "declared statistics of images are not compared: that would decode every frame"


@dataclass(frozen=True, kw_only=True)
class Stats:
    """Declared statistics that the values contradict, or that are not finite.

    Training normalizes with the statistics that a dataset declares. Those of a larger set, of an earlier
    version or of another robot shift and stretch every input, and one NaN poisons a mixture. Minimum,
    maximum, mean and standard deviation of state and action are compared with the values, episode by
    episode and, pooled exactly from the episodes' moments, for the whole corpus. The disagreement is
    measured as a share of the dimension's range, with a floor from its magnitude, so that rounding in
    float32 accuses nobody. Dimensions with values that are not finite, quantiles, bookkeeping columns and
    images are not compared; absent statistics are a trait.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(motion=True, meta=True)
    columns: ClassVar[tuple[Column, ...]] = (
        issues.COLUMN,
        Column("declared", "bool", about="whether statistics of this episode are declared"),
        Column("count", "int", about="samples that the moments are of"),
        Column("low", per="dim", about="smallest value; null where a value is not finite"),
        Column("high", per="dim", about="largest value; null where a value is not finite"),
        Column("mean", per="dim", about="mean of the values; null where a value is not finite"),
        Column("squares", per="dim", about="sum of squared deviations from the mean; null as above"),
    )
    fix: ClassVar[str] = "Compute the statistics anew; an export carries those of exactly the frames that it holds."
    source: ClassVar[str] = (
        "LeRobot dataset format: stats.json, episodes_stats.jsonl and stats/ columns; pooled moments after Chan, Golub "
        "and LeVeque (1983)."
    )

    noticed_above: float = measuring(1e-4)  # share of the range; smaller disagreements are not recorded
    max_error: float = 0.01  # share of the range

    def measure(self, episode: Episode) -> Measured:
        """Moments of each dimension, and one event for each feature whose declared statistics disagree."""
        motion = motion_of(episode)
        events = issues.issue_events(self, episode.issues) if episode.issues else []
        declared = episode.declared_stats
        known: dict[str, Any] = {"issues": len(events), "declared": bool(declared)}
        if not motion.values.size:
            return Measured(known, events, unknown="there are no state and action values")
        values = motion.values.astype(np.float64)
        actual = np.empty((4, len(values)))  # in the order of declared.STATISTICS
        low, high, mean, spread = actual
        low[:], high[:] = motion.sorted[:, 0], motion.sorted[:, -1]
        np.add.reduce(values, axis=1, out=mean)
        mean /= motion.frames
        values -= mean[:, None]
        squares = np.einsum("dt,dt->d", values, values)
        np.sqrt(squares / motion.frames, out=spread)
        if motion.gaps is not None:
            actual[:, motion.gaps.any(axis=1)] = np.nan
            squares[np.isnan(mean)] = np.nan
        if known["declared"] and _one_clock(episode, motion.frames):
            found = disagreements(declared, motion.layout.dims, actual, self.noticed_above)
            events += [Event(0.0, 0.0, d.share, d.feature, None, d.detail) for d in found]
        unseen = any(key in declared for key in episode.cameras)
        known |= {"count": motion.frames, "low": low, "high": high, "mean": mean, "squares": squares}
        return Measured(known, events, unknown=_IMAGES if unseen else None)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Statistics of episodes, then of the corpus, that disagree by more than `max_error`."""
        yield from issues.findings(self, manifest)
        events = manifest.events
        for i, detail in enumerate(events.detail):
            if told := Disagreement.read(events.channel[i], float(events.strength[i]), detail):
                row = int(events.row[i])
                yield from self._told(told, manifest.where(row), row)
        for told in self._of_corpus(manifest):
            yield from self._told(told, "the corpus", None)
        yield from self._absent(manifest)

    def _of_corpus(self, manifest: Manifest) -> list[Disagreement]:
        facts, n = manifest.facts, len(manifest)
        if not facts.declared_stats or not facts.dims or facts.info.get("total_episodes", n) != n or not n:
            return []  # statistics of all episodes say nothing of some of them
        width = len(facts.dims)
        told = {issue.channel for issue in manifest.issues if issue.check == "stats"}
        actual = pooled(manifest["count"], lambda name: manifest[name][:, :width])
        found = disagreements(facts.declared_stats, facts.dims, actual, self.noticed_above)
        return [d for d in found if d.declared is not None or d.feature not in told]

    def _told(self, d: Disagreement, where: str, row: int | None) -> Iterator[Finding]:
        if d.declared is None or d.actual is None:
            code, what = (
                ("stats_not_finite", "are not finite") if d.dimension else ("stats_misshapen", "are of another length")
            )
            dimension = f", dimension {d.dimension}," if d.dimension else ""
            message = (
                f"{where}: declared statistics of {d.feature} ({d.statistic}{dimension}) {what}; normalizing fails."
            )
            yield finding(self, Kind.DEFECT, row, message, channel=d.feature, code=code)
        elif d.share > self.max_error:
            others = f", and {d.others} more values of it disagree" if d.others else ""
            message = (
                f"{where}: the declared {d.statistic} of {d.feature}[{d.dimension}] is {d.declared:.6g}, the values "
                f"give {d.actual:.6g}, {100 * d.share:.3g} % of the range apart{others}; normalizing with it shifts "
                "and stretches what a policy sees."
            )
            limits = {"measured": d.share, "threshold": self.max_error, "unit": "share of range"}
            yield finding(self, Kind.DEFECT, row, message, channel=d.feature, code="stale_stats", **limits)

    def _absent(self, manifest: Manifest) -> Iterator[Finding]:
        if manifest.facts.declared_stats or any(i.check == "stats" for i in manifest.issues):
            return
        asked = int(np.count_nonzero(~np.isnan(manifest["declared"])))
        have = int(np.nansum(manifest["declared"]))
        if have < asked:
            said = f"only {have} of {asked} episodes declare" if have else "the corpus declares no"
            message = f"{said} statistics; whoever trains on it has to compute them first."
            yield finding(self, Kind.TRAIT, None, message, code="stats_absent", measured=have, unit="episodes")


def _one_clock(episode: Episode, frames: int) -> bool:
    """Whether no channel was resampled: statistics are declared of the values as recorded."""
    return all(len(c.times_s) == frames for c in episode.channels.values() if c.role in ("state", "action"))
