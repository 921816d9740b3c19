"""Jobs for the pool; workers import this module by name."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Echo:
    """Gives back each number of a work, with the process that did it. Some numbers do more."""

    deadly: int | None = None  # the worker that meets it is killed
    once: str = ""  # a file that makes it deadly only the first time
    raises: int | None = None
    sleeps: tuple[int, float] | None = None
    started: str = ""  # file that lists the workers' process ids

    def __call__(self, work: list[int]) -> Iterator[list[tuple[int, int]]]:
        if self.started:
            with open(self.started, "a") as file:  # noqa: PTH123 - appended by several processes
                file.write(f"{os.getpid()}\n")
        for number in work:
            if number == self.raises:
                raise ValueError(f"cannot do {number}")
            if self.sleeps and number == self.sleeps[0]:
                time.sleep(self.sleeps[1])
            if number == self.deadly and not (self.once and os.path.exists(self.once)):  # noqa: PTH110
                if self.once:
                    open(self.once, "w").close()  # noqa: PTH123
                os.kill(os.getpid(), signal.SIGKILL)
            yield [(number, os.getpid())]

    def rest(self, work: list[int], done: int) -> Sequence[list[int]]:
        left = work[done:]
        return [] if len(left) <= 1 else [left[: len(left) // 2], left[len(left) // 2 :]]

    def lost(self, work: list[int], done: int, reason: str) -> list[tuple[int, str]]:
        return [(number, reason) for number in work[done:]]


@dataclass(frozen=True)
class Modules(Echo):
    """Tells what a worker has imported."""

    def __call__(self, work: list[int]) -> Iterator[list[tuple[int, int]]]:
        heavy = ("lance", "duckdb", "torch", "numba", "av", "mujoco")
        yield [(number, sum(name in sys.modules for name in heavy)) for number in work]


@dataclass(frozen=True)
class Threads:
    """Gives for each number how many threads NumPy's linear algebra would use."""

    def __call__(self, work: list[int]) -> Iterator[list[int]]:
        import numpy  # noqa: F401 - loads the library that is asked about
        from threadpoolctl import threadpool_info

        for _ in work:
            yield [max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")]

    def rest(self, work: list[int], done: int) -> Sequence[list[int]]:
        return []

    def lost(self, work: list[int], done: int, reason: str) -> list[int]:
        return []
