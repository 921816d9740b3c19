"""Writes LeRobot v3.0 datasets, episode by episode, in bounded memory.

The layout follows LeRobot 0.4's reader: rows in path order are rows in index order, episodes are numbered
0..N-1 in the order in which they come, row i of the task table holds task_index i, and statistics are of exactly
the frames written. A dataset appears whole or not at all (see `gristmill.staging`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.errors import UsageError
from gristmill.formats.lerobot import features as ft
from gristmill.formats.lerobot.image_statistics import CameraStatistics, of_images, sampled
from gristmill.formats.lerobot.mark import MARK, is_ours, may_replace, write_mark
from gristmill.formats.lerobot.write_check import check_written
from gristmill.formats.lerobot.write_meta import EpisodeWriter, utf8, write_json, write_stats, write_tasks
from gristmill.formats.lerobot.write_rows import FILES_A_CHUNK, RowWriter
from gristmill.formats.lerobot.write_videos import PacketRange, Pictures, VideoPart, VideoWriter
from gristmill.staging import Staged
from gristmill.statistics import Described, RunningStatistics
from gristmill.types import IntArray

__all__ = ["MARK", "DatasetWriter", "PacketRange", "Pictures", "VideoPart", "is_ours"]

VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
_MB = 1 << 20


class DatasetWriter:
    """A LeRobot v3.0 dataset in the making.

        with DatasetWriter(root, fps=30, features=features, robot_type="so101") as writer:
            writer.add_episode({"observation.state": state, "action": action}, ["lift the cube"],
                               {"observation.images.top": Pictures(chunks=[frames], frames=len(frames))})
            writer.close()

    Leaving the block without `close` leaves nothing behind.

    Args:
        root: the folder that shall appear; it must be absent or empty unless `overwrite` is set.
        fps: frames a second.
        features: as in `info.json`: key -> {"dtype", "shape", "names", ...}; unknown keys are kept. The default
            columns (timestamp, frame_index, episode_index, index, task_index) are added and filled in.
        robot_type: as in `info.json`.
        info_extra: further keys of `info.json`.
        tasks: tasks that shall hold the first task indices, in this order, whether or not an episode uses them.
        data_files_size_in_mb: size of a data file before compression.
        video_files_size_in_mb: size of a video file.
        encoding: options for `Pictures`, see `gristmill.video.encode.encode`.
        origin: what `meta/gristmill.json` says besides the version.
        overwrite: replace a dataset that gristmill wrote, if nobody put files of their own into it.

    Raises:
        UsageError: the folder is taken, or a feature cannot be written.
    """

    def __init__(
        self,
        root: Path,
        *,
        fps: float,
        features: Mapping[str, Mapping[str, Any]],
        robot_type: str | None,
        info_extra: Mapping[str, Any] | None = None,
        tasks: Sequence[str] = (),
        data_files_size_in_mb: int = 100,
        video_files_size_in_mb: int = 200,
        encoding: Mapping[str, Any] | None = None,
        origin: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> None:
        if not fps > 0:
            raise UsageError(f"fps must be positive, not {fps}")
        self.features = ft.complete(features)
        self.fps = int(fps) if float(fps).is_integer() else float(fps)
        self._robot_type = robot_type
        self._info_extra = dict(info_extra or {})
        self._origin = dict(origin or {})
        self._data_mb, self._video_mb = data_files_size_in_mb, video_files_size_in_mb
        self._tasks: dict[str, int] = {}
        for task in map(utf8, tasks):
            self._tasks.setdefault(task, len(self._tasks))
        self._frames = 0
        self._staged = Staged(root, replaces=may_replace if overwrite else None)
        folder, scratch = self._staged.payload, self._staged.scratch
        (folder / "meta").mkdir()
        self._rows = RowWriter(folder / "data", self.features, data_files_size_in_mb * _MB)
        self._episodes = EpisodeWriter(scratch)
        self._numbers = RunningStatistics(scratch)
        self._cameras = {k: CameraStatistics() for k, f in self.features.items() if f["dtype"] in ("video", "image")}
        self._without_stats: set[str] = set()
        self._videos = {
            key: VideoWriter(
                folder / "videos" / key, self.fps, video_files_size_in_mb * _MB, scratch, dict(encoding or {})
            )
            for key, f in self.features.items()
            if f["dtype"] == "video"
        }

    @property
    def videos(self) -> Mapping[str, VideoWriter]:
        """What is known of each camera's frames so far: `codecs`, and which of them were `encoded`."""
        return self._videos

    @property
    def episodes(self) -> int:
        """Episodes added so far."""
        return self._episodes.count

    def add_episode(
        self,
        columns: Mapping[str, Any],
        tasks: Sequence[str],
        videos: Mapping[str, VideoPart] | None = None,
        *,
        task_of_frame: IntArray | None = None,
        extra: Mapping[str, str | int | float | None] | None = None,
    ) -> int:
        """Append an episode and return its index.

        Args:
            columns: feature -> values of all t frames: numbers as (t,), (t, d) or (t, *shape); images as encoded
                files in bytes; text as strings. Every non-video feature except the default ones is required.
            tasks: the episode's tasks.
            videos: camera -> its frames, as many as there are rows.
            task_of_frame: (t,) positions in `tasks`; by default every frame has the first task.
            extra: further columns of the episodes table, named "gristmill/..." by convention.

        Raises:
            UsageError: columns, cameras or lengths that do not fit the features.
            VideoError: a video cannot be read, or cut at this frame.
        """
        videos = videos or {}
        tasks = [utf8(task) for task in tasks]
        index = self._episodes.count
        frames = self._length(index, columns, videos)
        numbers = self._default_columns(index, frames, tasks, task_of_frame)
        arrays: dict[str, pa.Array] = {}
        values: dict[str, np.ndarray] = {}
        for key, feature in ft.in_parquet(self.features).items():
            given = numbers[key] if key in numbers else columns[key]
            arrays[key] = ft.column(key, feature, given, frames)
        for key in ft.described(self.features):
            values[key] = np.asarray(numbers[key] if key in numbers else columns[key]).reshape(frames, -1)
        stats = self._numbers.add(values)
        row: dict[str, Any] = {"episode_index": index, "tasks": list(dict.fromkeys(tasks)), "length": frames}
        place = self._rows.add(arrays)
        row |= {"data/chunk_index": place.chunk, "data/file_index": place.file}
        row |= {"dataset_from_index": self._frames, "dataset_to_index": self._frames + frames}
        for key, writer in self._videos.items():
            written = writer.add(videos[key])
            row |= written.columns(key)
            self._camera_statistics(key, written.stats, stats)
        for key, feature in self.features.items():
            if feature["dtype"] == "image":
                pictures = arrays[key].field("bytes").take(pa.array(sampled(frames))).to_pylist()
                self._camera_statistics(key, of_images(pictures, f"episode {index}, {key}"), stats)
        # LeRobot's tools refuse statistics of anything called an image that is not of three channels.
        told = {k: v for k, v in self._in_shape(stats).items() if k in self._cameras or "image" not in k}
        self._episodes.add(row | dict(extra or {}), told)
        self._frames += frames
        return index

    def close(self, *, splits: Mapping[str, str] | None = None) -> Path:
        """Finish all files and put the dataset in its place.

        Args:
            splits: name -> "first:stop" of episode indices; by default all episodes are "train".

        Raises:
            UsageError: no episode was added.
            VideoError: a source changed meanwhile, or cannot be cut at a frame.
            SnapshotError: what lies on disk is not what was written.
        """
        if not self._episodes.count:
            raise UsageError(f"{self._staged.out}: a dataset needs at least one episode; nothing was written")
        folder = self._staged.payload
        self._rows.close()
        for key, writer in self._videos.items():
            writer.close()
            ft.describe_video(self.features[key], writer.declared())
        self._episodes.finish(folder / "meta" / "episodes", self._data_mb * _MB)
        write_tasks(folder / "meta" / "tasks.parquet", list(self._tasks))
        stats = self._in_shape(self._numbers.finish())
        for key, camera in self._cameras.items():
            found = None if key in self._without_stats else camera.finish()
            if found is not None:
                stats[key] = found
        write_stats(folder / "meta" / "stats.json", {k: stats[k] for k in self.features if k in stats})
        write_json(folder / "meta" / "info.json", self._info_extra | self._info(splits))
        check_written(folder, list(self._videos), self.episodes, self._frames)
        write_mark(folder, self._origin)
        return self._staged.commit()

    def abort(self) -> None:
        """Leave nothing behind; harmless after `close`."""
        # What is closed here is thrown away, so it does not matter that a full disk cannot take it.
        with suppress(OSError):
            self._rows.close()
        with suppress(OSError):
            self._numbers.close()
        self._staged.discard()

    def __enter__(self) -> DatasetWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.abort()

    def _info(self, splits: Mapping[str, str] | None) -> dict[str, Any]:
        return {
            "codebase_version": "v3.0",
            "robot_type": self._robot_type,
            "total_episodes": self.episodes,
            "total_frames": self._frames,
            "total_tasks": len(self._tasks),
            "chunks_size": FILES_A_CHUNK,
            "data_files_size_in_mb": self._data_mb,
            "video_files_size_in_mb": self._video_mb,
            "fps": self.fps,
            "splits": dict(splits) if splits else {"train": f"0:{self.episodes}"},
            "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
            "video_path": VIDEO_PATH if self._videos else None,
            "features": self.features,
        }

    def _length(self, index: int, columns: Mapping[str, Any], videos: Mapping[str, VideoPart]) -> int:
        """The number of rows on which all columns and videos agree."""
        wanted = self.features.keys() - ft.DEFAULT_FEATURES.keys()
        lengths = {key: len(values) for key, values in columns.items()}
        lengths |= {key: part.frames for key, part in videos.items()}
        if lengths.keys() != wanted:
            absent, unknown = sorted(wanted - lengths.keys()), sorted(lengths.keys() - wanted)
            raise UsageError(f"episode {index}: missing features {absent}, undeclared features {unknown}")
        if len(set(lengths.values())) != 1 or 0 in lengths.values():
            raise UsageError(f"episode {index}: all features need the same number of frames, got {lengths}")
        return next(iter(lengths.values()))

    def _default_columns(
        self, index: int, frames: int, tasks: Sequence[str], task_of_frame: IntArray | None
    ) -> dict[str, np.ndarray]:
        if not tasks:
            raise UsageError(f"episode {index}: needs at least one task; an empty text is allowed")
        numbers = np.array([self._tasks.setdefault(task, len(self._tasks)) for task in tasks], dtype=np.int64)
        local = np.zeros(frames, dtype=np.int64) if task_of_frame is None else task_of_frame
        if local.shape != (frames,) or local.min() < 0 or local.max() >= len(tasks):
            raise UsageError(f"episode {index}: task_of_frame needs {frames} positions below {len(tasks)}")
        frame = np.arange(frames, dtype=np.int64)
        return {
            "timestamp": (frame / self.fps).astype(np.float32),
            "frame_index": frame,
            "episode_index": np.full(frames, index, dtype=np.int64),
            "index": frame + self._frames,
            "task_index": numbers[local],
        }

    def _camera_statistics(self, key: str, part: Any, stats: Described) -> None:
        if part is None:
            self._without_stats.add(key)
        else:
            stats[key] = self._cameras[key].add(part)

    def _in_shape(self, stats: Described) -> Described:
        """Statistics of features with several axes in those axes."""
        for key, found in stats.items():
            shape = self.features[key]["shape"]
            if key not in self._cameras and len(shape) > 1:
                stats[key] = {k: v if k == "count" else v.reshape(shape) for k, v in found.items()}
        return stats
