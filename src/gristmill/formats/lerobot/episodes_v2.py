"""The episodes of v2.0 and v2.1: `meta/episodes.jsonl`, a table and videos of its own for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from gristmill.errors import CorpusError
from gristmill.finding import Issue, Kind
from gristmill.formats.files import CorpusFiles
from gristmill.formats.lerobot import layout
from gristmill.formats.lerobot.declaration import brief
from gristmill.formats.lerobot.documents import read_lines
from gristmill.formats.lerobot.info import Info
from gristmill.formats.lerobot.layout import EpisodePaths, Template
from gristmill.formats.lerobot.rows import MAX_FRAMES, EpisodeRows, check_order, distinct, intern, whole_files

NAME = "meta/episodes.jsonl"


def read_episodes(files: CorpusFiles, info: Info) -> EpisodeRows:
    """Read the table of episodes.

    Raises:
        CorpusError: the file is missing, or no episode can be read from it.
    """
    found: list[tuple[int, dict[str, Any], bool]] = []  # line number, content, lossy
    issues: list[Issue] = []
    try:
        for line in read_lines(files.path(NAME)):
            value = line.value or {}
            number = value.get("episode_index")
            if line.problem or type(number) is not int or not 0 <= number < MAX_FRAMES:
                why = line.problem or "episode_index is no number of an episode"
                issues.append(_lost(line.number, why))
            else:
                found.append((line.number, value, line.lossy))
    except OSError as error:
        raise CorpusError(f"{NAME} cannot be read ({error.strerror}); restore it from the dataset's origin") from None
    kept, twice = distinct([v["episode_index"] for _, v, _ in found], lambda i: f"{NAME}, line {found[i][0]},")
    found = [found[i] for i in kept]
    if not found:
        lost = f" ({issues[0].message})" if issues else ""
        raise CorpusError(f"{NAME} holds no episode{lost}; record one, or restore the file from the dataset's origin")
    index = np.array([v["episode_index"] for _, v, _ in found], np.int64)
    n = len(index)
    rows = EpisodeRows(
        index=index,
        length=np.zeros(n, np.int64),
        tasks=[],
        data=_paths(files, info, index, info.data_path, layout.DATA_V2),
        first_row=np.full(n, -1, np.int64),
        stop_row=np.full(n, -1, np.int64),
        cameras={
            f.key: whole_files(_paths(files, info, index, info.video_path, layout.VIDEO_V2, f.key))
            for f in info.features
            if f.dtype == "video"
        },
        issues=issues + twice,
    )
    tasks = []
    for row, (line, value, lossy) in enumerate(found):
        rows.length[row] = _length(rows, row, value.get("length"), line)
        tasks.append(_tasks(rows, row, value.get("tasks"), line))
        if lossy:
            message = f"its text in {NAME}, line {line}, is not UTF-8; the bytes that could not be read were replaced"
            rows.accuse(row, "not_utf8", message, "Write the text anew in UTF-8.", subject=NAME)
    rows.tasks = intern(tasks)
    check_order(rows, info.raw.get("total_episodes"), NAME)
    return rows


def _paths(
    files: CorpusFiles, info: Info, index: np.ndarray, declared: Template, usual: str, key: str = ""
) -> EpisodePaths:
    templates = (declared, Template.parse(usual, "usual"))
    return EpisodePaths(templates, index, info.chunks_size, lambda p: files.stamp(p) is not None, key)  # type: ignore[arg-type]


def _length(rows: EpisodeRows, row: int, value: Any, line: int) -> int:
    if type(value) is int and 0 <= value < MAX_FRAMES:
        return value
    said = "no length" if value is None else f"the length {brief(value)}, which no episode has"
    message = f"{NAME}, line {line}, gives {said}"
    rows.accuse(row, "count_lie", message, "Write the true number of frames.", check="files", subject=NAME)
    return 0


def _tasks(rows: EpisodeRows, row: int, value: Any, line: int) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and all(isinstance(t, str) for t in value):
        return tuple(value)
    message = f"{NAME}, line {line}, gives no list of tasks"
    rows.accuse(row, "tasks_absent", message, 'Write "tasks": ["what is done"].', subject=NAME)
    return ()


def _lost(line: int, why: str) -> Issue:
    return Issue(
        check="schema",
        code="episode_line",
        kind=Kind.DEFECT,
        message=f"{NAME}, line {line}: {why}; the episode that it describes is lost",
        fix="Repair the line or restore the file.",
        subject=NAME,
    )
