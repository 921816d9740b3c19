"""One episode from the files: its rows found, held against the metadata, and handed over lazily."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from gristmill.embodiment import Embodiment
from gristmill.episode import Camera, CameraInfo, Channel, Episode, episode_id
from gristmill.errors import RecordingError, UnsafeCorpusError, VideoError
from gristmill.finding import Issue, Kind
from gristmill.formats.cameras import LazyCameras
from gristmill.formats.files import CorpusFiles
from gristmill.formats.lerobot.arrays import wide
from gristmill.formats.lerobot.datafiles import DataFile, DataFiles
from gristmill.formats.lerobot.declaration import BOOKKEEPING
from gristmill.formats.lerobot.info import Info
from gristmill.formats.lerobot.places import Finder, Place
from gristmill.formats.lerobot.rows import EpisodeRows
from gristmill.formats.lerobot.slices import Rows, is_regular, settle
from gristmill.formats.lerobot.stats import EpisodeStats, LazyStats
from gristmill.formats.lerobot.tasks import Tasks
from gristmill.formats.lerobot.verify import check_count, check_numbering, check_tasks, check_window, count

_PROBES = 8


class Examined(NamedTuple):
    """What reading one episode gave."""

    place: Place
    channels: dict[str, Rows]
    index_columns: dict[str, np.ndarray]
    issues: list[Issue]


class EpisodeReader:
    """Makes episodes of one corpus."""

    def __init__(
        self,
        *,
        key: str,
        files: CorpusFiles,
        info: Info,
        rows: EpisodeRows,
        tasks: Tasks,
        stats: EpisodeStats,
        cameras: Mapping[str, CameraInfo],
        data: DataFiles,
    ) -> None:
        self._key = key
        self._files = files
        self._info = info
        self._rows = rows
        self._tasks = tasks
        self._stats = stats
        self._cameras = cameras
        self._camera_keys = tuple(cameras)
        self._images = frozenset(f.key for f in info.of_kind("camera") if f.is_image)
        self._unseen = self._images - cameras.keys()  # images that no table has; the corpus says so once
        self._features = {f.key: f for f in info.of_kind("number")}
        self.data = data
        self._finder = Finder(rows, self.data, info.packed)
        self._present: dict[str, int] = {}  # size of the video files seen last, -1 for missing ones

    def episode(self, row: int, embodiment: Embodiment) -> Episode:
        """The episode of a row of the table; what is wrong with it is in its issues and loaders."""
        common = self.common
        seen = self.examine(row)
        rows, index = self._rows, int(self._rows.index[row])
        frames = seen.place.stop - seen.place.start if seen.place.file else int(rows.length[row])
        return Episode(
            id=episode_id(self._key, index),
            corpus=self._key,
            index=index,
            length=int(rows.length[row]),
            rate_hz=self._info.rate_hz,
            tasks=rows.tasks[row],
            embodiment=embodiment,
            cameras=LazyCameras(self._camera_keys, partial(self._camera, row, seen, frames)),
            issues=tuple(i for i in seen.issues if not common or _kind_of(i) not in common),
            declared_stats=LazyStats(self._stats, row),
            load_channels=partial(self._channels, index, seen),
            load_index_columns=partial(self._index_columns, index, seen),
        )

    @cached_property
    def common(self) -> Mapping[tuple, Issue]:
        """What is wrong with every episode alike, by examples; it is told once, of the corpus.

        A few episodes far apart stand for all. An issue that all of them share is the corpus's way of writing.
        """
        n = len(self._rows)
        sampled = np.unique(np.linspace(min(1, n - 1), n - 1, _PROBES).astype(int)).tolist() if n > 2 else []
        shared: dict[tuple, Issue] | None = None
        for row in sampled:
            found = {_kind_of(i): i for i in self.examine(row).issues if _can_be_common(i)}
            shared = found if shared is None else {k: i for k, i in shared.items() if k in found}
            if not shared:
                break
        looked = f"{n} episodes" if len(sampled) == n else f"{len(sampled)} episodes that were looked at, of {n},"
        return {
            k: replace(i, episode=None, message=f"all {looked} share this: {i.message}")
            for k, i in (shared or {}).items()
        }

    def examine(self, row: int) -> Examined:
        """Find and read an episode's rows and hold them against the metadata."""
        place = self._finder.find(row)
        # What is wrong with a camera that is not read harms nobody.
        known = [i for i in self._rows.row_issues.get(row, ()) if i.camera is None or i.camera in self._cameras]
        issues = [*known, *place.issues]
        index = int(self._rows.index[row])
        if problem := self._stats.problem(row):
            issues.append(_stats_issue(index, problem))
        channels: dict[str, Rows] = {}
        columns: dict[str, np.ndarray] = {}
        if place.file is not None:
            try:
                read = place.file.reader.read(place.start, place.stop)
                columns = {k: settle(read.pop(k), None, k) for k in BOOKKEEPING if k in read}
                channels = read
                issues += self._contents(row, place.file, place, channels, columns)
            except RecordingError as error:
                issues.append(_unreadable(index, str(error), place.file.name))
                place = replace(place, file=None, lost=str(error))
        issues += self._videos(row, place)
        return Examined(place, channels, columns, issues)

    def _contents(
        self, row: int, file: DataFile, place: Place, channels: Mapping[str, Rows], columns: Mapping[str, np.ndarray]
    ) -> Iterator[Issue]:
        rows, index = self._rows, int(self._rows.index[row])
        for issue in file.fit.issues:
            if issue.channel in self._unseen:
                continue
            message = f"episode {index}: {issue.message}"
            yield replace(issue, episode=index, message=message, subject=file.name)
        if not any(i.code == "count_lie" for i in rows.row_issues.get(row, ())):  # a length that makes sense
            yield from check_count(index, place.stop - place.start, int(rows.length[row]), file.name)
        first = int(rows.first_row[row]) if place.pointer_holds else None
        yield from check_numbering(index, columns, first, row == 0)
        yield from check_tasks(index, columns.get("task_index"), self._tasks, rows.tasks[row])
        for key, values in channels.items():
            if is_regular(values, file.widths[key]):
                continue
            try:
                settle(values, file.widths[key], key)
                message = f"episode {index}: {key} has empty cells; they were read as NaN"
            except RecordingError as error:
                message = f"episode {index}: {error}"
            yield _cells(index, key, message, file.name)

    def _videos(self, row: int, place: Place) -> Iterator[Issue]:
        rows, index = self._rows, int(self._rows.index[row])
        for key in self._camera_keys:
            if key in self._images:
                continue
            slices = rows.cameras[key]
            path = slices.paths[row]
            size = self._size(path)
            if path and size <= 0:  # a missing pointer is told of where pointers are
                yield _video_missing(index, key, path, size == 0)
            if place.file is not None:
                window_s = float(slices.stop_s[row] - slices.start_s[row])
                yield from check_window(index, key, window_s, place.stop - place.start, self._info.rate_hz)

    def _size(self, path: str) -> int:
        size = self._present.get(path)
        if size is None:
            stamp = self._files.stamp(path) if path else None
            size = -1 if stamp is None else stamp.size
            if len(self._present) > 64:
                self._present.clear()
            self._present[path] = size
        return size

    def _channels(self, index: int, seen: Examined) -> Mapping[str, Channel]:
        file = seen.place.file
        if file is None:
            raise RecordingError(f"episode {index}: {seen.place.lost}")
        times_s = self._times_s(index, seen)
        found: dict[str, Channel] = {}
        for key, rows in seen.channels.items():
            feature, width = self._features[key], file.widths[key] or 1
            try:
                values = settle(rows, width, f"episode {index}, {key}")
            except RecordingError:
                continue  # its issue says so; the other channels are of use
            names = feature.flat_names[0] if width == feature.width else ("",) * width
            found[key] = Channel(key, feature.role, values, times_s, names)
        return found

    def _index_columns(self, index: int, seen: Examined) -> Mapping[str, np.ndarray]:
        if seen.place.file is None:
            raise RecordingError(f"episode {index}: {seen.place.lost}")
        return seen.index_columns

    def _times_s(self, index: int, seen: Examined) -> np.ndarray:
        times = seen.index_columns.get("timestamp")
        if times is None or times.dtype.kind not in "fiu":
            return count(seen.place.stop - seen.place.start) / self._info.rate_hz
        return wide(times)

    def _camera(self, row: int, seen: Examined, frames: int, key: str) -> Camera:
        from gristmill.video.camera import VideoCamera

        index = int(self._rows.index[row])
        where = f"episode {index}, camera {key}"
        if key in self._images:
            return self._image_camera(seen, frames, key, where)
        slices = self._rows.cameras[key]
        path = slices.paths[row]
        next_s = float(slices.next_s[row])
        return VideoCamera(
            info=self._cameras[key],
            path=self._files.fetch(path) if path else None,
            start_s=float(slices.start_s[row]),
            frames=frames,
            rate_hz=self._info.rate_hz,
            where=where,
            stop_s=next_s if next_s == next_s else None,
            whole_file=bool(slices.alone[row]),
        )

    def _image_camera(self, seen: Examined, frames: int, key: str, where: str) -> Camera:
        from gristmill.video.images import ImageCamera

        place = seen.place
        name = place.file.name if place.file else ""

        def read(start: int, stop: int) -> Iterator[bytes | None]:
            if place.file is None:
                raise VideoError(f"{where}: {place.lost}")
            # The file may have been closed to make room for others since.
            table = self.data.get(name).table
            try:
                for cell in table.cells(key, place.start + start, place.start + stop):
                    yield self._image_bytes(cell, where)
            except RecordingError as error:
                raise VideoError(f"{where}: {error}") from None

        times_s = count(frames) / self._info.rate_hz
        return ImageCamera(info=self._cameras[key], frames=frames, times_s=times_s, where=where, read=read)

    def _image_bytes(self, cell: Any, where: str) -> bytes | None:
        if cell is not None and not isinstance(cell, dict):
            raise VideoError(f"{where}: the column holds {type(cell).__name__} where images should be")
        if cell is None or cell.get("bytes") is not None or not cell.get("path"):
            return None if cell is None else cell.get("bytes")
        try:
            return self._files.path(str(cell["path"])).read_bytes()
        except (OSError, UnsafeCorpusError) as error:
            raise VideoError(f"{where}: image {cell['path']!r} cannot be read ({error})") from None


