"""One dataset of an export: the spans of one schema group, written by `DatasetWriter`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.episode import Corpus, Episode
from gristmill.export._sources import Recordings
from gristmill.export._tasks import TaskTable
from gristmill.formats.lerobot.features import DEFAULT_FEATURES
from gristmill.formats.lerobot.files import CorpusFiles
from gristmill.formats.lerobot.image_statistics import of_camera, usable
from gristmill.formats.lerobot.write import DatasetWriter, PacketRange, Pictures, VideoPart
from gristmill.kept import Kept
from gristmill.schema_groups import features_of
from gristmill.types import Rgb

# Files that travel as they are. README and statistics describe the raw corpus, so they stay behind.
_SIDECARS = ("meta/modality.json", "meta/subtasks.parquet", "LICENSE")
_WRITTEN_ANEW = {
    "codebase_version", "robot_type", "total_episodes", "total_frames", "total_tasks", "total_videos", "total_chunks",
    "chunks_size", "data_files_size_in_mb", "video_files_size_in_mb", "fps", "splits", "data_path", "video_path",
    "features",
}  # fmt: skip
_IS_OBSERVED = {"dtype": "bool", "shape": [1], "names": None}
_PICTURES_AT_ONCE = 16


class GroupExport:
    """Writes one dataset and remembers what it did.

    Args:
        group: the schema group.
        spans: its spans, in the order of their splits.
        recordings: the raw recordings.
        origin: what the dataset's mark says.
        data_files_size_in_mb: see `DatasetWriter`.
        video_files_size_in_mb: see `DatasetWriter`.
    """

    def __init__(
        self,
        group: str,
        spans: Sequence[Kept],
        recordings: Recordings,
        *,
        origin: Mapping[str, Any],
        data_files_size_in_mb: int,
        video_files_size_in_mb: int,
    ) -> None:
        self.group = group
        self.frames = 0
        self.copied_frames = 0
        self.encoded_frames = 0
        self.notes: list[str] = []
        self._spans = spans
        self._recordings = recordings
        self._origin = origin
        self._data_mb, self._video_mb = data_files_size_in_mb, video_files_size_in_mb
        self._keys = list(dict.fromkeys(span.corpus for span in spans))
        self._filled = any(span.fills for span in spans)
        self._tasks = TaskTable([recordings.corpus(key).facts for key in self._keys])

    def write(self, root: Path, progress: Callable[[int], None] | None) -> None:
        """Write the dataset at `root`, an empty folder."""
        writer: DatasetWriter | None = None
        try:
            for corpus, episode, spans in self._recordings.episodes(self._spans):
                if writer is None:
                    writer = self._writer(root, corpus, episode, spans[0])
                for span in spans:
                    self._add(writer, corpus, episode, span)
                    if progress:
                        progress(1)
            if writer is not None:  # a group has at least one span
                writer.close(splits=self._splits())
        finally:
            if writer is not None:
                writer.abort()
        self._sidecars(root)

    def _writer(self, root: Path, corpus: Corpus, episode: Episode, span: Kept) -> DatasetWriter:
        facts = corpus.facts
        features = features_of(facts, episode.channels, span.cameras)
        carried = episode.load_carried()
        for key in [k for k, f in features.items() if not _available(k, f, episode, carried)]:
            self.notes.append(f"{key} ({features.pop(key)['dtype']}) was not exported: the reader does not provide it")
        left = [f"{key} was not exported: {why}" for key, why in facts.unread.items() if key not in features]
        self.notes.extend(left)
        if self._filled:
            features["is_observed"] = _IS_OBSERVED
        info = {}
        for key in reversed(self._keys):
            info |= {k: v for k, v in self._recordings.corpus(key).facts.info.items() if k not in _WRITTEN_ANEW}
        return DatasetWriter(
            root,
            fps=facts.rate_hz,
            features=features,
            robot_type=facts.robot_type or None,
            info_extra=info,
            tasks=self._tasks.texts,
            origin=self._origin,
            data_files_size_in_mb=self._data_mb,
            video_files_size_in_mb=self._video_mb,
        )

    def _add(self, writer: DatasetWriter, corpus: Corpus, episode: Episode, span: Kept) -> None:
        rows = span.rows
        carried: Mapping[str, pa.Array] | None = None
        columns: dict[str, Any] = {}
        videos: dict[str, VideoPart] = {}
        for key, feature in writer.features.items():
            if key in DEFAULT_FEATURES:
                continue
            if feature["dtype"] == "video":
                videos[key] = self._video(episode, key, span)
            elif key == "is_observed" and self._filled:
                columns[key] = span.observed
            elif key in episode.channels:
                values = self._tasks.renumbered(corpus.facts.key, key, episode.channels[key].values)
                columns[key] = values[rows]
            else:
                carried = episode.load_carried() if carried is None else carried
                columns[key] = carried[key].take(pa.array(rows))
        tasks, task_of_frame = self._tasks.of_frames(episode, rows)
        writer.add_episode(
            columns,
            tasks,
            videos,
            task_of_frame=task_of_frame,
            extra={
                "gristmill/corpus": span.corpus,
                "gristmill/episode_id": span.episode_id,
                "gristmill/episode_index": span.episode_index,
                "gristmill/start_frame": span.start,
                "gristmill/stop_frame": span.stop,
                "gristmill/split": span.split,
                "gristmill/weight": span.weight,
            },
        )
        self.frames += len(rows)

    def _video(self, episode: Episode, key: str, span: Kept) -> VideoPart:
        """The camera's packets, or its pictures where packets cannot be copied."""
        from gristmill.video.camera import VideoCamera

        camera, rows = episode.cameras[key], span.rows
        if key in span.reencode or not isinstance(camera, VideoCamera) or camera.path is None:
            self.encoded_frames += len(rows)
            return Pictures(chunks=_pictures(camera.rgb, rows.tolist()), frames=len(rows))
        self.copied_frames += len(rows)
        first, _ = camera.file_range(span.start, span.stop)
        whole = (span.start, span.stop) == (0, episode.frames)
        stats = usable(episode.declared_stats.get(key)) if whole else None
        return PacketRange(
            path=camera.path, start_frame=first, frames=len(rows), stats=stats or of_camera(camera, rows.tolist())
        )

    def _splits(self) -> dict[str, str]:
        splits, at = {}, 0
        for name, run in groupby(self._spans, lambda span: span.split):
            stop = at + len(list(run))
            splits[name] = f"{at}:{stop}"
            at = stop
        return splits

    def _sidecars(self, root: Path) -> None:
        """Copy the files that travel; of several corpora, the first one's."""
        for name in _SIDECARS:
            sources = [self._sidecar(key, name) for key in self._keys]
            found = [path for path in sources if path is not None]
            if not found:
                continue
            shutil.copyfile(found[0], root / name)
            if any(path.read_bytes() != found[0].read_bytes() for path in found[1:]):
                self.notes.append(f"{name} differs between the corpora; that of {self._keys[0]} was kept")

    def _sidecar(self, corpus: str, name: str) -> Path | None:
        folder = Path(self._recordings.corpus(corpus).facts.root)
        if not folder.is_dir():
            return None
        files = CorpusFiles(folder)
        return files.path(name) if files.stamp(name) else None


def _available(key: str, feature: Mapping[str, Any], episode: Episode, carried: Mapping[str, pa.Array]) -> bool:
    return feature["dtype"] == "video" or key in episode.channels or key in carried


def _pictures(rgb: Callable[[Sequence[int]], Rgb], frames: Sequence[int]) -> Iterator[Rgb]:
    for at in range(0, len(frames), _PICTURES_AT_ONCE):
        chunk = list(frames[at : at + _PICTURES_AT_ONCE])
        # A repeated frame is decoded once.
        unique = sorted(set(chunk))
        pictures = rgb(unique)
        yield pictures[np.searchsorted(unique, chunk)]
