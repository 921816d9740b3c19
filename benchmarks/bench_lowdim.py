"""Frames a CPU-second through all low-dimensional checks: from arrays in memory to finding objects.

    python benchmarks/bench_lowdim.py [--episodes N] [--profile]

Every check that opens no video file measures every episode, columns are built, and every check judges. The
last line is one JSON object. Figures are for 200-frame episodes with 12 dimensions (6 of the state and 6 of
the action) and with 24; content digests are counted separately, because the reader takes them.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from gristmill import plugins
from gristmill.check import Column, Measured
from gristmill.digest import values_digest
from gristmill.embodiment import Embodiment
from gristmill.episode import CorpusFacts, Episode
from gristmill.finding import Event, Finding
from gristmill.manifest import Events, Manifest
from gristmill.testing import facts_of, make_episode, reaching

FRAMES = 200
BATCH = 256  # episodes measured before their columns are built
BLOCK = 16  # episodes measured check by check, as a worker does (`gristmill.engine.measure`)
REPEATS = 5  # the best one counts: other processes on the machine only ever add
NAMES = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")


def episodes_of(count: int, dims: int) -> list[Episode]:
    """Reaching motions with a gripper that closes and opens; every hundredth episode is broken."""
    made: list[Episode] = []
    card: Embodiment | None = None  # a corpus has one
    for i in range(count):
        e = reaching(i, frames=FRAMES, dims=dims)
        state, action = e.channels["observation.state"].values.copy(), e.channels["action"].values.copy()
        turn = np.clip((np.arange(FRAMES) - 80) / 10, 0, 1) - np.clip((np.arange(FRAMES) - 150) / 10, 0, 1)
        state[:, 5::6], action[:, 5::6] = np.round(0.9 * turn, 3)[:, None], turn[:, None]
        if i % 100 == 50:
            state[60, 2] += 0.5
        names = NAMES + tuple(f"second_{n}" for n in NAMES[: dims - 6])
        made.append(
            make_episode(
                state=state,
                action=action,
                names=names,
                index=i,
                embodiment=card,
                times_s=(np.arange(FRAMES) / 30).astype(np.float32).astype(np.float64),
                extra={"next.reward": ("reward", np.zeros((FRAMES, 1), np.float32))},
            )
        )
        card = made[0].embodiment
    return made


def measure(checks: Sequence[Any], episodes: Sequence[Episode], facts: CorpusFacts) -> list[Columns]:
    """What each check measures of each episode, as columns; a batch at a time, as a worker would do it."""
    table = [Columns(check, facts) for check in checks]
    for start in range(0, len(episodes), BATCH):
        rows: list[list[Measured]] = [[] for _ in checks]
        steps = [(check.measure, cells.append) for check, cells in zip(checks, rows, strict=True)]
        for first in range(start, min(start + BATCH, len(episodes)), BLOCK):
            block = episodes[first : first + BLOCK]
            for run_check, keep in steps:
                for episode in block:
                    keep(run_check(episode))
            for episode in block:
                episode.derived.clear()
        for columns, cells in zip(table, rows, strict=True):
            columns.add(start, cells)
    return table


class Columns:
    """The measurements of one check, column by column."""

    def __init__(self, check: Any, facts: CorpusFacts) -> None:
        self.check, self.facts = check, facts
        self.parts: dict[str, list[np.ndarray]] = {column.name: [] for column in check.columns}
        self.events: list[Event] = []
        self.rows: list[int] = []
        self.unknown: list[str | None] = []

    def add(self, start: int, measured: Sequence[Measured]) -> None:
        """Take in the episodes from number `start` on."""
        for column in self.check.columns:
            self.parts[column.name].append(cells_of(column, measured, self.facts))
        for row, m in enumerate(measured, start):
            if m.events:
                self.events += m.events
                self.rows += [row] * len(m.events)
            self.unknown.append(m.unknown)


def manifest_of(columns: Columns, episodes: Sequence[Episode], digests: Sequence[str]) -> Manifest:
    """What a check judges."""
    events = columns.events
    return Manifest(
        facts=columns.facts,
        embodiment=episodes[0].embodiment,
        issues=(),
        index=np.arange(len(episodes)),
        ids=[e.id for e in episodes],
        length=np.array([e.length for e in episodes]),
        tasks=[e.tasks for e in episodes],
        cells={name: np.concatenate(parts) for name, parts in columns.parts.items()},
        measured=np.ones(len(episodes), bool),
        unknown=columns.unknown,
        events=Events(
            row=np.array(columns.rows, np.int64),
            start_s=np.array([e.start_s for e in events]),
            end_s=np.array([e.end_s for e in events]),
            strength=np.array([e.strength for e in events]),
            channel=[e.channel for e in events],
            camera=[e.camera for e in events],
            detail=[e.detail for e in events],
        ),
        values_digest=digests,
        camera_digests={},
        elsewhere={},
    )


def cells_of(column: Column, measured: Sequence[Measured], facts: CorpusFacts) -> np.ndarray:
    cells = [m.values.get(column.name) for m in measured]
    if column.type == "text":
        return np.array([*cells, None], object)[:-1]
    if column.per == "episode":
        return np.array([np.nan if c is None else c for c in cells], np.float64)
    width = len(facts.dims) if column.per == "dim" else len(facts.cameras)
    missing = np.full(width, np.nan)
    return np.array([missing if c is None else c for c in cells], np.float64).reshape(len(cells), width)


def run(checks: Sequence[Any], episodes: Sequence[Episode]) -> dict[str, Any]:
    facts = facts_of(episodes)
    start = time.process_time()
    digests = [values_digest(e.channels, e.rate_hz) for e in episodes]
    digested = time.process_time()
    table = measure(checks, episodes, facts)
    measured = time.process_time()
    findings: list[Finding] = []
    for columns in table:
        findings += columns.check.judge(manifest_of(columns, episodes, digests))
    judged = time.process_time()
    frames = sum(e.frames for e in episodes)
    return {
        "frames_per_cpu_s": round(frames / (judged - digested)),
        "with_digests": round(frames / (judged - start)),
        "measure_us_per_episode": round((measured - digested) / len(episodes) * 1e6, 1),
        "judge_us_per_episode": round((judged - measured) / len(episodes) * 1e6, 1),
        "findings": len(findings),
    }


def profile(names: Sequence[str], checks: Sequence[Any], episodes: Sequence[Episode]) -> None:
    """Prints what each check adds, in the order in which they run (the first one to ask pays for shared work)."""
    total = dict.fromkeys(names, 0.0)
    for episode in episodes:
        for name, check in zip(names, checks, strict=True):
            start = time.thread_time()
            check.measure(episode)
            total[name] += time.thread_time() - start
        episode.derived.clear()
    for name, seconds in sorted(total.items(), key=lambda item: -item[1]):
        print(f"{seconds / len(episodes) * 1e6:8.1f} us  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    loaded = {name: plugins.load("checks", name)() for name in plugins.names("checks")}
    chosen = {name: check for name, check in loaded.items() if not check.reads.cameras}
    names, checks = list(chosen), list(chosen.values())
    result: dict[str, Any] = {"bench": "lowdim", "checks": len(checks), "frames_per_episode": FRAMES}
    for dims in (6, 12):
        episodes = episodes_of(options.episodes, dims)
        gc.collect()
        gc.freeze()  # a worker holds one episode, not a thousand for the collector to walk through
        measure(checks, episodes[:50], facts_of(episodes))  # first calls import and fill caches
        if options.profile:
            profile(names, checks, episodes)
        best = max((run(checks, episodes) for _ in range(REPEATS)), key=lambda r: r["frames_per_cpu_s"])
        result[f"dims_{2 * dims}"] = best
        print(f"{2 * dims} dimensions: {best}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
