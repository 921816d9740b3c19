"""What goes wrong below the store, said in one line."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from gristmill.errors import StoreError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FULL_TEXT = re.compile(r"no space left|disk quota|file too large|os error (28|122|27)\b", re.IGNORECASE)


@contextmanager
def told(path: Path, doing: str) -> Iterator[None]:
    """Turn an error of Lance, Arrow or the file system into a `StoreError` that says what to do.

    Args:
        path: the table or file that was used.
        doing: what was tried, such as "writing".
    """
    try:
        yield
    except (OSError, ValueError, RuntimeError, pa.ArrowException) as error:
        raise StoreError(_sentence(path, doing, error)) from error


def _sentence(path: Path, doing: str, error: Exception) -> str:
    text = " ".join(str(error).split())
    if getattr(error, "errno", None) in _FULL or _FULL_TEXT.search(text):
        return f"{path}: the disk is full; free some space and run again, what was measured before is kept"
    if getattr(error, "errno", None) in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{path}: {doing} is not allowed; name another folder with --store"
    if isinstance(error, UnicodeEncodeError):
        return (
            f"{path}: a name in it cannot be written in this locale; set LC_ALL=C.UTF-8 or PYTHONUTF8=1 and run again"
        )
    # Lance appends the place in its own source; a user can do nothing with it.
    text = re.split(r", /[^ ]*\.rs:", text)[0]
    return f"{path}: {doing} failed: {text[:300]}; if it fails again, move this folder away and measure anew"
