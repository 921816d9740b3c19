"""Measuring and judging without a store: what the pipeline does, on episodes in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gristmill.check import Check, Column, Measured
from gristmill.digest import episode_digest
from gristmill.episode import CorpusFacts, Episode
from gristmill.errors import RecordingError
from gristmill.finding import Event, Finding, Issue
from gristmill.manifest import Events, Manifest
from gristmill.testing.episodes import facts_of


def measure_all(check: Check, episodes: Iterable[Episode]) -> list[Measured | None]:
    """What the check measures of each episode; None for one that cannot be read."""
    return [_measure(check, episode) for episode in episodes]


def manifest_of(
    check: Check,
    episodes: Sequence[Episode],
    *,
    facts: CorpusFacts | None = None,
    issues: Iterable[Issue] = (),
    elsewhere: Mapping[str, str] | None = None,
) -> Manifest:
    """The manifest that `check.judge` would see of a corpus of these episodes.

    Args:
        check: the check that measures.
        episodes: the whole corpus, in order.
        facts: what the corpus declares; by default drawn from the episodes.
        issues: the reader's issues with the corpus as a whole.
        elsewhere: digest -> episode id in other corpora of the store.
    """
    facts = facts or facts_of(episodes)
    measured = measure_all(check, episodes)
    first = episodes[0] if episodes else None
    return Manifest(
        facts=facts,
        embodiment=first.embodiment if first else _nobody(),
        issues=tuple(issues),
        index=np.array([e.index for e in episodes], np.int64),
        ids=[e.id for e in episodes],
        length=np.array([e.length for e in episodes], np.int64),
        tasks=[e.tasks for e in episodes],
        cells={column.name: _cells(column, measured, facts) for column in check.columns},
        measured=np.array([m is not None for m in measured], bool),
        unknown=tuple("the recording cannot be read" if m is None else m.unknown for m in measured),
        events=_events(measured),
        values_digest=[_values_digest(e) for e in episodes],
        camera_digests={key: [_camera_digest(e, key) for e in episodes] for key in facts.cameras},
        elsewhere=dict(elsewhere or {}),
    )


def judge(check: Check, episodes: Sequence[Episode], **more: Any) -> list[Finding]:
    """The check's findings over a corpus of these episodes; `more` goes to `manifest_of`."""
    return list(check.judge(manifest_of(check, episodes, **more)))


def _measure(check: Check, episode: Episode) -> Measured | None:
    try:
        return check.measure(episode)
    except RecordingError:
        return None


def _cells(column: Column, measured: Sequence[Measured | None], facts: CorpusFacts) -> np.ndarray:
    given = [None if m is None else m.values.get(column.name) for m in measured]
    if column.type == "text":
        cells = np.empty(len(given), object)
        cells[:] = given
        return cells
    if column.per == "episode":
        return np.array([np.nan if cell is None else cell for cell in given], np.float64)
    declared = len(facts.dims) if column.per == "dim" else len(facts.cameras)
    width = max([declared, *(len(cell) for cell in given if cell is not None)])
    cells = np.full((len(given), width), np.nan)
    for row, cell in enumerate(given):
        if cell is not None:
            cells[row, : len(cell)] = [np.nan if x is None else x for x in cell]
    return cells


def _events(measured: Sequence[Measured | None]) -> Events:
    rows: list[int] = []
    events: list[Event] = []
    for row, m in enumerate(measured):
        if m is not None:
            events += m.events
            rows += [row] * len(m.events)
    return Events(
        row=np.array(rows, np.int64),
        start_s=np.array([e.start_s for e in events], np.float64),
        end_s=np.array([e.end_s for e in events], np.float64),
        strength=np.array([e.strength for e in events], np.float64),
        channel=[e.channel for e in events],
        camera=[e.camera for e in events],
        detail=[e.detail for e in events],
    )


def _values_digest(episode: Episode) -> str:
    try:
        return episode_digest(episode)
    except RecordingError:
        return ""


def _camera_digest(episode: Episode, key: str) -> str:
    camera = episode.cameras.get(key)
    try:
        return camera.packets().digest if camera else ""
    except RecordingError:
        return ""


def _nobody():
    from gristmill.embodiment import Embodiment

    return Embodiment(key="made", title="A robot made for a test", inferred=True)
