"""The open files of a corpus: each is opened once, and only a few at a time."""

from __future__ import annotations

from collections import OrderedDict

from gristmill.errors import CorpusError, RecordingError
from gristmill.formats.files import CorpusFiles
from gristmill.formats.hdf5 import tree
from gristmill.formats.hdf5.opening import Opened, open_file

_OPEN = 4  # neighbours in a corpus lie in one file or in the next


class OpenFiles:
    """Open HDF5 files below a folder, by their names relative to it."""

    def __init__(self, files: CorpusFiles) -> None:
        self._files = files
        self._open: OrderedDict[str, Opened] = OrderedDict()
        self._stamps: dict[str, str] = {}  # of files as they were first opened

    def opened(self, name: str, *, salvage: bool = False, texts: bool = False) -> Opened:
        """The open file.

        Raises:
            CorpusError: it cannot be opened, or is not what it was when it was opened first.
            UnsafeCorpusError: its path leads outside the corpus.
        """
        found = self._open.pop(name, None)
        if found is None:
            # What was looked at once is trusted from then on, so it has to be the same file.
            stamp = self.stamp(name)
            if self._stamps.setdefault(name, stamp) != stamp:
                raise CorpusError(f"{name} changed while it was read; start again")
            found = open_file(self._files.path(name), name, salvage=salvage, texts=texts)
        self._open[name] = found
        while len(self._open) > _OPEN:
            self._open.popitem(last=False)[1].close()
        return found

    def root(self, name: str, *, salvage: bool = False) -> tree.Group:
        """The root group of a file that is read, not opened for the first time.

        Raises:
            RecordingError: it cannot be opened any more.
        """
        try:
            return tree.root(self.opened(name, salvage=salvage))
        except CorpusError as error:
            raise RecordingError(str(error)) from None

    def group(self, name: str, path: str, *, salvage: bool = False) -> tree.Group:
        """A group that was looked at when the corpus was opened.

        Raises:
            RecordingError: the file cannot be opened any more, or is not what it was.
        """
        try:
            return tree.known(self.opened(name, salvage=salvage), path)
        except CorpusError as error:
            raise RecordingError(str(error)) from None

    def stamp(self, name: str) -> str:
        """Changes when the bytes of the file change; "" when it is missing."""
        found = self._files.stamp(name)
        return "" if found is None else f"{name}:{found.size}:{found.mtime_ns}:{found.identity}"
