"""What a log holds and what it would become, told before anybody decides: the proposal that `gristmill inspect` shows.

The proposal is the map that is used when the user states none. Its `toml` is that map as a recipe's options, to be
corrected and given back. Types and dimensions come from a few messages of each topic, counts, rates and gaps from the
index; no payload is read beyond that.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gristmill.errors import CorpusError, RecordingError
from gristmill.formats.logs import finding
from gristmill.formats.logs.columns import shown
from gristmill.formats.logs.corpus import Looked, look_at
from gristmill.formats.logs.looking import View
from gristmill.formats.logs.stream import Log, one_line
from gristmill.formats.logs.topic_map import Decision, main_field, propose
from gristmill.types import IntArray

_GAP = 3.0  # an interval of so many periods is a gap
_NAMES_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """Intervals of more than three periods between messages of one topic."""

    count: int = 0
    longest_s: float = 0.0  # the longest interval, whether or not it is a gap
    longest_at_s: float = 0.0  # where it begins, from the topic's first message


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicProposal:
    """One topic of a log."""

    topic: str
    type: str
    encoding: str
    messages: int
    rate_hz: float | None  # median; None for fewer than two messages
    gaps: Gaps
    header_offset_s: float | None  # median of header time - log time; None where messages carry none
    publish_offset_s: float | None
    role: str  # what it would become; "ignore" for nothing
    key: str
    field: str  # the part of the message that counts, "" for its usual one
    names: tuple[str, ...]  # dimensions of its channel
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a log, or a folder of logs, would become. Rates and gaps are those of the first log."""

    path: str
    container: str
    logs: tuple[str, ...]
    duration_s: float  # of the first log
    clock: str  # the clock that would count: always the log's, unless the user says otherwise
    topics: tuple[TopicProposal, ...]
    losses: tuple[str, ...]  # what a cut-off or damaged file lost
    toml: str  # the options that say the same

    def lines(self) -> list[str]:
        """The proposal as text for people."""
        counted = f"{len(self.logs)} logs, the first of" if len(self.logs) > 1 else "one log of"
        lines = [f"{self.container}: {counted} {self.duration_s:.3f} s; times are those of the {self.clock} clock"]
        for t in self.topics:
            rate = f"{t.rate_hz:.4g} Hz" if t.rate_hz else "no rate"
            gaps = f", {t.gaps.count} gaps, longest {t.gaps.longest_s:.3f} s" if t.gaps.count else ""
            offset = f", stamped {1e3 * t.header_offset_s:+.1f} ms from its log time" if t.header_offset_s else ""
            lines.append(
                f"{t.topic} ({t.type or 'no type'}, {t.encoding}): {t.messages} messages, {rate}{gaps}{offset}"
            )
            names = ", ".join(t.names[:_NAMES_SHOWN]) + (", ..." if len(t.names) > _NAMES_SHOWN else "")
            into = f"{t.role} {t.key}".strip() + (f" [{names}]" if names else "")
            lines.append(f"    -> {into}: {t.why}")
        return [*lines, *self.losses, "options that say the same:", *self.toml.splitlines()]


def proposal(path: Path) -> Proposal:
    """What the logs of a file or folder would become.

    Args:
        path: a log of any of the three containers, or a folder of them.

    Raises:
        CorpusError: there are none, or they cannot be opened at all. A log in which nothing is of use is no error here.
        UnsafeCorpusError: a link or name leads outside the corpus.
    """
    for kind in ("mcap", "bag", "sqlite3"):
        if finding.recognizes(path, kind):
            return _proposal(path, look_at(path, kind))
    raise CorpusError(f"{path} is no log: no MCAP file, ROS 1 bag or rosbag2 recording")


def _proposal(path: Path, looked: Looked) -> Proposal:
    decisions = propose(looked.views)
    log = finding.open_log(looked.files, looked.places[0])
    try:
        times = {name: log.entries(name).times_ns for name in log.topics}
        topics = tuple(_topic(log, name, seen, decisions[name], times) for name, seen in looked.views.items())
        losses, container = log.losses, log.container
    except RecordingError as error:
        raise CorpusError(one_line(error)) from None
    finally:
        log.close()
    spans = [(int(t[0]), int(t[-1])) for t in times.values() if len(t)]
    duration_ns = max(s for _, s in spans) - min(s for s, _ in spans) if spans else 0
    return Proposal(
        path=str(path),
        container=container,
        logs=tuple(place.name for place in looked.places),
        duration_s=duration_ns / 1e9,
        clock="log",
        topics=topics,
        losses=tuple(loss.message for loss in losses),
        toml=toml(topics),
    )


def _topic(log: Log, name: str, seen: Sequence[View], decision: Decision, times: dict[str, IntArray]) -> TopicProposal:
    view, rule = seen[0], decision.rule
    field = rule.field or (main_field(view) if view.sort == "joints" else "")
    own = times.get(name, np.empty(0, np.int64))
    period_ns = _period_ns(own)
    return TopicProposal(
        topic=name,
        type=view.type,
        encoding=view.encoding,
        messages=log.topics[name].count if name in log.topics else 0,
        rate_hz=1e9 / period_ns if period_ns else None,
        gaps=_gaps(own, period_ns),
        header_offset_s=view.header_offset_s,
        publish_offset_s=view.publish_offset_s,
        role=rule.role,
        key=rule.key,
        field=rule.field,
        names=shown(view.labels.get(field, ()), field) if rule.role in ("state", "action", "other") else (),
        why=decision.why,
    )


def _period_ns(times_ns: IntArray) -> float | None:
    steps = np.diff(times_ns)
    steps = steps[steps > 0]
    return float(np.median(steps)) if len(steps) else None


def _gaps(times_ns: IntArray, period_ns: float | None) -> Gaps:
    if period_ns is None:
        return Gaps()
    steps = np.diff(times_ns)
    at = int(steps.argmax())
    return Gaps(
        count=int(np.count_nonzero(steps > _GAP * period_ns)),
        longest_s=float(steps[at]) / 1e9,
        longest_at_s=float(times_ns[at] - times_ns[0]) / 1e9,
    )


def toml(topics: Sequence[TopicProposal]) -> str:
    """The map as the `options` of a recipe's corpus; what is ignored stands there as a comment."""
    lines = ['clock = "log"  # or "header", "publish"', "", "[topics]"]
    for t in topics:
        if t.role == "ignore":
            reason = " ".join(t.why.split())
            lines.append(f"# {_text(t.topic)}: {reason}")
        else:
            more = {"key": t.key, "field": t.field}
            stated = "".join(f", {k} = {_text(v)}" for k, v in more.items() if v)
            lines.append(f'{_text(t.topic)} = {{ role = "{t.role}"{stated} }}')
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    # JSON's escapes are TOML's, but TOML also forbids a bare DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
