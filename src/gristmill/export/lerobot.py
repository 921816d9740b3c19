"""Exports a snapshot as LeRobot v3.0: every kept span becomes an episode, video packets are copied.

One dataset a schema group. `out` itself is the dataset when there is one group with cameras, or one group at all;
episodes of that robot without usable cameras lie in `out/<group>` then. Several robots lie in `out/<group>` each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gristmill.episode import Corpus
from gristmill.errors import GristmillError, UsageError
from gristmill.export._dataset import GroupExport
from gristmill.export._result import ExportedDataset, ExportResult
from gristmill.export._sources import Recordings
from gristmill.formats.lerobot.mark import MARK, read_mark, refuse_strangers, write_mark
from gristmill.kept import Kept
from gristmill.schema_groups import is_low_dim
from gristmill.snapshot import Snapshot
from gristmill.staging import Staged, check_free

_SEVERAL = "gristmill.json"  # marks a folder of several datasets


@dataclass(frozen=True, kw_only=True)
class Lerobot:
    """A LeRobot v3.0 dataset that LeRobot's own tools load.

    Written beside `out` and swapped in when it is whole: whatever goes wrong, `out` is as it was. Values, task texts
    and packets are compared with the snapshot's digests on the way. Where each episode came from stands in
    the columns `gristmill/...` of `meta/episodes`; both hashes stand in `meta/gristmill.json`.
    """

    overwrite: bool = False  # replace an earlier export of ours
    data_files_size_in_mb: int = 100
    video_files_size_in_mb: int = 200

    def check(self, out: Path, roots: Iterable[str]) -> None:
        """Whether an export of recordings at these roots may go to `out`; nothing is touched.

        Raises:
            UsageError: `out` is taken, or lies inside a corpus, or holds one, or files that no export wrote.
        """
        _apart(out, roots)
        check_free(out, may_replace if self.overwrite else None)

    def export(
        self,
        snapshot: Snapshot,
        out: Path,
        *,
        open_corpus: Callable[[str], Corpus],
        progress: Callable[[int], None] | None = None,
    ) -> ExportResult:
        """Write the datasets.

        Args:
            snapshot: what to write.
            out: a folder that is absent or empty, or an earlier export when `overwrite` is set.
            open_corpus: opens the raw recordings at a root that the snapshot names.
            progress: called with the number of spans done since the last call.

        Raises:
            UsageError: `out` is taken, or lies inside a corpus, or holds one.
            SnapshotError: a recording changed since the snapshot was frozen; the text names it.
            GristmillError: the disk is full or not writable.
        """
        spans = snapshot.kept()
        if not spans:
            raise UsageError("the snapshot keeps no episode; there is nothing to export")
        self.check(out, snapshot.roots.values())
        groups: dict[str, list[Kept]] = {}
        for span in spans:
            groups.setdefault(span.group, []).append(span)
        recordings = Recordings(snapshot, open_corpus)
        try:
            with Staged(out, replaces=may_replace if self.overwrite else None) as staged:
                places = _places(list(groups))
                written = [
                    self._write(snapshot, recordings, group, groups[group], staged.payload / place, progress)
                    for group, place in places.items()
                ]
                if len(groups) > 1:
                    write_mark(staged.payload, _origin(snapshot) | {"datasets": list(groups)}, _SEVERAL)
                staged.commit()
        except OSError as error:
            raise GristmillError(
                f"{out}: cannot be written ({error.strerror or error}); make room and run again, nothing was changed"
            ) from error
        return ExportResult(
            out=out,
            datasets=tuple(
                ExportedDataset(
                    group=w.group,
                    path=out / places[w.group],
                    episodes=len(groups[w.group]),
                    frames=w.frames,
                )
                for w in written
            ),
            copied_frames=sum(w.copied_frames for w in written),
            encoded_frames=sum(w.encoded_frames for w in written),
            notes=tuple(dict.fromkeys(note for w in written for note in w.notes)),
        )

    def _write(
        self,
        snapshot: Snapshot,
        recordings: Recordings,
        group: str,
        spans: Sequence[Kept],
        root: Path,
        progress: Callable[[int], None] | None,
    ) -> GroupExport:
        export = GroupExport(
            group,
            spans,
            recordings,
            origin=_origin(snapshot) | {"group": group},
            data_files_size_in_mb=self.data_files_size_in_mb,
            video_files_size_in_mb=self.video_files_size_in_mb,
        )
        export.write(root, progress)
        return export


def is_export(folder: Path) -> bool:
    """Whether this folder is the export of a snapshot."""
    return _mark(folder) is not None


def may_replace(folder: Path) -> bool:
    """Whether this folder is the export of a snapshot and nothing else, so that it may be replaced when asked.

    Raises:
        UsageError: it also holds files that the export did not write; the text names them.
    """
    mark = _mark(folder)
    if mark is not None:
        refuse_strangers(folder, mark)
    return mark is not None


def _mark(folder: Path) -> dict[str, Any] | None:
    """The note of an export: that of several datasets speaks for all of them."""
    notes = (read_mark(folder, name) for name in (_SEVERAL, MARK))
    return next((note for note in notes if note is not None and "snapshot" in note), None)


def _origin(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "snapshot": snapshot.id,
        "data_hash": snapshot.data_hash,
        "lineage_hash": snapshot.lineage_hash,
        "corpora": list(snapshot.roots),  # keys; where they lay is nobody else's business
        "recipe": snapshot.recipe,
        "lineage": snapshot.lineage,
    }


def _places(groups: Sequence[str]) -> dict[str, str]:
    """Where each group's dataset lies below `out`, the one at `out` itself first: "" stands for it."""
    whole = [g for g in groups if not is_low_dim(g)]
    first = whole if len(whole) == 1 else groups if len(groups) == 1 else []
    return dict.fromkeys(first, "") | {g: g for g in groups if g not in first}


def _apart(out: Path, roots: Iterable[str]) -> None:
    """Refuse to write into a corpus, or over a folder that holds one."""
    target = out.expanduser().resolve()
    for root in roots:
        corpus = Path(root).resolve()
        if target == corpus or corpus in target.parents or target in corpus.parents:
            raise UsageError(f"{out}: overlaps the recordings in {root}, which are never changed; name another folder")
