"""The episodes of v3.0: `meta/episodes/*/*.parquet`, with pointers into shared tables and videos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from gristmill.errors import CorpusError, RecordingError
from gristmill.finding import Issue, Kind
from gristmill.formats.files import CorpusFiles
from gristmill.formats.lerobot import layout
from gristmill.formats.lerobot.arrays import column, counts, is_list, is_number, items, numbers, valid, wide
from gristmill.formats.lerobot.info import Info
from gristmill.formats.lerobot.layout import EpisodePaths, PackedPaths, Template
from gristmill.formats.lerobot.rebuilt import episodes_in_data
from gristmill.formats.lerobot.rows import (
    MAX_FRAMES,
    CameraSlices,
    EpisodeRows,
    check_order,
    distinct,
    intern,
    shared_files,
    whole_files,
)
from gristmill.formats.lerobot.tables import Table, one_line
from gristmill.formats.lerobot.tasks import read_tasks, strings
from gristmill.types import FloatArray, IntArray

FOLDER = "meta/episodes"

_BOUNDS = "LeRobot takes an episode's bounds from it and fails; the rows themselves say where the episodes are"
_FILES = "LeRobot's tools cannot tell which file an episode is in; the rows themselves do"
_NULL = -(1 << 62)  # stands for a cell that is null
_POINTERS = {
    "dataset_from_index": (Kind.DEFECT, _BOUNDS),
    "dataset_to_index": (Kind.DEFECT, _BOUNDS),
    "data/chunk_index": (Kind.RISK, _FILES),
    "data/file_index": (Kind.RISK, _FILES),
}


def episode_files(files: CorpusFiles) -> list[str]:
    """The files of the episodes table, in order."""
    return sorted(name for name in files.under(FOLDER) if name.endswith(".parquet"))


def read_episodes(files: CorpusFiles, info: Info) -> EpisodeRows:
    """Read the table of episodes.

    Raises:
        CorpusError: there is none, or it holds no episode that can be read.
    """
    videos = [f.key for f in info.features if f.dtype == "video"]
    names = episode_files(files)
    if not names:
        raise CorpusError(f"{FOLDER} holds no Parquet file; restore it from the dataset's origin")
    issues: list[Issue] = []
    parts: list[pa.Table] = []
    for name in names:
        try:
            parts.append(_read(files, name, videos))
        except RecordingError as error:
            issues.append(_issue("files", "episodes_unreadable", str(error), subject=name))
    parts = [p for p in parts if p.num_rows]
    if issues:
        parts += _rebuilt(files, info, parts, issues)
    if not parts:
        why = f": {issues[0].message}" if issues else ""
        raise CorpusError(f"{FOLDER} holds no episode{why}; record one, or restore it from the dataset's origin")
    try:
        table = pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowException as error:
        raise CorpusError(
            f"the files in {FOLDER} differ in their columns ({one_line(error)}); write them anew"
        ) from None
    return _rows(files, info, table, videos, issues)


def _rebuilt(files: CorpusFiles, info: Info, parts: Sequence[pa.Table], issues: list[Issue]) -> list[pa.Table]:
    """The episodes that stood in unreadable files of the table, as far as their rows tell of them."""
    known = {int(n) for part in parts for n in _integers(part, "episode_index")}
    tasks = read_tasks(files, True, None).texts
    rows = episodes_in_data(files, info.features, tasks, known)
    if not rows:
        return []
    message = f"{len(rows)} episodes that {FOLDER} lost were found in the data; where they lie in videos is not known"
    issues.append(_issue("files", "episodes_rebuilt", message))
    return [pa.Table.from_pylist(rows)]


def _read(files: CorpusFiles, name: str, videos: Sequence[str]) -> pa.Table:
    wanted = ["episode_index", "tasks", "length", "dataset_from_index", "dataset_to_index"]
    wanted += ["data/chunk_index", "data/file_index"]
    wanted += [f"videos/{key}/{part}" for key in videos for part in ("chunk_index", "file_index")]
    wanted += [f"videos/{key}/{part}" for key in videos for part in ("from_timestamp", "to_timestamp")]
    table = Table(files.path(name), name)
    try:
        fields = {key: table.schema.field(at[0]) for key in wanted if (at := table.schema.get_all_field_indices(key))}
        if "episode_index" not in fields:
            raise RecordingError(f"{name} has no column episode_index")
        for key, field in fields.items():
            if key != "tasks" and not is_number(field.type):
                raise RecordingError(f"{name}: column {key} is of type {field.type}, expected numbers")
        batches = [
            batch.select([batch.schema.get_all_field_indices(key)[0] for key in fields])
            for batch in table.batches(list(fields))
        ]
        return pa.Table.from_batches(batches, pa.schema(list(fields.values())).remove_metadata())
    finally:
        table.close()


def _rows(files: CorpusFiles, info: Info, table: pa.Table, videos: Sequence[str], issues: list[Issue]) -> EpisodeRows:
    given = _integers(table, "episode_index")
    sound = np.flatnonzero((given >= 0) & (given < MAX_FRAMES))
    if len(sound) < len(given):
        lost = len(given) - len(sound)
        issues.append(
            _issue("schema", "episode_line", f"{lost} rows of {FOLDER} give no episode_index; they were left out")
        )
    kept, twice = distinct(given[sound].tolist(), lambda i: f"row {int(sound[i])} of {FOLDER}")
    if not kept:
        raise CorpusError(f"{FOLDER} holds no episode with a number; restore it from the dataset's origin")
    if len(kept) < len(given):
        table = table.take(pa.array(sound[kept]))
    index = _integers(table, "episode_index")
    rows = EpisodeRows(
        index=index,
        length=np.zeros(len(index), np.int64),
        tasks=[],
        data=_packed(files, info, index, _pointers(table, "data"), info.data_path, layout.DATA_V3)[0],
        first_row=_integers(table, "dataset_from_index"),
        stop_row=_integers(table, "dataset_to_index"),
        absent=frozenset({*_POINTERS, *_ends(videos)} - {*table.column_names}),
        cameras={key: _camera(files, info, index, table, key) for key in videos},
        issues=issues + twice,
    )
    ends = _ends([key for key in videos if rows.cameras[key].declared])  # of others, more is told elsewhere
    rows.issues.extend(_absent(name) for name in (*_POINTERS, *ends) if name in rows.absent)
    _lengths(rows, table)
    _task_texts(rows, table)
    check_order(rows, info.raw.get("total_episodes"), FOLDER)
    return rows


def _camera(files: CorpusFiles, info: Info, index: IntArray, table: pa.Table, key: str) -> CameraSlices:
    prefix = f"videos/{key}"
    pointers = _pointers(table, prefix)
    paths, ids = _packed(files, info, index, pointers, info.video_path, layout.VIDEO_V3, key)
    if ids is None:
        return whole_files(paths)
    start_s, stop_s = (_floats(table, f"{prefix}/{end}_timestamp") for end in ("from", "to"))
    slices = shared_files(paths, ids, start_s, stop_s)
    needed = (f"{prefix}/{part}" for part in ("chunk_index", "file_index", "from_timestamp"))
    return replace(slices, absent=tuple(name for name in needed if name not in table.column_names))


def _pointers(table: pa.Table, prefix: str) -> tuple[IntArray, IntArray]:
    return _integers(table, f"{prefix}/chunk_index"), _integers(table, f"{prefix}/file_index")


def _packed(
    files: CorpusFiles,
    info: Info,
    index: IntArray,
    pointers: tuple[IntArray, IntArray],
    declared: Template,
    usual: str,
    key: str = "",
) -> tuple[Sequence[str], IntArray | None]:
    """Paths of all episodes, and the number of each one's file; None when every episode has its own."""
    fallback = Template.parse(usual, "usual")

    def exists(path: str) -> bool:
        return files.stamp(path) is not None

    if "episode_index" in declared.fields:
        return EpisodePaths((declared, fallback), index, info.chunks_size, exists, key), None  # type: ignore[arg-type]
    places, ids = np.unique(np.stack(pointers), axis=1, return_inverse=True)
    names: list[str] = []
    moved: list[tuple[str, str]] = []
    for chunk, file in places.T.tolist():
        if chunk < 0 or file < 0:
            names.append("")
            continue
        values = {"chunk_index": chunk, "file_index": file, "video_key": key, "episode_chunk": chunk}
        path, other = declared.fill(**values), fallback.fill(**values)
        if path != other and not exists(path) and exists(other):
            moved.append((path, other))
            path = other
        names.append(path)
    # A template may give several places one path; what counts is which episodes share a file.
    unique = list(dict.fromkeys(n for n in names if n))
    position = {n: i for i, n in enumerate(unique)}
    ids = np.array([position.get(n, -1) for n in names], np.int32)[ids.reshape(-1)]
    return PackedPaths(ids, unique, moved), ids  # type: ignore[arg-type]


