"""LeRobot v2.0 and v2.1: one parquet file and one video a camera for each episode."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.errors import CorpusError
from gristmill.formats.lerobot.documents import read_lines
from gristmill.formats.lerobot.layout import Template
from gristmill.synth.edit import declared_stats
from gristmill.synth.edit.changes import Changes
from gristmill.synth.edit.columns import with_numbers
from gristmill.synth.edit.corpus import EditableCorpus
from gristmill.synth.edit.draft import Draft, Footage
from gristmill.synth.edit.parquet import read, write_like
from gristmill.video.packets import index_file

EPISODES, TASKS, EPISODES_STATS = "meta/episodes.jsonl", "meta/tasks.jsonl", "meta/episodes_stats.jsonl"


class EpisodeFiles(EditableCorpus):
    """A v2.x corpus."""

    def _read_meta(self) -> None:
        for row in self._lines(EPISODES):
            self.lengths[int(row["episode_index"])] = int(row["length"])
            self.task_lists[int(row["episode_index"])] = tuple(row.get("tasks") or ())
        self.task_table = {int(row["task_index"]): str(row["task"]) for row in self._lines(TASKS)}

    def rows(self, index: int) -> pa.Table:
        """An episode's rows as recorded."""
        return read(self.files.path(self._data_path(index)))

    def columns(self, keys: Sequence[str]) -> Iterator[tuple[int, pa.Table]]:
        """These columns of every episode, in order."""
        for index in self.lengths:
            yield index, read(self.files.path(self._data_path(index)), keys)

    def footage(self, index: int, camera: str) -> Footage | None:
        """Where a camera's frames of an episode lie, or None when the file is missing."""
        path = self._camera_path(index, camera)
        if self.files.stamp(path) is None:
            return None
        return Footage(path, 0, len(index_file(self.files.path(path))), alone=True)

    def stats(self, index: int) -> declared_stats.Declared:
        """Statistics that the metadata declares of one episode; v2.0 declares none."""
        return self._declared.get(index, {})

    def described(self, index: int) -> set[str]:
        """Features whose statistics the metadata declares of one episode."""
        return set(self.stats(index))

    @cached_property
    def _declared(self) -> dict[int, declared_stats.Declared]:
        if self.files.stamp(EPISODES_STATS) is None:
            return {}
        return {int(row["episode_index"]): row["stats"] for row in self._lines(EPISODES_STATS)}

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        try:
            for line in read_lines(self.files.path(name)):
                if line.value is None:
                    raise CorpusError(f"{name}, line {line.number}: {line.problem}; faults need sound metadata")
                yield line.value
        except OSError as error:
            raise CorpusError(f"{name} cannot be read ({error.strerror}); faults need sound metadata") from None

    def _data_path(self, index: int) -> str:
        return self._found("data", self.info.data_path, index)

    def _camera_path(self, index: int, camera: str) -> str:
        return self._found("videos", self.info.video_path, index, camera)

    def _found(self, folder: str, template: Template, index: int, camera: str = "") -> str:
        """Where an episode's file lies: as the template says, or under its name in another chunk."""
        chunk = index // self.info.chunks_size
        path = template.fill(episode_chunk=chunk, episode_index=index, video_key=camera)
        if self.files.stamp(path) is None:
            name = path.rpartition("/")[2]
            for other in self._names(folder).get(name, ()):
                if not camera or camera in other.split("/"):
                    return other
        return path

    def _names(self, folder: str) -> dict[str, list[str]]:
        """File name -> paths below a folder."""
        if folder not in self._by_name:
            names: dict[str, list[str]] = {}
            for path in sorted(self.files.under(folder)):
                names.setdefault(path.rpartition("/")[2], []).append(path)
            self._by_name[folder] = names
        return self._by_name[folder]

    @cached_property
    def _by_name(self) -> dict[str, dict[str, list[str]]]:
        return {}

    def _new_path(self, model: str, template: Template, draft: Draft, camera: str = "") -> str:
        """The path of a new episode's file: where the template says, unless its model lies elsewhere, too."""
        declared = [
            template.fill(episode_chunk=i // self.info.chunks_size, episode_index=i, video_key=camera)
            for i in (draft.copy_of or 0, draft.index)
        ]
        return declared[1] if declared[0] == model else f"{model.rpartition('/')[0]}/{declared[1].rpartition('/')[2]}"

    def _video_path(self, draft: Draft, camera: str, changes: Changes) -> str:
        if draft.copy_of is None:
            return draft.reels[camera].source.path
        return self._new_path(draft.reels[camera].source.path, self.info.video_path, draft, camera)

    def _write_rows(self, target: Path, changes: Changes) -> None:
        for index in (*self.lengths, *changes.added):
            draft, table = changes.drafts.get(index), changes.final_rows(index)
            if draft is not None and draft.points_at is not None:
                table = draft.rows if table is None else table
                table = with_numbers(table, "episode_index", np.full((len(table), 1), draft.points_at))
            if table is not None:
                model = self._data_path(index if draft is None or draft.copy_of is None else draft.copy_of)
                new = draft if index in changes.added else None
                out = model if new is None else self._new_path(model, self.info.data_path, new)
                write_like(self.files.path(model), table, target / out)

    def _write_episodes(self, target: Path, changes: Changes) -> None:
        if changes.drafts:
            lines = list(self._lines(EPISODES))
            by_index = {row["episode_index"]: row for row in lines}
            for index, draft in sorted(changes.drafts.items()):
                row = by_index[index if draft.copy_of is None else draft.copy_of]
                fresh = row | {"episode_index": index, "length": draft.length, "tasks": list(draft.tasks)}
                if draft.copy_of is None:
                    row.update(fresh)
                else:
                    lines.append(fresh)
            self._rewrite(target, EPISODES, lines)
        if self._declared:
            stats = {i: changes.new_stats(i) for i in (*self.lengths, *changes.added)}
            if stats != self._declared:
                rows = [{"episode_index": i, "stats": s} for i, s in stats.items()]
                self._rewrite(target, EPISODES_STATS, rows, list(self._lines(EPISODES_STATS)))

    def _write_tasks(self, target: Path, tasks: Mapping[str, int]) -> None:
        added = [{"task_index": number, "task": text} for text, number in tasks.items()]
        self._rewrite(target, TASKS, [*self._lines(TASKS), *added])

    def _rewrite(
        self, target: Path, name: str, rows: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        """Write JSON lines; those that did not change keep their bytes."""
        before = self.files.path(name).read_bytes().splitlines()
        parsed = list(self._lines(name)) if old is None else list(old)
        out = []
        for i, row in enumerate(rows):
            same = i < len(parsed) and parsed[i] == row
            out.append(before[i] if same else json.dumps(row, ensure_ascii=False).encode())
        (target / name).write_bytes(b"\n".join(out) + b"\n")
