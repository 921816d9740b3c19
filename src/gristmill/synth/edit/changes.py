"""What a set of drafts means for the corpus around them: row numbers, new tasks, statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gristmill.formats.lerobot.image_statistics import PixelHistogram
from gristmill.synth.edit import declared_stats
from gristmill.synth.edit.columns import is_numeric, numbers, with_numbers
from gristmill.synth.edit.draft import Draft

if TYPE_CHECKING:
    from gristmill.synth.edit.corpus import EditableCorpus


@dataclass(slots=True)
class Changes:
    """The drafts of one commit, and what follows from them for all other episodes."""

    corpus: EditableCorpus
    drafts: dict[int, Draft]  # by episode index, changed ones and new ones
    added: list[int]  # indices of new episodes
    shift: dict[int, int]  # by how much the global row numbers of each old episode grow
    first_row: dict[int, int]  # global row number at which each new episode begins
    columns: set[str]  # whose values changed anywhere
    tasks: dict[str, int]  # new texts with their numbers
    seen: dict[tuple[int, str], PixelHistogram] = field(default_factory=dict)  # pictures that were encoded
    places: dict[tuple[int, str], int] = field(default_factory=dict)  # numbers of new packed video files

    def final_rows(self, index: int) -> pa.Table | None:
        """An episode's rows as they will be, or None when they stay as they are."""
        draft, shift = self.drafts.get(index), self.shift.get(index, 0)
        if draft is None and not shift:
            return None
        table = self.corpus.rows(index) if draft is None else draft.rows
        numbered = "index" in table.column_names
        if draft is not None and draft.copy_of is not None:
            table = with_numbers(table, "episode_index", np.full((len(table), 1), index))
            shift = self.first_row[index] - int(numbers(table, "index")[0, 0]) if numbered else 0
        if shift and numbered:
            table = with_numbers(table, "index", numbers(table, "index") + shift)
        return None if draft is not None and table.equals(draft.original) else table

    def new_stats(self, index: int) -> declared_stats.Declared:
        """An episode's statistics as they will be declared."""
        draft = self.drafts.get(index)
        source = index if draft is None or draft.copy_of is None else draft.copy_of
        declared = self.corpus.stats(source)
        if draft is None:
            return self._with_shifted_index(declared, self.shift.get(index, 0))
        fresh = dict(declared)
        table = self.final_rows(index)
        for key, old in declared.items():
            if table is not None and key in table.column_names and is_numeric(table.schema.field(key).type):
                if not table[key].equals(draft.original[key]):
                    fresh[key] = declared_stats.of_values(old, numbers(table, key))
            elif (index, key) in self.seen:
                fresh[key] = declared_stats.of_pictures(old, self.seen[index, key])
            if key in draft.stats_shift:
                fresh[key] = declared_stats.shifted(fresh[key], draft.stats_shift[key])
        return fresh

    @staticmethod
    def _with_shifted_index(declared: declared_stats.Declared, by: int) -> declared_stats.Declared:
        if not by or "index" not in declared:
            return declared
        return declared | {"index": declared_stats.shifted(declared["index"], np.array([by]))}


def changes_of(corpus: EditableCorpus, drafts: Sequence[Draft]) -> Changes:
    """What the drafts mean for the corpus; new tasks get their numbers here."""
    by_index = {d.index: d for d in sorted(drafts, key=lambda d: d.index)}
    shift, total = {}, 0
    for index in corpus.lengths:
        shift[index] = total
        if index in by_index:
            total += len(by_index[index].rows) - len(by_index[index].original)
    added = [i for i in by_index if i not in corpus.lengths]
    columns = {"index"} if any(shift.values()) else set[str]()
    tasks: dict[str, int] = {}
    known = {text: number for number, text in corpus.task_table.items()}
    at = _rows_before_new_ones(corpus) + total if added else 0
    first_row = {}
    for index, draft in by_index.items():
        if draft.task is not None:
            if draft.task not in known:
                known[draft.task] = tasks[draft.task] = max(known.values(), default=-1) + 1
            _retask(corpus, draft, draft.task, known[draft.task])
        if draft.copy_of is not None:
            first_row[index], at = at, at + len(draft.rows)
            columns |= set(draft.rows.column_names)
        else:
            columns |= set(draft.changed_columns())
    return Changes(corpus, by_index, added, shift, first_row, columns, tasks)


def _rows_before_new_ones(corpus: EditableCorpus) -> int:
    last = corpus.rows(list(corpus.lengths)[-1])
    return int(numbers(last, "index").max()) + 1 if "index" in last.column_names else 0


def _retask(corpus: EditableCorpus, draft: Draft, text: str, number: int) -> None:
    """Give all rows another task, also where an annotation repeats the task's number."""
    old = numbers(draft.rows, "task_index")[:, 0]
    for key in draft.rows.column_names:
        if "task" in key and is_numeric(draft.rows.schema.field(key).type):
            values = numbers(draft.rows, key)
            if values.shape[1] == 1 and np.array_equal(values[:, 0], old):
                draft.set(key, np.full_like(values, number))
    gone = {corpus.task_table.get(int(i), "") for i in np.unique(old)}
    draft.tasks = (text, *(t for t in draft.tasks if t not in gone))
