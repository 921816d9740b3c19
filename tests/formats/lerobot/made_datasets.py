"""Small LeRobot datasets written by hand, so that the reader is not held against the project's own writer.

Values say where they belong: state[t, j] = 10 * episode + t / 100 + j / 1000, action = state + 0.5.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FPS = 10
NAMES = ["shoulder", "elbow", "wrist"]
TOP = "observation.images.top"
TASKS = ["pick the cube", "open the drawer"]
DATA_V3 = "data/chunk-000/file-{:03d}.parquet"
STATISTICS = ("min", "max", "mean", "std")


def state(episode: int, length: int) -> np.ndarray:
    """What the state of an episode is, (length, 3)."""
    t, j = np.arange(length)[:, None], np.arange(3)
    return (10 * episode + t / 100 + j / 1000).astype(np.float32)


def fixed(values: np.ndarray) -> pa.Array:
    """A matrix as a column of fixed-size lists."""
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(values).reshape(-1)), values.shape[1])


def rows(episode: int, length: int, first: int, task: int = 0) -> pa.Table:
    """The rows of one episode."""
    values = state(episode, length)
    frame = np.arange(length)
    return pa.table(
        {
            "observation.state": fixed(values),
            "action": fixed(values + np.float32(0.5)),
            "timestamp": (frame / FPS).astype(np.float32),
            "frame_index": frame,
            "episode_index": np.full(length, episode),
            "index": first + frame,
            "task_index": np.full(length, task),
        }
    )


def features(cameras: Sequence[str] = ()) -> dict[str, Any]:
    """The declaration that fits `rows`."""
    found: dict[str, Any] = {
        key: {"dtype": "float32", "shape": [3], "names": list(NAMES)} for key in ("observation.state", "action")
    }
    found["timestamp"] = {"dtype": "float32", "shape": [1], "names": None}
    for key in ("frame_index", "episode_index", "index", "task_index"):
        found[key] = {"dtype": "int64", "shape": [1], "names": None}
    for key in cameras:
        names = ["height", "width", "channels"]
        info = {"video.fps": FPS, "video.codec": "h264", "video.is_depth_map": False}
        found[key] = {"dtype": "video", "shape": [32, 48, 3], "names": names, "info": info}
    return found


def info_of(version: str, lengths: Sequence[int], cameras: Sequence[str], files: int) -> dict[str, Any]:
    """A sound `info.json`."""
    n = len(lengths)
    info: dict[str, Any] = {
        "codebase_version": version,
        "robot_type": "made",
        "total_episodes": n,
        "total_frames": sum(lengths),
        "total_tasks": len(TASKS),
        "chunks_size": 1000,
        "fps": FPS,
        "splits": {"train": f"0:{n}"},
        "features": features(cameras),
    }
    if version == "v3.0":
        info["data_path"] = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
        info["video_path"] = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
    else:
        info["data_path"] = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
        info["video_path"] = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
        info["total_chunks"] = 1
        info["total_videos"] = n * len(cameras)
    return info


def make(
    root: Path,
    version: str = "v3.0",
    *,
    lengths: Sequence[int] = (5, 7, 6, 8),
    cameras: Sequence[str] = (),
    episodes_a_file: int = 2,
    rows_a_group: int | None = None,
    video: Callable[[Path, int], None] | None = None,
) -> Path:
    """Write a dataset without a fault.

    Args:
        root: the folder to write.
        version: "v2.0", "v2.1" or "v3.0".
        lengths: frames of each episode.
        cameras: keys of video features.
        episodes_a_file: of data and videos in v3.0.
        rows_a_group: size of row groups; by default one a file.
        video: writes a file of so many frames; by default a few bytes that are no video.
    """
    video = video or (lambda path, frames: path.write_bytes(b"no video"))
    files = -(-len(lengths) // episodes_a_file)
    write_json(root / "meta" / "info.json", info_of(version, lengths, cameras, files))
    stats = {
        key: {name: [0.0, 0.0, 0.0] for name in STATISTICS} | {"count": [sum(lengths)]}
        for key in ("observation.state", "action")
    }
    if version != "v2.1":
        write_json(root / "meta" / "stats.json", stats)
    (_packed if version == "v3.0" else _single)(root, version, lengths, cameras, episodes_a_file, rows_a_group, video)
    return root


def _single(root, version, lengths, cameras, episodes_a_file, rows_a_group, video) -> None:
    write_lines(root / "meta" / "tasks.jsonl", [{"task_index": i, "task": t} for i, t in enumerate(TASKS)])
    episodes = [{"episode_index": e, "tasks": [TASKS[e % 2]], "length": n} for e, n in enumerate(lengths)]
    write_lines(root / "meta" / "episodes.jsonl", episodes)
    if version == "v2.1":
        stats = [{"episode_index": e, "stats": episode_stats(e, n)} for e, n in enumerate(lengths)]
        write_lines(root / "meta" / "episodes_stats.jsonl", stats)
    first = 0
    for e, n in enumerate(lengths):
        write_table(root / f"data/chunk-000/episode_{e:06d}.parquet", rows(e, n, first, e % 2), rows_a_group)
        first += n
        for key in cameras:
            path = root / f"videos/chunk-000/{key}/episode_{e:06d}.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            video(path, n)


def _packed(root, version, lengths, cameras, episodes_a_file, rows_a_group, video) -> None:
    tasks = pa.table({"task_index": list(range(len(TASKS))), "task": TASKS})
    write_table(root / "meta/tasks.parquet", tasks)
    table, first = [], 0
    for file in range(-(-len(lengths) // episodes_a_file)):
        inside = range(file * episodes_a_file, min((file + 1) * episodes_a_file, len(lengths)))
        start_s = 0.0
        parts = []
        for e in inside:
            n = lengths[e]
            parts.append(rows(e, n, first, e % 2))
            row = {"episode_index": e, "tasks": [TASKS[e % 2]], "length": n}
            row |= {"data/chunk_index": 0, "data/file_index": file}
            row |= {"dataset_from_index": first, "dataset_to_index": first + n}
            for key in cameras:
                row |= {f"videos/{key}/chunk_index": 0, f"videos/{key}/file_index": file}
                row |= {f"videos/{key}/from_timestamp": start_s, f"videos/{key}/to_timestamp": start_s + n / FPS}
            for key, found in episode_stats(e, n).items():
                row |= {f"stats/{key}/{name}": values for name, values in found.items()}
            table.append(row)
            first, start_s = first + n, start_s + n / FPS
        write_table(root / DATA_V3.format(file), pa.concat_tables(parts), rows_a_group)
        for key in cameras:
            path = root / f"videos/{key}/chunk-000/file-{file:03d}.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            video(path, sum(lengths[e] for e in inside))
    write_table(root / "meta/episodes/chunk-000/file-000.parquet", pa.Table.from_pylist(table))


def episode_stats(episode: int, length: int) -> dict[str, Any]:
    """The true statistics of an episode."""
    values = state(episode, length).astype(np.float64)
    found = {}
    for key, offset in (("observation.state", 0.0), ("action", 0.5)):
        v = values + offset
        found[key] = {"min": v.min(0).tolist(), "max": v.max(0).tolist(), "mean": v.mean(0).tolist()}
        found[key] |= {"std": v.std(0).tolist(), "count": [length]}
    return found


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def write_lines(path: Path, lines: Sequence[Any]) -> None:
    """Write a JSON lines file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_table(path: Path, table: pa.Table, rows_a_group: int | None = None) -> None:
    """Write a Parquet file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=rows_a_group)


def edit_info(root: Path, **changes: Any) -> None:
    """Change keys of `info.json`; None removes one."""
    path = root / "meta" / "info.json"
    info = json.loads(path.read_text()) | changes
    write_json(path, {k: v for k, v in info.items() if v is not None})


def edit_feature(root: Path, key: str, **changes: Any) -> None:
    """Change, or add, a feature's declaration."""
    declared = json.loads((root / "meta" / "info.json").read_text())["features"]
    declared[key] = declared.get(key, {}) | changes
    edit_info(root, features=declared)


def edit_table(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Rewrite a Parquet file."""
    write_table(path, change(pq.read_table(path)))


def edit_episodes(root: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Change the rows of the episodes table of v3.0, in place."""

    def changed(table: pa.Table) -> pa.Table:
        found = table.to_pylist()
        change(found)
        return pa.Table.from_pylist(found)

    edit_table(root / "meta/episodes/chunk-000/file-000.parquet", changed)


def with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    """The table with a column replaced or added."""
    values = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, values)
    return table.append_column(name, values)


def cut(path: Path, keep: float | int) -> None:
    """Keep only the first bytes of a file: a share, or a number of bytes (negative: all but the last)."""
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep) if isinstance(keep, float) else keep])


def codes(issues: Sequence[Any]) -> list[tuple[str, str, int | None]]:
    """What issues say, for comparison: check, code, episode."""
    return sorted(((i.check, i.code, i.episode) for i in issues), key=repr)


def listing(folder: Path) -> Mapping[str, int]:
    """Sizes of all files below a folder."""
    return {str(p.relative_to(folder)): p.stat().st_size for p in folder.rglob("*") if p.is_file()}
