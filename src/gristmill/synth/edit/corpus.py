"""A LeRobot corpus opened for changing single episodes: what both of its layouts share.

The original is read and never written. `commit` writes a changed copy in which every file that does not have to
change keeps its bytes.
"""

from __future__ import annotations

import fcntl
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from gristmill.errors import CorpusError
from gristmill.formats.files import CorpusFiles
from gristmill.formats.lerobot.info import Info, read_info
from gristmill.synth.edit import totals
from gristmill.synth.edit.changes import Changes, changes_of
from gristmill.synth.edit.declared_stats import Declared
from gristmill.synth.edit.draft import Draft, Footage, Reel
from gristmill.synth.edit.footage import write_reel

Progress = Callable[[str, int, int], None]

_FICLONE = 0x40049409  # Linux: share a file's blocks until one of the two is written


class EditableCorpus(ABC):
    """A corpus whose episodes can be drafted and written anew.

    Raises:
        CorpusError: the metadata cannot be read, or contradicts the data so that no episode can be told apart.
        UnsafeCorpusError: a path leads outside the corpus.
    """

    def __init__(self, root: Path) -> None:
        self.files = CorpusFiles(root)
        self.root = self.files.root
        self.info: Info = read_info(self.files)
        self.rate_hz = self.info.rate_hz
        self.cameras = tuple(f.key for f in self.info.of_kind("camera") if not f.is_image)
        self.lengths: dict[int, int] = {}  # episode index -> frames that the metadata promises, in corpus order
        self.task_lists: dict[int, tuple[str, ...]] = {}
        self.task_table: dict[int, str] = {}
        self._read_meta()
        if not self.lengths:
            raise CorpusError(f"{self.root}: the metadata lists no episode; there is nothing to change")

    @abstractmethod
    def _read_meta(self) -> None:
        """Fill `lengths`, `task_lists` and `task_table`."""

    @abstractmethod
    def rows(self, index: int) -> pa.Table:
        """An episode's rows as recorded."""

    @abstractmethod
    def columns(self, keys: Sequence[str]) -> Iterator[tuple[int, pa.Table]]:
        """These columns of every episode, each file read once."""

    @abstractmethod
    def footage(self, index: int, camera: str) -> Footage | None:
        """Where a camera's frames of an episode lie, or None when the file is missing."""

    @abstractmethod
    def stats(self, index: int) -> Declared:
        """Statistics that the metadata declares of one episode."""

    @abstractmethod
    def described(self, index: int) -> set[str]:
        """Features whose statistics the metadata declares of one episode."""

    @abstractmethod
    def _write_rows(self, target: Path, changes: Changes) -> None:
        """Write the data files that change."""

    @abstractmethod
    def _video_path(self, draft: Draft, camera: str, changes: Changes) -> str:
        """Where the new file of a camera goes, relative to the corpus."""

    @abstractmethod
    def _write_episodes(self, target: Path, changes: Changes) -> None:
        """Write what the metadata says of each episode, its statistics included."""

    @abstractmethod
    def _write_tasks(self, target: Path, tasks: Mapping[str, int]) -> None:
        """Add texts with their numbers to the task table."""

    def draft(self, index: int) -> Draft:
        """An episode to be changed.

        Raises:
            RecordingError: its rows or a video of it cannot be read.
        """
        rows = self.rows(index)
        reels = {}
        for camera in self.cameras:
            found = self.footage(index, camera)
            if found is not None:
                reels[camera] = Reel(found, np.arange(found.stop - found.first))
        return Draft(
            index=index,
            rate_hz=self.rate_hz,
            rows=rows,
            tasks=self.task_lists[index],
            reels=reels,
            length=self.lengths[index],
            original=rows,
            neighbours=self.lengths.keys(),
            declared=self.described(index),
        )

    def commit(self, drafts: Sequence[Draft], target: Path, progress: Progress | None = None) -> None:
        """Write the changed copy into the empty folder `target`.

        Args:
            drafts: what changes; episodes without one stay as they are.
            target: where to.
            progress: called with "write", episodes done and episodes in all.

        Raises:
            VideoError: a video cannot be decoded or encoded.
        """
        changes = changes_of(self, drafts)
        for name in self._everything():
            out = target / name
            out.parent.mkdir(parents=True, exist_ok=True)
            copy_file(self.files.path(name), out)
        self._write_rows(target, changes)
        for done, draft in enumerate(changes.drafts.values(), start=1):
            self._write_videos(target, draft, changes)
            if progress is not None:
                progress("write", done, len(changes.drafts))
        if changes.tasks:
            self._write_tasks(target, changes.tasks)
        self._write_episodes(target, changes)
        totals.write_info(target, changes)
        totals.write_stats(target, changes)

    def _everything(self) -> list[str]:
        """All files of the corpus, links followed within it; hidden ones (caches, version control) stay behind."""
        found: list[str] = []
        for entry in sorted(self.root.iterdir()):
            if entry.name.startswith("."):
                continue
            found += self.files.under(entry.name) if entry.is_dir() else [entry.name]
        return sorted(found)

    def _write_videos(self, target: Path, draft: Draft, changes: Changes) -> None:
        for camera, reel in draft.reels.items():
            if not reel.changed and draft.copy_of is None:
                continue
            out = target / self._video_path(draft, camera, changes)
            if reel.gone:
                out.unlink(missing_ok=True)
                continue
            seen = write_reel(self.files.path(reel.source.path), reel, out, self.rate_hz)
            if seen is not None:
                changes.seen[draft.index, camera] = seen


def copy_file(source: Path, out: Path) -> None:
    """Copy a file's content, sharing its blocks where the file system can."""
    with source.open("rb") as old, out.open("wb") as new:
        try:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
        except OSError:
            shutil.copyfileobj(old, new, 1 << 20)
