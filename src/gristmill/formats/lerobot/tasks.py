"""The table of tasks: `task_index` -> text, never by position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from gristmill.errors import RecordingError
from gristmill.finding import Issue, Kind
from gristmill.formats.files import CorpusFiles
from gristmill.formats.lerobot.documents import read_lines
from gristmill.formats.lerobot.tables import Table

_LINES, _PARQUET = "meta/tasks.jsonl", "meta/tasks.parquet"


@dataclass(frozen=True)
class Tasks:
    """Texts by `task_index`, and what is wrong with the file that holds them."""

    texts: Mapping[int, str]
    issues: tuple[Issue, ...]
    name: str  # of the file, relative to the corpus


def read_tasks(files: CorpusFiles, packed: bool, declared: object) -> Tasks:
    """Read the tasks, whichever file has them.

    Args:
        files: the corpus.
        packed: v3.0, which keeps them in Parquet.
        declared: `total_tasks` of info.json.
    """
    names = (_PARQUET, _LINES) if packed else (_LINES, _PARQUET)
    name = next((n for n in names if files.stamp(n) is not None), None)
    if name is None:
        message = f"{names[0]} is missing; what task_index means is not known"
        return Tasks({}, (_issue("tasks_missing", message, "Restore the file; loaders need it.", names[0]),), names[0])
    issues: list[Issue] = []
    if name != names[0]:
        message = f"tasks stand in {name}, where this version keeps them in {names[0]}"
        issues.append(_issue("tasks_place", message, "Convert the dataset with LeRobot's own script.", name))
    read = _from_parquet if name == _PARQUET else _from_lines
    texts: dict[int, str] = {}
    try:
        for position, (number, text) in enumerate(read(files.path(name), name, issues)):
            if number in texts:
                message = f"{name} gives task_index {number} twice; the first text is taken"
                issues.append(_issue("tasks_twice", message, "Number the tasks anew.", name))
                continue
            texts[number] = text
            if packed and number != position and not any(i.code == "tasks_order" for i in issues):
                message = f"row {position} of {name} holds task_index {number}; LeRobot looks tasks up by row"
                issues.append(_issue("tasks_order", message, "Sort the tasks by task_index, without holes.", name))
    except (RecordingError, OSError) as error:
        issues.append(_issue("tasks_unreadable", str(error), "Restore the file; loaders need it.", name))
    if type(declared) is int and declared != len(texts):
        issues.append(
            _issue(
                "total_tasks",
                f"info.json counts {declared} tasks, {name} holds {len(texts)}",
                "Correct total_tasks; loaders do not use it.",
                name,
                Kind.TRAIT,
            )
        )
    return Tasks(texts, tuple(issues), name)


def _from_lines(path: Path, name: str, issues: list[Issue]) -> Iterable[tuple[int, str]]:
    for line in read_lines(path):
        value = line.value or {}
        number, text = value.get("task_index"), value.get("task")
        if line.problem or type(number) is not int or not isinstance(text, str):
            message = f"{name}, line {line.number}: {line.problem or 'task_index or task is missing'}; it was left out"
            issues.append(_issue("tasks_line", message, "Repair the line.", name))
            continue
        if line.lossy:
            issues.append(_not_utf8(f"{name}, line {line.number}", name))
        yield number, text


def _from_parquet(path: Path, name: str, issues: list[Issue]) -> Iterable[tuple[int, str]]:
    table = Table(path, name)
    try:
        batches = list(table.batches(table.schema.names))
    finally:
        table.close()
    at = table.schema.get_field_index("task_index")
    # The text is the index of a pandas frame, which some writers leave without a name.
    column = next((f.name for f in table.schema if f.name == "task"), None) or next(
        (f.name for f in table.schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)), None
    )
    if at < 0 or column is None or not pa.types.is_integer(table.schema.field(at).type):
        raise RecordingError(f"{name} needs an integer column task_index and a column of texts")
    for batch in batches:
        texts, lossy = strings(batch.column(column))
        if lossy:
            issues.append(_not_utf8(name, name))
        for number, text in zip(batch.column("task_index").to_pylist(), texts, strict=True):
            if number is not None and text is not None:
                yield number, text


def strings(array: pa.Array) -> tuple[list[str | None], bool]:
    """Texts of a string column, and whether bytes that are not UTF-8 were replaced."""
    try:
        return array.to_pylist(), False
    except UnicodeDecodeError:
        kind = pa.large_binary() if pa.types.is_large_string(array.type) else pa.binary()
        raw = array.view(kind).to_pylist()
        return [None if b is None else b.decode("utf-8", "replace") for b in raw], True


def _not_utf8(where: str, subject: str) -> Issue:
    message = f"{where}: the text is not UTF-8; the bytes that could not be read were replaced"
    return _issue("not_utf8", message, "Write the text anew in UTF-8.", subject)


def _issue(code: str, message: str, fix: str, subject: str, kind: Kind = Kind.DEFECT) -> Issue:
    return Issue(check="schema", code=code, kind=kind, message=message, fix=fix, subject=subject)
