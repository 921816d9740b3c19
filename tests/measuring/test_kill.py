"""kill -9 of the whole process group at random moments: nothing is lost but the batch in flight."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
from kill_me import CHECKS
from made_corpus import MadeCorpus, episodes_spec, write_spec

from gristmill.measuring import manifest_for, owed, run_measures
from gristmill.store import Store

SCRIPT = Path(__file__).with_name("kill_me.py")


def start(store: Path, spec: Path, jobs: int, *more: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(store), str(spec), str(jobs), *more],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n"
    return process


def kill_group(process: subprocess.Popen[str]) -> None:
    family = [process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))]
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + 10
    while any(psutil.pid_exists(pid) for pid in family) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(psutil.pid_exists(pid) for pid in family)


def outcome(store: Store, spec: Path) -> list[Any]:
    """Everything that judging sees and says."""
    corpus = MadeCorpus(spec)
    found = []
    for name, check in CHECKS.items():
        m = manifest_for(store, corpus, check, name=name)
        columns = [(column, cells.tolist()) for column, cells in m.cells.items()]
        events = [m.events.row.tolist(), m.events.start_s.tolist(), list(m.events.channel)]
        findings = [repr(f) for f in check.judge(m)]
        found.append(repr((name, columns, events, findings, m.measured.tolist(), list(m.unknown), m.ids)))
    return found


def test_killed_runs_resume_and_end_like_one_that_was_not(tmp_path: Path) -> None:
    seed = int(os.environ.get("GRISTMILL_KILL_SEED", "0"))
    rng = random.Random(seed)
    spec = write_spec(tmp_path / "spec.json", episodes_spec(60, slow=0.004), cameras=True)
    with Store.open(tmp_path / "whole") as store:
        run_measures(store, MadeCorpus(spec), CHECKS)
        expected = outcome(store, spec)

    killed, left = tmp_path / "killed", []
    for jobs in (1, 1, 2, 1):
        process = start(killed, spec, jobs)
        # A pool's processes take a second to start.
        time.sleep(rng.uniform(0.05, 0.6) + (jobs > 1))
        kill_group(process)
        with Store.open(killed) as store:
            left.append(sum(owed(store, MadeCorpus(spec), CHECKS).values()))
    assert left == sorted(left, reverse=True), "what was written once was lost"

    process = start(killed, spec, 1, "--again")
    assert process.stdout is not None
    assert process.stdout.readline() == "measured\n"
    time.sleep(rng.uniform(0.01, 0.2))
    kill_group(process)
    with Store.open(killed) as store:
        assert owed(store, MadeCorpus(spec), CHECKS) == dict.fromkeys(CHECKS, 0)
        assert outcome(store, spec) == expected
        assert not list(killed.rglob(".partial-*"))
