"""What the files themselves say of the corpus as a whole: listed and stamped once, nothing opened but footers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from gristmill.errors import RecordingError
from gristmill.finding import Issue, Kind
from gristmill.formats.files import CorpusFiles, FileStamp
from gristmill.formats.lerobot.datafiles import DataFiles
from gristmill.formats.lerobot.info import NAME, Info
from gristmill.formats.lerobot.layout import EpisodePaths, PackedPaths
from gristmill.formats.lerobot.rows import EpisodeRows

_SHOWN = 3
_TABLES_ASKED = 8
_SPLIT = re.compile(r"(\d{1,12}):(\d{1,12})")


@dataclass
class Survey:
    """The stamps of all files under data and videos, until they are handed over, and what is wrong with them."""

    stamps: Mapping[str, FileStamp]
    issues: tuple[Issue, ...]

    def hand_over(self) -> Mapping[str, FileStamp]:
        """The stamps, which are many, for the one table that they go into."""
        stamps, self.stamps = self.stamps, {}
        return stamps


def survey(files: CorpusFiles, info: Info, rows: EpisodeRows, data: DataFiles) -> Survey:
    """List the corpus's files and compare them with the metadata.

    Raises:
        UnsafeCorpusError: a link leads outside the corpus.
    """
    stamps: dict[str, FileStamp] = {}
    for top in _tops(info):
        stamps |= files.under(top)
    issues = [
        *_stray_tables(info, rows, stamps),
        *_orphans(rows, stamps),
        *_templates(info, rows, stamps),
        *_order(rows, stamps),
        *_footers(rows, data, stamps),
        *_totals(info, rows, stamps),
        *_splits(info, len(rows)),
    ]
    return Survey(stamps, tuple(issues))


def absent_cameras(files: CorpusFiles, rows: EpisodeRows) -> list[str]:
    """Declared videos of which no file exists. Stops at the first file of each camera."""
    absent = []
    for key, slices in rows.cameras.items():
        if not slices.declared:
            continue  # where its files are is not known
        paths = slices.paths.names if isinstance(slices.paths, PackedPaths) else slices.paths
        if not any(path and files.stamp(path) is not None for path in paths):
            absent.append(key)
    return absent


def absent_images(keys: Sequence[str], rows: EpisodeRows, data: DataFiles) -> dict[str, Issue]:
    """Declared images that no table holds, each with what the tables hold instead; a few tables stand for all."""
    paths = _data_paths(rows)
    found: dict[str, Issue] = {}
    seen: set[str] = set()
    for at in np.unique(np.linspace(0, len(paths) - 1, _TABLES_ASKED).astype(int)).tolist():
        try:
            table = data.get(paths[int(at)])
        except RecordingError:
            continue  # its episodes say so
        for key in keys:
            issue = table.fit.unseen(key)
            if issue is None:
                seen.add(key)
            else:
                effect = "policies that see with it cannot train, the low-dimensional data is not affected"
                found.setdefault(
                    key, replace(issue, message=f"{issue.message}; {effect}", channel=None, camera=key, subject=NAME)
                )
    return {key: issue for key, issue in found.items() if key not in seen}


def camera_absent(key: str) -> Issue:
    """A camera that the corpus declares and does not have."""
    return Issue(
        check="files",
        code="camera_absent",
        kind=Kind.RISK,
        message=f"camera {key} is declared, but the corpus holds no video of it; policies that see with it cannot "
        "train, the low-dimensional data is not affected",
        fix="Fetch the videos, or remove the camera from info.json.",
        camera=key,
        subject=NAME,
    )


def _tops(info: Info) -> list[str]:
    """The folders that hold tables and videos."""
    tops = {"data", "videos", "images"}
    for template in (info.data_path, info.video_path):
        top, slash, _ = template.text.partition("/")
        if slash and "{" not in top and top not in ("meta", "."):
            tops.add(top)
    return sorted(tops)


def _data_paths(rows: EpisodeRows) -> Sequence[str]:
    return rows.data.names if isinstance(rows.data, PackedPaths) else rows.data


def _stray_tables(info: Info, rows: EpisodeRows, stamps: Mapping[str, FileStamp]) -> Iterator[Issue]:
    if rows.absent & {"data/chunk_index", "data/file_index"}:
        return  # which tables the episodes are in is not known
    known = set(_data_paths(rows))
    tables = sorted(n for n in stamps if n.startswith("data/") and n.endswith(".parquet") and n not in known)
    # LeRobot takes every table it finds: two levels deep in v3.0, anywhere below data in v2.x.
    read = [n for n in tables if not info.packed or n.count("/") == 2]
    if read:
        yield _issue(
            "stray_file",
            f"{_named(read)}: no episode points there, but LeRobot reads every table under data, so its rows shift "
            "or repeat those of the episodes",
            "Move the file out of data, or add its episodes to the metadata.",
            read[0],
            measured=len(read),
            unit="files",
        )
    unread = [n for n in tables if n not in read]
    if unread:
        yield _orphaned(unread)


def _orphans(rows: EpisodeRows, stamps: Mapping[str, FileStamp]) -> Iterator[Issue]:
    known: set[str] = set()
    if not all(slices.declared for slices in rows.cameras.values()):
        return
    for slices in rows.cameras.values():
        known.update(slices.paths.names if isinstance(slices.paths, PackedPaths) else slices.paths)
    orphans = sorted(n for n in stamps if n.startswith("videos/") and n not in known)
    if orphans:
        yield _orphaned(orphans)


def _orphaned(names: Sequence[str]) -> Issue:
    message = f"{_named(names)}: no episode points there"
    fix = "Remove the files, or restore the episodes that they belong to."
    return _issue("orphan_file", message, fix, names[0], kind=Kind.TRAIT, measured=float(len(names)), unit="files")


def _templates(info: Info, rows: EpisodeRows, stamps: Mapping[str, FileStamp]) -> Iterator[Issue]:
    """Templates that lead nowhere while the files lie in the usual places."""
    videos = [s.paths for s in rows.cameras.values()]
    for key, template, groups in (("data_path", info.data_path, [rows.data]), ("video_path", info.video_path, videos)):
        example = next((pair for paths in groups for pair in _misplaced(paths, stamps)), None)
        if example is None:
            continue
        declared, found = example
        yield _issue(
            "path_template",
            f"{key} is {template.text!r}, which gives {declared or 'other names'} where the file is {found}; loaders "
            "that follow it find nothing",
            f"Correct {key} in info.json.",
            NAME,
        )


def _misplaced(paths: Sequence[str], stamps: Mapping[str, FileStamp]) -> Iterator[tuple[str, str]]:
    if isinstance(paths, EpisodePaths):
        for row in range(len(paths)):
            declared = paths.declared(row)
            if declared not in stamps and (found := paths[row]) != declared:
                yield declared, found
    elif isinstance(paths, PackedPaths):
        yield from paths.moved


def _order(rows: EpisodeRows, stamps: Mapping[str, FileStamp]) -> Iterator[Issue]:
    """LeRobot numbers rows in path order, whatever the metadata says."""
    if not isinstance(rows.data, PackedPaths):
        return
    ids = np.asarray(rows.data.ids)
    firsts = {
        name: int(rows.first_row[ids == number].min())
        for number, name in enumerate(rows.data.names)
        if name in stamps and (ids == number).any()
    }
    names = sorted(firsts)
    for before, behind in pairwise(names):
        if 0 <= firsts[behind] < firsts[before]:
            yield _issue(
                "file_order",
                f"{behind} holds rows from {firsts[behind]} on, but stands after {before} with rows from "
                f"{firsts[before]} on; LeRobot counts rows in path order and gives other episodes' frames",
                "Export the dataset anew: files are written in the order of their rows.",
                behind,
                check="pointers",
            )
            return


def _footers(rows: EpisodeRows, data: DataFiles, stamps: Mapping[str, FileStamp]) -> Iterator[Issue]:
    """Shared tables that a crash left without a footer, or with rows of no episode."""
    if not isinstance(rows.data, PackedPaths):
        return
    ids = np.asarray(rows.data.ids)
    known = set(rows.index.tolist())
    for number, name in enumerate(rows.data.names):
        if name not in stamps:
            continue
        try:
            file = data.get(name)
            if file.table.salvaged:
                yield _issue(
                    "footer_missing",
                    f"{name} has no footer, as after a crash; {file.table.rows} complete rows of it were recovered, "
                    "other readers cannot open it",
                    "Export the dataset anew; episodes that are lost are named one by one.",
                    name,
                )
            elif file.table.rows != int(rows.length[ids == number].sum()):
                foreign = sorted(set(file.runs) - known)
                if foreign:
                    yield _issue(
                        "rows_without_episode",
                        f"{name} holds rows of episode {', '.join(map(str, foreign[:_SHOWN]))}, which the metadata "
                        "does not know; LeRobot reads them all the same",
                        "Export the dataset anew: only known episodes are written.",
                        name,
                        measured=len(foreign),
                        unit="episodes",
                    )
        except RecordingError:
            continue  # each of its episodes says so


def _totals(info: Info, rows: EpisodeRows, stamps: Mapping[str, FileStamp]) -> Iterator[Issue]:
    raw, frames = info.raw, int(rows.length.sum())
    videos = sum(n.startswith("videos/") and n.endswith(".mp4") for n in stamps)
    chunks = math.ceil((int(rows.index.max()) + 1) / info.chunks_size)
    if type(raw.get("total_frames")) is int:  # else `info_keys` tells of it
        yield from _total(raw, "total_frames", frames, "the episodes have", Kind.RISK)
    if not info.packed:
        yield from _total(raw, "total_videos", videos, "the corpus holds", Kind.TRAIT)
        yield from _total(raw, "total_chunks", chunks, "its episodes take", Kind.TRAIT)


def _total(raw: Mapping, key: str, found: int, says: str, kind: Kind) -> Iterator[Issue]:
    declared = raw.get(key)
    if declared is None or (type(declared) is int and declared == found):
        return
    shown = declared if type(declared) is int else type(declared).__name__
    message = f"info.json gives {key} {str(shown)[:20]}, {says} {found}"
    threshold = float(declared) if type(declared) is int and abs(declared) < 2**53 else None
    yield _issue(key, message, f"Correct {key}.", NAME, kind=kind, measured=found, threshold=threshold)


def _splits(info: Info, episodes: int) -> Iterator[Issue]:
    splits = info.raw.get("splits")
    if splits is None:
        return
    problem = ""
    if not isinstance(splits, dict):
        problem = "is no object of ranges"
    else:
        for name, text in splits.items():
            match = _SPLIT.fullmatch(text) if isinstance(text, str) else None
            if match is None:
                problem = f"gives {str(name)[:40]!r} no range such as '0:{episodes}'"
            elif int(match[2]) > episodes or int(match[1]) > int(match[2]):
                problem = f"gives {str(name)[:40]!r} the range {text}, but there are {episodes} episodes"
    if problem:
        yield _issue("splits", f"splits {problem}", "Correct splits in info.json.", NAME, "schema", Kind.TRAIT)


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more files"


def _issue(
    code: str,
    message: str,
    fix: str,
    subject: str,
    check: str = "files",
    kind: Kind = Kind.DEFECT,
    **more: object,
) -> Issue:
    return Issue(check=check, code=code, kind=kind, message=message, fix=fix, subject=subject, **more)  # type: ignore[arg-type]
