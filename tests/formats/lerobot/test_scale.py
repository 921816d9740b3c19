"""Many episodes: time to open, time to read, memory. Bounds are for a busy machine; benchmarks give the figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import made_datasets as made
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

_DIMS = 12
_FRAMES = 200

MEASURE = """
import json, sys, time
from gristmill.sources import open_path
import gristmill.sources.lerobot, gristmill.formats.lerobot.corpus
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
root, read = sys.argv[1], int(sys.argv[2])
before, began = peak(), time.process_time()
corpus = open_path(root)
table = corpus.table
opened_s, opened_mb, began = time.process_time() - began, peak() - before, time.process_time()
frames = sum(e.frames for e in corpus.episodes(range(read)))
read_s = time.process_time() - began
print(json.dumps({"episodes": len(table), "frames": frames, "opened_s": opened_s, "read_s": read_s,
                  "opened_mb": opened_mb, "peak_mb": peak() - before}))
"""


def measure(root: Path, read: int) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", MEASURE, str(root), str(read)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def declared(version: str, episodes: int) -> dict:
    info = made.info_of(version, [_FRAMES] * episodes, [made.TOP], 1)
    names = [f"joint_{i}" for i in range(_DIMS)]
    for key in ("observation.state", "action"):
        info["features"][key] = {"dtype": "float32", "shape": [_DIMS], "names": names}
    return info


def packed(root: Path, episodes: int, with_data: int) -> Path:
    """A v3.0 corpus whose episodes table is whole, with the data of its first episodes."""
    made.write_json(root / "meta/info.json", declared("v3.0", episodes))
    made.write_json(root / "meta/stats.json", {})
    made.write_table(root / "meta/tasks.parquet", pa.table({"task_index": [0, 1], "task": made.TASKS}))
    n = np.arange(episodes)
    columns = {"episode_index": n, "tasks": [[made.TASKS[0]]] * episodes, "length": np.full(episodes, _FRAMES)}
    columns |= {"data/chunk_index": n * 0, "data/file_index": n // 2000}
    columns |= {"dataset_from_index": n * _FRAMES, "dataset_to_index": (n + 1) * _FRAMES}
    prefix = f"videos/{made.TOP}"
    columns |= {f"{prefix}/chunk_index": n * 0, f"{prefix}/file_index": n // 500}
    start_s = n % 500 * _FRAMES / made.FPS
    columns |= {f"{prefix}/from_timestamp": start_s, f"{prefix}/to_timestamp": start_s + _FRAMES / made.FPS}
    rng = np.random.default_rng(0)
    for key in ("observation.state", "action"):
        for stat in ("min", "max", "mean", "std", "q01", "q10", "q50", "q90", "q99"):
            columns[f"stats/{key}/{stat}"] = made.fixed(rng.normal(size=(episodes, _DIMS)))
    made.write_table(root / "meta/episodes/chunk-000/file-000.parquet", pa.table(columns), 500)
    frame = np.tile(np.arange(_FRAMES), with_data)
    rows = with_data * _FRAMES
    table = {
        key: made.fixed(rng.normal(size=(rows, _DIMS)).astype(np.float32)) for key in ("observation.state", "action")
    }
    table |= {"timestamp": (frame / made.FPS).astype(np.float32), "frame_index": frame}
    table |= {"episode_index": np.arange(rows) // _FRAMES, "index": np.arange(rows), "task_index": np.zeros(rows, int)}
    (root / "data/chunk-000").mkdir(parents=True)
    pq.write_table(pa.table(table), root / made.DATA_V3.format(0), row_group_size=20 * _FRAMES, use_dictionary=False)
    (root / prefix / "chunk-000").mkdir(parents=True)
    for file in range(-(-episodes // 500)):
        (root / prefix / f"chunk-000/file-{file:03d}.mp4").write_bytes(b"x")
    return root


def single(root: Path, episodes: int) -> Path:
    """A v2.1 corpus; all data files are one file under many names."""
    made.write_json(root / "meta/info.json", declared("v2.1", episodes))
    made.write_lines(root / "meta/tasks.jsonl", [{"task_index": 0, "task": made.TASKS[0]}])
    lines = [{"episode_index": e, "tasks": [made.TASKS[0]], "length": _FRAMES} for e in range(episodes)]
    made.write_lines(root / "meta/episodes.jsonl", lines)
    stats = {"mean": [0.5] * _DIMS, "std": [1.0] * _DIMS, "min": [0.0] * _DIMS, "max": [1.0] * _DIMS, "count": [200]}
    lines = [{"episode_index": e, "stats": {"observation.state": stats, "action": stats}} for e in range(episodes)]
    made.write_lines(root / "meta/episodes_stats.jsonl", lines)
    kept = root / "kept"
    kept.write_bytes(b"x")
    for e in range(episodes):
        table = root / f"data/chunk-{e // 1000:03d}/episode_{e:06d}.parquet"
        video = root / f"videos/chunk-{e // 1000:03d}/{made.TOP}/episode_{e:06d}.mp4"
        for path in (table, video):
            if e % 1000 == 0:
                path.parent.mkdir(parents=True)
            path.hardlink_to(kept)
    return root


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("large"), 20_000, 1000)


def test_twenty_thousand_packed_episodes_open_fast_and_read_cheaply(large: Path, tmp_path: Path) -> None:
    found = measure(large, 1000)
    assert found["frames"] == 200_000
    assert found["opened_s"] < 1.5
    assert found["read_s"] / 1000 < 250e-6
    small = measure(packed(tmp_path / "small", 2000, 1000), 1000)
    assert found["opened_mb"] - small["opened_mb"] < 20
    assert found["peak_mb"] - small["peak_mb"] < 20


def test_ten_thousand_single_files_open_fast(tmp_path: Path) -> None:
    found = measure(single(tmp_path / "c", 10_000), 0)
    assert found["episodes"] == 10_000
    assert found["opened_s"] < 3
