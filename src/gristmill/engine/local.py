"""Work on this machine: in this process when there is little of it, else in a pool of worker processes.

Workers are forked from a clean server process that has imported what they need, so one costs milliseconds to
start and holds no lock or thread of its parent. Each has a pipe of its own: results are taken as they come, a
full pipe holds its worker back, and when a worker dies it is known which work it had.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, Protocol, TypeVar

from threadpoolctl import threadpool_limits

W = TypeVar("W", bound=Sized)
P = TypeVar("P", bound=Sized, covariant=True)

# Below this much work a pool costs more, in processor time and memory, than it saves the user in waiting. Decoding
# spreads well; reading tables is bound by Python, and two processes hold two of everything.
POOL_FROM_S = 20.0
POOL_FROM_DECODING_S = 4.0
_PRELOAD = ["gristmill.engine.measure"]
# So many workers may die before their work is given up without another try.
_DEATHS_MAX = 24
# New objects that start a collection while measuring; some hundred of them belong to an episode.
_OBJECTS = 20_000


class Job(Protocol[W, P]):
    """What is done with each piece of work. It is sent to each worker once; a part's length is what it finished."""

    def __call__(self, work: W) -> Iterator[P]:
        """Do the work and give results as they become ready."""
        ...

    def rest(self, work: W, done: int) -> Sequence[W]:
        """Smaller pieces of what a dead worker left after `done` items; empty when it cannot be cut further."""
        ...

    def lost(self, work: W, done: int, reason: str) -> P:
        """The result that says that the rest of this work could not be done."""
        ...


def workers(jobs: int | None, estimate_s: float, decoding_s: float = 0.0) -> int:
    """How many processes to use.

    Args:
        jobs: what the user asked for; None is one a core.
        estimate_s: CPU-seconds that the work takes, roughly.
        decoding_s: those of them in which video is decoded.
    """
    if estimate_s < POOL_FROM_S and decoding_s < POOL_FROM_DECODING_S:
        return 1
    return max(1, jobs if jobs is not None else _cores())


def run(job: Job[W, P], works: Iterable[W], jobs: int) -> Generator[P, None, None]:
    """Results of all works, in any order.

    With one job, or a job that only the caller's script can name, everything happens in this process. A worker
    that is killed (out of memory, mostly) is replaced and its work tried again in smaller pieces; what kills its
    worker again and again comes back from `job.lost`. `works` is drawn from as workers get free.

    Leaving early, by Ctrl-C or by closing the iterator, ends all workers; they also end when this process is killed.

    Raises:
        RuntimeError: the job itself raised in a worker; the text is the worker's traceback.
    """
    if jobs <= 1 or not _importable(job):
        with _one_thread(), _calm_collector():
            for work in works:
                yield from job(work)
        return
    with _Pool(job, jobs) as pool:
        yield from pool.results(works)


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    pipe: Connection
    work: Any = None
    done: int = 0


@dataclass(frozen=True)
class _Raised:
    text: str


class _Pool:
    def __init__(self, job: Job[Any, Any], jobs: int) -> None:
        method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        self._context: Any = multiprocessing.get_context(method)
        if method == "forkserver":
            self._context.set_forkserver_preload(_PRELOAD)
        self._job = job
        self._jobs = jobs
        self._workers: list[_Worker] = []
        self._deaths = 0

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *exc: object) -> None:
        for worker in self._workers:
            worker.pipe.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(5)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()

    def results(self, works: Iterable[Any]) -> Iterator[Any]:
        fresh = iter(works)
        again: deque[Any] = deque()
        while True:
            self._employ(fresh, again)
            busy = {worker.pipe: worker for worker in self._workers if worker.work is not None}
            if not busy:
                return
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                try:
                    result = worker.pipe.recv()
                except (EOFError, OSError):
                    yield from self._bury(worker, again)
                    continue
                if result is None:
                    worker.work = None
                elif isinstance(result, _Raised):
                    raise RuntimeError(f"a worker process failed:\n{result.text}")
                else:
                    worker.done += len(result)
                    yield result

    def _employ(self, fresh: Iterator[Any], again: deque[Any]) -> None:
        """Give work to whoever has none; start workers while there is more work than workers."""
        for place in range(self._jobs):
            if place < len(self._workers) and self._workers[place].work is not None:
                continue
            work = again.popleft() if again else next(fresh, None)
            if work is None:
                return
            if place == len(self._workers):
                self._workers.append(self._start())
            worker = self._workers[place]
            worker.work, worker.done = work, 0
            try:
                worker.pipe.send(work)
            except OSError:
                # It died while idle; its pipe is at its end, which `results` finds.
                continue

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._job), daemon=True)
        with _without_main():
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def _bury(self, worker: _Worker, again: deque[Any]) -> Iterator[Any]:
        """Take a dead worker's work back and put another in its place."""
        worker.process.join()
        worker.pipe.close()
        self._workers.remove(worker)
        self._deaths += 1
        pieces = self._job.rest(worker.work, worker.done) if self._deaths <= _DEATHS_MAX else ()
        again.extend(pieces)
        if not pieces and worker.done < len(worker.work):
            yield self._job.lost(worker.work, worker.done, _cause(worker.process.exitcode))


def _cause(status: int | None) -> str:
    if status is not None and status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
        hint = "; memory may have run out, use fewer --jobs" if -status == getattr(signal, "SIGKILL", 9) else ""
        return f"the process that measured it was ended by {name}{hint}"
    return f"the process that measured it ended with status {status}"


def _serve(pipe: Connection, job: Job[Any, Any]) -> None:
    """A worker's life."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with _one_thread(), _calm_collector():
        while True:
            try:
                work = pipe.recv()
            except (EOFError, OSError):
                return
            try:
                for part in job(work):
                    pipe.send(part)
                pipe.send(None)
            except BrokenPipeError:
                return
            except Exception:  # noqa: BLE001 - it crosses to the parent, which raises it
                pipe.send(_Raised(traceback.format_exc()))


def _end_with_parent() -> None:
    """Leave at once when the parent is gone, however busy the main thread is."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _one_thread() -> AbstractContextManager[object]:
    """Keep NumPy's linear algebra from waking threads: they spin for their next turn, on cores that others use."""
    return threadpool_limits(limits=1, user_api="blas")


@contextmanager
def _calm_collector() -> Iterator[None]:
    """Keep Python's garbage collector from going through all that was there before, again and again.

    Measuring makes many small objects that live for a second and point at nothing that points back; each collection
    that they cause would visit every imported module's objects too.
    """
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep a worker from importing the caller's script, which would run it a second time."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _importable(job: object) -> bool:
    """Whether a worker can rebuild the job: what lives in the caller's own script or notebook it cannot."""
    try:
        return b"__main__" not in pickle.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
