"""A corpus of episodes in memory, as a source would open it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.embodiment import Embodiment
from gristmill.episode import CorpusFacts, Episode, EpisodeTable
from gristmill.errors import RecordingError
from gristmill.finding import Issue
from gristmill.testing.episodes import facts_of


class ArrayCorpus:
    """Implements `gristmill.episode.Corpus` on a list of episodes.

    Args:
        episodes: the episodes, at least one.
        columns: for each episode, what no channel holds: feature key -> values.
        side_files: files beside the metadata.
        facts: further arguments go to `facts_of`.
    """

    issues: tuple[Issue, ...] = ()

    def __init__(
        self,
        episodes: Sequence[Episode],
        *,
        columns: Sequence[Mapping[str, Any]] = (),
        side_files: Mapping[str, Path] | None = None,
        **facts: Any,
    ) -> None:
        self._episodes = list(episodes)
        self._columns = columns
        self.side_files = dict(side_files or {})
        self.facts: CorpusFacts = facts_of(self._episodes, **facts)
        self.embodiment: Embodiment = self._episodes[0].embodiment

    @property
    def table(self) -> EpisodeTable:
        """What metadata would tell; stamps are the digits of the position."""
        count = len(self._episodes)
        stamps: Mapping[str, list[str]] = {
            key: [str(i) if key in e.cameras else "" for i, e in enumerate(self._episodes)]
            for key in self.facts.cameras
        }
        return EpisodeTable(
            index=np.array([e.index for e in self._episodes]),
            length=np.array([e.length for e in self._episodes]),
            tasks=[e.tasks for e in self._episodes],
            values_stamp=[str(i) for i in range(count)],
            camera_stamps=stamps,
            meta_digest=[""] * count,
        )

    def episodes(self, rows: Sequence[int]) -> Iterator[Episode]:
        """The episodes of these rows."""
        for row in rows:
            yield self._episodes[row]

    def raw_columns(self, row: int, keys: Sequence[str]) -> pa.Table:
        """Columns that were given with the episode."""
        held = self._columns[row] if self._columns else {}
        absent = [key for key in keys if key not in held]
        if absent:
            raise RecordingError(f"episode {self._episodes[row].index}: there is no column {absent[0]}")
        return pa.table({key: held[key] for key in keys})
