"""Opens a replay buffer: declarations and the ends of the episodes are read, and which chunks are there."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gristmill.embodiment import Embodiment
from gristmill.errors import CorpusError, RecordingError
from gristmill.finding import Issue, Kind
from gristmill.formats.recorded import Header, RecordedCorpus
from gristmill.formats.stated import named
from gristmill.formats.zarr_buffer.arrays import StoredArray, library
from gristmill.formats.zarr_buffer.layout import Layout, layout_of
from gristmill.formats.zarr_buffer.metadata import ArrayMeta, arrays
from gristmill.formats.zarr_buffer.places import ENDS, Archive, Folder, Member, documents, place_of
from gristmill.formats.zarr_buffer.reader import BufferReader
from gristmill.types import IntArray

_MOST_EPISODES = 10_000_000
# A clock that keeps a whole number of frames a second within so much is said to keep it.
_NEARLY_WHOLE = 0.02
_RESTORE = (
    "Restore the files. If the writer left out chunks that hold nothing but the fill value, as Zarr 3 does by default, "
    "say so with --option absent_chunks=fill."
)


def open_buffer(path: Path, *, key: str, card: Embodiment | None, options: Any, locator: Any) -> RecordedCorpus:
    """Open the buffer in a folder or a zip archive.

    Args:
        path: the folder that holds `data` and `meta`, or the archive.
        key: the corpus's key.
        card: the embodiment card.
        options: `gristmill.sources.replay_buffer.ReplayBuffer.Options`.
        locator: what reopens the corpus.

    Raises:
        CorpusError: nothing can be read, or the rate is not stated.
        UnsafeCorpusError: a link or a name leads outside, sizes are not possible, or objects would be unpickled.
    """
    library()
    place = place_of(path)
    try:
        return _opened(path, place, key=key, card=card, options=options, locator=locator)
    except CorpusError as error:
        if path.name in str(error):
            raise
        raise type(error)(f"{path}: {error}") from None  # arrays are called by their name within it


def _opened(
    path: Path, place: Folder | Archive, *, key: str, card: Embodiment | None, options: Any, locator: Any
) -> RecordedCorpus:
    members = place.members()
    metas = {meta.name: meta for meta in arrays(documents(place, members))}
    stored = _stored(place, metas, members, fills=options.absent_chunks == "fill")
    ends = _ends(stored, place.label)
    layout = layout_of(
        [m for m in metas.values() if m.name.startswith("data/")],
        state=options.state,
        action=options.action,
    )
    if not layout.numbers and not layout.cameras:
        raise CorpusError(f"{place.label}: there is no array of numbers or pictures under `data`")
    layout = replace(layout, numbers=named(layout.numbers, options.names))
    starts = np.concatenate(([0], ends[:-1]))
    rate_hz = options.rate_hz or _clock_rate(layout, stored, starts, ends)
    if rate_hz is None:
        raise CorpusError(
            f"{path}: a replay buffer does not say how many frames a second were recorded; state it, such as "
            "--option rate_hz=10"
        )
    cameras = {name: replace(info, rate_hz=rate_hz) for name, (_, info) in layout.cameras.items()}
    layout = replace(layout, cameras={name: (layout.cameras[name][0], info) for name, info in cameras.items()})
    used = _used(layout)
    for meta in used:
        stored[meta.name].verify()
    headers = _headers(place.label, layout, stored, starts, ends, options.task)
    return RecordedCorpus(
        key=key,
        root=path,
        format=f"Zarr v{metas[ENDS].version} replay buffer" + (" in a zip archive" if path.is_file() else ""),
        rate_hz=rate_hz,
        headers=headers,
        channels=[spec for _, spec in layout.numbers.values()],
        cameras=cameras,
        reader=BufferReader(layout, stored, rate_hz),
        locator=locator,
        card=card,
        issues=tuple(_issues(layout, used, int(ends[-1]), place.label)),
        unread=layout.unread,
    )


def _stored(
    place: Folder | Archive, metas: Mapping[str, ArrayMeta], members: Mapping[str, Member], *, fills: bool
) -> dict[str, StoredArray]:
    """The arrays with the files that belong to them."""
    below: dict[str, dict[str, Member]] = {name: {} for name in metas}
    for name, member in members.items():
        # An array's chunks lie at most one folder an axis, and one for "c", below it.
        folder, _, rest = name.rpartition("/")
        while folder:
            if folder in below:
                below[folder][rest] = member
                break
            folder, _, last = folder.rpartition("/")
            rest = f"{last}/{rest}"
    return {name: StoredArray(meta, place, below[name], fills=fills and name != ENDS) for name, meta in metas.items()}


def _ends(stored: Mapping[str, StoredArray], label: str) -> IntArray:
    """The row behind the last of each episode (n,).

    Raises:
        CorpusError: they are missing, or do not rise.
    """
    where = f"{ENDS} of {label}"
    array = stored.get(ENDS)
    if array is None:
        raise CorpusError(f"{where} is missing; without it episodes cannot be told apart")
    meta = array.meta
    if meta.why or meta.dtype.kind not in "iu" or len(meta.shape) != 1:
        raise CorpusError(
            f"{where}: is {meta.dtype.name} of shape {list(meta.shape)}; expected a list of whole numbers"
        )
    if not 0 < meta.shape[0] <= _MOST_EPISODES:
        raise CorpusError(f"{where}: holds {meta.shape[0]:,} entries; expected one an episode")
    if array.absent(0, meta.shape[0]).any():
        raise CorpusError(f"{where}: a chunk is missing; restore it")
    try:
        ends = array.read(0, meta.shape[0], label).astype(np.int64)
    except RecordingError as error:
        raise CorpusError(str(error)) from None
    steps = np.diff(ends, prepend=0)
    if (steps < 0).any():
        at = int(np.flatnonzero(steps < 0)[0])
        before = int(ends[at - 1]) if at else 0
        raise CorpusError(f"{where}: entry {at} is {int(ends[at])}, after {before}; they have to rise, so restore it")
    return ends


def _used(layout: Layout) -> list[ArrayMeta]:
    clock = [] if layout.clock is None else [layout.clock]
    return [*(m for m, _ in layout.numbers.values()), *(m for m, _ in layout.cameras.values()), *clock]


def _clock_rate(layout: Layout, stored: Mapping[str, StoredArray], starts: IntArray, ends: IntArray) -> float | None:
    """Frames a second by the recorder's clock: one over the median interval within episodes."""
    if layout.clock is None:
        return None
    array = stored[layout.clock.name]
    stop = min(int(ends[-1]), array.length)
    try:
        clock = array.read(0, stop, array.meta.name).reshape(-1).astype(np.float64)
    except RecordingError as error:
        raise CorpusError(f"{error}; or state the rate, such as --option rate_hz=10") from None
    with np.errstate(invalid="ignore"):
        intervals = np.diff(clock)
    intervals[starts[(starts > 0) & (starts < stop)] - 1] = np.nan  # from one episode to the next
    intervals = intervals[np.isfinite(intervals) & (intervals > 0)]
    if not len(intervals):
        return None
    rate = 1 / float(np.median(intervals))
    whole = round(rate)
    return float(whole) if whole and abs(rate - whole) <= _NEARLY_WHOLE * whole else float(f"{rate:.4g}")


