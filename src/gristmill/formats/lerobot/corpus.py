"""A LeRobot dataset as a corpus: metadata read on opening, everything else when it is asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.embodiment import Embodiment, resolve
from gristmill.episode import CameraInfo, CorpusFacts, Dim, Episode, EpisodeTable
from gristmill.errors import CorpusError, RecordingError
from gristmill.finding import Issue, Kind
from gristmill.formats.files import CorpusFiles, FileStamp
from gristmill.formats.lerobot import episodes_v2, episodes_v3, stats_lines
from gristmill.formats.lerobot.datafiles import DataFiles
from gristmill.formats.lerobot.info import Info, read_info
from gristmill.formats.lerobot.layout import PackedPaths
from gristmill.formats.lerobot.pointers import check_pointers
from gristmill.formats.lerobot.reading import EpisodeReader
from gristmill.formats.lerobot.rows import EpisodeRows
from gristmill.formats.lerobot.stats import EpisodeStats, NoStats, read_corpus_stats
from gristmill.formats.lerobot.stats_columns import StatsColumns
from gristmill.formats.lerobot.survey import Survey, absent_cameras, absent_images, camera_absent, survey
from gristmill.formats.lerobot.tasks import Tasks, read_tasks
from gristmill.formats.lerobot.video_sizes import size_issues

# Metadata that is read, or written anew by an export; anything else under meta belongs to other tools.
_KNOWN_META = (
    "gristmill.json",
    "info.json",
    "stats.json",
    "tasks.jsonl",
    "tasks.parquet",
    "episodes.jsonl",
    "episodes_stats.jsonl",
)


class LerobotCorpus:
    """Implements `gristmill.episode.Corpus` for v2.0, v2.1 and v3.0.

    Args:
        files: the corpus's files.
        key: the corpus's key in the store.
        card: the embodiment card; by default a shipped one that fits, or one inferred from the names.
        locator: what reopens the corpus in another process.
        root: how the corpus is called; by default its folder.

    Raises:
        CorpusError: the metadata cannot be read.
        UnsafeCorpusError: it leads outside the corpus.
    """

    def __init__(
        self, files: CorpusFiles, *, key: str, card: Embodiment | None = None, locator: Any = None, root: str = ""
    ) -> None:
        self.files = files
        self.locator = locator
        self.key = key
        self._root = root or str(files.root)
        self._card = card
        self._info: Info = read_info(files)
        read = episodes_v3.read_episodes if self._info.packed else episodes_v2.read_episodes
        self._rows: EpisodeRows = read(files, self._info)
        check_pointers(self._rows, self._info.rate_hz)

    def survey(self) -> Survey:
        """List and stamp the corpus's files, which also makes sure that no link leads outside.

        Raises:
            UnsafeCorpusError: one does.
        """
        return self._survey

    @cached_property
    def facts(self) -> CorpusFacts:
        """What the corpus declares of itself."""
        info = self._info
        unread = dict.fromkeys(self._absent, "declared, but the corpus holds no video of it")
        unread |= dict.fromkeys(self._absent_images, "declared as images, which no table holds")
        unread |= dict.fromkeys(self._undeclared, "declared, but the episodes table does not say where its frames lie")
        unread |= {f.key: f.why_unread for f in info.features if f.kind == "unread"}
        unread |= {f.key: "touch; no check understands it" for f in info.of_kind("number") if "tactile" in f.key}
        return CorpusFacts(
            key=self.key,
            root=self._root,
            format=f"lerobot {info.version}",
            robot_type=info.robot_type,
            rate_hz=info.rate_hz,
            features=info.raw["features"],
            cameras=self._cameras,
            dims=self._dims,
            declared_stats=self._corpus_stats[0],
            info=info.raw,
            unread=unread,
            tasks=self._tasks.texts,
        )

    @cached_property
    def embodiment(self) -> Embodiment:
        """The card that was given, or the one that fits."""
        return self._card or resolve(self._info.robot_type, self._dims)

    @cached_property
    def issues(self) -> tuple[Issue, ...]:
        """What is wrong with the corpus as a whole."""
        return (
            *self._info.issues,
            *self._rows.issues,
            *self._tasks.issues,
            *self._corpus_stats[1],
            *(camera_absent(key) for key in self._absent),
            *self._absent_images.values(),
            *size_issues(self.files, self._info.of_kind("camera"), self._rows),
            *self._survey.issues,
            *self._reader.common.values(),
        )

    @cached_property
    def table(self) -> EpisodeTable:
        """All episodes, from metadata and file stamps alone."""
        rows, stamps = self._rows, self._survey.hand_over()
        return EpisodeTable(
            index=rows.index,
            length=rows.length,
            tasks=rows.tasks,
            values_stamp=_stamps(
                rows.data,
                stamps,
                [f":{a}:{n}" for a, n in zip(rows.first_row.tolist(), rows.length.tolist(), strict=True)],
            ),
            camera_stamps={key: self._camera_stamps(key, stamps) for key in self._cameras},
            meta_digest=self._meta_digests(),
        )

    def episodes(self, rows: Sequence[int]) -> Iterator[Episode]:
        """The episodes of these rows of the table, in that order."""
        embodiment = self.embodiment
        for row in rows:
            yield self._reader.episode(int(row), embodiment)

    @property
    def side_files(self) -> Mapping[str, Path]:
        """Files under `meta` that other tools put there, such as `modality.json`: name -> path."""
        names = sorted(self.files.under("meta"))
        return {
            name: self.files.path(name)
            for name in names
            if name.removeprefix("meta/") not in _KNOWN_META and not name.startswith("meta/episodes/")
        }

    def raw_columns(self, row: int, keys: Sequence[str]) -> pa.Table:
        """Columns of one episode as they are stored, for what no channel holds: text, language, images.

        Raises:
            RecordingError: the episode, or one of the columns, cannot be read.
        """
        seen = self._reader.examine(row)
        place, index = seen.place, int(self._rows.index[row])
        if place.file is None:
            raise RecordingError(f"episode {index}: {place.lost}")
        table = place.file.table
        absent = [key for key in keys if not table.schema.get_all_field_indices(key)]
        if absent:
            raise RecordingError(f"episode {index}: {place.file.name} has no column {absent[0]}")
        return table.rows_of(keys, place.start, place.stop)

    @cached_property
    def _tasks(self) -> Tasks:
        return read_tasks(self.files, self._info.packed, self._info.raw.get("total_tasks"))

    @cached_property
    def _absent(self) -> list[str]:
        return absent_cameras(self.files, self._rows)

    @cached_property
    def _undeclared(self) -> list[str]:
        return [key for key, slices in self._rows.cameras.items() if not slices.declared]

    @cached_property
    def _absent_images(self) -> Mapping[str, Issue]:
        images = [f.key for f in self._info.of_kind("camera") if f.is_image]
        return absent_images(images, self._rows, self._data) if images else {}

    @cached_property
    def _data(self) -> DataFiles:
        return DataFiles(self.files, self._info.features, self._rows)

    @cached_property
    def _cameras(self) -> Mapping[str, CameraInfo]:
        rate_hz = self._info.rate_hz
        without = {*self._undeclared, *self._absent, *self._absent_images}
        return {f.key: f.camera(rate_hz) for f in self._info.of_kind("camera") if f.key not in without}

    @cached_property
    def _stats(self) -> EpisodeStats:
        rows, files = self._rows, self.files
        if self._info.packed:
            return StatsColumns(files, episodes_v3.episode_files(files), rows.index)
        if files.stamp(stats_lines.NAME) is not None:
            return stats_lines.StatsLines(files.path(stats_lines.NAME), rows.index)
        return NoStats(len(rows))

    @cached_property
    def _corpus_stats(self) -> tuple[Mapping[str, Mapping[str, Any]], list[Issue]]:
        needed = self._info.version != "v2.1"
        stats, issues = read_corpus_stats(self.files, self._info.features, needed)
        if not needed and isinstance(self._stats, NoStats):
            issues.append(
                Issue(
                    check="stats",
                    code="stats_missing",
                    kind=Kind.RISK,
                    message=f"{stats_lines.NAME} is missing; policies cannot normalize their inputs",
                    fix="Compute the statistics anew; an export writes those of exactly its frames.",
                    subject=stats_lines.NAME,
                )
            )
        return stats, issues

    @cached_property
    def _reader(self) -> EpisodeReader:
        return EpisodeReader(
            key=self.key,
            files=self.files,
            info=self._info,
            rows=self._rows,
            tasks=self._tasks,
            stats=self._stats,
            cameras=self._cameras,
            data=self._data,
        )

    @cached_property
    def _survey(self) -> Survey:
        return survey(self.files, self._info, self._rows, self._data)

    @cached_property
    def _dims(self) -> tuple[Dim, ...]:
        """The layout as the first table that opens has it; what it lacks is no channel."""
        widths = {f.key: f.width for f in self._info.of_kind("number")}
        paths = self._rows.data.names if isinstance(self._rows.data, PackedPaths) else self._rows.data
        for at in range(min(len(paths), 8)):
            try:
                found = self._data.get(paths[at]).fit
            except RecordingError:
                continue
            widths = {p.key: p.width for p in found.plans if p.width is not None}
            break
        features = [f for f in self._info.of_kind("number") if f.key in widths]
        return tuple(
            dim for role in ("state", "action") for f in features if f.role == role for dim in f.dims(widths[f.key])
        )

    def _camera_stamps(self, key: str, stamps: Mapping[str, FileStamp]) -> list[str]:
        rows = self._rows
        if key not in rows.cameras:  # images in the data files
            return _stamps(rows.data, stamps, [f":{a}" for a in rows.first_row.tolist()])
        slices = rows.cameras[key]
        ranges = zip(slices.start_s.tolist(), rows.length.tolist(), strict=True)
        return _stamps(slices.paths, stamps, [f":{start:.6f}:{n}" for start, n in ranges])

    def _meta_digests(self) -> list[str]:
        """Digests of what is declared of each episode, without what changes when files are packed anew."""
        rows, found = self._rows, []
        common = self._info.digest()
        texts = {tasks: repr(tasks) for tasks in set(rows.tasks)}
        for row, (length, stats) in enumerate(zip(rows.length.tolist(), self._stats.digests(), strict=True)):
            blamed = [i.code for i in rows.row_issues.get(row, ())]
            text = f"{common}{length}|{texts[rows.tasks[row]]}|{stats}|{blamed or ''}"
            found.append(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest())
        return found


def open_folder(path: Path, *, key: str, card: Embodiment | None = None, locator: Any = None) -> LerobotCorpus:
    """Open a dataset in a folder.

    Raises:
        CorpusError: it cannot be opened.
        UnsafeCorpusError: a path or link leads outside it.
    """
    try:
        return LerobotCorpus(CorpusFiles(path), key=key, card=card, locator=locator)
    except RecordingError as error:
        raise CorpusError(str(error)) from None


def _stamps(paths: Sequence[str], stamps: Mapping[str, FileStamp], ranges: Sequence[str]) -> list[str]:
    """A stamp an episode: the file's and the range within; "" where the file is missing."""
    known: dict[str, str] = {}

    def of(path: str) -> str:
        stamp = stamps.get(path)
        if stamp is None:
            return ""
        text = f"{path}\0{stamp.size}\0{stamp.mtime_ns}\0{stamp.identity}"
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    if isinstance(paths, PackedPaths):
        known = {name: of(name) for name in paths.names}
    found = []
    for row, span in enumerate(ranges):
        path = paths[row]
        stamp = known[path] if path in known else of(path)
        found.append(stamp and stamp + span)
    return found
