"""Generated corpora, and a plain reader of LeRobot folders that shares no code with the package."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow.parquet as pq
import pytest

from gristmill.synth import generate, inject

EPISODES = 30  # more than there are faults


@dataclass
class Told:
    """What one episode's metadata says, and the rows that carry its number."""

    index: int
    length: int
    tasks: list[str]
    rows: dict[str, np.ndarray]  # column -> (t, d)
    stats: dict[str, dict[str, Any]]
    videos: dict[str, tuple[Path, float]]  # camera -> file, first second
    bounds: tuple[int, int] | None


@dataclass
class Folder:
    """A LeRobot corpus, read in the most direct way."""

    root: Path
    lookup: dict[Path, tuple[list[float], list[str]]] = field(default_factory=dict)

    @cached_property
    def info(self) -> dict[str, Any]:
        return json.loads((self.root / "meta/info.json").read_text())

    @property
    def packed(self) -> bool:
        return self.info["codebase_version"] == "v3.0"

    @cached_property
    def cameras(self) -> list[str]:
        return [k for k, f in self.info["features"].items() if f["dtype"] == "video"]

    @cached_property
    def tasks(self) -> dict[int, str]:
        if self.packed:
            table = pq.read_table(self.root / "meta/tasks.parquet")
            text = next(n for n in table.column_names if n != "task_index")
            return dict(zip(table["task_index"].to_pylist(), table[text].to_pylist(), strict=True))
        rows = map(json.loads, (self.root / "meta/tasks.jsonl").read_text().splitlines())
        return {r["task_index"]: r["task"] for r in rows}

    @cached_property
    def stats(self) -> dict[str, dict[str, Any]]:
        path = self.root / "meta/stats.json"
        return json.loads(path.read_text()) if path.exists() else {}

    @cached_property
    def episodes(self) -> dict[int, Told]:
        return {e.index: e for e in (self._packed() if self.packed else self._single())}

    def _packed(self):
        files = sorted(self.root.glob("data/*/*.parquet"))
        whole = [_columns(pq.read_table(f)) for f in files]
        rows = {k: np.concatenate([w[k] for w in whole]) for k in whole[0]}
        numbers = rows["episode_index"][:, 0]
        for file in sorted(self.root.glob("meta/episodes/*/*.parquet")):
            for row in pq.read_table(file).to_pylist():
                mine = numbers == row["episode_index"]
                stats: dict[str, dict[str, Any]] = {}
                for name, value in row.items():
                    if name.startswith("stats/"):
                        key, _, stat = name[6:].rpartition("/")
                        stats.setdefault(key, {})[stat] = value
                videos = {}
                for camera in self.cameras:
                    at = {n: row[f"videos/{camera}/{n}"] for n in ("chunk_index", "file_index", "from_timestamp")}
                    path = self.info["video_path"].format(
                        video_key=camera, chunk_index=at["chunk_index"], file_index=at["file_index"]
                    )
                    videos[camera] = (self.root / path, at["from_timestamp"])
                yield Told(
                    row["episode_index"],
                    row["length"],
                    row["tasks"],
                    {k: v[mine] for k, v in rows.items()},
                    stats,
                    videos,
                    (row["dataset_from_index"], row["dataset_to_index"]),
                )

    def _single(self):
        path = self.root / "meta/episodes_stats.jsonl"
        lines = map(json.loads, path.read_text().splitlines()) if path.exists() else ()
        stats = {r["episode_index"]: r["stats"] for r in lines}
        for line in (self.root / "meta/episodes.jsonl").read_text().splitlines():
            row = json.loads(line)
            name = f"episode_{row['episode_index']:06d}"
            table = pq.read_table(next(self.root.glob(f"data/*/{name}.parquet")))
            videos = {}
            for camera in self.cameras:
                found = list(self.root.glob(f"videos/*/{camera}/{name}.mp4"))
                if found:
                    videos[camera] = (found[0], 0.0)
            yield Told(
                row["episode_index"],
                row["length"],
                row["tasks"],
                _columns(table),
                stats.get(row["episode_index"], {}),
                videos,
                None,
            )

    def frames(self, index: int, camera: str) -> np.ndarray:
        """All frames (k, h, w, 3) that the file holds for the episode."""
        told = self.episodes[index]
        path, start_s = told.videos[camera]
        rate = self.info["fps"]
        found = []
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            container.seek(int(start_s / stream.time_base), stream=stream)
            for frame in container.decode(stream):
                at = round((frame.time - start_s) * rate)
                if at >= len(told.rows["index"]):
                    break
                if at >= 0:
                    found.append(frame.to_ndarray(format="rgb24"))
        return np.array(found)

    def packets(self, index: int, camera: str) -> list[str]:
        """Hashes of the packets that are shown during the episode."""
        told = self.episodes[index]
        path, start_s = told.videos[camera]
        if path not in self.lookup:
            with av.open(str(path)) as container:
                packets = [p for p in container.demux(video=0) if p.size]
                pairs = sorted((float(p.pts * p.time_base), hashlib.sha1(bytes(p)).hexdigest()) for p in packets)
            self.lookup[path] = [t for t, _ in pairs], [h for _, h in pairs]
        times, hashes = self.lookup[path]
        length = len(told.rows["index"]) / self.info["fps"]
        half = 0.5 / self.info["fps"]
        return [h for t, h in zip(times, hashes, strict=True) if start_s - half <= t < start_s + length - half]

    def hashes(self) -> dict[str, str]:
        """Every file's content."""
        files = (p for p in sorted(self.root.rglob("*")) if p.is_file())
        return {str(p.relative_to(self.root)): hashlib.sha1(p.read_bytes()).hexdigest() for p in files}


