"""What is owed: which episodes have to be looked at, for which checks, cut into pieces of work."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from gristmill.check import Check, unfit
from gristmill.columns import keys as as_keys
from gristmill.columns import lanes_of
from gristmill.engine.plan import (
    BROKEN,
    DECIDE,
    OWED,
    SETTLED,
    TRACES,
    UNKNOWN,
    UNWANTED,
    KeySet,
    Plan,
    Stage,
    Work,
)
from gristmill.episode import CameraInfo, Corpus
from gristmill.inputs import Lanes, Parts
from gristmill.measuring.ledger import Ledger, ledger_of
from gristmill.stage_keys import key_of, traces_key
from gristmill.store import Store
from gristmill.store.tables import among
from gristmill.types import FloatArray, IntArray, Mask

Cameras = Literal["all", "sample", "none"]

# `sample` looks at this share of the episodes' cameras, and at least at so many.
_SAMPLE_SHARE = 0.05
_SAMPLE_LEAST = 20
# CPU-seconds, measured on two current server cores; they only decide how work is cut and spread.
_EPISODE_S = 100e-6
_FRAME_S = 2e-6
_PACKET_S = 5e-6
_PIXEL_S = 8e-9  # decoding and measuring one pixel of a frame
# A piece of work: long enough to be worth a message, short enough that all cores end together.
_PIECE_S = (2.0, 60.0)
_PIECES_A_JOB = 4
# Episodes a piece when stored traces travel with it, which weigh some 20 kB a camera.
_TRACED_ROWS = 400


@dataclass(frozen=True, kw_only=True)
class Owed:
    """What a run has to do. Rows are those of the corpus's table."""

    stages: Sequence[Stage]
    keys: Mapping[str, str]  # stage -> key under which its rows are kept
    rows: IntArray  # (m,) rows to look at, ascending
    owed: np.ndarray  # (m, stages) of SETTLED, OWED, DECIDE
    wanted: Mask  # (m,) whose cameras may be opened
    known: Sequence[KeySet]
    cost_s: FloatArray  # (m,) estimated CPU-seconds
    decoding_s: float  # of all of them together, those in which video is decoded

    def plan(self, ledger: Ledger, reopen: Callable[[], Corpus] | None) -> Plan:
        """What every worker is told once."""
        return Plan(
            reopen=reopen, cameras=ledger.cameras, constants=ledger.constants, stages=self.stages, known=self.known
        )


def owed(
    store: Store,
    corpus: Corpus,
    checks: Mapping[str, Check],
    *,
    cameras: Cameras = "all",
    rows: IntArray | None = None,
) -> dict[str, int]:
    """Check -> episodes for which it is owed, or may be once they are read. Nothing is read."""
    found = find(store, corpus, checks, cameras=cameras, rows=rows)
    return {stage.name: int((found.owed[:, i] != SETTLED).sum()) for i, stage in enumerate(found.stages)}


def find(store: Store, corpus: Corpus, checks: Mapping[str, Check], *, cameras: Cameras, rows: IntArray | None) -> Owed:
    """Compare what the checks expect with what the store has.

    Args:
        store: measurements and digests.
        corpus: an opened corpus.
        checks: name -> check.
        cameras: whose cameras may be opened: of all episodes, of a sample, or of none.
        rows: rows of the corpus's table to look at; None is all.
    """
    ledger = ledger_of(store, corpus)
    rows = np.arange(ledger.count) if rows is None else np.unique(np.asarray(rows, np.int64))
    looks = any(check.reads.cameras for check in checks.values()) and bool(ledger.cameras)
    wanted = _wanted(ledger, rows, cameras) if looks else np.zeros(len(rows), bool)
    unread_values = ledger.states["values"][rows] == UNKNOWN
    unread_cameras = np.zeros(len(rows), bool)
    for part in ledger.parts[1:]:
        unread_cameras |= ledger.states[part][rows] == UNKNOWN
    keys = {name: key_of(name, check) for name, check in checks.items()}
    sets: list[Lanes] = []
    stages = []
    matrix = np.zeros((len(rows), len(checks)), np.int8)
    for i, (name, check) in enumerate(checks.items()):
        parts = Parts.of(check.reads)
        table = store.table(name, keys[name])
        known = lanes_of(table.keys(settled=True))
        table.close()
        stages.append(Stage(name, check, parts, _shared(sets, known)))
        possible = _possible(ledger, parts, rows, wanted)
        if unfit(check, corpus.facts, corpus.embodiment):
            possible[:] = False
        undecided = np.zeros(len(rows), bool)
        if not {"values", "meta"}.isdisjoint(parts.names):
            undecided |= unread_values
        if "cameras" in parts.names:
            undecided |= unread_cameras
        inputs = as_keys(ledger.inputs(parts)[0][rows])
        lacking = possible & ~undecided & ~among(inputs, as_keys(known))
        matrix[possible & undecided, i] = DECIDE
        matrix[_first(inputs, np.flatnonzero(lacking)), i] = OWED
    visit = (matrix != SETTLED).any(axis=1) | unread_values | (unread_cameras & wanted)
    rows, matrix, wanted = rows[visit], matrix[visit], wanted[visit]
    decoding_s = _decoding(ledger, corpus, stages, rows, matrix)
    return Owed(
        stages=stages,
        keys=keys | ({TRACES: traces_key()} if looks else {}),
        rows=rows,
        owed=matrix,
        wanted=wanted,
        known=[KeySet.of(inputs) for inputs in sets],
        cost_s=_reading(ledger, rows, wanted) + decoding_s,
        decoding_s=float(decoding_s.sum()),
    )


