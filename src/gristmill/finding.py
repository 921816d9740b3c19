"""What a check says: events while measuring, findings while judging."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """How bad a finding is; the order is from worst to mildest."""

    DEFECT = "defect"  # the data is wrong
    RISK = "risk"  # it probably hurts training
    TRAIT = "trait"  # a fact worth knowing


class Span(NamedTuple):
    """A stretch of an episode, in seconds from its start; `end_s` is exclusive."""

    start_s: float
    end_s: float


class Event(NamedTuple):
    """Something that `measure` saw at a known time. It carries no verdict: `judge` decides later.

    `channel` is `feature[dimension]` or a feature's key; `strength` is in the unit that the check documents.
    """

    start_s: float
    end_s: float
    strength: float
    channel: str | None = None
    camera: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """A contradiction that a reader met while opening a recording, before any check ran.

    The reader knows the layout, so it words the issue; the check named here reports it.
    `episode` is None when it concerns the whole corpus.
    """

    check: str  # "files", "pointers", "schema" or "stats"
    code: str  # stable machine name, such as "video_missing"
    kind: Kind
    message: str  # one sentence: what, where, expected against found
    fix: str
    episode: int | None = None  # native index
    channel: str | None = None
    camera: str | None = None
    subject: str = ""  # file or key, relative to the corpus
    measured: float | None = None
    threshold: float | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One statement about one episode (`row` in the manifest), or about the corpus (`row` None)."""

    check: str
    kind: Kind
    row: int | None
    message: str  # what was found, where, against which threshold, and why it hurts
    fix: str
    channel: str | None = None
    camera: str | None = None
    spans_s: tuple[Span, ...] = field(default=())
    measured: float | None = None
    threshold: float | None = None
    unit: str = ""
    code: str = ""  # tells apart several kinds of trouble that one check reports

    def id(self, episode_key: str) -> str:
        """Stable name of this finding: the same trouble in the same recording keeps its id."""
        parts = (episode_key, self.check, self.code, self.channel or "", self.camera or "", repr(self.spans_s))
        return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=6).hexdigest()
