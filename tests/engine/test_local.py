"""Work in this process and in a pool: results, killed workers, failures, Ctrl-C, orphans."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest
from made_jobs import Echo, Modules, Threads

from gristmill.engine import local


def works(count: int, size: int = 3) -> list[list[int]]:
    return [list(range(i * size, (i + 1) * size)) for i in range(count)]


def numbers(parts: list[list[tuple[int, int]]]) -> list[int]:
    return sorted(number for part in parts for number, _ in part)


def test_one_job_runs_here() -> None:
    parts = list(local.run(Echo(), works(4), 1))
    assert numbers(parts) == list(range(12))
    assert {pid for part in parts for _, pid in part} == {os.getpid()}


def test_a_pool_does_every_work_once() -> None:
    parts = list(local.run(Echo(), works(9), 2))
    assert numbers(parts) == list(range(27))
    pids = {pid for part in parts for _, pid in part}
    assert os.getpid() not in pids
    assert 1 <= len(pids) <= 2
    assert not any(psutil.pid_exists(pid) for pid in pids)


@pytest.mark.parametrize("jobs", [1, 2])
def test_linear_algebra_wakes_no_threads(jobs: int) -> None:
    parts = list(local.run(Threads(), works(4), jobs))
    assert {count for part in parts for count in part} == {1}


def test_work_is_drawn_as_workers_get_free() -> None:
    drawn: list[int] = []

    def lazily():
        for work in works(20, size=1):
            drawn.append(work[0])
            yield work

    results = local.run(Echo(), lazily(), 2)
    next(results)
    assert len(drawn) <= 4
    results.close()


def test_workers_import_nothing_heavy() -> None:
    parts = list(local.run(Modules(), works(2), 2))
    assert {count for part in parts for _, count in part} == {0}


def test_a_killed_worker_is_replaced_and_its_work_is_cut_until_the_culprit_is_found() -> None:
    parts = list(local.run(Echo(deadly=5), works(4, size=4), 2))
    lost = [(number, text) for part in parts for number, text in part if isinstance(text, str)]
    assert [number for number, _ in lost] == [5]
    assert lost[0][1].startswith("the process that measured it was ended by SIGKILL; memory may have run out")
    assert numbers(parts) == list(range(16))  # what was delivered before is not done again


def test_a_worker_that_is_killed_once_loses_nothing(tmp_path: Path) -> None:
    parts = list(local.run(Echo(deadly=5, once=str(tmp_path / "once")), works(4, size=4), 2))
    assert numbers(parts) == list(range(16))
    assert all(isinstance(pid, int) for part in parts for _, pid in part)


def test_a_job_that_always_kills_its_workers_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_DEATHS_MAX", 2)

    parts = list(local.run(Echo(deadly=0), [[0, 0, 0, 0]] * 3, 2))
    assert len(numbers(parts)) == 12


def test_an_exception_in_a_worker_is_raised_here_with_its_traceback() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)a worker process failed:.*cannot do 4"):
        list(local.run(Echo(raises=4), works(3), 2))


def test_leaving_early_ends_the_workers(tmp_path: Path) -> None:
    started = tmp_path / "started"
    results = local.run(Echo(sleeps=(5, 60), started=str(started)), works(4), 2)
    next(results)
    begin = time.monotonic()
    results.close()
    assert time.monotonic() - begin < 10
    assert not any(psutil.pid_exists(int(pid)) for pid in started.read_text().split())


@pytest.mark.parametrize(("jobs", "seconds", "expected"), [(None, 1, 1), (8, 1, 1), (3, 60, 3), (1, 60, 1), (0, 60, 1)])
def test_little_work_needs_no_pool(jobs: int | None, seconds: float, expected: int) -> None:
    assert local.workers(jobs, seconds) == expected


def test_much_work_uses_every_core_and_decoding_sooner() -> None:
    assert local.workers(None, 1000) == len(os.sched_getaffinity(0))
    assert local.workers(7, 6.0, 5.0) == 7
    assert local.workers(7, 6.0, 1.0) == 1


_SCRIPT = textwrap.dedent(
    """
    import signal
    import sys
    # Shells start what runs in the background with SIGINT ignored, and tests run in the background, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path.insert(0, sys.argv[1])
    from made_jobs import Echo
    from gristmill.engine import local
    print("script runs", flush=True)
    try:
        for part in local.run(Echo(sleeps=(4, 60), started=sys.argv[2]), [[1, 2, 3], [4, 5, 6]], 2):
            print(part, flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.exit(130)
    """
)


def start(tmp_path: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A script without a main guard whose pool is busy, and its workers' process ids."""
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    started = tmp_path / "started"
    process = subprocess.Popen(
        [sys.executable, str(script), str(Path(__file__).parent), str(started)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(4)]
    assert lines[0] == "script runs\n"
    # A worker must not run the caller's script again.
    assert "script runs\n" not in lines[1:]
    deadline = time.monotonic() + 20
    while len(started.read_text().split()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    return process, [int(pid) for pid in started.read_text().split()]


def gone(pids: list[int], within_s: float = 10) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids):
            return True
        time.sleep(0.05)
    return False


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    process, workers = start(tmp_path)
    helpers = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    process.kill()  # this process alone, not its group
    process.wait()
    assert gone([*workers, *helpers])


def test_ctrl_c_reaches_the_caller_and_leaves_no_worker(tmp_path: Path) -> None:
    process, workers = start(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert out.endswith("interrupted\n")
    assert process.returncode == 130
    assert gone(workers)


def test_a_job_of_the_callers_own_script_runs_in_its_process(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import os\nfrom made_jobs import Echo\nfrom gristmill.engine import local\n"
        "class Own(Echo): pass\n"
        "print({pid for part in local.run(Own(), [[1], [2]], 2) for _, pid in part} == {os.getpid()})\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
