"""The files of a corpus, confined to it: no path and no link may lead outside.

A snapshot in the cache of huggingface_hub is made of links into the `blobs` folder beside it; those are the only
links that may leave the corpus's own folder.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from gristmill.errors import CorpusError, UnsafeCorpusError

_MAX_DEPTH = 16  # folders below the root; the format needs four


class FileStamp(NamedTuple):
    """What changes when a file's bytes change."""

    size: int
    mtime_ns: int
    identity: str  # inode, or the content's name on a hub


class CorpusFiles:
    """The regular files below `root`, named by their POSIX path relative to it.

    Raises:
        CorpusError: there is no such folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))
        if not self.root.is_dir():
            raise CorpusError(f"{root} is not a folder; give the folder of the corpus")
        self._inside = [self.root, *_blobs(self.root)]
        self._safe_folders: set[Path] = set()

    def path(self, relative: str) -> Path:
        """Where a file lies, whether or not it exists.

        Raises:
            UnsafeCorpusError: the path, or a link on it, leads outside the corpus.
        """
        parts = PurePosixPath(relative).parts
        if not parts or relative.startswith("/") or ".." in parts or "\0" in relative:
            raise UnsafeCorpusError(f"path {relative!r} leaves the corpus; nothing was read, correct what names it")
        path = self.root.joinpath(*parts)
        # Resolving a path asks the system about each of its folders, so that is done once a folder.
        if path.parent not in self._safe_folders:
            self._confine(path.parent, relative)
            self._safe_folders.add(path.parent)
        if path.is_symlink():
            self._confine(path, relative)
        return path

    def stamp(self, relative: str) -> FileStamp | None:
        """The stamp of a regular file, or None where there is none.

        Raises:
            UnsafeCorpusError: the path, or a link on it, leads outside the corpus.
        """
        try:
            found = self.path(relative).stat()
        except OSError:
            return None  # absent, or a name that no file system can hold: either way there is no file
        return _stamp(found) if stat.S_ISREG(found.st_mode) else None

    def fetch(self, relative: str) -> Path | None:
        """A local path of the file, for those that read it; None when it cannot be had."""
        return self.path(relative)

    def under(self, folder: str) -> dict[str, FileStamp]:
        """All regular files below a folder of the corpus, in no particular order.

        Raises:
            UnsafeCorpusError: a link leads outside the corpus.
            CorpusError: folders are nested too deeply or cannot be listed.
        """
        found: dict[str, FileStamp] = {}
        start = self.path(folder)
        waiting = [(start, folder, 0)] if start.is_dir() else []
        seen: set[str] = set()
        while waiting:
            path, name, depth = waiting.pop()
            if depth > _MAX_DEPTH:
                raise CorpusError(f"{name} lies more than {_MAX_DEPTH} folders deep; remove it from the corpus")
            try:
                with os.scandir(path) as entries:
                    for entry in entries:
                        inner = f"{name}/{entry.name}"
                        if entry.is_symlink():
                            self._confine(Path(entry.path), inner)
                        if entry.is_dir():
                            # A link to a folder above would make the walk endless.
                            real = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                            if real not in seen:
                                seen.add(real)
                                waiting.append((Path(entry.path), inner, depth + 1))
                        elif entry.is_file():
                            found[inner] = _stamp(entry.stat())
            except OSError as error:
                raise CorpusError(f"{name} cannot be listed ({error.strerror}); make it readable") from None
        return found

    def _confine(self, path: Path, name: str) -> None:
        real = os.path.realpath(path)
        if not any(real == str(top) or real.startswith(f"{top}{os.sep}") for top in self._inside):
            raise UnsafeCorpusError(
                f"{name} is a link that leaves the corpus; nothing was read, replace it by the file itself"
            )


def _stamp(found: os.stat_result) -> FileStamp:
    return FileStamp(found.st_size, found.st_mtime_ns, f"{found.st_ino:x}")


def _blobs(root: Path) -> list[Path]:
    """The `blobs` folder that a hub snapshot's links lead to: `.../<repository>/snapshots/<commit>`."""
    blobs = root.parent.parent / "blobs"
    if root.parent.name != "snapshots" or not blobs.is_dir() or blobs.is_symlink():
        return []
    return [blobs]
