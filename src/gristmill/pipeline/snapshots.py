"""The snapshots of a store: the list, differences, and cleaning up around them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from gristmill.formats.lerobot.write import MARK, is_ours
from gristmill.pipeline.places import store_path
from gristmill.snapshot import Snapshot
from gristmill.snapshot_diff import Difference, difference
from gristmill.staging import clean_leftovers
from gristmill.store import Store, featurized


class Removal(NamedTuple):
    """Something that goes, or would go."""

    what: str
    rows: int
    bytes: int


def log(store: Path | None = None) -> list[dict[str, Any]]:
    """Records of all snapshots, newest first."""
    with _reading(store) as opened:
        return opened.snapshots()[::-1]


def read(name: str, store: Path | None = None) -> Snapshot:
    """A snapshot by tag, id, the beginning of an id, its folder, or the folder of a dataset that was exported of it.

    Raises:
        UnknownNameError: no such snapshot.
        SnapshotError: it was changed since it was frozen.
    """
    folder = Path(name)
    if (folder / "snapshot.json").is_file():
        return Snapshot.read(folder)
    if is_ours(folder):
        name = str(json.loads((folder / MARK).read_bytes()).get("snapshot"))
    with _reading(store) as opened:
        return Snapshot.read(opened.path / "snapshots" / opened.snapshot(name)["id"])


def diff(before: str, after: str, store: Path | None = None) -> Difference:
    """What changed between two snapshots; each is named as for `read`."""
    return difference(read(before, store), read(after, store))


def gc(store: Path | None = None, *, dry_run: bool = False) -> list[Removal]:
    """Remove measurements and resampled episodes that no corpus and no snapshot needs, and leftovers of killed runs."""
    with Store.open(store_path(store, []), create=False) as opened:
        found = [Removal(f"{r.what}: {r.reason}", r.rows, r.bytes) for r in opened.gc(dry_run=dry_run)]
        for left in sorted((opened.path / "snapshots").glob("*.partial-*")):
            size = sum(f.stat().st_size for f in left.rglob("*") if f.is_file())
            found.append(Removal(f"unfinished snapshot {left.name}", 0, size))
            if not dry_run:
                clean_leftovers(left.with_name(left.name.partition(".partial-")[0]))
        needed = {entry.get("featurized", "") for entry in opened.corpora.entries().values()}
        for kept in featurized.unused(opened.path, needed):
            found.append(Removal(kept.what, kept.episodes, kept.bytes))
            if not dry_run:
                featurized.remove(kept)
        return found


def forget(name: str, store: Path | None = None) -> str:
    """Remove a snapshot that is not tagged, with its folder; returns its id."""
    with Store.open(store_path(store, []), create=False) as opened:
        record = opened.snapshot(name)
        opened.forget_snapshot(record["id"])
        shutil.rmtree(opened.path / "snapshots" / record["id"], ignore_errors=True)
        return record["id"]


def _reading(store: Path | None) -> Store:
    return Store.open(store_path(store, []), create=False, write=False)
