"""Corpora in memory with small real videos, and the way from findings to a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.audit import Audit, Verdict
from gristmill.digest import values_digest
from gristmill.episode import CameraInfo, Digests, Episode
from gristmill.finding import Finding
from gristmill.select.align import Align
from gristmill.select.dropped_frames import DroppedFrames
from gristmill.select.freeze import freeze
from gristmill.select.gate import Gate
from gristmill.select.plan import Plan, plan
from gristmill.select.trim import Trim
from gristmill.snapshot import Snapshot
from gristmill.testing import reaching
from gristmill.testing.corpora import ArrayCorpus
from gristmill.video.camera import VideoCamera
from gristmill.video.encode import encode

RATE_HZ = 10.0
TOP = "observation.images.top"


def pictures(n: int, seed: int) -> np.ndarray:
    """A gradient that drifts, (n, 32, 48, 3)."""
    y, x = np.mgrid[:32, :48]
    base = np.stack([4 * x, 6 * y, np.full_like(x, 40 + 20 * seed)], axis=-1)
    return np.stack([np.clip(base + 2 * i, 0, 255) for i in range(n)]).astype(np.uint8)


def decode(path: Path) -> np.ndarray:
    """All frames of a file, by PyAV alone."""
    with av.open(str(path)) as container:
        return np.stack([f.to_ndarray(format="rgb24") for f in container.decode(video=0)])


@dataclass
class Bench:
    """Corpora by root, and what it takes to freeze and export them."""

    folder: Path
    corpora: dict[str, ArrayCorpus] = field(default_factory=dict)
    lengths: Sequence[int] = (60, 50, 40, 70)

    def corpus(
        self,
        key: str = "made",
        *,
        video: bool = True,
        gop: int = 2,
        codec: str = "libsvtav1",
        first: int = 0,
        **more: Any,
    ) -> ArrayCorpus:
        """A corpus of clean episodes at 10 Hz, numbered from `first`, its videos one file an episode."""
        root = self.folder / key
        root.mkdir(parents=True)
        episodes = []
        for i, n in enumerate(self.lengths):
            cameras = {}
            if video:
                path = root / f"{i}.mp4"
                preset = 12 if codec == "libsvtav1" else None
                encode(path, [pictures(n, i)], RATE_HZ, gop=gop, codec=codec, preset=preset)
                cameras[TOP] = self.camera(path, n)
            made = {"cameras": cameras, "rate_hz": RATE_HZ, "corpus": key, "frames": n, "dims": 3}
            episodes.append(reaching(first + i, **(made | {k: v for k, v in more.items() if k != "facts"})))
        return self.add(episodes, key=key, **more.get("facts", {}))

    def add(self, episodes: Sequence[Episode], *, key: str = "made", **facts: Any) -> ArrayCorpus:
        """Put a corpus of these episodes in its place; an older one is replaced."""
        root = str(self.folder / key)
        corpus = ArrayCorpus(episodes, **({"key": key, "root": root, "robot_type": "so101"} | facts))
        self.corpora[root] = corpus
        return corpus

    @staticmethod
    def camera(path: Path, frames: int) -> VideoCamera:
        info = CameraInfo(key=TOP, height=32, width=48, rate_hz=RATE_HZ)
        return VideoCamera(info=info, path=path, start_s=0.0, frames=frames, rate_hz=RATE_HZ, where=path.name)

    def open(self, root: str) -> ArrayCorpus:
        return self.corpora[root]

    def plan(
        self,
        findings: Sequence[Finding] = (),
        *,
        gate: Gate | None = None,
        trim: Trim | None = None,
        audited: Callable[[Digests], Digests] = lambda d: d,
    ) -> list[Plan]:
        """Plan all corpora; findings concern the first one."""
        audits, digests = [], []
        for i, corpus in enumerate(self.corpora.values()):
            episodes = list(corpus.episodes(range(len(corpus.table))))
            audits.append(_audit(corpus, episodes, findings if i == 0 else ()))
            digests.append([audited(Digests(values_digest(e.channels, e.rate_hz), "", "", {})) for e in episodes])
        return plan(audits, digests, gate=gate or Gate(), trim=trim or Trim())

    def carry_out(
        self, plans: Sequence[Plan], *, dropped_frames: DroppedFrames | None = None, align: Align | None = None
    ) -> Snapshot:
        return freeze(
            plans,
            self.open,
            recipe={"trim": {}},
            lineage={"gristmill": "test"},
            dropped_frames=dropped_frames or DroppedFrames(),
            align=align or Align(),
        )

    def freeze(
        self,
        findings: Sequence[Finding] = (),
        *,
        dropped_frames: DroppedFrames | None = None,
        align: Align | None = None,
        **planning: Any,
    ) -> Snapshot:
        return self.carry_out(self.plan(findings, **planning), dropped_frames=dropped_frames, align=align)


def _audit(corpus: ArrayCorpus, episodes: Sequence[Episode], findings: Sequence[Finding]) -> Audit:
    n = len(episodes)
    return Audit(
        facts=corpus.facts,
        embodiment=corpus.embodiment,
        rows=np.arange(n),
        index=corpus.table.index,
        ids=[e.id for e in episodes],
        length=corpus.table.length,
        tasks=[e.tasks for e in episodes],
        verdict=[Verdict.KEEP] * n,
        usable_for=[("low_dim",)] * n,
        reasons={},
        findings=list(findings),
        corpus_findings=[],
        not_checked=[],
    )


@dataclass
class Read:
    """An exported dataset, read with pyarrow alone."""

    root: Path

    @property
    def rows(self) -> pa.Table:
        return pa.concat_tables([pq.read_table(p) for p in sorted(self.root.glob("data/*/*.parquet"))])

    @property
    def episodes(self) -> list[dict]:
        return pa.concat_tables(
            [pq.read_table(p) for p in sorted(self.root.glob("meta/episodes/*/*.parquet"))]
        ).to_pylist()

    def values(self, key: str, episode: int) -> np.ndarray:
        table = self.rows
        own = table.filter(pa.compute.equal(table["episode_index"], episode))
        return np.array(own[key].to_pylist())

    def video(self, key: str, episode: int, rate_hz: float = RATE_HZ) -> tuple[Path, int]:
        """The file that holds an episode's frames, and the first one's number in it."""
        row = self.episodes[episode]
        chunk, file = row[f"videos/{key}/chunk_index"], row[f"videos/{key}/file_index"]
        path = self.root / f"videos/{key}/chunk-{chunk:03d}/file-{file:03d}.mp4"
        return path, round(row[f"videos/{key}/from_timestamp"] * rate_hz)

    def frames(self, key: str, episode: int) -> np.ndarray:
        path, start = self.video(key, episode)
        return decode(path)[start : start + self.episodes[episode]["length"]]


@pytest.fixture
def bench(tmp_path) -> Bench:
    return Bench(tmp_path / "raw")


@pytest.fixture
def read() -> type[Read]:
    return Read


@pytest.fixture
def decoded() -> Callable[[Path], np.ndarray]:
    return decode
