"""The note by which a dataset is known as ours: who wrote it, from what, and which files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gristmill.errors import UsageError

MARK = "meta/gristmill.json"  # tells a dataset that gristmill wrote, and where it came from
_SHOWN = 3


def write_mark(root: Path, content: Mapping[str, Any], name: str = MARK) -> None:
    """Write the note, once everything else below `root` is written: it lists those files."""
    path = root / name
    files = sorted({*_files(root), name})
    note = {"made_by": f"gristmill {version('gristmill')}", **content, "files": files}
    # A name that was no UTF-8 where it came from has no bytes to be written as.
    path.write_bytes((json.dumps(note, indent=4, ensure_ascii=False) + "\n").encode("utf-8", "replace"))


def read_mark(root: Path, name: str = MARK) -> dict[str, Any] | None:
    """The note, or None where there is none that can be read."""
    try:
        content = json.loads((root / name).read_bytes())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def is_ours(root: Path) -> bool:
    """Whether gristmill wrote this dataset."""
    return (root / MARK).is_file()


def may_replace(root: Path) -> bool:
    """Whether gristmill wrote this dataset, all of it, so that it may be replaced when asked.

    Raises:
        UsageError: it also holds files of somebody else; the text names them.
    """
    if not is_ours(root):
        return False
    refuse_strangers(root, read_mark(root))
    return True


def refuse_strangers(root: Path, mark: Mapping[str, Any] | None) -> None:
    """Stop where a folder holds files that its note does not list; replacing it would delete them.

    Raises:
        UsageError: it does, or the note has no list.
    """
    listed = (mark or {}).get("files")
    if not isinstance(listed, list):
        raise UsageError(
            f"{root}: its note does not say which files were written; move it away, or name another folder"
        )
    known = {str(name).encode("utf-8", "replace") for name in listed}
    strange = sorted(name for name in _files(root) if name.encode("utf-8", "replace") not in known)
    if strange:
        shown = ", ".join(strange[:_SHOWN]) + (f" and {len(strange) - _SHOWN} more" if len(strange) > _SHOWN else "")
        raise UsageError(
            f"{root}: holds files that gristmill did not write ({shown}), which overwriting would delete; move them "
            "away, or name another folder"
        )


def _files(root: Path) -> Iterator[str]:
    """All files and links below a folder, relative to it."""
    for at, folders, files in os.walk(root):
        below = Path(at).relative_to(root)
        links = [name for name in folders if (Path(at) / name).is_symlink()]
        yield from ((below / name).as_posix() for name in (*files, *links))
