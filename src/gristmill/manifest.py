"""What `judge` sees: the columns that one check measured, aligned with the corpus's episodes.

Everything is columnar, so judging a million rows costs array operations, not Python loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gristmill.embodiment import Embodiment
from gristmill.episode import CorpusFacts, Dim
from gristmill.finding import Finding, Issue, Kind, Span
from gristmill.types import FloatArray, IntArray, Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """Timed events of all episodes, sorted by `row`; columns of equal length m."""

    row: IntArray  # (m,) position in the manifest
    start_s: FloatArray
    end_s: FloatArray
    strength: FloatArray
    channel: Sequence[str | None]
    camera: Sequence[str | None]
    detail: Sequence[str]

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """One check's view of one corpus: n episodes.

    `cells` holds for each column of the check: (n,) float64 with NaN for null (float, int, bool),
    (n,) object for text, and (n, width) float64 padded with NaN for `per="dim"` and `per="camera"`.
    """

    facts: CorpusFacts
    embodiment: Embodiment
    issues: tuple[Issue, ...]  # corpus-level ones of the reader
    index: IntArray  # (n,) native indices
    ids: Sequence[str]
    length: IntArray  # (n,) declared frames
    tasks: Sequence[tuple[str, ...]]
    cells: Mapping[str, np.ndarray]
    measured: Mask  # (n,) false where nothing is known of the episode
    unknown: Sequence[str | None] = ()  # (n,) why, where the check could not ask
    events: Events
    # Content digests, for checks that compare recordings: (n,) arrays of text, "" if not read.
    values_digest: Sequence[str] = ()
    camera_digests: Mapping[str, Sequence[str]] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)  # digest -> episode id in other corpora of the store

    def __len__(self) -> int:
        return len(self.index)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """Names of the columns of a `per="dim"` cell."""
        return self.facts.dims

    @cached_property
    def cameras(self) -> tuple[str, ...]:
        """Names of the columns of a `per="camera"` cell."""
        return tuple(self.facts.cameras)

    @cached_property
    def duration_s(self) -> FloatArray:
        """(n,) declared frames over the declared rate."""
        return self.length / self.facts.rate_hz

    def __getitem__(self, column: str) -> np.ndarray:
        return self.cells[column]

    def where(self, row: int) -> str:
        """How messages name an episode."""
        return f"episode {int(self.index[row])}"


def finding(check: Any, kind: Kind, row: int | None, message: str, **more: Any) -> Finding:
    """A finding of this check with its documented fix, unless `fix` is given.

    Spans may be given as (start_s, end_s) pairs; numbers are made plain floats.
    """
    name = more.pop("name", None) or module_name(type(check))
    spans = tuple(Span(float(a), float(b)) for a, b in more.pop("spans_s", ()))
    for key in ("measured", "threshold"):
        if more.get(key) is not None:
            more[key] = float(more[key])
    fix = more.pop("fix", None) or check.fix
    return Finding(
        check=name, kind=kind, row=None if row is None else int(row), message=message, fix=fix, spans_s=spans, **more
    )


def module_name(cls: type) -> str:
    """A plug-in's name is its file's name."""
    return cls.__module__.rsplit(".", 1)[-1]
