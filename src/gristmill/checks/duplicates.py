"""Exact copies of recordings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gristmill.check import Column, Measured, Reads
from gristmill.episode import Episode
from gristmill.finding import Finding, Kind
from gristmill.manifest import Manifest, finding

_NAMED = 5  # episodes named in a finding about the corpus; more are counted


@dataclass(frozen=True, kw_only=True)
class Duplicates:
    """Episodes that are exact copies of an earlier one.

    Two recordings are copies when all their low-dimensional values, names and times are equal, bit for bit;
    no sensor gives the same noise twice. The first in the corpus's order counts as the original. A copy
    doubles the weight of its demonstration, and when one of the two lands in the held-out set it makes
    every score too good. Copies of episodes of other corpora in the same store are told once a corpus.
    """

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(channels=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("numbers", "int", about="low-dimensional values that were compared"),
    )
    fix: ClassVar[str] = "Drop the copy: curate does so before anything else."
    source: ClassVar[str] = "BLAKE2b digest of all low-dimensional values (RFC 7693)."

    min_frames: int = 2  # shorter episodes are equal by chance

    def measure(self, episode: Episode) -> Measured:
        """How much there is to compare; the comparison itself is of digests."""
        numbers = sum(c.values.size for c in episode.channels.values())
        return Measured({"numbers": numbers}, unknown=None if numbers else "there are no low-dimensional values")

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Later episodes with the digest of an earlier one, and digests known from other corpora."""
        comparable = (manifest["numbers"] > 0) & (manifest.length >= self.min_frames)
        first: dict[str, int] = {}
        elsewhere: defaultdict[str, list[int]] = defaultdict(list)
        for row in np.flatnonzero(comparable).tolist():
            digest = manifest.values_digest[row]
            if not digest:
                continue
            original = first.setdefault(digest, row)
            if original != row:
                yield self._copy(manifest, row, original)
            if digest in manifest.elsewhere:
                elsewhere[manifest.elsewhere[digest].rsplit("/", 1)[0]].append(row)
        for corpus, rows in sorted(elsewhere.items()):
            yield self._shared(manifest, corpus, rows)

    def _copy(self, manifest: Manifest, row: int, original: int) -> Finding:
        where, copied = manifest.where(row), manifest.where(original)
        relabelled = manifest.tasks[row] != manifest.tasks[original]
        return finding(
            self,
            Kind.DEFECT,
            row,
            f"{where} is an exact copy of {copied}: all {int(manifest['numbers'][row]):,} low-dimensional values and "
            f"their times are equal{', under another task' if relabelled else ''}; it would count twice in training "
            "and leak into held-out data.",
            code="exact_copy",
        )

    def _shared(self, manifest: Manifest, corpus: str, rows: list[int]) -> Finding:
        named = ", ".join(str(int(manifest.index[r])) for r in rows[:_NAMED])
        more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
        return finding(
            self,
            Kind.TRAIT,
            None,
            f"{len(rows)} of {len(manifest)} episodes ({named}{more}) are exact copies of episodes of corpus {corpus}; "
            "training on both would count them twice.",
            fix="Name both corpora in one recipe: curate keeps one of each copy.",
            measured=len(rows),
            unit="episodes",
            code="copy_elsewhere",
        )
