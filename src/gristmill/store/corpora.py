"""The corpora that a store knows: their short names, their cards, and what their measurements are kept under.

Beside the registry lies one Arrow file a corpus, its *state*: a row an episode with its number, length and
content digests, and one column `in:PARTS` for each combination of parts that some check reads: the inputs
under which its measurements lie. It is what garbage collection, SQL and snapshots need to know of a corpus
that is not open.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from gristmill.errors import UnknownNameError
from gristmill.store.files import read_arrow, read_json, replacing, write_arrow, write_json

INPUT = "in:"  # prefix of a state's input columns
TRACES = "camera"  # what stands for `parts` where a row's input is a camera's own digest


class Corpora:
    """The registry in `folder`, read anew at each call and replaced whole at each change."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "corpora.json"
        self._states = folder / "corpora"
        self._pins = folder / "pins"

    def entries(self) -> dict[str, dict[str, Any]]:
        """Key -> `{"root", "added", "stages": {stage: key}, "running", "card", "options", "resample", ...}`."""
        return read_json(self._file, {})

    def find(self, root: Path | str) -> str | None:
        """The key of a corpus that was registered, else None."""
        place = _place(root)
        return next((key for key, entry in self.entries().items() if entry["root"] == place), None)

    def key_for(self, root: Path | str) -> str:
        """The corpus's key, or the one that it would get.

        A key is the folder's name, or the hub repository's; `-2`, `-3`, ... follow when another corpus has it.
        A corpus whose folder is gone gives its key to one of that name elsewhere: it was moved.
        """
        known = self.find(root)
        if known is not None:
            return known
        entries = self.entries()
        place = _place(root)
        base = key = _name(root)
        count = 1
        while key in entries and not _moved(entries[key]["root"], place):
            count += 1
            key = f"{base}-{count}"
        return key

    def register(self, root: Path | str) -> str:
        """The corpus's key; it is noted when it was not known."""
        key = self.key_for(root)
        if self.find(root) is None:
            entries = self.entries()
            entries.setdefault(key, {"added": int(time.time()), "stages": {}})["root"] = _place(root)
            write_json(self._file, entries)
        return key

    def note(self, key: str, root: str, stages: Mapping[str, str], *, running: bool) -> None:
        """Note the stage keys that a run uses, and whether it goes on."""
        entries = self.entries()
        before = entries.get(key) or {"added": int(time.time()), "root": _place(root), "stages": {}}
        after = {**before, "stages": {**before["stages"], **stages}, "running": running}
        if after != entries.get(key):
            write_json(self._file, {**entries, key: after})

    def note_terms(
        self, key: str, *, card: str | None, options: Mapping[str, Any], resample: Mapping[str, Any]
    ) -> None:
        """Note how a registered corpus was opened, so that later questions open it alike."""
        entries = self.entries()
        before = entries[key]
        terms = {"card": card, "options": dict(options), "resample": dict(resample)}
        after = {k: v for k, v in before.items() if k not in terms} | {k: v for k, v in terms.items() if v}
        if after != before:
            write_json(self._file, {**entries, key: after})

    def note_featurized(self, key: str, name: str) -> None:
        """Note which set of resampled episodes a registered corpus uses, "" for none (see `featurized`)."""
        entries = self.entries()
        if entries[key].get("featurized", "") != name:
            kept = {k: v for k, v in entries[key].items() if k != "featurized"}
            write_json(self._file, {**entries, key: kept | ({"featurized": name} if name else {})})

    def forget(self, key: str) -> None:
        """Take a corpus out; its measurements go at the next garbage collection unless another needs them.

        Raises:
            UnknownNameError: no such corpus.
        """
        entries = self.entries()
        if key not in entries:
            raise UnknownNameError("the store", key, entries)
        del entries[key]
        write_json(self._file, entries)
        self._state(key).unlink(missing_ok=True)

    def state(self, key: str) -> pa.Table | None:
        """What was known of the corpus at the end of the last run, or None."""
        return read_arrow(self._state(key))

    def put_state(self, key: str, state: pa.Table) -> None:
        """Replace the state when it differs."""
        if state != self.state(key):
            write_arrow(self._state(key), state)

    def pin(self, name: str, key: str) -> bool:
        """Keep a copy of the corpus's state under `name`, so that what it needs outlives the corpus."""
        source = self._state(key)
        if not source.exists():
            return False
        with replacing(self._pin(name, key)) as partial:
            shutil.copyfile(source, partial)
        return True

    def pinned(self, name: str, key: str) -> pa.Table | None:
        """A state kept by `pin`."""
        return read_arrow(self._pin(name, key))

    def unpin(self, name: str) -> None:
        """Let go of what was kept under `name`."""
        shutil.rmtree(self._pins / quote(name, safe=""), ignore_errors=True)

    def _state(self, key: str) -> Path:
        return self._states / f"{quote(key, safe='')}.arrow"

    def _pin(self, name: str, key: str) -> Path:
        return self._pins / quote(name, safe="") / f"{quote(key, safe='')}.arrow"


def _place(root: Path | str) -> str:
    path = Path(root)
    return str(path.resolve()) if isinstance(root, Path) or path.exists() else str(root)


def _name(root: Path | str) -> str:
    path = Path(root)
    text = path.resolve().name if isinstance(root, Path) or path.exists() else str(root)
    return re.sub(r"[^\w.@/+-]", "_", text).strip("/.") or "corpus"


def _moved(old: str, new: str) -> bool:
    return old != new and Path(old).is_absolute() and not Path(old).exists()
