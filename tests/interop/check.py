"""Loads exports with LeRobot's own reader and compares every value, task, padding flag and pixel with the recordings.

Runs in .venv-interop, without gristmill. Usage: check.py EXPORT RAW [EXPORT RAW ...]
The last line is one JSON object with what was compared.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from lerobot.datasets.lerobot_dataset import LeRobotDataset
from raw import Raw

DEFAULT = ("timestamp", "frame_index", "episode_index", "index", "task_index")
# Frames that were encoded anew differ a little from what was recorded: mean absolute difference in grey levels.
ENCODED_WITHIN = 6.0


def main(pairs: list[tuple[Path, Path]]) -> None:
    """Check all exports; an assertion stops at the first difference."""
    totals = {"datasets": 0, "episodes": 0, "rows": 0, "values": 0, "frames_identical": 0, "frames_encoded": 0}
    began = time.monotonic()
    for export, raw in pairs:
        found = check(export, Raw(raw))
        totals["datasets"] += 1
        for key, count in found.items():
            totals[key] += count
        print(f"{export.name}: {found}")
    print(json.dumps({"interop": "ok", **totals, "seconds": round(time.monotonic() - began, 1)}))


def check(root: Path, raw: Raw) -> dict[str, int]:
    """One export against its recordings."""
    dataset = LeRobotDataset("any/name", root=root)
    info, episodes = dataset.meta.info, dataset.meta.episodes
    assert dataset.num_episodes == len(episodes) == info["total_episodes"]
    assert len(dataset) == info["total_frames"] == sum(episodes["length"])
    assert info["robot_type"] == raw.info["robot_type"]
    kept = [k for k, f in raw.info["features"].items() if f["dtype"] != "video" and k not in DEFAULT]
    assert set(kept) <= set(info["features"]), "every table column is kept"
    counts = {"episodes": 0, "rows": 0, "values": 0, "frames_identical": 0, "frames_encoded": 0}
    for episode in range(dataset.num_episodes):
        row = episodes[episode]
        source = raw.table(row["gristmill/episode_index"])
        source = source.iloc[row["gristmill/start_frame"] : row["gristmill/stop_frame"]].reset_index(drop=True)
        first, stop = row["dataset_from_index"], row["dataset_to_index"]
        assert stop - first == len(source) == row["length"]
        columns = dataset.hf_dataset[first:stop]
        counts["values"] += check_values(dataset, columns, source, kept, episode, first)
        assert columns_of_tasks(dataset, columns) == [raw.tasks[i] for i in source["task_index"]]
        encoded = [c for c in row["gristmill/encoded_cameras"].split(",") if c]
        for camera in dataset.meta.video_keys:
            frames = raw.frames(row["gristmill/episode_index"], camera)
            frames = frames[row["gristmill/start_frame"] : row["gristmill/stop_frame"]]
            check_frames(dataset, camera, first, frames, identical=camera not in encoded)
            counts["frames_encoded" if camera in encoded else "frames_identical"] += len(frames)
        counts["episodes"] += 1
        counts["rows"] += len(source)
    check_stats(dataset, kept)
    check_padding(root, dataset)
    return counts


def check_values(dataset, columns, source, kept, episode: int, first: int) -> int:
    """Numbers as LeRobot hands them out, against the recorded ones; returns how many were compared."""
    compared = 0
    n = len(source)
    for key in kept:
        want = np.stack(source[key].to_numpy()) if source[key].dtype == object else source[key].to_numpy()
        got = torch.stack(list(columns[key]))
        want = torch.tensor(want, dtype=got.dtype)
        assert torch.equal(got.reshape(n, -1), want.reshape(n, -1)), (key, episode)
        compared += want.numel()
    assert torch.stack(list(columns["index"])).tolist() == list(range(first, first + n))
    assert torch.stack(list(columns["frame_index"])).tolist() == list(range(n))
    assert set(torch.stack(list(columns["episode_index"])).tolist()) == {episode}
    times_s = torch.stack(list(columns["timestamp"]))
    assert torch.allclose(times_s, torch.arange(n, dtype=torch.float32) / dataset.fps, atol=1e-6)
    return compared


def columns_of_tasks(dataset, columns) -> list[str]:
    """Task texts as `__getitem__` looks them up: by row."""
    return [dataset.meta.tasks.iloc[int(i)].name for i in columns["task_index"]]


def check_frames(dataset, camera: str, first: int, frames: np.ndarray, *, identical: bool) -> None:
    """Every frame through `__getitem__`."""
    for i, want in enumerate(frames):
        got = dataset[first + i][camera]
        assert got.dtype == torch.float32
        assert got.shape == (3, *want.shape[:2])
        expected = torch.from_numpy(want).permute(2, 0, 1).to(torch.float32) / 255
        if identical:
            assert torch.equal(got, expected), (camera, first + i)
        else:
            assert (got - expected).abs().mean() * 255 < ENCODED_WITHIN, (camera, first + i)


def check_stats(dataset, kept: list[str]) -> None:
    """The dataset's statistics, against numpy over all rows."""
    table = dataset.hf_dataset.with_format("numpy")
    for key in kept:
        values = np.asarray(table[:][key], dtype=np.float64)
        values = values.reshape(len(values), -1)
        stats = dataset.meta.stats[key]
        for name, want in (("mean", values.mean(0)), ("std", values.std(0)), ("q90", np.quantile(values, 0.9, axis=0))):
            assert np.allclose(np.ravel(stats[name]), want, rtol=1e-6, atol=1e-9), (key, name)
        assert stats["count"].tolist() == [len(values)]
    for camera in dataset.meta.video_keys:
        assert dataset.meta.stats[camera]["mean"].shape == (3, 1, 1)


def check_padding(root: Path, plain) -> None:
    """Windows over time, at both ends of every tenth episode and within."""
    step = 1 / plain.fps
    deltas = {"action": [-2 * step, 0.0, step, 8 * step]}
    deltas |= {camera: [-step, 0.0] for camera in plain.meta.video_keys}
    dataset = LeRobotDataset("any/name", root=root, delta_timestamps=deltas)
    for row in list(plain.meta.episodes)[::10]:
        first, stop = row["dataset_from_index"], row["dataset_to_index"]
        for at in (first, first + 1, (first + stop) // 2, stop - 2, stop - 1):
            item = dataset[at]
            wanted = [at + d for d in (-2, 0, 1, 8)]
            assert item["action_is_pad"].tolist() == [not first <= i < stop for i in wanted]
            clamped = [min(max(i, first), stop - 1) for i in wanted]
            assert torch.equal(item["action"], torch.stack([plain[i]["action"] for i in clamped]))
            for camera in plain.meta.video_keys:
                assert item[f"{camera}_is_pad"].tolist() == [at == first, False]
                before = plain[max(at - 1, first)][camera]
                assert torch.equal(item[camera], torch.stack([before, plain[at][camera]]))


if __name__ == "__main__":
    paths = [Path(p) for p in sys.argv[1:]]
    main(list(zip(paths[::2], paths[1::2], strict=True)))
