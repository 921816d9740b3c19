"""A corpus described by a JSON file, and checks that count: workers import this module by name."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.digest import text_digest
from gristmill.embodiment import Embodiment
from gristmill.episode import CameraInfo, CorpusFacts, Dim, Episode, EpisodeTable
from gristmill.errors import RecordingError, VideoError
from gristmill.finding import Event, Issue, Kind
from gristmill.manifest import Manifest, finding
from gristmill.testing import ArrayCamera, make_episode

TOP = "observation.images.top"
STATE = tuple(Dim("observation.state", i, f"joint_{i}", "state") for i in range(3))
ACTION = tuple(Dim("action", i, f"joint_{i}", "action") for i in range(3))


def episodes_spec(count: int, **same: Any) -> list[dict[str, Any]]:
    return [{"index": i, "seed": i, "frames": 20, "stamp": f"data.parquet|{i}", **same} for i in range(count)]


def write_spec(path: Path, episodes: list[dict[str, Any]], **more: Any) -> Path:
    path.write_text(json.dumps({"key": "made", "cameras": False, "episodes": episodes, **more}))
    return path


@dataclass(frozen=True)
class OpenMade:
    """Reopens the corpus in a worker."""

    path: Path

    def __call__(self) -> MadeCorpus:
        return MadeCorpus(self.path)


class MadeCorpus:
    """Episodes from seeds. An episode may be `broken` (data), `blind` (video), `slow` (s), `fatal` (kills its
    reader while the file `fatal` names exists) or carry an `issue` that shows only when it is read."""

    def __init__(self, path: Path, card: Embodiment | None = None) -> None:
        spec = json.loads(path.read_text())
        self._episodes = spec["episodes"]
        self.opened: list[int] = []
        self.issues: tuple[Issue, ...] = ()
        self.embodiment = card or Embodiment(key="made", title="made", inferred=True)
        self.facts = CorpusFacts(
            key=spec["key"],
            root=str(path),
            format="made",
            robot_type="made",
            rate_hz=30.0,
            features={},
            cameras={TOP: CameraInfo(key=TOP, height=8, width=8, rate_hz=30.0)} if spec["cameras"] else {},
            dims=STATE + ACTION,
        )
        stamps = [e["stamp"] for e in self._episodes]
        self.table = EpisodeTable(
            index=np.array([e["index"] for e in self._episodes], np.int64),
            length=np.array([e["frames"] for e in self._episodes], np.int64),
            tasks=[(e.get("task", "pick"),) for e in self._episodes],
            values_stamp=stamps,
            camera_stamps={TOP: [s.replace("data", "video") for s in stamps]} if spec["cameras"] else {},
            meta_digest=[text_digest([str(e["frames"]), e.get("meta", "")]) for e in self._episodes],
        )

    def episodes(self, rows: Sequence[int]) -> Iterator[Episode]:
        for row in rows:
            spec = self._episodes[row]
            self.opened.append(row)
            time.sleep(spec.get("slow", 0))
            fatal = spec.get("fatal")
            if fatal and Path(fatal).exists():
                os.kill(os.getpid(), 9)
            yield self._episode(spec)

    def _episode(self, spec: dict[str, Any]) -> Episode:
        rng = np.random.default_rng(spec["seed"])
        state, action = rng.random((2, spec["frames"], 3)).astype(np.float32)
        camera = ArrayCamera(rng.integers(0, 255, (spec["frames"], 8, 8), np.uint8), key=TOP)
        if spec.get("blind"):
            camera.packets = _no_video  # type: ignore[method-assign]
        issue = Issue(check="schema", code="late", kind=Kind.DEFECT, message="m", fix="f", episode=spec["index"])
        episode = make_episode(
            state=state,
            action=action,
            index=spec["index"],
            corpus=self.facts.key,
            tasks=(spec.get("task", "pick"),),
            cameras={TOP: camera} if self.facts.cameras else {},
            embodiment=self.embodiment,
            issues=(issue,) if spec.get("issue") else (),
        )
        if spec.get("broken"):
            episode.load_channels = _no_data
        return episode


def _no_data() -> Any:
    raise RecordingError("the file is cut off")


def _no_video() -> Any:
    raise VideoError("the video is cut off")


class _Judged:
    fix: ClassVar[str] = "look"
    source: ClassVar[str] = "a test"
    version: ClassVar[int] = 1

    def judge(self, manifest: Manifest) -> Iterator[Any]:
        for row, start, strength in zip(
            manifest.events.row, manifest.events.start_s, manifest.events.strength, strict=True
        ):
            yield finding(
                self, Kind.RISK, int(row), f"at {start:.6f}", measured=strength, name=type(self).__name__.lower()
            )


@dataclass(frozen=True, kw_only=True)
class Means(_Judged):
    """Mean of each dimension, and an event where the first is largest."""

    reads: ClassVar[Reads] = Reads(channels=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("mean", per="dim", metric=True),
        Column("frames", "int"),
        Column("long", "bool"),
        Column("word", "text"),
    )
    scale: float = measuring(1.0)
    threshold: float = 0.5

    def measure(self, episode: Episode) -> Measured:
        values = np.hstack([c.values for c in episode.channels.values()])
        at = int(values[:, 0].argmax())
        return Measured(
            {
                "mean": values.mean(axis=0) * self.scale,
                "frames": len(values),
                "long": len(values) > 20,
                "word": f"seed {float(values[0, 0]):.4f}",
            },
            [Event(at / 30, (at + 1) / 30, float(values[at, 0]), "observation.state[joint_0]")],
        )


@dataclass(frozen=True, kw_only=True)
class Words(_Judged):
    """Length of the task's text."""

    reads: ClassVar[Reads] = Reads(task=True)
    columns: ClassVar[tuple[Column, ...]] = (Column("letters", "int"),)

    def measure(self, episode: Episode) -> Measured:
        return Measured({"letters": sum(map(len, episode.tasks))})


@dataclass(frozen=True, kw_only=True)
class Late(_Judged):
    """Issues that the reader met."""

    reads: ClassVar[Reads] = Reads(meta=True)
    columns: ClassVar[tuple[Column, ...]] = (Column("issues", "int"),)

    def measure(self, episode: Episode) -> Measured:
        return Measured({"issues": len(episode.issues)})


@dataclass(frozen=True, kw_only=True)
class Light(_Judged):
    """Mean grey level of each camera."""

    reads: ClassVar[Reads] = Reads(traces=True)
    columns: ClassVar[tuple[Column, ...]] = (Column("level", per="camera"),)
    gain: float = measuring(1.0)

    def measure(self, episode: Episode) -> Measured:
        levels = []
        for key in episode.cameras:
            traces = episode.traces(key)
            levels.append(None if traces is None else self.gain * float(traces.mean.mean()))
        return Measured({"level": levels}, unknown="dark" if levels and levels[0] is None else None)


@dataclass(frozen=True, kw_only=True)
class Faulty(_Judged):
    """Fails on some episodes."""

    reads: ClassVar[Reads] = Reads(channels=True)
    columns: ClassVar[tuple[Column, ...]] = (Column("x"),)
    bad: tuple[int, ...] = field(default=())  # a threshold, so that a repaired check keeps its key
    wrong_type: tuple[int, ...] = field(default=())

    def measure(self, episode: Episode) -> Measured:
        if episode.index in self.bad:
            raise ZeroDivisionError("by zero")
        return Measured({"x": "much" if episode.index in self.wrong_type else 1.5})
