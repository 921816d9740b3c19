"""An episode as a check may see it: only the parts that it declares.

A check that looked at more than it declares would not be measured again when that part changes, so the rest
is not handed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from gristmill.check import Reads
from gristmill.embodiment import Embodiment
from gristmill.episode import Channel, Episode
from gristmill.errors import GristmillError

_NO_CARD = Embodiment(key="", title="not declared", inferred=True)


class UndeclaredReadError(GristmillError):
    """A check asked for channels that it does not declare; this is a mistake in the check."""


@lru_cache(maxsize=64)
def implied(reads: Reads) -> Reads:
    """What `reads` comes to: shared motion is made of the channels and looks at the card."""
    return replace(reads, channels=True, card=True) if reads.motion else reads


def view(episode: Episode, reads: Reads) -> Episode:
    """A shallow copy with what `reads` declares; arrays that were loaded and shared work are not copied."""
    reads = implied(reads)
    seen = object.__new__(Episode)
    seen.__dict__.update(episode.__dict__)
    if not reads.motion:
        seen.__dict__["derived"] = {}
    if not reads.card:
        seen.embodiment = _NO_CARD
    if not reads.channels:
        for name in ("channels", "index_columns", "clocks", "times_s", "frames", "dims"):
            seen.__dict__.pop(name, None)
        seen.load_channels = _undeclared
        seen.load_index_columns = dict
        seen.load_clocks = dict
    if not reads.cameras:
        seen.cameras = {}
    if not reads.traces:
        seen.load_traces = _no_traces
    if not reads.task:
        seen.tasks = ()
    if not reads.meta:
        seen.issues = ()
        seen.declared_stats = {}
    return seen


def _undeclared() -> Mapping[str, Channel]:
    raise UndeclaredReadError("the check reads channels without declaring it; set `reads.channels`")


def _no_traces(camera: str) -> None:
    return None