def _columns(table) -> dict[str, np.ndarray]:
    return {
        name: np.array([np.ravel(v) for v in table[name].to_pylist()])
        for name in table.column_names
        if "string" not in str(table.schema.field(name).type)
    }


@dataclass
class Injected:
    """A corpus with faults, its clean twin, and the truth."""

    before: Folder
    after: Folder
    truth: dict[str, Any]

    def planted(self, fault: str) -> list[dict[str, Any]]:
        found = [p for p in self.truth["planted"] if p["fault"] == fault]
        assert found, f"no {fault} among {self.truth['planted']}"
        return found


@pytest.fixture(scope="session")
def sample_v30(tmp_path_factory) -> Path:
    return generate(tmp_path_factory.mktemp("sample") / "arm", episodes=EPISODES, seed=5, jobs=2)


@pytest.fixture(scope="session")
def sample_v21(tmp_path_factory) -> Path:
    return generate(tmp_path_factory.mktemp("sample") / "arm21", episodes=EPISODES, seed=6, version="v2.1", jobs=2)


@pytest.fixture(scope="session", params=["v3.0", "v2.1"])
def all_faults(request, tmp_path_factory) -> Injected:
    """Every fault at its default severity, in both layouts."""
    source = request.getfixturevalue("sample_v30" if request.param == "v3.0" else "sample_v21")
    folder = tmp_path_factory.mktemp("faults")
    told = inject(source, folder / "out", share=1.0, seed=1, truth=folder / "truth.json")
    return Injected(Folder(source), Folder(folder / "out"), told)


@pytest.fixture
def plant(tmp_path) -> Callable[..., Injected]:
    """Inject into a corpus; keyword arguments are those of `inject`."""

    def planted(source: Path, *faults: str, **more: Any) -> Injected:
        out = tmp_path / "out"
        shutil.rmtree(out, ignore_errors=True)
        more = {"share": 1.0, "truth": tmp_path / "truth.json"} | more
        told = inject(source, out, faults=faults, **more)
        return Injected(Folder(source), Folder(out), told)

    return planted
