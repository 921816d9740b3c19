"""LeRobot v3.0: many episodes in each data file and each video file.

A camera that changes goes to a new video file of its own, and the episode's pointers follow; the packed file that
held it keeps its bytes, so all other episodes' frames do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import CorpusError
from gristmill.synth.edit.changes import Changes
from gristmill.synth.edit.columns import numbers
from gristmill.synth.edit.corpus import EditableCorpus
from gristmill.synth.edit.declared_stats import Declared
from gristmill.synth.edit.draft import Draft, Footage
from gristmill.synth.edit.episode_table import write_episode_table
from gristmill.synth.edit.parquet import read, write_like
from gristmill.video.packets import index_file

TASKS = "meta/tasks.parquet"


class PackedFiles(EditableCorpus):
    """A v3.0 corpus."""

    def _read_meta(self) -> None:
        self.episode_files = sorted(n for n in self.files.under("meta/episodes") if n.endswith(".parquet"))
        self.data_files = sorted(n for n in self.files.under("data") if n.endswith(".parquet"))
        if not self.episode_files or not self.data_files:
            raise CorpusError(f"{self.root}: meta/episodes or data holds no parquet file; faults need a whole corpus")
        tables = [read(self.files.path(n)) for n in self.episode_files]
        self.table = pa.concat_tables(tables, promote_options="default")
        order = self.table["episode_index"].to_pylist()
        self.row_of = {int(index): row for row, index in enumerate(order)}
        self.lengths = dict(zip(order, self.table["length"].to_pylist(), strict=True))
        self.task_lists = dict(zip(order, (tuple(t or ()) for t in self.table["tasks"].to_pylist()), strict=True))
        self.task_table = {int(n): str(t) for n, t in self._tasks()}

    def rows(self, index: int) -> pa.Table:
        """An episode's rows as recorded."""
        name, start, stop = self.runs[index]
        return self._file(name).slice(start, stop - start)

    def columns(self, keys: Sequence[str]) -> Iterator[tuple[int, pa.Table]]:
        """These columns of every episode, each file read once."""
        for name in self.data_files:
            table = read(self.files.path(name), keys)
            for index, (file, start, stop) in self.runs.items():
                if file == name:
                    yield index, table.slice(start, stop - start)

    def footage(self, index: int, camera: str) -> Footage | None:
        """Where a camera's frames of an episode lie, or None when the file is missing."""
        row = self.episode_row(index)
        place = self._place(camera, row)
        if place is None:
            return None
        path = self._video_file(camera, *place)
        if self.files.stamp(path) is None:
            return None
        file = index_file(self.files.path(path))
        start_s = float(row[f"videos/{camera}/from_timestamp"] or 0.0)
        first, stop = file.locate(start_s, self.lengths[index], self.rate_hz)
        return Footage(path, first, stop, alone=self._users(camera)[place] == 1)

    def stats(self, index: int) -> Declared:
        """Statistics that the metadata declares of one episode."""
        found: Declared = {}
        for name, value in self.episode_row(index).items():
            if name.startswith("stats/") and value is not None:
                feature, _, statistic = name.removeprefix("stats/").rpartition("/")
                found.setdefault(feature, {})[statistic] = value
        return found

    def described(self, index: int) -> set[str]:
        """Features whose statistics the metadata declares of one episode."""
        row = self.row_of[index]
        return {feature for feature, name in self._means.items() if self.table[name][row].is_valid}

    @cached_property
    def _means(self) -> dict[str, str]:
        """Feature -> its column of means in the episodes table."""
        names = [n for n in self.table.column_names if n.startswith("stats/") and n.endswith("/mean")]
        return {n.removeprefix("stats/").removesuffix("/mean"): n for n in names}

    def episode_row(self, index: int) -> dict[str, Any]:
        """The episode's row of the episodes table."""
        return self.table.slice(self.row_of[index], 1).to_pylist()[0]

    @cached_property
    def runs(self) -> dict[int, tuple[str, int, int]]:
        """Episode index -> data file, first and past-the-last row in it, as the data itself says."""
        found: dict[int, tuple[str, int, int]] = {}
        for name in self.data_files:
            column = numbers(read(self.files.path(name), ["episode_index"]), "episode_index")[:, 0]
            edges = np.flatnonzero(np.diff(column, prepend=column[:1] - 1))
            for start, stop in zip(edges, [*edges[1:], len(column)], strict=True):
                index = int(column[start])
                if index in found or index not in self.lengths:
                    raise CorpusError(f"{name}: rows of episode {index} are torn apart; faults need a sound corpus")
                found[index] = (name, int(start), int(stop))
        absent = sorted(self.lengths.keys() - found.keys())
        if absent:
            raise CorpusError(f"{self.root}: episode {absent[0]} has no rows; faults need a sound corpus")
        return found

    def new_place(self, changes: Changes, index: int, camera: str) -> tuple[int, int] | None:
        """Chunk and number of the new video file of a changed camera, or None where it keeps its file."""
        number = changes.places.get((index, camera))
        return None if number is None else divmod(number, self.info.chunks_size)

    def _file(self, name: str) -> pa.Table:
        return _read(self.files.path(name))

    def _place(self, camera: str, row: Mapping[str, Any]) -> tuple[int, int] | None:
        chunk, file = row.get(f"videos/{camera}/chunk_index"), row.get(f"videos/{camera}/file_index")
        return None if chunk is None or file is None else (int(chunk), int(file))

    def _video_file(self, camera: str, chunk: int, file: int) -> str:
        return self.info.video_path.fill(video_key=camera, chunk_index=chunk, file_index=file)

    def _users(self, camera: str) -> Counter[tuple[int, int]]:
        """How many episodes lie in each video file of a camera."""
        if camera not in self._use:
            chunks = self.table[f"videos/{camera}/chunk_index"].to_pylist()
            files = self.table[f"videos/{camera}/file_index"].to_pylist()
            self._use[camera] = Counter(zip(chunks, files, strict=True))
        return self._use[camera]

    @cached_property
    def _use(self) -> dict[str, Counter[tuple[int, int]]]:
        return {}

    def _tasks(self) -> Iterator[tuple[int, str]]:
        table = read(self.files.path(TASKS))
        yield from zip(table["task_index"].to_pylist(), table[_text_column(table)].to_pylist(), strict=True)

    def _write_rows(self, target: Path, changes: Changes) -> None:
        last = self.data_files[-1]
        for name in self.data_files:
            here = {i: (start, stop) for i, (file, start, stop) in self.runs.items() if file == name}
            final = {i: changes.final_rows(i) for i in here}
            if all(t is None for t in final.values()) and not (name == last and changes.added):
                continue
            path = self.files.path(name)
            pieces = []
            with pq.ParquetFile(path) as file:
                ends = np.cumsum([file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)])
            groups = [0] * len(ends)
            for index, (start, stop) in here.items():
                replaced = final[index]
                pieces.append(self._file(name).slice(start, stop - start) if replaced is None else replaced)
                # An episode's rows go to the row group in which they began.
                groups[int(np.searchsorted(ends, start, side="right"))] += len(pieces[-1])
            if name == last:
                pieces += [t for t in (changes.final_rows(i) for i in changes.added) if t is not None]
            write_like(path, pa.concat_tables(pieces), target / name, groups)

    def _video_path(self, draft: Draft, camera: str, changes: Changes) -> str:
        reel = draft.reels[camera]
        if reel.source.alone and draft.copy_of is None:
            return reel.source.path
        used = [c * self.info.chunks_size + f for c, f in self._users(camera) if c is not None and f is not None]
        used += [n for (_, key), n in changes.places.items() if key == camera]
        number = max(used, default=-1) + 1
        while self.files.stamp(self._video_file(camera, *divmod(number, self.info.chunks_size))) is not None:
            number += 1
        changes.places[draft.index, camera] = number
        return self._video_file(camera, *divmod(number, self.info.chunks_size))

    def _write_episodes(self, target: Path, changes: Changes) -> None:
        write_episode_table(self, target, changes)

    def _write_tasks(self, target: Path, tasks: Mapping[str, int]) -> None:
        path = self.files.path(TASKS)
        table = read(path)
        text = _text_column(table)
        added = pa.table(
            {
                n: pa.array(list(tasks.values()) if n == "task_index" else list(tasks), table.schema.field(n).type)
                for n in ("task_index", text)
            }
        )
        write_like(path, pa.concat_tables([table, added], promote_options="default"), target / TASKS)


@lru_cache(maxsize=2)
def _read(path: Path) -> pa.Table:
    return read(path)


def _text_column(table: pa.Table) -> str:
    names = [n for n in table.column_names if n != "task_index"]
    if "task_index" not in table.column_names or not names:
        raise CorpusError(f"{TASKS}: task_index or the texts are missing; faults need sound metadata")
    return names[0] if "task" not in names else "task"
