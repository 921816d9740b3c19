"""What a check is: one question in two halves, and what the first half depends on.

`measure` looks at one episode and knows no threshold; `judge` sees the columns of the whole corpus.
Parameters that change what is measured are declared with `measuring(...)`; every other field is a
threshold, and changing it makes nothing owed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar

from gristmill.finding import Event, Finding

if TYPE_CHECKING:
    from gristmill.embodiment import Embodiment
    from gristmill.episode import CorpusFacts, Episode
    from gristmill.manifest import Manifest

T = TypeVar("T")
Per = Literal["episode", "dim", "camera"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """The parts of a recording that `measure` looks at. What is not declared is not handed over."""

    channels: bool = False  # raw low-dimensional values
    motion: bool = False  # the shared motion quantities (implies the low-dimensional digest)
    packets: bool = False  # demuxed packets of every camera, no decoding
    traces: bool = False  # per-frame camera measurements
    task: bool = False  # task text
    meta: bool = False  # declared metadata and the reader's issues
    card: bool = False  # the embodiment card

    @property
    def cameras(self) -> bool:
        """Whether a video file has to be opened."""
        return self.packets or self.traces


@dataclass(frozen=True, slots=True)
class Column:
    """One measured column. `per` says whether a cell is a scalar or a list over dimensions or cameras."""

    name: str
    type: Literal["float", "int", "bool", "text"] = "float"
    unit: str = ""
    per: Per = "episode"
    about: str = ""
    metric: bool = False  # shown under "metrics" in the audit's JSON


@dataclass(slots=True)
class Measured:
    """What `measure` returns: a cell for each declared column (absent means null), and timed events.

    `unknown` gives the reason when the question could not be asked of this episode; it is never a pass.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Event] = ()
    unknown: str | None = None


def measuring(default: T) -> T:
    """A dataclass field that changes what is measured, and so belongs to the stage key."""
    return field(default=default, metadata={"measuring": True})


class Check(Protocol):
    """The contract of `checks/*.py`; `gristmill.testing.CheckContract` tests it.

    A class's docstring is its documentation: first line the question, then the mechanism.

    A check may also have a method `unfit(facts, card)`, see the function of that name.
    """

    version: ClassVar[int]  # raise it when measurements change
    reads: ClassVar[Reads]
    columns: ClassVar[tuple[Column, ...]]
    fix: ClassVar[str]  # what a user does about it
    source: ClassVar[str]  # where method and thresholds come from

    def measure(self, episode: Episode) -> Measured:
        """Numbers and events of one episode."""
        ...

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        """Findings over the whole corpus."""
        ...


def unfit(check: Any, facts: CorpusFacts, card: Embodiment) -> str:
    """Why a check can ask nothing of any episode of such a corpus, or "".

    It is then neither owed nor measured, and listed as not checked for that reason. A check's own method `unfit` takes
    the same facts and card and gives the same; it has to agree with what `measure` gives as `unknown`.
    """
    if check.reads.cameras and not facts.cameras:
        return "the corpus has no cameras"
    own = getattr(check, "unfit", None)
    return own(facts, card) if own is not None else ""


def stage_key(name: str, check: Any, shared_version: int = 0) -> str:
    """The name under which measurements of this check are kept.

    Args:
        name: the plug-in's name.
        check: a check (any frozen dataclass with `version`).
        shared_version: version of the shared work (motion, traces) that it reads.
    """
    params = {f.name: getattr(check, f.name) for f in fields(check) if f.metadata.get("measuring")}
    text = repr(sorted(params.items()))
    digest = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
    return f"{name}:{check.version}:{shared_version}:{digest}"
