"""What is handed to a worker: the plan of a run once, then pieces of work. Plain data that pickles small."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gristmill.check import Check
from gristmill.episode import Corpus
from gristmill.inputs import Lanes, Pair, Parts, recipe
from gristmill.types import IntArray

# State of one part of one episode.
UNKNOWN, KNOWN, BROKEN, UNWANTED = range(4)
# Whether a check is owed for an episode; DECIDE when that depends on content that is still to be read.
SETTLED, OWED, DECIDE = range(3)
TRACES = "traces"


class Stage(NamedTuple):
    """One check in a run."""

    name: str
    check: Check
    parts: Parts
    known: int | None  # which of the plan's sets holds the inputs measured before; None: nothing was


@dataclass(frozen=True)
class KeySet:
    """A set of inputs, sorted by their first lane."""

    first: np.ndarray  # (m,) uint64, ascending
    second: np.ndarray  # (m,) uint64

    @classmethod
    def of(cls, inputs: Lanes) -> KeySet:
        """The set of (m, 2) lanes."""
        order = np.argsort(inputs[:, 0], kind="stable")
        return cls(np.ascontiguousarray(inputs[order, 0]), np.ascontiguousarray(inputs[order, 1]))

    def __contains__(self, pair: Pair) -> bool:
        first, second = np.uint64(pair[0]), np.uint64(pair[1])
        at = int(np.searchsorted(self.first, first))
        while at < len(self.first) and self.first[at] == first:
            if self.second[at] == second:
                return True
            at += 1
        return False


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What holds for a whole run."""

    reopen: Callable[[], Corpus] | None  # how a worker opens the corpus; None when only this process has it
    cameras: tuple[str, ...]  # the corpus's, in the declared order
    constants: Mapping[str, Pair]  # "card" and "layout"
    stages: Sequence[Stage]
    known: Sequence[KeySet]

    @cached_property
    def recipes(self) -> dict[Parts, tuple[tuple[tuple[int, int], str], ...]]:
        """What to mix for each combination of parts."""
        return {parts: recipe(parts, self.cameras) for parts in {stage.parts for stage in self.stages}}


@dataclass(frozen=True, kw_only=True)
class Work:
    """Episodes to look at: k rows of the corpus's table, with what is known of each."""

    rows: IntArray  # (k,)
    owed: np.ndarray  # (k, stages) of SETTLED, OWED, DECIDE
    states: Mapping[str, np.ndarray]  # "values" and "camera:KEY" -> (k,) of UNKNOWN, KNOWN, BROKEN, UNWANTED
    # "values", "issues", "task", "meta", "camera:KEY" and "pace:KEY" -> (k, 2), zeros if unknown or nothing
    digests: Mapping[str, Lanes]
    length: IntArray  # (k,) declared frames
    traces: pa.RecordBatch | None = None  # stored traces that these episodes need again
    attempt: int = 0  # how often it was cut after a worker died

    def __len__(self) -> int:
        return len(self.rows)

    def piece(self, start: int, stop: int, attempt: int) -> Work:
        """A stretch of this work."""
        at = slice(start, stop)
        return Work(
            rows=self.rows[at],
            owed=self.owed[at],
            states={name: state[at] for name, state in self.states.items()},
            digests={name: digest[at] for name, digest in self.digests.items()},
            length=self.length[at],
            traces=self.traces,
            attempt=attempt,
        )


@dataclass(kw_only=True)
class Counters:
    """What a run did."""

    episodes: int = 0  # looked at
    read: int = 0  # of them, low-dimensional values read
    measured: dict[str, int] = field(default_factory=dict)  # stage -> rows
    demuxed: int = 0  # cameras of episodes whose packets were read
    decoded: int = 0  # frames
    failed: dict[str, int] = field(default_factory=dict)  # stage -> of its rows, those on which the check went wrong
    problems: dict[str, str] = field(default_factory=dict)  # stage -> the first thing that went wrong, in one line

    def add(self, other: Counters) -> None:
        """Take in what another run, or a part of one, did."""
        for name in ("episodes", "read", "demuxed", "decoded"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for own, others in ((self.measured, other.measured), (self.failed, other.failed)):
            for stage, rows in others.items():
                own[stage] = own.get(stage, 0) + rows
        self.problems = other.problems | self.problems

    def fail(self, stage: str, problem: str) -> None:
        """Count a mistake of a check."""
        self.failed[stage] = self.failed.get(stage, 0) + 1
        self.problems.setdefault(stage, problem)

    @property
    def measures(self) -> int:
        """Rows measured in all."""
        return sum(self.measured.values())


class Reading(NamedTuple):
    """What came of reading one part of one episode."""

    row: int
    part: str  # "values", "issues", "camera:KEY" or "pace:KEY"
    digest: str  # "" when it could not be read
    reason: str | None  # why it, or what is in it, could not
    lasting: bool = True  # false when another try may succeed, so that it is not remembered


@dataclass(frozen=True, kw_only=True)
class Part:
    """Results for some episodes of a work."""

    rows: IntArray  # episodes that are finished
    readings: Sequence[Reading]
    batches: Mapping[str, pa.RecordBatch]  # stage -> rows (see `gristmill.columns`); TRACES for traces
    counters: Counters

    def __len__(self) -> int:
        return len(self.rows)
