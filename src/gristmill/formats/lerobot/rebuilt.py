"""Episodes of v3.0 that the data holds and the table of episodes lost, as after a crash of a recorder.

Their rows tell number, length and task. Where they lie in the videos, only the table said.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from gristmill.errors import RecordingError
from gristmill.formats.files import CorpusFiles
from gristmill.formats.lerobot.arrays import is_number, numbers
from gristmill.formats.lerobot.declaration import Feature
from gristmill.formats.lerobot.patterns import pattern_of
from gristmill.formats.lerobot.tables import Runs, Table

_PLACE = re.compile(r"data/chunk-\d{3,9}/file-\d{3,9}\.parquet")
_NUMBERS = re.compile(r"\d+")


def episodes_in_data(
    files: CorpusFiles, features: Sequence[Feature], tasks: Mapping[int, str], known: Collection[int]
) -> list[dict[str, Any]]:
    """Rows for the table of episodes, of those that it does not know, in the order of the data.

    Args:
        files: the corpus.
        features: all of them.
        tasks: texts by task_index.
        known: episodes that the table has.
    """
    names = sorted(name for name in files.under("data") if _PLACE.fullmatch(name))
    found: list[dict[str, Any]] = []
    seen = set(known)
    first = 0
    for name in names:
        others = [n for n in names if n != name]
        try:
            table = Table(files.path(name), name, partial(pattern_of, files, features, others))
            starts = _starts(table)
        except RecordingError:
            continue  # nothing of it can be read; its episodes stay lost
        chunk, number = (int(n) for n in _NUMBERS.findall(name))
        for episode, (start, stop, task) in starts.items():
            if episode in seen or episode < 0:
                continue
            seen.add(episode)
            row = {"episode_index": episode, "tasks": [tasks[task]] if task in tasks else [], "length": stop - start}
            row |= {"data/chunk_index": chunk, "data/file_index": number}
            found.append(row | {"dataset_from_index": first + start, "dataset_to_index": first + stop})
        first += table.rows
        table.close()
    return found


def _starts(table: Table) -> dict[int, tuple[int, int, int]]:
    """First and past-the-last row of each episode, and the task_index of its first row."""
    has_tasks = "task_index" in table.schema.names and is_number(table.schema.field("task_index").type)
    first_task: dict[int, int] = {}
    runs = Runs()
    for batch in table.batches(["episode_index", "task_index"] if has_tasks else ["episode_index"]):
        values = numbers(batch.column("episode_index"))
        runs.add(values)
        if has_tasks:
            numbers_of_tasks = numbers(batch.column("task_index"))
            for at in [0, *((values[1:] != values[:-1]).nonzero()[0] + 1).tolist()]:
                first_task.setdefault(int(values[at]), int(numbers_of_tasks[at]))
    longest = {episode: max(pieces, key=lambda r: r.stop - r.start) for episode, pieces in runs.close().items()}
    return {int(e): (run.start, run.stop, first_task.get(int(e), -1)) for e, run in longest.items()}
