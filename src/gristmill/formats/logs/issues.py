"""What is wrong with logs, worded for the checks that report it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from gristmill.finding import Issue, Kind
from gristmill.formats.logs import finding
from gristmill.formats.logs.looking import View
from gristmill.formats.logs.options import LogOptions
from gristmill.formats.logs.plan import Plan
from gristmill.formats.logs.stream import Log

_FURTHER = (".hdf5", ".h5", ".zarr", ".tfrecord", ".parquet")  # recordings of other formats


class Lost(NamedTuple):
    """Messages of one topic that gave no values."""

    topic: str
    key: str  # the channel that none of their numbers belong to; "" for messages that cannot be decoded
    count: int
    of: int
    first: int  # row of the first among the topic's messages
    why: str


def lost_issue(lost: Lost, first_s: float, place: finding.Place, index: int) -> Issue:
    """Messages that could not be read, or hold nothing of their channel, in one episode."""
    told = f"{place.name}, topic {lost.topic}: {lost.count} of {lost.of} messages, the first at {first_s:.3f} s, "
    if lost.key:
        code = "messages_without_values"
        told += f"hold none of the numbers of {lost.key} and are missing values"
        fix = "See whether messages of another kind are sent under this name, and give them a topic of their own."
    else:
        code = "messages_undecodable"
        told += f"cannot be decoded and are missing values ({lost.why})"
        fix = "Restore the file, or correct the program that wrote them."
    return issue_of(code, Kind.RISK, told, fix, place, index)


def misplaced_issue(topic: str, place: finding.Place, index: int) -> Issue:
    """An index that is wrong about when messages were recorded."""
    told = f"{place.name}, topic {topic}: the file's index has other times than the messages, whose own are used"
    return issue_of("log_index_damaged", Kind.RISK, told, "Write the file's index anew.", place, index)


def loss_issues(log: Log, place: finding.Place, index: int) -> Iterator[Issue]:
    """What one log lost, as far as it is known by now."""
    for loss in log.losses:
        yield issue_of(loss.code, Kind.RISK, loss.message, loss.fix, place, index)


def episode_issues(log: Log, plan: Plan, place: finding.Place, index: int) -> Iterator[Issue]:
    """What one log lost, and which topics it lacks."""
    yield from loss_issues(log, place, index)
    for topic in _topics(plan):
        types = dict.fromkeys(form.type for form in log.topics[topic].formats.values()) if topic in log.topics else {}
        if len(types) > 1:
            what = f"{place.name}, topic {topic}: its messages are of {len(types)} types, {', '.join(types)}; those "
            what += "without the numbers of its channel are missing values"
            yield issue_of("topic_mixed", Kind.RISK, what, "Give each type a topic of its own.", place, index)
        if topic not in log.topics or not log.topics[topic].count:
            what = f"{place.name} holds no message of {topic}, which other logs of this corpus have"
            fix = "Record it again with this topic, or leave the log out."
            yield issue_of("topic_missing", Kind.RISK, what, fix, place, index)


def corpus_issues(
    path: Path, kind: finding.Kind, views: Mapping[str, Sequence[View]], plan: Plan, options: LogOptions
) -> Iterator[Issue]:
    """What is wrong with the corpus as a whole."""
    if options.clock == "header":
        for topic in _topics(plan):
            if views[topic][0].header_offset_s is None:
                yield Issue(
                    check="schema",
                    code="clock_mixed",
                    kind=Kind.RISK,
                    message=f"messages of {topic} carry no stamp, so their log times stand beside header times",
                    fix="Use the log's clock, or leave this topic out.",
                    subject=topic,
                )
    spans = sorted(options.cut.times_s) if options.cut is not None else []
    both = next(((a, b) for a, b in pairwise(spans) if b[0] < a[1]), None)
    if both is not None:
        (_, end), (start, _) = both
        yield Issue(
            check="files",
            code="cut_overlaps",
            kind=Kind.RISK,
            message=f"options.cut.times_s: what lies between {start} s and {end} s is part of two episodes",
            fix="End one span where the next one begins, or else keep both out of different splits.",
        )
    if path.is_dir():
        for ending in sorted({p.suffix.lower() for p in path.iterdir()} & set(_FURTHER)):
            yield Issue(
                check="files",
                code="other_logs",
                kind=Kind.RISK,
                message=f"the folder also holds {ending} files, which are of another format and were not read",
                fix="Open each of them by itself, or put them into a folder of their own.",
                subject=ending,
            )
    for other, ending in finding.ENDING_OF.items():
        if other != kind and path.is_dir() and finding.recognizes(path, other):
            yield Issue(
                check="files",
                code="other_logs",
                kind=Kind.RISK,
                message=f"the folder also holds {ending} files, which are of another format and were not read",
                fix="Open each of them by itself, or put them into a folder of their own.",
                subject=ending,
            )


def issue_of(code: str, kind: Kind, message: str, fix: str, place: finding.Place, episode: int | None = None) -> Issue:
    """An issue of one log."""
    return Issue(check="files", code=code, kind=kind, message=message, fix=fix, episode=episode, subject=place.name)


def _topics(plan: Plan) -> list[str]:
    return list(dict.fromkeys([*plan.topics, *(c.topic for c in plan.cameras)]))
