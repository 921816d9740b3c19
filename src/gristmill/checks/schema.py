"""What is declared against what is really there."""

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
class Schema:
    """Declared features, shapes, names, types and keys that differ from the real columns.

    The reader compares the declaration with the tables: columns that are declared and absent or present and
    undeclared, shapes and types that differ, names of the wrong number, keys that are missing, and indices
    (`episode_index`, `frame_index`, `index`) with holes or repetitions. The declared size of a camera is
    compared with the headers of a few of its video files. A loader that trusts the declaration fails on
    some of these and reads the wrong numbers on others.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(meta=True)
    columns: ClassVar[tuple[Column, ...]] = (issues.COLUMN,)
    fix: ClassVar[str] = "Correct the declaration in info.json, or export the corpus anew with its real schema."
    source: ClassVar[str] = "LeRobot dataset format v2.0, v2.1 and v3.0: features of info.json and the default columns."

    def measure(self, episode: Episode) -> Measured:
        """What the reader found in this episode's columns that is not as declared."""
        return issues.measured(self, episode.issues)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """The reader's issues, those of the corpus first."""
        yield from issues.findings(self, manifest)
