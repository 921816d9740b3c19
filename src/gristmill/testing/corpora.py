"""A corpus of episodes in memory, as a source would open it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gristmill.embodiment import Embodiment
from gristmill.episode import CorpusFacts, Episode, EpisodeTable
from gristmill.finding import Issue
from gristmill.testing.episodes import facts_of


class ArrayCorpus:
    """Implements `gristmill.episode.Corpus` on a list of episodes; other arguments go to `facts_of`."""

    issues: tuple[Issue, ...] = ()

    def __init__(self, episodes: Sequence[Episode], **facts: Any) -> None:
        self._episodes = list(episodes)
        self.facts: CorpusFacts = facts_of(self._episodes, **facts)
        self.embodiment: Embodiment = self._episodes[0].embodiment

    @property
    def table(self) -> EpisodeTable:
        """What metadata would tell; stamps are the digits of the position."""
        count = len(self._episodes)
        stamps: Mapping[str, list[str]] = {
            key: [str(i) if key in e.cameras else "" for i, e in enumerate(self._episodes)] for key in self.facts.cameras
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
