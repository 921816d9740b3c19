"""Deletes episodes with LeRobot's own tool, in its own environment, and prints the seconds it took.

Usage: lerobot_delete.py DATASET OUT EPISODE [EPISODE ...]
"""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path

from lerobot.datasets.dataset_tools import delete_episodes
from lerobot.datasets.lerobot_dataset import LeRobotDataset


def main(root: Path, out: Path, episodes: list[int]) -> None:
    logging.disable(logging.INFO)
    wall, cpu = time.perf_counter(), time.process_time()
    dataset = LeRobotDataset("bench/source", root=root)
    opened = time.perf_counter() - wall
    kept = delete_episodes(dataset, episodes, output_dir=out, repo_id="bench/kept")
    result = {
        "seconds": time.perf_counter() - wall,
        "opening_s": opened,
        "cpu_s": time.process_time() - cpu,
        "episodes": kept.meta.total_episodes,
        "frames": kept.meta.total_frames,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), [int(e) for e in sys.argv[3:]])