def _ends(videos: Sequence[str]) -> list[str]:
    return [f"videos/{key}/to_timestamp" for key in videos]


def _absent(name: str) -> Issue:
    kind, effect = _POINTERS.get(name, (Kind.RISK, "LeRobot's reader does without it, its tools fail"))
    return Issue(
        check="pointers",
        code="column_absent",
        kind=kind,
        message=f"{FOLDER} has no column {name}; {effect}",
        fix="Restore the column, or export the dataset anew: pointers are written from the data.",
        subject=FOLDER,
    )


def _lengths(rows: EpisodeRows, table: pa.Table) -> None:
    declared = _integers(table, "length", absent=_NULL)
    if "length" not in table.column_names:
        rows.issues.append(_issue("schema", "length_absent", f"{FOLDER} has no column length"))
        declared = np.where(rows.first_row >= 0, rows.stop_row - rows.first_row, 0)
    sound = (declared >= 0) & (declared < MAX_FRAMES)
    rows.length[sound] = declared[sound]
    for row in np.flatnonzero(~sound).tolist():
        given = int(declared[row])
        said = "no length" if given == _NULL else f"the length {given}, which no episode has"
        message = f"{FOLDER} gives {said}"
        rows.accuse(row, "count_lie", message, "Write the true number of frames.", check="files", subject=FOLDER)


