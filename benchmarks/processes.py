"""Run a command and account for its whole process tree: wall time, CPU time and peak memory.

Linux only. CPU time includes helpers that outlive the command (a fork server): this process adopts and
waits for them. Memory is the proportional set size summed over all descendants, sampled.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Cost:
    """What one command cost."""

    status: int
    wall_s: float
    cpu_s: float
    peak_pss_mb: float
    output: str


def run(
    command: list[str], *, cwd: Path | None = None, env: dict[str, str] | None = None, memory: bool = False
) -> Cost:
    """Run `command` to its end; memory is sampled only when asked, for sampling costs CPU."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _reap()
    before = _children_cpu_s()
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=cwd, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    peak = _Peak(process.pid) if memory else None
    output, _ = process.communicate()
    wall = time.perf_counter() - start
    _reap()
    return Cost(
        status=process.returncode,
        wall_s=wall,
        cpu_s=_children_cpu_s() - before,
        peak_pss_mb=peak.stop() if peak else 0.0,
        output=output,
    )


def machine() -> str:
    """A line about where the figures come from."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "unknown processor",
    )
    memory_gb = psutil.virtual_memory().total / 2**30
    return f"{os.cpu_count()} cores ({model}), {memory_gb:.0f} GB, Python {'.'.join(map(str, sys.version_info[:3]))}"


def _children_cpu_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _reap() -> None:
    """Wait for adopted descendants, so that their CPU time is counted."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


class _Peak:
    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        self._stop.set()
        self._thread.join()
        return self._peak / 1024

    def _sample(self) -> None:
        while not self._stop.wait(0.05):
            self._peak = max(self._peak, _pss_kb(self._pid))


def _pss_kb(pid: int) -> int:
    try:
        root = psutil.Process(pid)
        pids = [pid, *(p.pid for p in root.children(recursive=True))]
    except psutil.NoSuchProcess:
        return 0
    total = 0
    for each in pids:
        try:
            for line in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it ended between the listing and the reading
    return total
