"""The episodes table of a v3.0 corpus: bounds, pointers, tasks and statistics of every episode."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gristmill.synth.edit.changes import Changes
from gristmill.synth.edit.columns import numbers, with_numbers
from gristmill.synth.edit.draft import Draft
from gristmill.synth.edit.parquet import read, write_like

if TYPE_CHECKING:
    from gristmill.synth.edit.packed_files import PackedFiles

FROM, TO = "dataset_from_index", "dataset_to_index"


def write_episode_table(corpus: PackedFiles, target: Path, changes: Changes) -> None:
    """Write the files of `meta/episodes` that change."""
    whole = _with_pointers_of_missing_videos(corpus, _with_shifted_rows(corpus, changes), changes)
    bounds = {
        int(i): (int(a), int(b))
        for i, a, b in zip(*(whole[c].to_pylist() for c in ("episode_index", FROM, TO)), strict=True)
    }
    at = 0
    for name in corpus.episode_files:
        path = corpus.files.path(name)
        old = read(path)
        table = whole.slice(at, len(old)).select(old.column_names)
        at += len(old)
        pieces, done = [], 0
        for row, index in enumerate(table["episode_index"].to_pylist()):
            draft = changes.drafts.get(int(index))
            if draft is not None:
                pieces.append(table.slice(done, row - done))
                changed = _row(corpus, draft, changes, table.slice(row, 1).to_pylist()[0], bounds)
                pieces.append(pa.Table.from_pylist([changed], schema=table.schema))
                done = row + 1
        pieces.append(table.slice(done))
        if name == corpus.episode_files[-1]:
            last = old.slice(len(old) - 1, 1).to_pylist()[0]
            rows = [_new_row(corpus, changes.drafts[i], changes, last) for i in changes.added]
            pieces += [pa.Table.from_pylist(rows, schema=table.schema)] if rows else []
        table = pa.concat_tables(pieces)
        if not table.equals(old):
            write_like(path, table, target / name)


def _with_shifted_rows(corpus: PackedFiles, changes: Changes) -> pa.Table:
    """The table with the bounds of all old episodes moved, and the statistics of their row numbers with them."""
    table = corpus.table
    order = [int(i) for i in table["episode_index"].to_pylist()]
    shift = np.array([changes.shift[i] for i in order])
    grown = np.array([_growth(changes, i) for i in order])
    if not shift.any() and not grown.any():
        return table
    table = with_numbers(table, FROM, numbers(table, FROM) + shift[:, None])
    table = with_numbers(table, TO, numbers(table, TO) + (shift + grown)[:, None])
    for name in table.column_names:
        if name.startswith("stats/index/") and name.rpartition("/")[2] not in ("std", "count"):
            table = with_numbers(table, name, numbers(table, name) + shift[:, None])
    return table


def _growth(changes: Changes, index: int) -> int:
    draft = changes.drafts.get(index)
    return 0 if draft is None else len(draft.rows) - len(draft.original)


def _with_pointers_of_missing_videos(corpus: PackedFiles, table: pa.Table, changes: Changes) -> pa.Table:
    """Slices of videos that are declared but absent move as if the frames had been packed anew."""
    for camera in corpus.cameras:
        names = [f"videos/{camera}/{n}" for n in ("chunk_index", "file_index", "from_timestamp", "to_timestamp")]
        if not set(names) <= set(table.column_names):
            continue
        chunk, file, start, stop = (numbers(table, n)[:, 0] for n in names)
        for index in corpus.lengths:
            draft, row = changes.drafts.get(index), corpus.row_of[index]
            more_s = _growth(changes, index) / corpus.rate_hz
            if draft is None or camera in draft.reels or not more_s:
                continue
            later = (chunk == chunk[row]) & (file == file[row]) & (start > start[row])
            stop[row] += more_s
            start[later] += more_s
            stop[later] += more_s
        table = with_numbers(with_numbers(table, names[2], start[:, None]), names[3], stop[:, None])
    return table


def _row(
    corpus: PackedFiles, draft: Draft, changes: Changes, row: dict[str, Any], bounds: dict[int, tuple[int, int]]
) -> dict[str, Any]:
    """The row of a changed episode."""
    row |= {"length": draft.length, "tasks": list(draft.tasks)}
    if draft.points_at is not None:
        row[FROM], row[TO] = bounds[draft.points_at]
    return _with_places_and_stats(corpus, draft, changes, row)


def _new_row(corpus: PackedFiles, draft: Draft, changes: Changes, last: dict[str, Any]) -> dict[str, Any]:
    """The row of an added episode: like its model's, at the end of the last data file."""
    first = changes.first_row[draft.index]
    row = corpus.episode_row(draft.copy_of if draft.copy_of is not None else draft.index)
    row |= {"episode_index": draft.index, "length": draft.length, "tasks": list(draft.tasks)}
    row |= {FROM: first, TO: first + len(draft.rows)}
    for name in ("data/chunk_index", "data/file_index", "meta/episodes/chunk_index", "meta/episodes/file_index"):
        if name in last:
            row[name] = last[name]
    for camera in corpus.cameras:
        end = f"videos/{camera}/to_timestamp"
        if camera not in draft.reels and end in row:
            row[f"videos/{camera}/from_timestamp"] = float(numbers(corpus.table, end).max())
            row[end] = row[f"videos/{camera}/from_timestamp"] + len(draft.rows) / corpus.rate_hz
    return _with_places_and_stats(corpus, draft, changes, row)


def _with_places_and_stats(corpus: PackedFiles, draft: Draft, changes: Changes, row: dict[str, Any]) -> dict[str, Any]:
    for camera, reel in draft.reels.items():
        place = corpus.new_place(changes, draft.index, camera)
        if place is not None:
            row[f"videos/{camera}/chunk_index"], row[f"videos/{camera}/file_index"] = place
        if place is not None or reel.changed:
            row[f"videos/{camera}/from_timestamp"] = 0.0
            row[f"videos/{camera}/to_timestamp"] = len(draft.rows) / corpus.rate_hz
    for feature, found in changes.new_stats(draft.index).items():
        for statistic, value in found.items():
            row[f"stats/{feature}/{statistic}"] = value
    return row
