"""Reads raw LeRobot corpora with pandas and PyAV alone, so that exports are held against what was recorded."""

from __future__ import annotations

import json
from pathlib import Path

import av
import numpy as np
import pandas as pd


class Raw:
    """One corpus of version 2.0, 2.1 or 3.0."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.info = json.loads((root / "meta" / "info.json").read_text())
        self.packed = self.info["codebase_version"] == "v3.0"
        if self.packed:
            files = sorted((root / "meta" / "episodes").glob("*/*.parquet"))
            self.episodes = pd.concat([pd.read_parquet(f) for f in files], ignore_index=True)
            tasks = pd.read_parquet(root / "meta" / "tasks.parquet")
            self.tasks = dict(zip(tasks["task_index"], tasks.index, strict=True))
        else:
            lines = [json.loads(x) for x in (root / "meta" / "tasks.jsonl").read_text().splitlines()]
            self.tasks = {x["task_index"]: x["task"] for x in lines}

    def table(self, episode: int) -> pd.DataFrame:
        """The episode's rows."""
        values = {"episode_index": episode, "episode_chunk": episode // self.info["chunks_size"]}
        if self.packed:
            row = self.episodes.iloc[episode]
            values |= {"chunk_index": row["data/chunk_index"], "file_index": row["data/file_index"]}
        table = pd.read_parquet(self._file("data_path", values))
        return table[table["episode_index"] == episode].reset_index(drop=True)

    def frames(self, episode: int, camera: str) -> np.ndarray:
        """The episode's frames, (t, h, w, 3)."""
        values = {"episode_index": episode, "episode_chunk": episode // self.info["chunks_size"], "video_key": camera}
        start, count = 0, len(self.table(episode))
        if self.packed:
            row = self.episodes.iloc[episode]
            values |= {k: row[f"videos/{camera}/{k}"] for k in ("chunk_index", "file_index")}
            start = round(row[f"videos/{camera}/from_timestamp"] * self.info["fps"])
        path = self._file("video_path", values)
        with av.open(str(path)) as container:
            found = []
            for i, frame in enumerate(container.decode(video=0)):
                if i >= start + count:
                    break
                if i >= start:
                    found.append(frame.to_ndarray(format="rgb24"))
        return np.stack(found)

    def _file(self, template: str, values: dict) -> Path:
        """The file that a template names, or one of that name in another chunk: some templates are wrong."""
        path = self.root / self.info[template].format(**values)
        if path.exists():
            return path
        (found,) = self.root.glob(f"{template.partition('_')[0]}*/**/{path.name}")
        return found
