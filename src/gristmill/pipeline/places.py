"""Where the store lies when nobody says: beside the work, never inside a corpus."""

from __future__ import annotations

import hashlib
from pathlib import Path

from platformdirs import user_data_path


def store_path(asked: Path | None, corpora: list[Path]) -> Path:
    """The store's folder.

    Args:
        asked: what the user said, if anything.
        corpora: the corpora's folders. A store is never put inside one: recordings are not touched.

    The default is `.gristmill` in the current folder; when the current folder is a corpus, or lies inside
    one, or cannot be written, it is a folder of that name's own in the user's data folder.
    """
    if asked is not None:
        return asked.expanduser().absolute()
    here = Path.cwd()
    inside = any(_within(here, corpus) for corpus in corpora) or _is_corpus(here)
    if not inside and ((here / ".gristmill").is_dir() or _writable(here)):
        return here / ".gristmill"
    digest = hashlib.blake2b(str(here).encode(), digest_size=4).hexdigest()
    return user_data_path("gristmill") / "stores" / f"{here.name or 'root'}-{digest}"


def _within(path: Path, folder: Path) -> bool:
    try:
        path.resolve().relative_to(folder.resolve())
    except ValueError:
        return False
    return True


def _is_corpus(path: Path) -> bool:
    return (path / "meta" / "info.json").exists()


def _writable(path: Path) -> bool:
    import os

    return os.access(path, os.W_OK)
