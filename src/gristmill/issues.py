"""What a reader found wrong, carried through the store: events while measuring, findings while judging.

A reader words its issues, for it knows the layout; the check that an issue names reports it. The event's
detail holds the rest of the issue, so a finding can be rebuilt later without the recording.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gristmill.check import Column, Measured
from gristmill.finding import Event, Finding, Issue, Kind
from gristmill.manifest import Manifest, finding, module_name

COLUMN = Column("issues", "int", about="contradictions that the reader met in this episode")

# Trouble of one sort in at least this many episodes, and in this share of them, is also said once of the corpus.
WIDESPREAD_EPISODES = 5
WIDESPREAD_SHARE = 0.5

_MARK = '{"code":'
_OPTIONAL = ("subject", "measured", "threshold", "unit")


def measured(check: Any, issues: Sequence[Issue]) -> Measured:
    """The episode's issues that this check reports."""
    if not issues:
        return Measured({"issues": 0})
    events = issue_events(check, issues)
    return Measured({"issues": len(events)}, events)


def issue_events(check: Any, issues: Iterable[Issue]) -> list[Event]:
    """One event for each issue that names this check, equal ones once; they have no time of their own."""
    name = module_name(type(check))
    return list(dict.fromkeys(_event(issue) for issue in issues if issue.check == name))


def findings(check: Any, manifest: Manifest) -> Iterator[Finding]:
    """The reader's issues as findings: of the corpus first, then episode by episode.

    Trouble of one sort that most episodes share is said once of the corpus. Then its traits and risks are
    not repeated for each episode; defects are, because each one decides about its episode.
    """
    name = module_name(type(check))
    for issue in manifest.issues:
        if issue.check == name:
            yield _finding(check, issue.kind, None, _fields(issue), issue.channel, issue.camera)
    groups: dict[tuple[str, str, str | None, str | None], list[tuple[int, dict[str, Any]]]] = {}
    events = manifest.events
    for i, detail in enumerate(events.detail):
        if detail.startswith(_MARK):
            told = json.loads(detail)
            key = (told["code"], told["kind"], events.channel[i], events.camera[i])
            groups.setdefault(key, []).append((int(events.row[i]), told))
    for (_, kind, channel, camera), told_by_row in groups.items():
        rows = {row for row, _ in told_by_row}
        shared = len(rows) >= max(WIDESPREAD_EPISODES, WIDESPREAD_SHARE * len(manifest))
        if shared:
            first = told_by_row[0][1]
            message = f"{len(rows)} of {len(manifest)} episodes share this trouble: {first['message']}"
            yield _finding(check, Kind(kind), None, first | {"message": message}, channel, camera)
        if not shared or kind == Kind.DEFECT:
            for row, told in told_by_row:
                yield _finding(check, Kind(kind), row, told, channel, camera)


def _event(issue: Issue) -> Event:
    detail = json.dumps(_fields(issue), separators=(",", ":"), ensure_ascii=False)
    return Event(0.0, 0.0, 1.0, issue.channel, issue.camera, detail)


def _fields(issue: Issue) -> dict[str, Any]:
    told: dict[str, Any] = {"code": issue.code, "kind": str(issue.kind), "message": issue.message, "fix": issue.fix}
    return told | {key: value for key in _OPTIONAL if (value := getattr(issue, key)) not in (None, "")}


def _finding(
    check: Any, kind: Kind, row: int | None, told: dict[str, Any], channel: str | None, camera: str | None
) -> Finding:
    return finding(
        check,
        kind,
        row,
        # Names of files and tasks come from the recording and may hold line breaks.
        " ".join(told["message"].split()),
        fix=told["fix"],
        code=told["code"],
        channel=channel,
        camera=camera,
        measured=told.get("measured"),
        threshold=told.get("threshold"),
        unit=told.get("unit", ""),
    )