def works(store: Store, ledger: Ledger, found: Owed, jobs: int) -> Iterator[Work]:
    """The work in pieces of neighbouring episodes, drawn up one at a time as workers get free."""
    traced = [i for i, stage in enumerate(found.stages) if stage.check.reads.traces]
    again = (found.owed[:, traced] == OWED).any(axis=1) if traced else np.zeros(len(found.rows), bool)
    for start, stop in _cuts(ledger, found, jobs, bool(again.any())):
        at = slice(start, stop)
        rows = found.rows[at]
        states = {part: ledger.states[part][rows] for part in ledger.parts}
        for part in ledger.parts[1:]:
            states[part] = np.where((states[part] == UNKNOWN) & ~found.wanted[at], UNWANTED, states[part])
        yield Work(
            rows=rows,
            owed=found.owed[at],
            states=states,
            digests={name: digests[rows] for name, digests in ledger.digests.items()},
            length=ledger.table.length[rows],
            traces=_stored_traces(store, ledger, found, rows[again[at]]),
        )


def _first(inputs: pa.Array, rows: IntArray) -> IntArray:
    """Those of the rows that are the first with their input: copies share what is measured of one of them."""
    codes = inputs.take(pa.array(rows)).dictionary_encode().indices.to_numpy()
    return rows[np.unique(codes, return_index=True)[1]]


def _wanted(ledger: Ledger, rows: IntArray, cameras: Cameras) -> Mask:
    """Rows whose cameras may be opened; a sample is chosen by the hash of the episode's name."""
    if cameras != "sample":
        return np.full(len(rows), cameras == "all")
    size = max(_SAMPLE_LEAST, round(_SAMPLE_SHARE * len(rows)))
    ranks = [hashlib.blake2b(name.encode(), digest_size=8).digest() for name in ledger.ids(rows)]
    chosen = sorted(range(len(rows)), key=ranks.__getitem__)[:size]
    wanted = np.zeros(len(rows), bool)
    wanted[chosen] = True
    return wanted


def _possible(ledger: Ledger, parts: Parts, rows: IntArray, wanted: Mask) -> Mask:
    possible = np.ones(len(rows), bool)
    if "values" in parts.names:
        possible &= ledger.states["values"][rows] != BROKEN
    if "cameras" in parts.names and ledger.cameras:
        possible &= wanted
    return possible


def _shared(sets: list[Lanes], known: Lanes) -> int | None:
    """The place of these inputs among the sets; checks that read the same parts mostly know the same ones."""
    if not len(known):
        return None
    for i, inputs in enumerate(sets):
        if np.array_equal(inputs, known):
            return i
    sets.append(known)
    return len(sets) - 1


def _reading(ledger: Ledger, rows: IntArray, wanted: Mask) -> FloatArray:
    """(m,) estimated CPU-seconds of everything but decoding."""
    length = ledger.table.length[rows].astype(float)
    return _EPISODE_S + _FRAME_S * length + wanted * length * _PACKET_S * len(ledger.cameras)


def _decoding(
    ledger: Ledger, corpus: Corpus, stages: Sequence[Stage], rows: IntArray, matrix: np.ndarray
) -> FloatArray:
    """(m,) estimated CPU-seconds of decoding."""
    decoded = [i for i, stage in enumerate(stages) if stage.check.reads.traces]
    if not decoded:
        return np.zeros(len(rows))
    a_frame = sum(_PIXEL_S * _pixels(info) for info in corpus.facts.cameras.values())
    return (matrix[:, decoded] != SETTLED).any(axis=1) * ledger.table.length[rows] * a_frame


def _pixels(info: CameraInfo) -> int:
    return (info.height or 480) * (info.width or 640)


def _cuts(ledger: Ledger, found: Owed, jobs: int, traced: bool) -> Iterator[tuple[int, int]]:
    """Bounds of the pieces. With several jobs a piece ends early where a file ends, so that few files are shared."""
    count = len(found.rows)
    least, most = _PIECE_S
    piece_s = min(max(found.cost_s.sum() / (jobs * _PIECES_A_JOB), least), most) if jobs > 1 else np.inf
    rows_max = _TRACED_ROWS if traced else count
    done_s = np.concatenate([[0.0], np.cumsum(found.cost_s)])
    start = 0
    while start < count:
        stop = min(int(np.searchsorted(done_s, done_s[start] + piece_s)), start + rows_max, count)
        stop = max(stop, start + 1)
        if stop < count:
            stop = _file_end(ledger, found.rows, start + (stop - start) // 2, stop) or stop
        yield start, stop
        start = stop


def _file_end(ledger: Ledger, rows: IntArray, low: int, high: int) -> int | None:
    """The last position after `low`, at most `high`, at which another data file begins."""
    for at in range(high, low, -1):
        if _file(ledger, rows[at - 1]) != _file(ledger, rows[at]):
            return at
    return None


def _file(ledger: Ledger, row: int) -> str:
    """The data file of an episode, as far as its stamp tells: what stands before the first separator."""
    return re.split(r"[|\x1f:]", ledger.table.values_stamp[row], maxsplit=1)[0]


def _stored_traces(store: Store, ledger: Ledger, found: Owed, rows: IntArray) -> pa.RecordBatch | None:
    """Stored traces of these episodes' cameras."""
    if not len(rows) or not ledger.cameras:
        return None
    wanted = np.concatenate([ledger.digests[part][rows] for part in ledger.parts[1:]])
    wanted = np.unique(wanted[wanted.any(axis=1)], axis=0)
    stored = store.read(TRACES, found.keys[TRACES], wanted)
    if stored is None:
        return None
    batches = stored.filter(stored["found"]).drop_columns(["found"]).combine_chunks().to_batches()
    return batches[0] if batches else None
