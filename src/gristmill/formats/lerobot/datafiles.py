"""The data files of a corpus, a few of them open at a time."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from gristmill.errors import RecordingError
from gristmill.formats.files import CorpusFiles
from gristmill.formats.lerobot.columns import Fit, fit
from gristmill.formats.lerobot.declaration import Feature
from gristmill.formats.lerobot.layout import PackedPaths
from gristmill.formats.lerobot.patterns import pattern_of
from gristmill.formats.lerobot.rows import EpisodeRows
from gristmill.formats.lerobot.salvage import Pattern
from gristmill.formats.lerobot.slices import RowReader
from gristmill.formats.lerobot.tables import Run, Runs, Table

_OPEN_FILES = 4
_SIBLINGS = 8  # files that are asked for the pattern of a damaged one


class DataFile:
    """One open data file."""

    def __init__(self, table: Table, columns: Fit) -> None:
        self.name = table.name
        self.table = table
        self.fit = columns
        self.reader = RowReader(table, columns.plans)
        self.widths = {plan.key: plan.width for plan in columns.plans}

    @cached_property
    def runs(self) -> Mapping[int, list[Run]]:
        """Where each episode's rows stand.

        Raises:
            RecordingError: the column that says so cannot be read.
        """
        return self._read_runs() or self.table.runs()

    def _read_runs(self) -> Mapping[int, list[Run]] | None:
        """The runs of a short file, read together with what its episodes need."""
        if not self.reader.whole or not self.fit.has("episode_index"):
            return None
        try:
            values = self.reader.read(0, self.table.rows)["episode_index"]
        except RecordingError:
            return None  # other columns may be broken where this one is not
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "iu":
            return None
        runs = Runs()
        runs.add(values)
        return runs.close()


class DataFiles:
    """Opens data files by name and finds episodes in them."""

    def __init__(self, files: CorpusFiles, features: Sequence[Feature], rows: EpisodeRows) -> None:
        self._files = files
        self._features = features
        self._rows = rows
        self._open: OrderedDict[str, DataFile | RecordingError] = OrderedDict()
        self._fits: tuple[pa.Schema, Fit] | None = None
        self._bases: dict[str, int | None] = {}

    def get(self, name: str) -> DataFile:
        """The open file.

        Raises:
            RecordingError: it cannot be opened.
            UnsafeCorpusError: it lies outside the corpus, or has pickled types.
        """
        found = self._open.get(name)
        if found is None:
            try:
                found = self._load(name)
            except RecordingError as error:
                found = error
            self._open[name] = found
            while len(self._open) > _OPEN_FILES:
                _, old = self._open.popitem(last=False)
                if isinstance(old, DataFile):
                    old.table.close()
        else:
            self._open.move_to_end(name)
        if isinstance(found, RecordingError):
            raise found
        return found

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        return bool(name) and self._files.stamp(name) is not None

    def base(self, file: DataFile) -> int | None:
        """The row number within the corpus of the file's first row, as most of its episodes say; None if none does.

        The declared starts of single episodes may be wrong, and are judged by this.
        """
        if file.name not in self._bases:
            paths = self._rows.data
            ids = np.asarray(paths.ids) if isinstance(paths, PackedPaths) else np.full(len(self._rows), -1)
            number = paths.names.index(file.name) if isinstance(paths, PackedPaths) and file.name in paths.names else -2
            says: Counter[int] = Counter()
            for row in np.flatnonzero((ids == number) & (self._rows.first_row >= 0)).tolist():
                runs = file.runs.get(int(self._rows.index[row]))
                if runs:
                    says[int(self._rows.first_row[row]) - runs[0].start] += 1
            self._bases[file.name] = says.most_common(1)[0][0] if says else None
        return self._bases[file.name]

    def elsewhere(self, episode: int) -> tuple[str, Run] | None:
        """The file and rows of an episode that is not where the metadata says, if any file has it."""
        return self._strays.get(episode)

    @cached_property
    def _strays(self) -> Mapping[int, tuple[str, Run]]:
        """The longest run of each episode in a file other than its own, in packed files."""
        paths = self._rows.data
        if not isinstance(paths, PackedPaths):
            return {}
        row_of = {int(number): row for row, number in enumerate(self._rows.index)}
        found: dict[int, tuple[str, Run]] = {}
        for name in sorted(n for n in self._files.under("data") if n.endswith(".parquet")):
            try:
                runs = self.get(name).runs
            except RecordingError:
                continue  # told of where its episodes are read
            for episode, pieces in runs.items():
                row = row_of.get(episode)
                if row is None or paths[row] == name:
                    continue
                longest = max(pieces, key=lambda run: run.stop - run.start)
                known = found.get(episode)
                if known is None or longest.stop - longest.start > known[1].stop - known[1].start:
                    found[episode] = (name, longest)
        return found

    def _load(self, name: str) -> DataFile:
        # Opening a pipe would wait for ever; only regular files have a stamp.
        if self._files.stamp(name) is None:
            raise RecordingError(f"{name} is missing")
        path = self._files.path(name)
        table = Table(path, name, lambda: self._pattern(name))
        if self._fits is None or not table.schema.equals(self._fits[0]):
            self._fits = (table.schema, fit(self._features, table.schema, name))
        return DataFile(table, self._fits[1])

    def _pattern(self, damaged: str) -> Pattern | None:
        paths = self._rows.data.names if isinstance(self._rows.data, PackedPaths) else self._rows.data
        siblings = (paths[at] for at in range(min(len(paths), _SIBLINGS)))
        return pattern_of(self._files, self._features, (s for s in siblings if s != damaged))
