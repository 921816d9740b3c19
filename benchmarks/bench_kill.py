"""kill -9 of the whole process group at 20 random moments: while measuring, exporting and keeping house.

    python benchmarks/bench_kill.py [--kills 20] [--seed 0]

A corpus with planted faults is curated once without disturbance. Then the same is done with kills: some runs are
killed while they measure, some while they export, some while they compact and collect garbage. In the end the
audit (every finding, verdict and metric) and the exported datasets must equal those of the undisturbed run, and
after no kill may a process be left. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from gristmill import synth
from processes import machine

GRISTMILL = str(Path(sys.executable).with_name("gristmill"))
FAULTS = "spike,idle_head,video_black,nan,exact_duplicate,time_gap"
HOUSEKEEPING = """
import sys
from pathlib import Path
from gristmill.store import Store
with Store.open(Path(sys.argv[1])) as store:
    store.gc()
    print("begins", flush=True)
    while True:
        # A row that nobody needs, so that there is something to rewrite each time.
        for table in store.stages():
            table.append(table.read().slice(0, 1))
        store.compact(everything=True)
        store.gc()
"""


def main() -> None:
    """Kill, resume, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--episodes", type=int, default=40)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    with tempfile.TemporaryDirectory(prefix="gristmill-kill-") as folder:
        bench = Bench(Path(folder), asked.episodes)
        exporting = keeping = asked.kills // 5
        measuring = asked.kills - exporting - keeping
        for number in range(measuring):
            # The first few at any moment of a run, the others only when something was written.
            bench.kill_measuring(rng, written=number >= 4)
        bench.finish()
        for _ in range(exporting):
            bench.kill_exporting(rng)
        for _ in range(keeping):
            bench.kill_keeping(rng)
        bench.finish()
        figures = {
            "machine": machine(),
            "kills": asked.kills,
            "after_first_commit": bench.after_commit,
            "while_exporting": exporting,
            "while_compacting_or_collecting": keeping,
            "orphans": bench.orphans,
            "different": sorted(bench.different),
            "undisturbed_s": round(bench.whole_s, 1),
        }
    print(json.dumps(figures))
    if bench.different or bench.orphans:
        sys.exit(1)


class Bench:
    """One corpus, one undisturbed outcome, and one store that suffers."""

    def __init__(self, work: Path, episodes: int) -> None:
        self.work = work
        clean = synth.generate(work / "clean", episodes=episodes, size_px=96)
        self.corpus = work / "corpus"
        _gristmill("inject", clean, "--out", self.corpus, "--faults", FAULTS, "--truth", work / "truth.json")
        begin = time.monotonic()
        _gristmill(*self._curate("whole"))
        self.whole_s = time.monotonic() - begin
        self.expected = self._outcome("whole")
        self.after_commit = 0
        self.orphans = 0
        self.different: set[str] = set()  # parts of the audit, and exported files, that differ

    def kill_measuring(self, rng: random.Random, *, written: bool) -> None:
        """A run that measures; when nothing is left to measure, it begins anew with an empty store."""
        after_s = rng.uniform(0.0, 3.0) if written else rng.uniform(0.0, self.whole_s)
        if self._killed([GRISTMILL, *map(str, self._curate("killed"))], after_s, written=written) is not None:
            self.finish()
            shutil.rmtree(self.work / "store-killed")
            self.kill_measuring(rng, written=written)

    def kill_exporting(self, rng: random.Random) -> None:
        """A run with nothing to measure: it selects, freezes and exports."""
        shutil.rmtree(self.work / "out-killed", ignore_errors=True)
        begin = time.monotonic()
        _gristmill(*self._curate("killed"))
        self._killed([GRISTMILL, *map(str, self._curate("killed"))], rng.uniform(0.7, time.monotonic() - begin))

    def kill_keeping(self, rng: random.Random) -> None:
        """Compaction and garbage collection in a loop."""
        command = [sys.executable, "-c", HOUSEKEEPING, str(self.work / "store-killed")]
        self._killed(command, rng.uniform(0.1, 2.0), wait_for="begins")

    def finish(self) -> None:
        """Resume, and compare with the undisturbed run."""
        _gristmill(*self._curate("killed"))
        found = self._outcome("killed")
        self.different |= {
            name for name in found.keys() | self.expected.keys() if found.get(name) != self.expected.get(name)
        }

    def _curate(self, name: str) -> tuple[object, ...]:
        return (
            *("curate", self.corpus, "--store", self.work / f"store-{name}", "--jobs", "2", "--quiet"),
            *("--out", self.work / f"out-{name}", "--overwrite"),
        )

    def _outcome(self, name: str) -> dict[str, str]:
        """Each part of the audit, and the digest of each exported file."""
        audit = self.work / f"audit-{name}.json"
        _gristmill("audit", self.corpus, "--store", self.work / f"store-{name}", "--quiet", "--json", audit)
        parts = {f"audit: {key}": json.dumps(part) for key, part in json.loads(audit.read_text()).items()}
        out = self.work / f"out-{name}"
        files = {
            str(path.relative_to(out)): hashlib.blake2b(path.read_bytes()).hexdigest()
            for path in sorted(out.rglob("*"))
            if path.is_file()
        }
        return parts | files

    def _killed(self, command: list[str], after_s: float, *, wait_for: str = "", written: bool = False) -> int | None:
        """Run and kill the whole group after a while; its status when it had ended by then.

        The while begins with the line `wait_for`, or when the store has a commit if that is `written`.
        """
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        assert process.stdout is not None
        while wait_for and process.stdout.readline().strip() != wait_for:
            time.sleep(0.01)
        while written and not self._committed() and process.poll() is None:
            time.sleep(0.01)
        try:
            return process.wait(after_s)
        except subprocess.TimeoutExpired:
            family = [process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))]
        self.after_commit += self._committed()
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        deadline = time.monotonic() + 10
        while any(map(psutil.pid_exists, family)) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.orphans += sum(map(psutil.pid_exists, family))
        return None

    def _committed(self) -> bool:
        return any((self.work / "store-killed").glob("stages/*/*.lance/_versions/*.manifest"))


def _gristmill(*arguments: object) -> None:
    done = subprocess.run([GRISTMILL, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"gristmill {arguments[0]} ended with {done.returncode}: {done.stderr or done.stdout}")


if __name__ == "__main__":
    main()
