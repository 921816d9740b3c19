"""Files that are missing, broken or left over."""

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
class Files:
    """Files that are missing, empty, cut short, orphaned or placed where the metadata does not point.

    The reader compares what the metadata promises with what lies in the folder: every data and video file
    that an episode needs, its size and footer, the number of rows that it holds, and files that belong to
    no episode. A loader fails on what is missing, and reads what is stray as if it were data. A path
    template that names other files than those that exist is told of the corpus as a whole.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(meta=True)
    columns: ClassVar[tuple[Column, ...]] = (issues.COLUMN,)
    fix: ClassVar[str] = "Restore the file from its source, or leave the episode out."
    source: ClassVar[str] = (
        "LeRobot dataset format v2.0, v2.1 and v3.0: info.json, data and video paths, episode tables."
    )

    def measure(self, episode: Episode) -> Measured:
        """What the reader found wrong with this episode's files."""
        return issues.measured(self, episode.issues)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """The reader's issues, those of the corpus first."""
        yield from issues.findings(self, manifest)
