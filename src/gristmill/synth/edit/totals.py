"""What metadata says of the whole corpus, brought up to date: counts in info.json, statistics in stats.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gristmill.formats.lerobot.documents import read_json
from gristmill.formats.lerobot.info import NAME as INFO
from gristmill.synth.edit import declared_stats
from gristmill.synth.edit.changes import Changes
from gristmill.synth.edit.columns import is_numeric, numbers

STATS = "meta/stats.json"


def write_info(target: Path, changes: Changes) -> None:
    """Counts grow by what was added; a count that was wrong before stays as wrong."""
    corpus = changes.corpus
    info = dict(corpus.info.raw)
    added, before = len(changes.added), len(corpus.lengths)
    grown = {
        "total_episodes": added,
        "total_frames": sum(
            len(d.rows) - (len(d.original) if d.copy_of is None else 0) for d in changes.drafts.values()
        ),
        "total_tasks": len(changes.tasks),
        "total_videos": sum(len(changes.drafts[i].reels) for i in changes.added),
    }
    for key, more in grown.items():
        if isinstance(info.get(key), int):
            info[key] += more
    if isinstance(info.get("splits"), dict):
        info["splits"] = {k: f"0:{before + added}" if v == f"0:{before}" else v for k, v in info["splits"].items()}
    if added and isinstance(info.get("total_chunks"), int):
        info["total_chunks"] = max(info["total_chunks"], max(changes.added) // corpus.info.chunks_size + 1)
    if info != corpus.info.raw:
        write_json(target / INFO, info)


def write_stats(target: Path, changes: Changes) -> None:
    """Statistics of a feature are computed anew if its values changed and the declared ones were true before."""
    corpus = changes.corpus
    if corpus.files.stamp(STATS) is None:
        return
    declared: declared_stats.Declared = read_json(corpus.files.path(STATS), STATS)
    fresh = dict(declared)
    keys = [k for k in declared if k in changes.columns and isinstance(declared[k], dict)]
    before: dict[str, list[np.ndarray]] = {k: [] for k in keys}
    after: dict[str, list[np.ndarray]] = {k: [] for k in keys}
    for index, key, old, new in _values(changes, keys):
        if index in corpus.lengths:
            before[key].append(old)
        after[key].append(new)
    for key in keys:
        if before[key] and declared_stats.describes(declared[key], np.concatenate(before[key])):
            fresh[key] = declared_stats.of_values(declared[key], np.concatenate(after[key]))
    for camera in {c for _, c in changes.seen} & declared.keys():
        old_parts = [corpus.stats(i).get(camera, {}) for i in corpus.lengths]
        new_parts = [changes.new_stats(i).get(camera, {}) for i in (*corpus.lengths, *changes.added)]
        fresh[camera] = declared_stats.of_merged(declared[camera], old_parts, new_parts)
    if fresh != declared:
        write_json(target / STATS, fresh)


def _values(changes: Changes, keys: list[str]) -> Iterator[tuple[int, str, np.ndarray, np.ndarray]]:
    """(episode, feature, values before, values after) of every numeric feature; new episodes have none before."""
    if not keys:
        return
    for index, table in changes.corpus.columns(keys):
        final = changes.final_rows(index) if index in changes.drafts else None
        for key in table.column_names:
            if is_numeric(table.schema.field(key).type):
                old = numbers(table, key)
                new = old if final is None else numbers(final, key)
                if key == "index" and index not in changes.drafts:
                    new = old + changes.shift[index]
                yield index, key, old, new
    for index in changes.added:
        final = changes.final_rows(index)
        for key in keys:
            if final is not None and key in final.column_names and is_numeric(final.schema.field(key).type):
                values = numbers(final, key)
                yield index, key, values, values


def write_json(path: Path, content: Any) -> None:
    """JSON as LeRobot writes it."""
    path.write_text(json.dumps(content, indent=4, ensure_ascii=False) + "\n", encoding="utf-8")