def _can_be_common(issue: Issue) -> bool:
    """Whether the issue is about how the corpus is written, and harms no episode's own data.

    A file that is missing, or frames that are another episode's, stay with their episodes, however many they are.
    """
    return issue.check in ("schema", "stats") or (issue.check == "pointers" and issue.camera is None)


def _kind_of(issue: Issue) -> tuple:
    return issue.check, issue.code, issue.channel, issue.camera


def _stats_issue(index: int, problem: str) -> Issue:
    return Issue(
        check="stats",
        code="stats_absent",
        kind=Kind.RISK,
        message=f"episode {index}: {problem}",
        fix="Compute the statistics anew; an export writes those of exactly its frames.",
        episode=index,
    )


def _unreadable(index: int, reason: str, subject: str) -> Issue:
    return Issue(
        check="files",
        code="data_unreadable",
        kind=Kind.DEFECT,
        message=f"episode {index}: {reason}; nothing of its data can be read",
        fix="Restore the file from the dataset's origin, or record the episode again.",
        episode=index,
        subject=subject,
    )


def _cells(index: int, key: str, message: str, subject: str) -> Issue:
    return Issue(
        check="schema",
        code="cells",
        kind=Kind.DEFECT,
        message=message,
        fix="Write the channel anew: one full row a frame.",
        episode=index,
        channel=key,
        subject=subject,
    )


def _video_missing(index: int, key: str, path: str, empty: bool) -> Issue:
    what = f"{path} is empty" if empty else f"{path} is missing"
    return Issue(
        check="files",
        code="video_truncated" if empty else "video_missing",
        kind=Kind.DEFECT,
        message=f"episode {index}: camera {key}: {what}; its frames are lost, its low-dimensional data are not",
        fix="Restore the video, or train on the low-dimensional data alone.",
        episode=index,
        camera=key,
        subject=path,
    )
