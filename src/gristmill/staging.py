"""Folders that appear whole or not at all: written beside their place, swapped in, cleaned up after a crash.

A folder `out` is made in the work folder `out.partial-<id>`, which holds a lock while its process lives.
The lock falls with the process, so the next run can tell a leftover from a neighbour that still writes.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout

from gristmill.errors import UsageError

_LOCK = "lock"
_PREVIOUS = "previous"
_RENAME_EXCHANGE = 2
_AT_FDCWD = -100


class Staged:
    """One folder in the making.

        with Staged(out) as staged:
            write_into(staged.payload)
            staged.commit()

    Leaving the block without `commit` (an error, Ctrl-C) removes the work folder and leaves `out` as it was.
    After a kill -9 or a power cut the work folder stays, and the next `Staged(out)` removes it.

    Args:
        out: the folder that shall appear, or a link to one. Its parent is created.
        replaces: says of an existing, non-empty `out` whether it may be replaced, asked before the work and once more
            at its end; by default it may not. It may raise a UsageError that says why not.

    Raises:
        UsageError: `out` exists and may not be replaced, or it is no folder.
    """

    def __init__(self, out: Path, *, replaces: Callable[[Path], bool] | None = None) -> None:
        check_free(out, replaces)
        self.out = _followed(out).absolute()
        self._replaces = replaces if _occupied(self.out) else None
        self.out.parent.mkdir(parents=True, exist_ok=True)
        clean_leftovers(self.out)
        self.work = self.out.parent / f"{self.out.name}.partial-{secrets.token_hex(4)}"
        self.work.mkdir()
        self._lock = FileLock(self.work / _LOCK, blocking=False)
        self._lock.acquire()
        self.payload = self.work / "payload"
        self.payload.mkdir()
        self.scratch = self.work / "scratch"  # temporary files of whoever writes the payload
        self.scratch.mkdir()

    def commit(self) -> Path:
        """Put the payload in its place in one step; what was there before is removed.

        Raises:
            UsageError: something appeared at `out` meanwhile.
        """
        if _occupied(self.out) and not (self._replaces and self._replaces(self.out)):
            raise UsageError(f"{self.out}: something was put there meanwhile; nothing was replaced")
        if self._replaces:
            _flush_to_disk(self.payload)
        if not self.out.exists():
            self.payload.rename(self.out)
        elif not _occupied(self.out):
            self.out.rmdir()
            self.payload.rename(self.out)
        elif not _exchange(self.payload, self.out):
            # Two steps where the system has no exchange; a crash in between is mended by `clean_leftovers`.
            self.out.rename(self.work / _PREVIOUS)
            self.payload.rename(self.out)
        self.discard()
        return self.out

    def discard(self) -> None:
        """Remove the work folder; harmless when it is gone already."""
        self._lock.release()
        shutil.rmtree(self.work, ignore_errors=True)

    def __enter__(self) -> Staged:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.discard()


def check_free(out: Path, replaces: Callable[[Path], bool] | None = None) -> None:
    """Raise what `Staged` would, and touch nothing: for those who want to know before long work.

    Raises:
        UsageError: `out` exists and may not be replaced, or it is no folder.
    """
    if out.is_symlink() and not out.is_dir():
        raise UsageError(f"{out}: is a link to {out.readlink()}, which is no folder; name another one")
    out = _followed(out)
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: exists and is no folder; name another one")
    if out.is_dir() and out.resolve() == Path.cwd():
        raise UsageError(f"{out}: is the folder that you are in, which cannot be put in place whole; name another one")
    above = next((parent for parent in out.absolute().parents if parent.exists() or parent.is_symlink()), None)
    if above is not None and not above.is_dir():
        raise UsageError(f"{out}: {above} is no folder; name another place")
    if _occupied(out) and not replaces:
        raise UsageError(f"{out}: exists and is not empty; name another folder, or ask for it to be overwritten")
    if _occupied(out) and replaces and not replaces(out):
        raise UsageError(f"{out}: holds files that gristmill did not write, which stay; name another folder")


def clean_leftovers(out: Path) -> list[Path]:
    """Remove work folders that a killed process left beside `out`; returns what was removed.

    When the kill fell between the two halves of a swap, the previous folder is put back first.
    """
    removed = []
    for work in sorted(out.parent.glob(f"{_escape(out.name)}.partial-*")):
        if not work.is_dir() or work.is_symlink():
            continue
        lock = FileLock(work / _LOCK, blocking=False)
        try:
            lock.acquire()
        except Timeout:
            continue  # its process lives
        previous = work / _PREVIOUS
        if previous.is_dir() and not out.exists():
            previous.rename(out)
        lock.release()
        shutil.rmtree(work, ignore_errors=True)
        removed.append(work)
    return removed


def _followed(out: Path) -> Path:
    """Where a link to a folder leads; the link stays."""
    return out.resolve() if out.is_symlink() else out


def _occupied(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _escape(name: str) -> str:
    """A folder's name as a literal part of a glob."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _exchange(a: Path, b: Path) -> bool:
    """Swap two folders atomically; False where the system or the file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    return rename(_AT_FDCWD, os.fsencode(a), _AT_FDCWD, os.fsencode(b), _RENAME_EXCHANGE) == 0


def _flush_to_disk(folder: Path) -> None:
    """Make the files durable, so that a power cut cannot lose them after the older ones are gone."""
    for at, _, files in os.walk(folder):
        for name in files:
            handle = os.open(Path(at) / name, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
