"""Where an episode's rows really are: by the `episode_index` column, with the metadata's pointers held against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gristmill.errors import RecordingError
from gristmill.finding import Issue, Kind
from gristmill.formats.lerobot.datafiles import DataFile, DataFiles
from gristmill.formats.lerobot.rows import EpisodeRows
from gristmill.formats.lerobot.tables import Run

_FIX_POINTER = "Correct the pointer in the metadata, or export the dataset anew: pointers are written from the data."
_FIX_FILE = "Restore the file from the dataset's origin, or record the episode again."


@dataclass(kw_only=True)
class Place:
    """An episode's rows `start` .. `stop` of `file`; without a file, `lost` says why."""

    file: DataFile | None = None
    start: int = 0
    stop: int = 0
    lost: str = ""
    pointer_holds: bool = False  # dataset_from_index is right
    issues: list[Issue] = field(default_factory=list)


class Finder:
    """Finds episodes in the data files."""

    def __init__(self, rows: EpisodeRows, files: DataFiles, packed: bool) -> None:
        self._rows = rows
        self._files = files
        self._packed = packed

    def find(self, row: int) -> Place:
        """The place of one episode; it never raises for a bad one."""
        place = Place()
        path = self._rows.data[row]
        file = self._try(path, place)
        runs: Sequence[Run] = ()
        if file is not None:
            try:
                runs = file.runs.get(int(self._rows.index[row]), ())
            except RecordingError as error:
                if not self._packed and file.table.rows:
                    return self._whole(row, file, place, str(error))
                self._lose(row, place, "data_unreadable", str(error), path)
                return place
        if runs and file is not None:
            self._own(row, file, runs, place)
        elif not self._packed:
            self._swapped(row, file, place)
        else:
            self._elsewhere(row, path, file, place)
        if place.file is not None and place.file.table.salvaged:
            self._recovered(row, place)
        return place

    def _try(self, path: str, place: Place) -> DataFile | None:
        try:
            if path:
                return self._files.get(path)
            place.lost = "the metadata names no data file"
        except RecordingError as error:
            place.lost = str(error)
        return None

    def _own(self, row: int, file: DataFile, runs: Sequence[Run], place: Place) -> None:
        first = int(self._rows.first_row[row])
        base = self._files.base(file) if first >= 0 else None
        expected = None if base is None else first - base
        run = max(runs, key=lambda r: (r.start == expected, r.stop - r.start))
        place.file, place.start, place.stop = file, run.start, run.stop
        if len(runs) > 1:
            others = ", ".join(f"{r.start} to {r.stop - 1}" for r in runs if r is not run)
            message = f"its rows stand apart in {file.name}: {run.start} to {run.stop - 1} were read, {others} were not"
            self._blame(row, place, "schema", "rows_apart", message, "Write its rows one after the other.", file.name)
        if not self._packed and len(file.runs) > 1:
            others = ", ".join(str(e) for e in list(file.runs)[:5] if e != self._rows.index[row])
            message = f"{file.name} also holds rows of episode {others}"
            self._blame(
                row, place, "schema", "foreign_rows", message, "Remove the rows that are not its own.", file.name
            )
        if expected is None or base is None:
            return
        place.pointer_holds = expected == run.start
        if not place.pointer_holds:
            message = (
                f"dataset_from_index is {first}, but its rows in {file.name} begin at {base + run.start} "
                "(by episode_index); readers that trust it give another episode's frames"
            )
            self._blame(row, place, "pointers", "wrong_pointer", message, _FIX_POINTER, file.name)
        elif "dataset_to_index" in self._rows.absent:
            return
        elif self._rows.stop_row[row] != base + run.stop and self._rows.length[row] == run.stop - run.start:
            given = int(self._rows.stop_row[row])
            says = "is not given" if given == -1 else f"is {given}"
            message = f"dataset_to_index {says}, but its rows end before {base + run.stop}"
            self._blame(row, place, "pointers", "wrong_pointer", message, _FIX_POINTER, file.name)

    def _elsewhere(self, row: int, path: str, file: DataFile | None, place: Place) -> None:
        """An episode of a packed corpus that is not in the file that the metadata names."""
        found = self._files.elsewhere(int(self._rows.index[row]))
        if found is not None:
            name, run = found
            place.file, place.start, place.stop = self._files.get(name), run.start, run.stop
            if self._rows.absent & {"data/chunk_index", "data/file_index"}:
                return  # told of once, of the table
            message = f"the metadata points to {path or 'no data file'}, but its rows are in {name}"
            self._blame(row, place, "pointers", "wrong_pointer", message, _FIX_POINTER, path)
        elif file is None:
            code = "data_unreadable" if path and self._files.exists(path) else "data_missing"
            self._lose(row, place, code, place.lost, path)
        elif file.table.salvaged:
            self._lose(row, place, "footer_missing", f"{path} is cut off before its rows", path)
        else:
            self._lose(row, place, "rows_missing", f"{path} holds no row of it, nor does another data file", path)

    def _swapped(self, row: int, file: DataFile | None, place: Place) -> None:
        """An episode with a file of its own that says it holds another one."""
        path = self._rows.data[row]
        if file is None or not file.table.rows:
            missing = file is None and not self._files.exists(path)
            reason = place.lost if file is None else f"{path} holds no rows"
            self._lose(row, place, "data_missing" if missing else "data_unreadable", reason, path)
            return
        episode, runs = max(file.runs.items(), key=lambda item: max(r.stop - r.start for r in item[1]))
        other = np.flatnonzero(self._rows.index == episode)
        if len(other):
            theirs = self._try(self._rows.data[int(other[0])], Place())
            swapped = theirs.runs.get(int(self._rows.index[row])) if theirs is not None else None
            if swapped and theirs is not None:
                place.file, (place.start, place.stop) = theirs, swapped[0]
                message = f"{path} holds episode {episode}; its own rows are in {theirs.name}"
                self._blame(row, place, "pointers", "wrong_pointer", message, "Swap the files.", path)
                return
        run = max(runs, key=lambda r: r.stop - r.start)
        place.file, place.start, place.stop = file, run.start, run.stop
        message = f"{path} says in episode_index that it holds episode {episode}; it was read as the file's name says"
        self._blame(row, place, "pointers", "wrong_pointer", message, "Correct the column or the file's name.", path)

    def _whole(self, row: int, file: DataFile, place: Place, reason: str) -> Place:
        place.file, place.stop = file, file.table.rows
        message = f"{reason}; all rows of the file were taken as its own"
        self._blame(row, place, "schema", "episode_index", message, "Write the column episode_index.", file.name)
        return place

    def _recovered(self, row: int, place: Place) -> None:
        name = place.file.name if place.file else ""
        short = place.stop - place.start < self._rows.length[row]
        if short and place.file is not None and place.stop == place.file.table.rows:
            self._lose(row, place, "footer_missing", f"{name} is cut off within its rows", name)
            place.file = None
        elif not self._packed:
            message = f"{name} has no footer, as after a crash; all its rows were recovered"
            fix = "Export the dataset anew; other readers cannot open the file."
            self._blame(row, place, "files", "footer_missing", message, fix, name, Kind.RISK)

    def _lose(self, row: int, place: Place, code: str, reason: str, subject: str) -> None:
        place.lost = reason
        self._blame(row, place, "files", code, f"{reason}; nothing of its data can be read", _FIX_FILE, subject)

    def _blame(
        self,
        row: int,
        place: Place,
        check: str,
        code: str,
        message: str,
        fix: str,
        subject: str,
        kind: Kind = Kind.DEFECT,
    ) -> None:
        episode = int(self._rows.index[row])
        message = f"episode {episode}: {message}"
        place.issues.append(
            Issue(check=check, code=code, kind=kind, message=message, fix=fix, episode=episode, subject=subject)
        )