def _task_texts(rows: EpisodeRows, table: pa.Table) -> None:
    if "tasks" not in table.column_names:
        rows.issues.append(_issue("schema", "tasks_absent", f"{FOLDER} has no column tasks"))
        rows.tasks = [()] * len(rows)
        return
    cells = column(table, "tasks")
    in_lists = is_list(cells.type)
    flat = items(cells) if in_lists else cells
    if not (pa.types.is_string(flat.type) or pa.types.is_large_string(flat.type)):
        message = f"{FOLDER} holds tasks of type {cells.type}, expected lists of texts"
        rows.issues.append(_issue("schema", "tasks_absent", message))
        rows.tasks = [()] * len(rows)
        return
    texts, lossy = strings(flat)
    rows.tasks = _grouped(texts, counts(cells) if in_lists else np.ones(len(texts), np.int64))
    if lossy:
        for row, tasks in enumerate(rows.tasks):
            if any("\ufffd" in t for t in tasks):
                message = f"its tasks in {FOLDER} are not UTF-8; the bytes that could not be read were replaced"
                rows.accuse(row, "not_utf8", message, "Write the text anew in UTF-8.", subject=FOLDER)


def _grouped(texts: Sequence[str | None], per_row: IntArray) -> list[tuple[str, ...]]:
    """Each episode's texts, equal tuples being one object. Most episodes have one task, and most share it."""
    single: dict[str | None, tuple[str, ...]] = {None: ()}
    if (per_row == 1).all():
        for text in set(texts) - {None}:
            single[text] = (text,)  # type: ignore[assignment]
        return [single[text] for text in texts]
    stops = np.cumsum(per_row).tolist()
    starts = [0, *stops[:-1]]
    return intern([tuple(t for t in texts[a:b] if t is not None) for a, b in zip(starts, stops, strict=True)])


def _integers(table: pa.Table, name: str, absent: int = -1) -> IntArray:
    """An integer column, `absent` where it is null or there is none."""
    if name not in table.column_names:
        return np.full(table.num_rows, absent, np.int64)
    cells = column(table, name)
    if cells.null_count and not pa.types.is_floating(cells.type):
        return np.where(
            valid(cells),
            numbers(cells.fill_null(False if pa.types.is_boolean(cells.type) else 0)).astype(np.int64),
            absent,
        )
    values = numbers(cells)
    if values.dtype.kind == "f":
        values = np.where(np.isfinite(values) & (np.abs(values) < 2**62), values, absent)
    return values.astype(np.int64)


def _floats(table: pa.Table, name: str) -> FloatArray:
    """A column of numbers, NaN where it is null or there is none."""
    if name not in table.column_names:
        return np.full(table.num_rows, np.nan)
    return wide(numbers(column(table, name)))


def _issue(check: str, code: str, message: str, subject: str = FOLDER) -> Issue:
    fix = "Restore the table from the dataset's origin, or export the dataset anew."
    return Issue(check=check, code=code, kind=Kind.DEFECT, message=message, fix=fix, subject=subject)
