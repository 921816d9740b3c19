"""Declared statistics: of the corpus (`meta/stats.json`), and of each episode, read when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from gristmill.errors import CorpusError
from gristmill.finding import Issue, Kind
from gristmill.formats.files import CorpusFiles
from gristmill.formats.lerobot.declaration import Feature
from gristmill.formats.lerobot.documents import read_json

Stats: TypeAlias = Mapping[str, Mapping[str, np.ndarray]]

NAME = "meta/stats.json"


class EpisodeStats(Protocol):
    """Declared statistics of single episodes."""

    def of(self, row: int) -> Stats:
        """Feature -> statistic -> values; empty where none can be read."""
        ...

    def problem(self, row: int) -> str:
        """Why there are none for this episode, or ""."""
        ...

    def digests(self) -> Sequence[str]:
        """For each row, a digest of what is declared."""
        ...


class NoStats:
    """A corpus that declares none for single episodes (v2.0)."""

    def __init__(self, episodes: int) -> None:
        self._episodes = episodes

    def of(self, row: int) -> Stats:
        """Nothing."""
        return {}

    def problem(self, row: int) -> str:
        """Nothing is wrong with that."""
        return ""

    def digests(self) -> Sequence[str]:
        """All alike."""
        return [""] * self._episodes


class LazyStats(Mapping[str, Mapping[str, np.ndarray]]):
    """An episode's statistics, read when they are first looked at."""

    def __init__(self, source: EpisodeStats, row: int) -> None:
        self._source = source
        self._row = row
        self._found: Stats | None = None

    @property
    def _stats(self) -> Stats:
        if self._found is None:
            self._found = self._source.of(self._row)
        return self._found

    def __getitem__(self, feature: str) -> Mapping[str, np.ndarray]:
        return self._stats[feature]

    def __contains__(self, feature: object) -> bool:
        return feature in self._stats

    def __iter__(self) -> Iterator[str]:
        return iter(self._stats)

    def __len__(self) -> int:
        return len(self._stats)


def read_corpus_stats(files: CorpusFiles, features: Sequence[Feature], needed: bool) -> tuple[Stats, list[Issue]]:
    """The statistics of the whole corpus.

    Args:
        files: the corpus.
        features: all of them.
        needed: whether this version keeps such a file.
    """
    if files.stamp(NAME) is None:
        if not needed:
            return {}, []
        message = f"{NAME} is missing; policies cannot normalize their inputs"
        return {}, [_issue("stats_missing", message, Kind.RISK)]
    try:
        raw = read_json(files.path(NAME), NAME)
        if not isinstance(raw, dict):
            raise CorpusError(f"{NAME} holds no object")
    except CorpusError as error:
        return {}, [_issue("stats_unreadable", str(error))]
    stats, broken = arrays(raw)
    issues = []
    if broken:
        message = f"{NAME}: {', '.join(broken[:5])} hold no numbers"
        issues.append(_issue("stats_unreadable", message, channel=broken[0].partition("/")[0]))
    for key, found in stats.items():
        bad = [name for name, values in found.items() if not np.isfinite(values).all()]
        if bad:
            message = f"{NAME}: {', '.join(bad)} of {key} hold values that are not finite; they poison normalization"
            issues.append(_issue("stats_not_finite", message, channel=key))
    absent = [f.key for f in features if f.kind == "number" and f.role in ("state", "action") and f.key not in stats]
    if absent and needed:
        message = f"{NAME} has no statistics of {', '.join(absent[:5])}{', ...' if len(absent) > 5 else ''}"
        issues.append(_issue("stats_absent", message, Kind.RISK, absent[0]))
    return stats, issues


def arrays(raw: Mapping[str, Any]) -> tuple[dict[str, dict[str, np.ndarray]], list[str]]:
    """Statistics as arrays, and the names of those that are none ("feature/statistic")."""
    found: dict[str, dict[str, np.ndarray]] = {}
    broken: list[str] = []
    for key, stats in raw.items():
        if not isinstance(stats, dict):
            broken.append(key)
            continue
        kept = found.setdefault(key, {})
        for name, values in stats.items():
            try:
                array = np.asarray(values)
            except ValueError:  # rows of different lengths
                array = np.empty(0, object)
            if array.dtype.kind in "ifub":
                kept[name] = array
            elif array.dtype == object and array.size and all(v is None or type(v) in (int, float) for v in array.flat):
                kept[name] = np.array([np.nan if v is None else v for v in array.flat], float).reshape(array.shape)
            else:
                broken.append(f"{key}/{name}")
    return found, broken


def _issue(code: str, message: str, kind: Kind = Kind.DEFECT, channel: str | None = None) -> Issue:
    return Issue(
        check="stats",
        code=code,
        kind=kind,
        message=message,
        fix="Compute the statistics anew; an export writes those of exactly its frames.",
        channel=channel,
        subject=NAME,
    )
