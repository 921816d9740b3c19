"""An episode's rows held against what the metadata says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gristmill.finding import Issue, Kind
from gristmill.formats.lerobot.tasks import Tasks
from gristmill.types import IntArray

_COUNT = np.arange(1 << 14)
_COUNT.setflags(write=False)


def check_count(episode: int, found: int, declared: int, subject: str) -> Iterator[Issue]:
    """The number of rows against the declared length."""
    if found != declared:
        yield _issue(
            episode,
            "count_lie",
            f"the metadata promises {declared} frames, {subject} holds {found} of it",
            "Correct length in the metadata, or restore the rows; an export counts what is there.",
            check="files",
            subject=subject,
            measured=found,
            threshold=declared,
            unit="frames",
        )


def check_numbering(
    episode: int, columns: Mapping[str, np.ndarray], first_row: int | None, is_first: bool
) -> Iterator[Issue]:
    """The running numbers against 0, 1, 2, ...

    Args:
        episode: native index.
        columns: the bookkeeping columns of the episode's rows.
        first_row: where `index` should begin, when that is known.
        is_first: whether no episode stands before it.
    """
    for key in ("frame_index", "index"):
        values = columns.get(key)
        if values is None or not len(values):
            continue
        begin = 0 if key == "frame_index" or not np.isfinite(values[0]) else int(values[0])
        wanted = count(len(values)) + begin if begin else count(len(values))
        if not np.logical_and.reduce(values == wanted):
            yield _hole(episode, key, values, begin)
    index = columns.get("index")
    if index is None or not len(index) or not np.isfinite(index[0]):
        return
    start = int(index[0])
    if first_row is None and start == 0 and not is_first:
        yield _issue(
            episode,
            "index_restarts",
            "index begins at 0 again; it must count the rows of the whole dataset",
            "Export the dataset anew: index is counted again.",
            channel="index",
        )
    elif first_row is not None and start != first_row:
        yield _issue(
            episode,
            "index_hole",
            f"index begins at {start}, but {first_row} rows stand before it",
            "Export the dataset anew: index is counted again.",
            channel="index",
            measured=start,
            threshold=first_row,
        )


def check_tasks(episode: int, task_index: np.ndarray | None, tasks: Tasks, declared: Sequence[str]) -> Iterator[Issue]:
    """The rows' task_index against the table of tasks and the episode's own tasks."""
    if task_index is None or not len(task_index) or not tasks.texts:
        return
    alike = np.logical_and.reduce(task_index == task_index[0])
    numbers = [task_index[0].item()] if alike else np.unique(task_index).tolist()
    unknown = [n for n in numbers if n not in tasks.texts]
    if unknown:
        yield _issue(
            episode,
            "unknown_task",
            f"task_index {unknown[0]} has no text in {tasks.name}",
            "Add the task to the table, or correct task_index.",
            channel="task_index",
        )
    used = [tasks.texts[n] for n in numbers if n in tasks.texts]
    foreign = [t for t in used if t not in declared]
    if foreign and declared:
        yield _issue(
            episode,
            "task_mismatch",
            f"its rows say {foreign[0][:80]!r} by task_index, the metadata says {declared[0][:80]!r}",
            "Correct task_index or the tasks of the episode; loaders show what task_index says.",
            channel="task_index",
        )
    elif not unknown and (unused := [t for t in declared if t not in used]):
        yield _issue(
            episode,
            "task_unused",
            f"{unused[0][:80]!r} is listed as a task of it, but no row has it by task_index",
            "Nothing is wrong when another column refers to it; else remove it from the episode's tasks.",
            channel="task_index",
            kind=Kind.TRAIT,
        )


def check_window(episode: int, camera: str, window_s: float, rows: int, rate_hz: float) -> Iterator[Issue]:
    """The declared window in the camera's file against the rows that need a frame in it."""
    # Real ends drift by a frame or two.
    if window_s > 0 and window_s + 2.5 / rate_hz < rows / rate_hz:
        yield _issue(
            episode,
            "window_short",
            f"camera {camera} has a window of {window_s:.2f} s for {rows} rows, which take {rows / rate_hz:.2f} s",
            "Correct from_timestamp and to_timestamp, or drop the episode.",
            check="pointers",
            camera=camera,
            measured=window_s,
            threshold=rows / rate_hz,
            unit="s",
        )


def count(n: int) -> IntArray:
    """0 .. n - 1, shared where it is short."""
    return _COUNT[:n] if n <= len(_COUNT) else np.arange(n)


def _hole(episode: int, key: str, values: np.ndarray, begin: int) -> Issue:
    wanted = count(len(values)) + begin
    at = int(np.flatnonzero(values != wanted)[0])
    return _issue(
        episode,
        "index_hole",
        f"{key} is {values[at]:g} in row {at}, where {int(wanted[at])} was expected; rows are missing or repeated",
        "Restore the rows, or export the dataset anew: running numbers are counted again.",
        channel=key,
        measured=float(values[at]),
        threshold=float(wanted[at]),
    )


def _issue(
    episode: int, code: str, message: str, fix: str, check: str = "schema", kind: Kind = Kind.DEFECT, **more: object
) -> Issue:
    return Issue(
        check=check,
        code=code,
        kind=kind,
        message=f"episode {episode}: {message}",
        fix=fix,
        episode=episode,
        **more,  # type: ignore[arg-type]
    )
