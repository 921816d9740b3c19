"""What is wrong with logs, worded for the checks that report it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gristmill.finding import Issue, Kind
from gristmill.formats.logs import finding
from gristmill.formats.logs.looking import View
from gristmill.formats.logs.options import LogOptions
from gristmill.formats.logs.plan import Plan
from gristmill.formats.logs.stream import Log


def episode_issues(log: Log, plan: Plan, place: finding.Place, index: int) -> Iterator[Issue]:
    """What one log lost, and which topics it lacks."""
    for loss in log.losses:
        yield issue_of(loss.code, Kind.RISK, loss.message, loss.fix, place, index)
    for topic in _topics(plan):
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
