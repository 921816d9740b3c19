"""Small files of the store, replaced whole: a reader sees the old content or the new, never a part."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.errors import StoreError

# Files that begin so are half-written leftovers of a process that died, unless the lock's holder is alive.
LEFTOVER = ".partial-"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary neighbour of `path` to write to; it takes the place of `path` when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{LEFTOVER}{path.name}")
    try:
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def read_json(path: Path, default: Any) -> Any:
    """The parsed file, or `default` when there is none.

    Raises:
        StoreError: it is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return default
    except ValueError as error:
        raise StoreError(f"{path}: not valid JSON ({error}); restore this file from a backup") from None


def write_json(path: Path, value: Any) -> None:
    """Replace the file; keys are sorted so that equal content is equal text."""
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
    with replacing(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def read_arrow(path: Path) -> pa.Table | None:
    """The table in an Arrow file, or None when there is none. Nothing stays mapped, so it may be replaced."""
    try:
        with pa.OSFile(str(path), "rb") as source, pa.ipc.open_file(source) as reader:
            return reader.read_all()
    except FileNotFoundError:
        return None


def write_arrow(path: Path, table: pa.Table) -> None:
    """Replace the file."""
    with replacing(path) as partial, pa.OSFile(str(partial), "wb") as sink, pa.ipc.new_file(sink, table.schema) as out:
        out.write_table(table)


def remove_leftovers(folder: Path) -> None:
    """Delete what a writer that died left half-written. Only the lock's holder may call this."""
    for path in folder.rglob(f"{LEFTOVER}*"):
        path.unlink(missing_ok=True)
