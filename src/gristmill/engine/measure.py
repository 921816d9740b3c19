"""What a worker does: read episodes once, digest what was read, measure what is owed, give batches.

One bad recording or one bad check never stops the others: a part that cannot be read is noted with its reason,
a check that raises becomes an `unknown` row and a problem to report.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.check import Measured
from gristmill.columns import keys, lanes_of
from gristmill.digest import episode_digest, text_digest
from gristmill.engine.batches import Rows, TraceRows, arrays_of, problem
from gristmill.engine.plan import (
    BROKEN,
    DECIDE,
    KNOWN,
    SETTLED,
    TRACES,
    UNKNOWN,
    Counters,
    Part,
    Plan,
    Reading,
    Work,
)
from gristmill.engine.views import implied, view
from gristmill.episode import Camera, Corpus, Episode
from gristmill.errors import GristmillError, RecordingError
from gristmill.inputs import Pair, Parts, combine, hexadecimal, inputs, number, pair

# A part is handed over when one of these is reached.
PART_ROWS = 500
PART_S = 1.0
PART_BYTES = 32 << 20
# Episodes are measured in blocks, check by check: fifty checks, one after the other for each single episode, push each
# other out of the processor's caches, which costs more than the checks themselves. A block ends after so many episodes
# or frames, since all of it is in memory. Where video is decoded that hardly counts, and each episode is a block.
_BLOCK_ROWS = 16
_BLOCK_FRAMES = 8192
# A work whose worker died is cut into so many pieces, at most so often.
_PIECES = 8
_ATTEMPTS = 3
# Packet times count in quarters of a frame: repacking a file moves them by much less.
_PACE_PER_FRAME = 4


class Measurer:
    """Measures works of one plan. It is sent to each worker once and opens the corpus there.

    Args:
        plan: what holds for the run.
        corpus: the open corpus, for work in this process; it does not travel.
    """

    def __init__(self, plan: Plan, corpus: Corpus | None = None) -> None:
        self.plan = plan
        self._corpus = corpus

    def __getstate__(self) -> dict[str, Any]:
        return {"plan": self.plan, "_corpus": None}

    def __call__(self, work: Work) -> Iterator[Part]:
        """Results of a work, as they become ready. After Ctrl-C, first what was finished."""
        if self._corpus is None:
            assert self.plan.reopen is not None, "a corpus that cannot be reopened was sent to a worker"
            self._corpus = self.plan.reopen()
        session = _Session(self.plan, work)
        at = 0
        try:
            while at < len(work):
                try:
                    for episode in self._corpus.episodes(work.rows[at:].tolist()):
                        with np.errstate(invalid="ignore"):  # damaged bytes hold NaNs that a mere copy signals
                            session.look(at, episode)
                            at += 1
                            session.measure_block()
                        if session.due(at):
                            yield session.part(at)
                    if at < len(work):
                        raise RecordingError("the reader gave no episode")
                except Exception as error:  # noqa: BLE001 - one episode must not stop the others; it is reported
                    session.skip(at, _reason(error))
                    at += 1
            with np.errstate(invalid="ignore"):
                session.measure_block(last=True)
        except KeyboardInterrupt:
            yield session.part(session.measured(at))
            raise
        if session.waiting(at):
            yield session.part(at)

    def rest(self, work: Work, done: int) -> Sequence[Work]:
        """What a dead worker left, in smaller pieces; nothing when one episode alone kills its worker."""
        left = len(work) - done
        if (left <= 1 and work.attempt) or work.attempt >= _ATTEMPTS:
            return ()
        edges = np.unique(np.linspace(done, len(work), min(_PIECES, left) + 1).astype(int)).tolist()
        return [work.piece(a, b, work.attempt + 1) for a, b in itertools.pairwise(edges)]

    def lost(self, work: Work, done: int, reason: str) -> Part:
        """Episodes that could not be measured because their workers died."""
        rows = work.rows[done:]
        readings = [Reading(int(row), "values", "", reason, lasting=False) for row in rows]
        return Part(rows=rows, readings=readings, batches={}, counters=Counters(episodes=len(rows)))


@dataclass(slots=True)
class _Waiting:
    """An episode that was read and is to be measured with its block."""

    at: int
    episode: Episode
    owed: list[int]  # of each check: SETTLED, OWED or DECIDE
    blind: bool  # its low-dimensional data cannot be read
    seen: list[Episode | None]  # its views, made when they are asked for
    mixed: dict[Parts, Pair] = field(default_factory=dict)


class _Session:
    """One work in progress. Positions count the work's episodes."""

    def __init__(self, plan: Plan, work: Work) -> None:
        self._plan = plan
        self._work = work
        self._states = {name: state.tolist() for name, state in work.states.items()}
        self._digests = {name: digest.copy() for name, digest in work.digests.items()}
        self._rows = [Rows(stage.name, stage.check.columns) for stage in plan.stages]
        self._names: list[str] = []  # ids of the episodes since the last part
        self._traces = TraceRows()
        # Digest of a camera's packets -> its row in the traces that came along.
        self._stored: dict[str, int] = {}
        if work.traces is not None:
            self._stored = {digest: i for i, digest in enumerate(hexadecimal(lanes_of(work.traces["input"])))}
        reads = [implied(stage.check.reads) for stage in plan.stages]
        self._reads = list(dict.fromkeys(reads))
        # Of each check: which of the views it sees, how it measures, and where its rows go.
        self._steps = (
            [self._reads.index(r) for r in reads],
            [stage.check.measure for stage in plan.stages],
            self._rows,
        )
        self._block: list[_Waiting] = []
        self._block_rows = 1 if plan.cameras else _BLOCK_ROWS
        # Whether rows were measured before, so that a new episode's input has to be looked up among them.
        self._asks = [stage.known is not None for stage in plan.stages]
        # Checks for which the low-dimensional data is loaded; the reader's issues come to light with it.
        self._on_data = np.array([not {"values", "meta"}.isdisjoint(s.parts.names) for s in plan.stages], bool)
        self._needed: list[bool] = np.logical_or.reduce((work.owed > SETTLED)[:, self._on_data], axis=1).tolist()
        self._start = 0
        self._since = time.monotonic()
        self._readings: list[Reading] = []
        self._counters = Counters()

    # -- one episode -------------------------------------------------------------------------------

    def look(self, at: int, episode: Episode) -> None:
        """Read what is not known of an episode, and let it wait until its block is measured."""
        self._counters.episodes += 1
        self._read_values(at, episode, needed=self._needed[at])
        for key in self._plan.cameras:
            self._read_camera(at, episode, key)
        # The episode itself must not be in there: a cycle would keep its arrays until the collector comes by.
        episode.load_traces = partial(self._trace, at, episode.cameras, {})
        _ = episode.derived  # made before the episode is copied, so that all views share it
        self._names.append(episode.id)
        self._block.append(
            _Waiting(
                at=at,
                episode=episode,
                owed=self._work.owed[at].tolist(),
                blind=self._states["values"][at] == BROKEN,
                seen=[None] * len(self._reads),
            )
        )

    def measure_block(self, *, last: bool = False) -> None:
        """Measure what is owed of the episodes that wait, if there are enough of them or these are the `last`."""
        block = self._block
        full = len(block) >= self._block_rows or sum(w.episode.length for w in block) >= _BLOCK_FRAMES
        if not block or not (full or last):
            return
        for i, (which, measure, rows) in enumerate(zip(*self._steps, strict=True)):
            for waiting in block:
                if self._settled(waiting, i):
                    continue
                place = waiting.at - self._start
                try:
                    part = waiting.seen[which]
                    if part is None:
                        part = waiting.seen[which] = view(waiting.episode, self._reads[which])
                    rows.found.append((place, measure(part)))
                except RecordingError as error:
                    rows.found.append((place, Measured(unknown=str(error))))
                except Exception as error:  # noqa: BLE001 - a mistake in one check is reported, the others go on
                    rows.fail(place, problem(self._plan.stages[i].name, waiting.episode.id, error))
        self._block = []

    def measured(self, at: int) -> int:
        """The position, `at` or below, before which every episode is measured."""
        return self._block[0].at if self._block else at

    def skip(self, at: int, reason: str) -> None:
        """Note that an episode could not be looked at, or not to its end."""
        if len(self._names) <= at - self._start:
            self._names.append("")
        self._readings.append(Reading(int(self._work.rows[at]), "values", "", reason, lasting=False))

    def _settled(self, waiting: _Waiting, i: int) -> bool:
        """Whether a check has nothing to do with an episode that was read."""
        state = waiting.owed[i]
        if state == DECIDE and (self._asks[i] or waiting.blind):
            return not self._is_owed(waiting.at, i, waiting.mixed)
        return state == SETTLED

    def _is_owed(self, at: int, i: int, mixed: dict[Parts, Pair]) -> bool:
        """Whether a check is owed now that the episode was read, or could not be."""
        stage = self._plan.stages[i]
        if "values" in stage.parts.names and self._states["values"][at] == BROKEN:
            return False
        if stage.known is None:
            return True
        if stage.parts not in mixed:
            mixed[stage.parts] = combine(
                (mark, self._digest(name, at)) for mark, name in self._plan.recipes[stage.parts]
            )
        return mixed[stage.parts] not in self._plan.known[stage.known]

    def _digest(self, name: str, at: int) -> Pair:
        if name in self._plan.constants:
            return self._plan.constants[name]
        if name == "length":
            return number(int(self._work.length[at]))
        first, second = self._digests[name][at].tolist()
        return first, second

    # -- reading -----------------------------------------------------------------------------------

    def _read_values(self, at: int, episode: Episode, *, needed: bool) -> None:
        """Load the low-dimensional data; when it is new, digest it and note the reader's issues with it."""
        new = self._states["values"][at] == UNKNOWN
        if not (new or needed):
            return
        reading = digest = None
        try:
            _ = episode.channels
            if new:
                digest = episode_digest(episode)
                self._counters.read += 1
        except RecordingError as error:
            reading = str(error)
        if not new:
            return
        self._note(at, "values", digest or "", reading)
        # Some issues show only when the data is read, so they are digested with it.
        if episode.issues:
            self._note(at, "issues", text_digest([repr(issue) for issue in episode.issues]), None)

    def _read_camera(self, at: int, episode: Episode, key: str) -> None:
        part = f"camera:{key}"
        if self._states[part][at] != UNKNOWN:
            return
        self._counters.demuxed += 1
        camera = episode.cameras.get(key)
        if camera is None:
            self._note(at, part, "", "the episode has no such camera")
            return
        try:
            packets = camera.packets()
        except RecordingError as error:
            self._note(at, part, "", str(error))
            return
        self._note(at, part, packets.digest, None)
        # A packets' digest covers content, not when it is shown; most cameras keep their pace and need no more.
        pace = np.rint(packets.times_s * episode.rate_hz * _PACE_PER_FRAME)
        if packets.surplus or not np.array_equal(pace, np.arange(len(pace)) * _PACE_PER_FRAME):
            self._note(at, f"pace:{key}", text_digest([str(packets.surplus), *map(str, pace.tolist())]), None)

    def _note(self, at: int, part: str, digest: str, reason: str | None) -> None:
        self._readings.append(Reading(int(self._work.rows[at]), part, digest, reason))
        self._digests[part][at] = pair(digest)
        if part in self._states:
            self._states[part][at] = KNOWN if digest else BROKEN

    def _trace(self, at: int, cameras: Mapping[str, Camera], taken: dict[str, Any], key: str) -> Any:
        """Traces of a camera: stored ones, or decoded once and kept; None when nothing can be decoded."""
        part = f"camera:{key}"
        if key not in taken:
            known = self._states.get(part)
            taken[key] = self._take_traces(at, cameras[key], key) if known and known[at] == KNOWN else None
        return taken[key]

    def _take_traces(self, at: int, camera: Camera, key: str) -> Any:
        from gristmill import traces

        digest = hexadecimal(self._digests[f"camera:{key}"][at : at + 1])[0]
        if digest in self._stored:
            assert self._work.traces is not None
            return traces.from_arrays(arrays_of(self._work.traces, self._stored[digest]))
        try:
            found = traces.trace(camera)
        except RecordingError as error:
            self._readings.append(Reading(int(self._work.rows[at]), f"camera:{key}", digest, str(error)))
            return None
        self._counters.decoded += len(found)
        self._traces.add(digest, traces.to_arrays(found))
        return found

    # -- handing over ------------------------------------------------------------------------------

    def due(self, at: int) -> bool:
        """Whether the episodes before position `at` should be handed over now."""
        if self._block:
            return False
        full = at - self._start >= PART_ROWS or self._traces.bytes >= PART_BYTES
        return full or time.monotonic() - self._since >= PART_S

    def waiting(self, at: int) -> bool:
        """Whether something was not handed over yet."""
        return at > self._start

    def part(self, at: int) -> Part:
        """What came of the episodes from the last part to position `at`, and begin anew."""
        batches = self._batches()
        if len(self._traces):
            batches[TRACES] = self._traces.take()
        part = Part(
            rows=self._work.rows[self._start : at],
            readings=self._readings,
            batches=batches,
            counters=self._counters,
        )
        self._start, self._since = at, time.monotonic()
        self._readings, self._counters, self._names = [], Counters(), []
        return part

    def _batches(self) -> dict[str, Any]:
        # An interrupted episode is among the names: it may have measured rows, and its digests are complete.
        count = len(self._names)
        stretch = slice(self._start, self._start + count)
        digests: dict[str, Pair] = {name: (d[stretch, 0], d[stretch, 1]) for name, d in self._digests.items()}
        digests |= self._plan.constants
        digests["length"] = number(self._work.length[stretch])
        names = pa.array(self._names, pa.string())
        mixed: dict[Parts, pa.Array] = {}
        batches = {}
        for stage, rows in zip(self._plan.stages, self._rows, strict=True):
            if not len(rows):
                continue
            if stage.parts not in mixed:
                mixed[stage.parts] = keys(inputs(stage.parts, self._plan.cameras, digests, count))
            batches[stage.name], problems = rows.take(mixed[stage.parts], names)
            self._counters.measured[stage.name] = len(batches[stage.name])
            for what in problems:
                self._counters.fail(stage.name, what)
        return batches


def _reason(error: Exception) -> str:
    """Why an episode was skipped, in one line."""
    if isinstance(error, GristmillError):
        return str(error)
    return f"reading it failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
