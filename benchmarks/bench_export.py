"""Export with some episodes left out, against LeRobot's own deletion of the same episodes, in the same run.

Three datasets, all in v3.0 so that LeRobot can open them: real footage (g1_inspire, 640x480), a generated corpus
with two small cameras, and real low-dimensional data (pusht_lowdim). Both sides are timed from opening the
dataset to the finished copy, imports left out; LeRobot runs in its own environment (`tests/interop/setup`).
The last line is one JSON object; the bar is a ratio of 10 on every dataset.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

from gristmill.audit import Audit, Verdict
from gristmill.episode import Corpus, Digests
from gristmill.export.lerobot import Lerobot
from gristmill.finding import Finding, Kind
from gristmill.select.align import Align
from gristmill.select.dropped_frames import DroppedFrames
from gristmill.select.freeze import freeze
from gristmill.select.gate import Gate
from gristmill.select.plan import plan
from gristmill.select.trim import Trim
from gristmill.sources import open_path

ROOT = Path(__file__).resolve().parents[1]
BAR = 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=60, help="episodes of the generated corpus")
    parser.add_argument("--repeat", type=int, default=3, help="runs of our side; the median counts")
    options = parser.parse_args()
    data = Path(os.environ.get("GRISTMILL_TEST_DATA", ROOT.parent / "shared" / "data"))
    subprocess.run([ROOT / "tests" / "interop" / "setup", sys.executable], check=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        results = {}
        for name, dataset in _datasets(data, work, options.episodes):
            drop = _drop(len(open_path(dataset).table))
            ours = [_ours(dataset, work / "ours", drop) for _ in range(options.repeat)]
            theirs = _theirs(dataset, work / "theirs", drop, work / "cache")
            seconds, cpu_s = (median(r[key] for r in ours) for key in ("seconds", "cpu_s"))
            assert (ours[0]["episodes"], ours[0]["frames"]) == (theirs["episodes"], theirs["frames"])
            results[name] = {
                "dropped": len(drop),
                "episodes": theirs["episodes"],
                "frames": theirs["frames"],
                "gristmill_s": round(seconds, 3),
                "lerobot_s": round(theirs["seconds"], 3),
                "ratio": round(theirs["seconds"] / seconds, 1),
                "cpu_ratio": round(theirs["cpu_s"] / cpu_s, 1),
            }
            print(f"{name}: {results[name]}")
    lowest = min(r["ratio"] for r in results.values())
    print(json.dumps({"bench": "export", "ratio": lowest, "bar": BAR, "passed": lowest >= BAR, "datasets": results}))


def _datasets(data: Path, work: Path, episodes: int) -> list[tuple[str, Path]]:
    from gristmill.synth import generate

    made = [("generated", generate(work / "generated", episodes=episodes, seed=0, jobs=os.cpu_count() or 1))]
    for name in ("g1_inspire", "pusht_lowdim"):
        _export(open_path(data / name), work / name, drop=())
        made.append((name, work / name))
    return made


def _drop(episodes: int) -> list[int]:
    """Every fifth episode, beginning with the second: no file stays whole."""
    return list(range(1, episodes, 5))


def _ours(dataset: Path, out: Path, drop: Sequence[int]) -> dict[str, float]:
    began, cpu = time.perf_counter(), time.process_time()
    result = _export(open_path(dataset), out, drop)
    seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    (written,) = result.datasets
    shutil.rmtree(out)
    return {"seconds": seconds, "cpu_s": cpu_s, "episodes": written.episodes, "frames": written.frames}


def _export(corpus: Corpus, out: Path, drop: Sequence[int]):
    """Freeze what is left without these episodes, and export it."""
    n = len(corpus.table)
    audit = Audit(
        facts=corpus.facts,
        embodiment=corpus.embodiment,
        rows=np.arange(n),
        index=corpus.table.index,
        ids=[f"{corpus.facts.key}/{i}" for i in corpus.table.index.tolist()],
        length=corpus.table.length,
        tasks=corpus.table.tasks,
        verdict=[Verdict.KEEP] * n,
        usable_for=[()] * n,
        reasons={},
        findings=[Finding(check="spike", kind=Kind.DEFECT, row=row, message="", fix="") for row in drop],
        corpus_findings=[],
        not_checked=[],
    )
    plans = plan([audit], [[Digests("", "", "", {})] * n], gate=Gate(), trim=Trim())
    snapshot = freeze(plans, lambda _: corpus, recipe={}, lineage={}, dropped_frames=DroppedFrames(), align=Align())
    return Lerobot().export(snapshot, out, open_corpus=lambda _: corpus)


def _theirs(dataset: Path, out: Path, drop: Sequence[int], cache: Path) -> dict[str, float]:
    environment = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_CACHE": str(cache),
        "LD_LIBRARY_PATH": str(ROOT / ".venv-interop" / "ffmpeg"),
        "SVT_LOG": "1",
    }
    command = [
        ROOT / ".venv-interop" / "bin" / "python",
        ROOT / "benchmarks" / "lerobot_delete.py",
        dataset,
        out,
        *drop,
    ]
    done = subprocess.run([str(part) for part in command], env=environment, check=True, capture_output=True, text=True)
    shutil.rmtree(out)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
