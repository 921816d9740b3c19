"""The snapshots that were made from a store, and the names given to them.

A snapshot itself is plain files that need no store. The record here is what `log` lists, and it pins the
measurements that the snapshot was decided from.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gristmill.errors import UnknownNameError, UsageError
from gristmill.store.corpora import Corpora
from gristmill.store.files import read_json, write_json

_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}", re.ASCII)


def check_tag(name: str) -> None:
    """Whether this may be a snapshot's name.

    Raises:
        UsageError: it may not.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be a tag: use letters, digits, '.', '_', '+' and '-'")


class Snapshots:
    """Records and tags of a store."""

    def __init__(self, folder: Path, corpora: Corpora) -> None:
        self._file = folder / "snapshots.json"
        self._corpora = corpora

    def all(self) -> list[dict[str, Any]]:
        """Records, oldest first: what was put, with `made` (seconds since 1970), `stages` and `tags`."""
        content = self._content()
        names: dict[str, list[str]] = {}
        for name, snapshot in sorted(content["tags"].items()):
            names.setdefault(snapshot, []).append(name)
        return [{**record, "tags": names.get(record["id"], [])} for record in content["records"]]

    def put(self, record: Mapping[str, Any]) -> None:
        """Add a snapshot's record, or replace the one of its id.

        Args:
            record: JSON values; `id` names the snapshot, `corpora` lists the keys of its corpora.
        """
        content = self._content()
        snapshot = str(record["id"])
        entries = self._corpora.entries()
        keys = [key for key in record.get("corpora", ()) if self._corpora.pin(snapshot, key)]
        made = {"made": int(time.time()), **record, "stages": {key: entries[key]["stages"] for key in keys}}
        content["records"] = [r for r in content["records"] if r["id"] != snapshot] + [made]
        write_json(self._file, content)

    def tag(self, name: str, snapshot: str) -> None:
        """Name a snapshot; the name moves when another had it.

        Raises:
            UnknownNameError: no such snapshot.
            UsageError: the name cannot be one.
        """
        check_tag(name)
        content = self._content()
        content["tags"][name] = self._find(content, snapshot)
        write_json(self._file, content)

    def untag(self, name: str) -> None:
        """Take a name away.

        Raises:
            UnknownNameError: no such tag.
        """
        content = self._content()
        if content["tags"].pop(name, None) is None:
            raise UnknownNameError("tags", name, content["tags"])
        write_json(self._file, content)

    def find(self, name: str) -> dict[str, Any]:
        """The record of a tag, an id or an id's unambiguous beginning.

        Raises:
            UnknownNameError: no such snapshot.
        """
        content = self._content()
        snapshot = content["tags"].get(name) or self._find(content, name)
        return next(r for r in self.all() if r["id"] == snapshot)

    def forget(self, snapshot: str) -> None:
        """Remove a record, so that garbage collection may take what only it needed.

        Raises:
            UnknownNameError: no such snapshot.
            UsageError: it is tagged.
        """
        content = self._content()
        snapshot = self._find(content, snapshot)
        tags = [name for name, target in content["tags"].items() if target == snapshot]
        if tags:
            raise UsageError(f"snapshot {snapshot} is tagged {', '.join(sorted(tags))}; remove the tag first")
        content["records"] = [r for r in content["records"] if r["id"] != snapshot]
        write_json(self._file, content)
        self._corpora.unpin(snapshot)

    def _content(self) -> dict[str, Any]:
        return read_json(self._file, {"records": [], "tags": {}})

    def _find(self, content: Mapping[str, Any], beginning: str) -> str:
        known = [r["id"] for r in content["records"]]
        found = [name for name in known if name.startswith(beginning)] if beginning else []
        if beginning in known:
            return beginning
        if len(found) != 1:
            raise UnknownNameError("the store's list of snapshots", beginning, [*known, *content["tags"]])
        return found[0]
