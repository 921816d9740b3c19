"""One dataset of an export: the spans of one schema group, written by `DatasetWriter`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.episode import Episode
from gristmill.errors import RecordingError
from gristmill.export._encoding import encoding_like
from gristmill.export._sources import Recording, Recordings
from gristmill.export._tasks import TaskTable
from gristmill.formats.lerobot.features import DEFAULT_FEATURES
from gristmill.formats.lerobot.image_statistics import of_camera, usable
from gristmill.formats.lerobot.mark import MARK, write_mark
from gristmill.formats.lerobot.write import DatasetWriter, PacketRange, Pictures, VideoPart
from gristmill.formats.lerobot.write_meta import utf8
from gristmill.kept import Kept
from gristmill.schema_groups import features_of
from gristmill.types import Rgb

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
        self._said: dict[str, None] = {}  # task texts
        self._stored: list[str] = []  # features that travel as they are stored
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
            for recording in self._recordings.episodes(self._spans):
                if writer is None:
                    writer = self._writer(root, recording)
                stored = recording.columns(self._stored)
                for span in recording.spans:
                    self._add(writer, recording, span, stored)
                    if progress:
                        progress(1)
            if writer is not None:  # a group has at least one span
                writer.close(splits=self._splits())
                self._tell(writer)
        finally:
            if writer is not None:
                writer.abort()
        self._side_files(root)
        write_mark(root, self._origin)  # which lists them too

    def _writer(self, root: Path, recording: Recording) -> DatasetWriter:
        """The writer for features like those of the first recording."""
        facts, episode = recording.corpus.facts, recording.episode
        features = features_of(facts, episode.channels, recording.spans[0].cameras)
        for key, feature in list(features.items()):
            if feature["dtype"] == "video" and not _is_shape(feature["shape"]):
                features[key] = feature | {"shape": [1, 1, 3]}  # until the writer has seen the videos
            if feature["dtype"] == "video" or key in episode.channels:
                continue
            try:
                recording.columns([key])
            except RecordingError as error:
                self.notes.append(f"{key} ({feature['dtype']}) was not exported: {error}")
                del features[key]
            else:
                self._stored.append(key)
        left = {key: why for key, why in facts.unread.items() if key not in features}
        self.notes.extend(f"{key} was not exported: {why}" for key, why in left.items())
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

    def _add(
        self, writer: DatasetWriter, recording: Recording, span: Kept, stored: Mapping[str, pa.ChunkedArray]
    ) -> None:
        corpus, episode, rows = recording.corpus, recording.episode, span.rows
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
                columns[key] = stored[key].take(pa.array(rows))
        tasks, task_of_frame = self._tasks.of_frames(episode, rows)
        self._said |= dict.fromkeys(tasks)
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
                "gristmill/encoded_cameras": ",".join(span.reencode),
            },
        )
        self.frames += len(rows)

    def _video(self, episode: Episode, key: str, span: Kept) -> VideoPart:
        """The camera's packets, or its pictures where packets cannot be copied."""
        from gristmill.video.camera import VideoCamera

        camera, rows = episode.cameras[key], span.rows
        if key in span.reencode or not isinstance(camera, VideoCamera) or camera.path is None:
            self.encoded_frames += len(rows)
            like = camera.index if isinstance(camera, VideoCamera) and camera.path is not None else None
            encoding = encoding_like(like.codec, like.pix_fmt) if like else encoding_like()
            return Pictures(chunks=_pictures(camera.rgb, rows.tolist()), frames=len(rows), encoding=encoding)
        self.copied_frames += len(rows)
        first, _ = camera.file_range(span.start, span.stop)
        whole = (span.start, span.stop) == (0, episode.frames)
        stats = usable(episode.declared_stats.get(key)) if whole else None
        return PacketRange(
            path=camera.path, start_frame=first, frames=len(rows), stats=stats or of_camera(camera, rows.tolist())
        )

    def _tell(self, writer: DatasetWriter) -> None:
        """Note what became of frames and texts on the way."""
        for key, video in writer.videos.items():
            frames = sum(video.codecs.values())
            for codec, anew in video.encoded.items():
                self.notes.append(f"{key}: {anew} of {frames} frames were encoded anew, in {codec}")
            if len(video.codecs) > 1:
                mix = ", ".join(f"{codec} ({n} frames)" for codec, n in video.codecs.most_common())
                self.notes.append(f"{key} holds {mix}; info.json names the first, loaders look into each file")
        self.notes.extend(
            f"the task {text[:80]!r} holds characters that could not be read; they were written as U+FFFD"
            for text in dict.fromkeys(utf8(t) for t in self._said if "\ufffd" in utf8(t))
        )

    def _splits(self) -> dict[str, str]:
        splits, at = {}, 0
        for name, run in groupby(self._spans, lambda span: span.split):
            stop = at + len(list(run))
            splits[name] = f"{at}:{stop}"
            at = stop
        return splits

    def _side_files(self, root: Path) -> None:
        """Copy the files of other tools; of several corpora, the first one's."""
        held = {key: self._recordings.corpus(key).side_files for key in self._keys}
        for name in sorted({name for files in held.values() for name in files} - {MARK}):
            (first, source), *others = [(key, files[name]) for key, files in held.items() if name in files]
            target = root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            if any(path.read_bytes() != source.read_bytes() for _, path in others):
                self.notes.append(f"{name} differs between the corpora; that of {first} was kept")


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and len(shape) == 3 and all(type(n) is int and n > 0 for n in shape)


def _pictures(rgb: Callable[[Sequence[int]], Rgb], frames: Sequence[int]) -> Iterator[Rgb]:
    for at in range(0, len(frames), _PICTURES_AT_ONCE):
        chunk = list(frames[at : at + _PICTURES_AT_ONCE])
        # A repeated frame is decoded once.
        unique = sorted(set(chunk))
        pictures = rgb(unique)
        yield pictures[np.searchsorted(unique, chunk)]
