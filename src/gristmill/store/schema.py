"""The store's layout has a version; an older layout is brought up to date when it is opened for writing.

Version 1 holds:

    store.json                  {"schema": 1}
    lock, writer.json           who writes (see `lock`)
    corpora.json, corpora/      registry and states (see `corpora`)
    snapshots.json, pins/       records and what they need (see `snapshots`)
    waivers.json
    digests.lance               what was read: corpus, index, part, stamp, digest, unreadable
    stages/STAGE/KEY.lance      measurements, one table a stage key (see `gristmill.columns`)

Version 0 knew neither the reason why a part could not be read, nor rows of checks that failed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from gristmill.errors import StoreError
from gristmill.store.files import read_json, write_json
from gristmill.store.tables import Table
from gristmill.store.trouble import told

VERSION = 1
DIGESTS = pa.schema(
    [
        ("corpus", pa.string()),
        ("index", pa.int64()),  # native episode index
        ("part", pa.string()),  # "values", "issues", "camera:KEY" or "pace:KEY"
        ("stamp", pa.string()),  # of the files when they were read
        ("digest", pa.binary(16)),  # null when it could not be read
        ("unreadable", pa.string()),  # why it could not
    ]
)


def version_of(folder: Path) -> int | None:
    """The layout's version, None when the folder holds no store.

    Raises:
        StoreError: the note of the version is damaged, or the layout is newer than this program.
    """
    note = read_json(folder / "store.json", None)
    if note is None:
        return None
    version = note.get("schema") if isinstance(note, dict) else None
    if not isinstance(version, int):
        raise StoreError(f"{folder / 'store.json'}: names no schema version; restore this file from a backup")
    if version > VERSION:
        raise StoreError(
            f"{folder}: the store has schema {version}, this program knows up to {VERSION}; update gristmill"
        )
    return version


def create(folder: Path) -> None:
    """Make an empty store."""
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    write_json(folder / "store.json", {"schema": VERSION})


def migrate(folder: Path, version: int) -> None:
    """Bring an older layout up to date, step by step.

    The version is noted after each step, and a step passes over what is already done, so that it may be
    killed at any moment and begun again. The caller holds the lock.
    """
    for step in range(version, VERSION):
        _STEPS[step](folder)
        write_json(folder / "store.json", {"schema": step + 1})


def stage_tables(folder: Path) -> list[Path]:
    """All stage tables on disk."""
    return sorted((folder / "stages").glob("*/*.lance"))


def _say_why(folder: Path) -> None:
    for path in stage_tables(folder):
        _add_column(path, pa.field("failed", pa.bool_()))
    _add_column(folder / "digests.lance", pa.field("unreadable", pa.string()))


def _add_column(path: Path, field: pa.Field) -> None:
    dataset = Table(path).dataset
    if dataset is None or field.name in dataset.schema.names:
        return
    with told(path, "migrating"):
        dataset.add_columns(pa.schema([field]))


_STEPS: dict[int, Callable[[Path], None]] = {0: _say_why}
