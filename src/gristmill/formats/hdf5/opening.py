"""Opening HDF5 files: what is one, what is wrong with one, and what is left of one that was cut off.

h5py is imported when a file is opened, never before.
"""

from __future__ import annotations

import importlib
import io
import os
import re
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from gristmill.errors import CorpusError
from gristmill.formats.hdf5.heaps import endless, stuck

if TYPE_CHECKING:
    import h5py

_MAGIC = b"\x89HDF\r\n\x1a\n"
# HDF5 file format specification, III.A: the signature stands at 0, 512, 1024, 2048, ...
_LAST_MAGIC_AT = 1 << 20
_STORED_END = re.compile(r"stored_eof = (\d+)")
# What h5py raises, beside OSError, on bytes that mean nothing.
DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError)


def has_magic(path: Path) -> bool:
    """Whether the file carries HDF5's signature. What cannot be read carries none."""
    try:
        with path.open("rb") as file:
            at, size = 0, os.fstat(file.fileno()).st_size
            while at < size and at <= _LAST_MAGIC_AT:
                file.seek(at)
                if file.read(len(_MAGIC)) == _MAGIC:
                    return True
                at = at * 2 or 512
    except OSError:
        return False
    return False


def has_library() -> bool:
    """Whether h5py is installed."""
    try:
        importlib.import_module("h5py")
    except ImportError:
        return False
    return True


def require_library(name: str) -> None:
    """Say what to install where h5py is absent.

    Raises:
        CorpusError: it is.
    """
    if not has_library():
        raise CorpusError(f"{name} is HDF5, which needs h5py; run pip install 'gristmill[hdf5]'")


class PaddedFile(io.RawIOBase):
    """A file that was cut off, with zeros where its end was. `beyond` tells whether a zero was read.

    HDF5 refuses to open a file that is shorter than it says, though most of it may be whole.
    """

    def __init__(self, path: Path, end: int) -> None:
        super().__init__()
        self._file = path.open("rb")
        self.real = os.fstat(self._file.fileno()).st_size
        self.end = end
        self.beyond = False
        self._at = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move to a place, as in any file."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.end}[whence]
        return self._at

    def tell(self) -> int:
        """The place."""
        return self._at

    def readinto(self, buffer, /) -> int:  # type: ignore[override]
        """Fill the buffer, past the real end with zeros."""
        memory = memoryview(buffer).cast("B")
        got = 0
        if self._at < self.real:
            self._file.seek(self._at)
            got = self._file.readinto(memory[: min(len(memory), self.real - self._at)])
        if got < len(memory):
            self.beyond = True
            memory[got:] = bytes(len(memory) - got)
            if stuck(memory, 0):
                memory[:8] = bytes(8)  # no heap any more, so HDF5 gives up on it
        self._at += len(memory)
        return len(memory)

    def close(self) -> None:
        """Close the file behind."""
        if not self.closed:
            self._file.close()
        super().close()


class Opened:
    """An open HDF5 file. `padded` is set for one that was cut off and opened nevertheless."""

    def __init__(self, file: h5py.File, name: str, padded: PaddedFile | None = None) -> None:
        self.file = file
        self.name = name
        self.padded = padded
        # Closed before the interpreter ends: HDF5 must not call into a Python that is half gone.
        self._finalizer = weakref.finalize(self, _close, file, padded)

    def close(self) -> None:
        """Close the file; harmless when it is closed."""
        self._finalizer()


def open_file(path: Path, name: str, *, salvage: bool = False, texts: bool = False) -> Opened:
    """Open a file for reading.

    Args:
        path: the file.
        name: how errors name it.
        salvage: open a file that was cut off as well; what lies behind the cut reads as zeros.
        texts: attributes that are texts will be read, so look at the heaps in which they are kept.

    Raises:
        CorpusError: h5py is absent, or this is no HDF5 file, or one that is broken.
    """
    require_library(name)
    import h5py

    try:
        size = path.stat().st_size
    except OSError as error:
        raise CorpusError(f"{name} cannot be read ({error.strerror}); restore it") from None
    if not size:
        raise CorpusError(f"{name} is empty (0 bytes); restore it from its source")
    if not has_magic(path):
        raise CorpusError(f"{name} is no HDF5 file, its signature is missing; restore it from its source")
    if texts and (at := endless(path)) is not None:
        raise CorpusError(f"{name} is damaged: the texts kept at byte {at:,} have no end; restore it from its source")
    try:
        # With HDF5's own rules for locks, so that the file can be opened elsewhere in this process.
        return Opened(h5py.File(path, "r"), name)
    except BlockingIOError:
        raise CorpusError(f"{name} is open for writing in another program; audit it when it is closed") from None
    except DAMAGE as error:
        text = " ".join(str(error).split())
    stored = _STORED_END.search(text)
    if stored is None:
        if "already open for write" in text or "consistency flags" in text:
            raise CorpusError(f"{name} was not closed by its writer; run `h5clear -s` on a copy of it, and audit that")
        raise CorpusError(f"{name} is not a readable HDF5 file ({text[:200]}); restore it from its source")
    end = int(stored[1])
    cut = f"{name} is cut off: it holds {size:,} of {end:,} bytes"
    if not salvage:
        raise CorpusError(f"{cut}; restore it from its source")
    padded = PaddedFile(path, end)
    try:
        return Opened(h5py.File(padded, "r"), name, padded)
    except DAMAGE:
        padded.close()
        raise CorpusError(f"{cut}, and nothing of the rest can be read; restore it from its source") from None


def _close(file: h5py.File, padded: PaddedFile | None) -> None:
    file.close()
    if padded is not None:
        padded.close()
