"""Metadata that points to the wrong rows or frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from gristmill import issues
from gristmill.check import Column, Measured, Reads
from gristmill.episode import Episode
from gristmill.finding import Finding
from gristmill.manifest import Manifest


@dataclass(frozen=True, kw_only=True)
class Pointers:
    """Episodes whose metadata points to another episode's rows, or to another stretch of a video.

    Files that hold many episodes are cut by what the metadata says: chunk and file numbers, first and last
    row, start and end of the video slice. The reader never trusts them: it looks at the `episode_index` of
    the rows themselves, takes the rows that really belong to the episode, and reports the wrong pointer.
    Loaders that do trust it train on frames of another episode, silently.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(meta=True)
    columns: ClassVar[tuple[Column, ...]] = (issues.COLUMN,)
    fix: ClassVar[str] = (
        "Rewrite the episode's row in the metadata, or export the corpus anew: the export's pointers are right."
    )
    source: ClassVar[str] = (
        "LeRobot dataset format v3.0: dataset_from_index, data and video file indices, from_timestamp."
    )

    def measure(self, episode: Episode) -> Measured:
        """What the reader found wrong with the pointers to this episode."""
        return issues.measured(self, episode.issues)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """The reader's issues, those of the corpus first."""
        yield from issues.findings(self, manifest)