def _headers(
    label: str, layout: Layout, stored: Mapping[str, StoredArray], starts: IntArray, ends: IntArray, task: str
) -> list[Header]:
    used = [stored[meta.name] for meta in _used(layout)]
    keys = {m.name: (key, None) for key, (m, _) in layout.numbers.items()}
    keys |= {m.name: (None, key) for key, (m, _) in layout.cameras.items()}
    recorded = {m.name for m, spec in layout.numbers.values() if spec.role in ("state", "action")}
    holed = [a for a in used if not a.whole]
    terms = repr([(a.meta.name, a.fills) for a in used]).encode()
    tasks = (task,) if task else ()
    headers = []
    for index, (start, stop) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        where = f"episode {index} of {label}"
        issues = [] if stop > start else [_empty(where, index)]
        for array in holed:
            channel, camera = keys.get(array.meta.name, (None, None))
            seen = camera is not None
            lost = int(array.absent(start, min(stop, array.length)).sum()) if start < array.length else 0
            if lost:
                kind = Kind.DEFECT if seen or array.meta.name in recorded or channel is None else Kind.RISK
                message = f"{where}: {lost} of {stop - start} rows of {array.meta.name} lie in chunks that are missing"
                message += ", where Zarr gives the fill value." if kind is Kind.RISK else "; nothing is read for them."
                issues.append(
                    Issue(
                        check="files", code="chunk_missing", kind=kind, message=message, fix=_RESTORE, episode=index,
                        channel=channel, camera=camera, subject=array.meta.name, measured=lost, unit="rows",
                    )
                )  # fmt: skip
        headers.append(
            Header(
                index=index,
                length=stop - start,
                stamp=_stamp(used, start, stop, terms),
                where=where,
                tasks=tasks,
                issues=tuple(issues),
                place=(start, stop),
            )
        )
    return headers


def _stamp(used: Sequence[StoredArray], start: int, stop: int, terms: bytes) -> str:
    parts = b"|".join([terms, *(array.stamp(start, stop) for array in used)])
    return f"{start}:{stop}:{hashlib.blake2b(parts, digest_size=8).hexdigest()}"


def _empty(where: str, index: int) -> Issue:
    fix = "Leave the episode out, and write meta/episode_ends without it."
    message = f"{where}: holds no frame, for its end is that of the episode before it."
    return Issue(check="pointers", code="episode_empty", kind=Kind.DEFECT, message=message, fix=fix, episode=index)


def _issues(layout: Layout, used: Sequence[ArrayMeta], rows: int, label: str) -> list[Issue]:
    """What concerns the buffer as a whole."""
    found = []
    for meta in used:
        if meta.shape[0] < rows:
            message = f"{meta.name} of {label} has {meta.shape[0]} rows; the episodes end at row {rows}."
            fix = "Restore the array, or leave out the episodes that reach beyond it; those cannot be read."
            code, kind = "array_short", Kind.DEFECT
        elif meta.shape[0] > rows:
            more = meta.shape[0] - rows
            message = f"{meta.name} of {label} has {more} rows after the last episode's end, which belong to none."
            fix = "If a recording was cut short there, append its end to meta/episode_ends; else cut the rows off."
            code, kind = "rows_left_over", Kind.TRAIT
        else:
            continue
        found.append(Issue(check="pointers", code=code, kind=kind, message=message, fix=fix, subject=meta.name))
    if not any(spec.role == "action" for _, spec in layout.numbers.values()):
        message = "the buffer holds no action; checks of actions are unknown, and a policy needs one to be made of it."
        fix = "Name an array with --option 'action=[\"name\"]', or derive actions from the poses before training."
        found.append(Issue(check="schema", code="action_absent", kind=Kind.TRAIT, message=message, fix=fix))
    return found
