"""Exports the selection alone: which episodes and spans to train on, for a loader that reads the raw corpus."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gristmill.episode import Corpus
from gristmill.errors import UsageError
from gristmill.export._result import ExportedDataset, ExportResult
from gristmill.kept import Kept
from gristmill.outputs import keep_outside, output
from gristmill.snapshot import Snapshot

_FORMAT = "gristmill-index"


@dataclass(frozen=True, kw_only=True)
class Index:
    """A JSON file: `episodes` as LeRobot's `episodes=[...]` takes them, spans in frames and seconds, weights.

    Recordings are not opened and nothing is copied, so trimming takes effect only where the loader honours spans.
    """

    overwrite: bool = False  # replace an earlier index of ours

    def check(self, out: Path, roots: Iterable[str]) -> None:
        """Whether an export may go to `out`; nothing is touched.

        Raises:
            UsageError: `out` exists and may not be replaced, or lies inside a corpus.
        """
        keep_outside(out, roots)
        if out.exists() and not self.overwrite:
            raise UsageError(f"{out}: exists; name another file, or ask for it to be overwritten")
        if out.exists() and not _is_index(out):
            raise UsageError(f"{out}: exists and is no index that gristmill wrote; name another file")

    def export(
        self,
        snapshot: Snapshot,
        out: Path,
        *,
        open_corpus: Callable[[str], Corpus],
        progress: Callable[[int], None] | None = None,
    ) -> ExportResult:
        """Write the file; `open_corpus` is not called.

        Raises:
            UsageError: `out` exists and may not be replaced.
        """
        self.check(out, snapshot.roots.values())
        spans = snapshot.kept()
        content = {
            "format": _FORMAT,
            "version": 1,
            "data_hash": snapshot.data_hash,
            "lineage_hash": snapshot.lineage_hash,
            "corpora": [
                _corpus(key, root, snapshot.rates_hz[key], [s for s in spans if s.corpus == key])
                for key, root in snapshot.roots.items()
            ],
        }
        with output(out) as file:
            file.write((json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8"))
        if progress:
            progress(len(spans))
        frames = sum(span.stop - span.start for span in spans)
        exported = ExportedDataset(group="", path=out, episodes=len(spans), frames=frames)
        return ExportResult(out=out, datasets=(exported,))


def _is_index(path: Path) -> bool:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("format") == _FORMAT


def _corpus(key: str, root: str, rate_hz: float, spans: list[Kept]) -> dict[str, Any]:
    return {
        "key": key,
        "root": root,
        "rate_hz": rate_hz,
        "episodes": sorted({span.episode_index for span in spans}),
        "spans": [
            {
                "episode_index": span.episode_index,
                "episode_id": span.episode_id,
                "start_frame": span.start,
                "stop_frame": span.stop,
                "start_s": span.start / rate_hz,
                "stop_s": span.stop / rate_hz,
                "split": span.split,
                "weight": span.weight,
                "cameras": list(span.cameras),
                "fills": [fill._asdict() for fill in span.fills],
                "rules": list(span.rules),
            }
            for span in spans
        ],
    }
