"""Files that a user names: written whole or not at all, never inside recordings."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gristmill.errors import UsageError


@contextmanager
def output(path: Path) -> Iterator[BinaryIO]:
    """An open file that takes the place of `path` when the block ends well.

    What is no regular file (a pipe, a terminal, /dev/stdout) is written to, not replaced.
    """
    if str(path) == "-":
        raise UsageError("'-' is no file; name one, or /dev/stdout")
    if path.exists() and not path.is_file():
        if path.is_dir():
            raise UsageError(f"{path}: is a folder; name a file")
        with path.open("wb") as out:
            yield out
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"{path}: {path.parent} is no folder; name another place") from None
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def keep_outside(path: Path, folders: Iterable[Path | str], what: str = "") -> None:
    """Refuse a place inside one of these folders: recordings are never written to.

    Raises:
        UsageError: it lies inside one.
    """
    for folder in folders:
        if path.expanduser().resolve().is_relative_to(Path(folder).expanduser().resolve()):
            raise UsageError(f"{what}{path}: lies inside {folder}, which is never written to; name a place outside")
