"""Task numbers of several corpora in one table; columns that hold task numbers follow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gristmill.episode import CorpusFacts, Episode
from gristmill.types import IntArray, Table

_ANNOTATION = "annotation."  # GR00T keeps task numbers in such columns


class TaskTable:
    """The tasks of all corpora of a dataset, in the order of their own tables.

    A single corpus keeps its numbers, unused tasks included, so that annotation columns stay right. With
    several, equal texts become one task, and numbers in annotation columns are translated.
    """

    def __init__(self, corpora: Sequence[CorpusFacts]) -> None:
        numbers: dict[str, int] = {}
        self._translations: dict[str, dict[int, int]] = {}
        self._texts: dict[str, dict[int, str]] = {}
        for facts in corpora:
            table = dict(sorted(facts.tasks.items()))
            self._texts[facts.key] = table
            self._translations[facts.key] = {n: numbers.setdefault(t, len(numbers)) for n, t in table.items()}
        self.texts = list(numbers)

    def renumbered(self, corpus: str, key: str, values: Table) -> Table:
        """A column's values, with task numbers translated where it holds any."""
        translation = {old: new for old, new in self._translations[corpus].items() if old != new}
        if not translation or not key.startswith(_ANNOTATION) or values.dtype.kind not in "iu":
            return values
        out = values.copy()
        for old, new in translation.items():
            out[values == old] = new
        return out

    def of_frames(self, episode: Episode, frames: IntArray) -> tuple[list[str], IntArray | None]:
        """The task texts of these frames of an episode, and for each of them (t,) its position among the texts.

        The numbers in the data decide; texts that only the metadata has come along, and stand in where there are no
        numbers.
        """
        texts = list(dict.fromkeys(episode.tasks)) or [""]
        table = self._texts[episode.corpus]
        numbers = episode.index_columns.get("task_index")
        if numbers is None or not table:
            return texts, None
        unique, inverse = np.unique(numbers[frames], return_inverse=True)
        if any(int(n) not in table for n in unique):
            return texts, None
        used = [table[int(n)] for n in unique]
        cut_away = {table.get(int(n)) for n in np.unique(numbers)} - set(used)
        texts = list(dict.fromkeys((*(t for t in texts if t not in cut_away), *used)))
        return texts, np.array([texts.index(text) for text in used], dtype=np.int64)[inverse.reshape(-1)]
