"""Writes the sample in LeRobot's older layout (v2.1): one parquet file and one video a camera for each episode.

Only generated corpora are written so; Gristmill exports v3.0.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import UsageError
from gristmill.formats.lerobot import features as ft
from gristmill.formats.lerobot.image_statistics import PixelHistogram
from gristmill.formats.lerobot.mark import may_replace, write_mark
from gristmill.formats.lerobot.write import PacketRange
from gristmill.staging import Staged
from gristmill.statistics import describe
from gristmill.video.packets import index_file

_CHUNK = 1000
DATA_PATH = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
VIDEO_PATH = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"


class EpisodeFilesWriter:
    """A v2.1 dataset in the making; used like `gristmill.formats.lerobot.write.DatasetWriter`.

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
        overwrite: bool = False,
    ) -> None:
        self.features = ft.complete(features)
        self.fps = int(fps) if float(fps).is_integer() else float(fps)
        self._robot_type = robot_type
        self._info_extra = dict(info_extra or {})
        self._tasks: dict[str, int] = {}
        self._episodes: list[dict[str, Any]] = []
        self._stats: list[dict[str, Any]] = []
        self._frames = 0
        self._staged = Staged(root, replaces=may_replace if overwrite else None)

    def add_episode(self, columns: Mapping[str, Any], tasks: Sequence[str], videos: Mapping[str, PacketRange]) -> int:
        """Append an episode whose videos are whole files with statistics; returns its index."""
        index = len(self._episodes)
        count = len(next(iter(columns.values())))
        number = self._tasks.setdefault(tasks[0], len(self._tasks))
        frame = np.arange(count, dtype=np.int64)
        given = dict(columns) | {
            "timestamp": (frame / self.fps).astype(np.float32),
            "frame_index": frame,
            "episode_index": np.full(count, index, dtype=np.int64),
            "index": frame + self._frames,
            "task_index": np.full(count, number, dtype=np.int64),
        }
        arrays = {k: ft.column(k, f, given[k], count) for k, f in ft.in_parquet(self.features).items()}
        path = self._place(DATA_PATH, index)
        pq.write_table(pa.table(list(arrays.values()), schema=ft.schema(self.features, arrays)), path)
        values = {k: np.asarray(given[k]).reshape(count, -1) for k in ft.described(self.features)}
        stats = {k: {n: v for n, v in s.items() if not n.startswith("q")} for k, s in describe(values).items()}
        for key, part in videos.items():
            shutil.copyfile(part.path, self._place(VIDEO_PATH, index, key))
            self._declare(key, part)
            if isinstance(part.stats, PixelHistogram):
                stats[key] = {k: v for k, v in part.stats.statistics().items() if not k.startswith("q")}
        self._episodes.append({"episode_index": index, "tasks": list(tasks), "length": count})
        self._stats.append(
            {
                "episode_index": index,
                "stats": {k: {n: v.tolist() for n, v in s.items()} for k, s in stats.items()},
            }
        )
        self._frames += count
        return index

    def close(self) -> Path:
        """Write the metadata and put the dataset in its place.

        Raises:
            UsageError: no episode was added.
        """
        if not self._episodes:
            raise UsageError(f"{self._staged.out}: a dataset needs at least one episode; nothing was written")
        meta = self._staged.payload / "meta"
        meta.mkdir()
        _write_lines(meta / "episodes.jsonl", self._episodes)
        _write_lines(meta / "episodes_stats.jsonl", self._stats)
        _write_lines(meta / "tasks.jsonl", [{"task_index": i, "task": t} for t, i in self._tasks.items()])
        total = len(self._episodes)
        cameras = [k for k, f in self.features.items() if f["dtype"] == "video"]
        info = self._info_extra | {
            "codebase_version": "v2.1",
            "robot_type": self._robot_type,
            "total_episodes": total,
            "total_frames": self._frames,
            "total_tasks": len(self._tasks),
            "total_videos": total * len(cameras),
            "total_chunks": (total - 1) // _CHUNK + 1,
            "chunks_size": _CHUNK,
            "fps": self.fps,
            "splits": {"train": f"0:{total}"},
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH if cameras else None,
            "features": self.features,
        }
        (meta / "info.json").write_text(json.dumps(info, indent=4) + "\n", encoding="utf-8")
        write_mark(self._staged.payload, {})
        return self._staged.commit()

    def __enter__(self) -> EpisodeFilesWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._staged.discard()

    def _place(self, template: str, index: int, key: str = "") -> Path:
        relative = template.format(episode_chunk=index // _CHUNK, episode_index=index, video_key=key)
        path = self._staged.payload / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _declare(self, key: str, part: PacketRange) -> None:
        feature = self.features[key]
        if "info" not in feature:
            file = index_file(part.path)
            feature["info"] = {
                "video.height": file.height,
                "video.width": file.width,
                "video.codec": file.codec,
                "video.pix_fmt": file.pix_fmt,
                "video.is_depth_map": False,
                "video.fps": self.fps,
                "video.channels": 3,
                "has_audio": False,
            }


def _write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
