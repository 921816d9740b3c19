"""The closer look: one block an episode, made in corpus order, shown worst first.

Recordings are read in the order in which they lie in their files; the page wants the worst ones on top.
So finished blocks go to a temporary file, and memory holds one of them at a time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, cast

from markupsafe import Markup

from gristmill.audit import Audit, Verdict
from gristmill.episode import Corpus, Episode
from gristmill.errors import RecordingError
from gristmill.finding import Finding
from gristmill.report import figures, wording
from gristmill.report.filmstrips import Allowance, Filmstrip, filmstrips
from gristmill.report.survey import VERDICTS, Survey
from gristmill.report.timelines import Timeline, axis, extent_s, timelines

if TYPE_CHECKING:
    from gristmill.traces import CameraTraces

FINDINGS = 16  # sentences of one episode; the rest is counted
StoredTraces = Callable[[int, str], "CameraTraces | None"]

IN_MEMORY = 4 << 20  # bytes of finished blocks before they go to disk


@dataclass(frozen=True, kw_only=True)
class Told:
    """One finding as a block shows it."""

    number: int
    finding: Finding
    message: str
    when: str


@dataclass(frozen=True, kw_only=True)
class Detail:
    """Everything that a block shows of one episode."""

    row: int
    worst: bool  # of all that are shown
    index: int
    id: str
    verdict: Verdict
    not_for_vision: bool  # though others are
    frames: int
    duration: str
    task: str
    reasons: tuple[str, ...]
    accepted: list[tuple[str, str]]  # checks that a person waived here, with the reason
    findings: list[Told]
    more: int
    timelines: list[Timeline]
    axis: Markup | None
    filmstrips: list[Filmstrip]
    trouble: str  # why there are no signals


class Details:
    """Blocks of the chosen episodes. A context manager, because it holds a temporary file.

    Args:
        audit: the audit shown.
        found: its survey.
        rows: the chosen rows, worst first.
        corpus: where signals and frames come from; without it blocks hold sentences only.
        traces: stored camera traces by row of the corpus's table and camera key.
        render: turns a `Detail` into HTML.
    """

    def __init__(
        self,
        audit: Audit,
        found: Survey,
        rows: Sequence[int],
        corpus: Corpus | None,
        traces: StoredTraces | None,
        render: Callable[[Detail], str],
    ) -> None:
        self._audit, self._found, self._rows = audit, found, rows
        self._places: dict[int, tuple[int, int]] = {}
        self._accepted: dict[str, list[tuple[str, str]]] = {}
        for (episode_id, check), reason in sorted(audit.waived.items()):
            self._accepted.setdefault(episode_id, []).append((check, reason))
        self.allowance = Allowance()
        self._file = cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=IN_MEMORY))  # noqa: SIM115
        for row, episode in self._episodes(corpus, traces):
            block = render(self._detail(row, episode)).encode()
            self._places[row] = (self._file.tell(), len(block))
            self._file.write(block)

    def __iter__(self) -> Iterator[Markup]:
        """The blocks, worst first."""
        for row in self._rows:
            at, size = self._places[row]
            self._file.seek(at)
            yield Markup(self._file.read(size).decode())  # rendered by an escaping template

    def __enter__(self) -> Details:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def _episodes(self, corpus: Corpus | None, traces: StoredTraces | None) -> Iterator[tuple[int, Episode | None]]:
        rows = sorted(self._rows)
        if corpus is None:
            yield from ((row, None) for row in rows)
            return
        places = [int(self._audit.rows[row]) for row in rows]
        for row, place, episode in zip(rows, places, corpus.episodes(places), strict=True):
            if traces is not None:
                episode.load_traces = partial(traces, place)
            yield row, episode

    def _detail(self, row: int, episode: Episode | None) -> Detail:
        audit = self._audit
        every = self._found.findings(audit, row)
        shown = every[:FINDINGS]
        plots: list[Timeline] = []
        ticks = None
        trouble = audit.unreadable.get(row, "")
        strips: list[Filmstrip] = []
        if episode is not None:
            try:
                plots = timelines(episode, shown, audit.embodiment)
                ticks = axis(extent_s(episode))
            except RecordingError as error:
                trouble = trouble or str(error)
            strips = filmstrips(episode, shown, self.allowance)
        return Detail(
            row=row,
            worst=row == self._rows[0],
            index=int(audit.index[row]),
            id=audit.ids[row],
            verdict=VERDICTS[int(self._found.verdict[row])],
            not_for_vision=self._found.good(row) and self._found.vision and "vision" not in audit.usable_for[row],
            frames=int(audit.length[row]),
            duration=figures.duration(float(self._found.duration_s[row])),
            task=" · ".join(audit.tasks[row]),
            reasons=tuple(audit.reasons.get(row, ())),
            accepted=self._accepted.get(audit.ids[row], []),
            findings=[
                Told(
                    number=number,
                    finding=finding,
                    message=wording.without_place(finding.message, int(audit.index[row])),
                    when=figures.spans(finding.spans_s),
                )
                for number, finding in enumerate(shown, 1)
            ],
            more=len(every) - len(shown),
            timelines=plots,
            axis=ticks,
            filmstrips=strips,
            trouble=trouble,
        )
