"""A corpus on one timeline: what every stage sees when the recipe has `[resample]`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.digest import text_digest
from gristmill.dim_methods import check_rule
from gristmill.embodiment import Embodiment, card_digest
from gristmill.engine import local
from gristmill.episode import Channel, Corpus, CorpusFacts, Episode, EpisodeTable
from gristmill.errors import GristmillError, RecordingError, StoreError, UsageError
from gristmill.finding import Issue
from gristmill.progress import Progress
from gristmill.resample import Featurized, Resample, as_episode, featurize
from gristmill.store.featurized import FOLDER, FeaturizedEpisodes, Head
from gristmill.timeline import at_rate
from gristmill.types import IntArray

# Reading a log and resampling it, in CPU-seconds a frame: some ten channels at 100 Hz.
_FRAME_S = 2e-4
_PIECES_A_JOB = 8


def set_name(corpus: Corpus, rule: Resample) -> str:
    """The folder of a corpus's resampled episodes within the store: what rule, card and corpus have in common.

    What the user stated of the corpus is part of it (a log's clock, topics and cut): the same recordings, opened
    otherwise, are other episodes, and would take each other's place. So is the length of a chunk.
    """
    options = getattr(getattr(corpus, "locator", None), "options", None)
    terms = [repr(rule.canonical()), str(rule.chunk_frames), card_digest(corpus.embodiment), repr(options)]
    return text_digest([corpus.facts.key, corpus.facts.root, *terms])


class Resampled:
    """Implements `gristmill.episode.Corpus` on another corpus and a rule.

    The table's lengths are those of the resampled episodes for all rows that were prepared, and estimates by the
    declared rates for all others.

    Args:
        corpus: as recorded.
        rule: how its episodes are resampled.
        kept: where resampled episodes are kept; without it they are made anew each time.
        heads: row -> what is known of it; None where it cannot be resampled.

    Raises:
        RecipeError: the rule does not fit the corpus's channels.
    """

    def __init__(
        self,
        corpus: Corpus,
        rule: Resample,
        kept: FeaturizedEpisodes | None = None,
        heads: Mapping[int, Head | None] | None = None,
    ) -> None:
        check_rule(rule, corpus.facts)
        self._corpus = corpus
        self._kept = kept
        self._heads: dict[int, Head | None] = dict(heads or {})
        self.rule = rule
        self.embodiment: Embodiment = corpus.embodiment
        self.issues: tuple[Issue, ...] = corpus.issues
        self.facts: CorpusFacts = _at_rate(corpus.facts, rule.rate_hz)

    @classmethod
    def within(cls, store: Path, corpus: Corpus, rule: Resample, *, writable: bool) -> Resampled:
        """The corpus with its episodes kept in a store; raises as the class does, and when zarr is not installed."""
        folder = store / FOLDER / set_name(corpus, rule)
        return cls(corpus, rule, FeaturizedEpisodes(folder, rule.chunk_frames, writable=writable))

    @property
    def name(self) -> str:
        """The folder's name of the kept episodes."""
        return set_name(self._corpus, self.rule)

    @property
    def side_files(self) -> Mapping[str, Path]:
        """Those of the recordings."""
        return self._corpus.side_files

    @property
    def table(self) -> EpisodeTable:
        """All episodes; stamps change with the rule and the card as well as with the files."""
        return self._table

    @cached_property
    def _table(self) -> EpisodeTable:
        recorded = self._corpus.table
        rate = self.rule.rate_hz / self._corpus.facts.rate_hz if self._corpus.facts.rate_hz > 0 else 1.0
        length = np.maximum(np.rint(recorded.length * rate), np.minimum(recorded.length, 1)).astype(np.int64)
        for row in range(len(recorded)):
            head = self._head(row)
            if head is not None:
                length[row] = head.timeline.frames
        keys = [self._key(row) for row in range(len(recorded))]
        return replace(
            recorded,
            length=length,
            values_stamp=[s and f"{s}|{k}" for s, k in zip(recorded.values_stamp, keys, strict=True)],
            camera_stamps={
                camera: [s and f"{s}|{k}" for s, k in zip(stamps, keys, strict=True)]
                for camera, stamps in recorded.camera_stamps.items()
            },
            meta_digest=[text_digest([d, self._rule_text]) for d in recorded.meta_digest],
        )

    def episodes(self, rows: Sequence[int]) -> Iterator[Episode]:
        """The resampled episodes of these rows; recordings are read where nothing is kept, or for pictures."""
        for row, source in zip(rows, self._corpus.episodes(rows), strict=True):
            yield self._episode(int(row), source)

    def raw_columns(self, row: int, keys: Sequence[str]) -> pa.Table:
        """Columns as stored, the nearest row for each frame.

        Raises:
            RecordingError: the episode, or one of the columns, cannot be read.
        """
        made = self._load(row, next(iter(self._corpus.episodes([row]))))
        return self._corpus.raw_columns(row, keys).take(pa.array(made.rows))

    def reopening(self) -> Callable[[], Corpus] | None:
        """How a worker process opens the corpus again; None when the recordings lie in memory only."""
        locator = getattr(self._corpus, "locator", None)
        if locator is None:
            return None
        kept = None if self._kept is None else (self._kept.folder, self._kept.writable)
        return partial(_reopened, locator, self.rule, kept, self._heads)

    def prepared(self, rows: IntArray, *, jobs: int | None = None, progress: Progress | None = None) -> Resampled:
        """This corpus with the true lengths of these rows. Episodes that are not kept yet are resampled and kept.

        Args:
            rows: of the table.
            jobs: worker processes; None is one a core, or none at all when there is little to do.
            progress: told about finished episodes.

        Raises:
            StoreError: an episode cannot be kept.
        """
        lacking = [int(row) for row in rows if int(row) not in self._heads and self._head(int(row)) is None]
        if not lacking:
            return self
        reopen = self.reopening()
        count = local.workers(jobs, float(self._corpus.table.length[lacking].sum()) * _FRAME_S) if reopen else 1
        size = max(1, -(-len(lacking) // (count * _PIECES_A_JOB)))
        works = [tuple(lacking[i : i + size]) for i in range(0, len(lacking), size)]
        heads = dict(self._heads)
        for part in local.run(_Featurizing(reopen, self), works, count):
            heads.update(part.heads)
            if part.trouble is not None:
                raise part.trouble
            if progress is not None:
                progress("resampling", len(heads) - len(self._heads), len(lacking))
        return Resampled(self._corpus, self.rule, self._kept, heads)

    def recordings(self, rows: Sequence[int]) -> Iterator[Episode]:
        """The episodes of these rows as recorded."""
        return self._corpus.episodes(rows)

    def head_of(self, row: int, source: Episode) -> Head | None:
        """Timeline and issues of a recording, which is resampled and kept; None when it cannot be.

        Raises:
            StoreError: it cannot be kept.
            RecipeError: the rule does not fit its channels.
        """
        try:
            made = self._load(row, source)
        except (StoreError, UsageError):
            raise
        except Exception:  # noqa: BLE001 - one episode must not stop the others; measuring meets it again and reports
            return None
        return Head(made.timeline, made.issues)

    # -- inner -------------------------------------------------------------------------------------

    def _episode(self, row: int, source: Episode) -> Episode:
        head = self._head(row)
        if head is not None:
            return as_episode(source, head.timeline, self.rule, partial(self._load, row, source), issues=head.issues)
        # It cannot be resampled, and its loader says why; or nobody has tried yet.
        try:
            made = self._load(row, source)
        except RecordingError as error:
            length = int(self.table.length[row])
            return replace(source, length=length, rate_hz=self.rule.rate_hz, load_channels=_raising(error))
        return as_episode(source, made.timeline, self.rule, lambda: made, issues=made.issues)

    def _load(self, row: int, source: Episode) -> Featurized:
        made = None if self._kept is None else self._kept.read(source.index, self._key(row))
        if made is None:
            made = featurize(source, self.rule)
            if self._kept is not None:
                self._kept.write(source.index, self._key(row), made)
        return made

    def _head(self, row: int) -> Head | None:
        if row not in self._heads and self._kept is not None:
            found = self._kept.head(int(self._corpus.table.index[row]), self._key(row))
            if found is not None:
                self._heads[row] = found
        return self._heads.get(row)

    def _key(self, row: int) -> str:
        """What a resampled episode was made from: files, rule and card."""
        table = self._corpus.table
        cameras = [f"{camera}={stamps[row]}" for camera, stamps in sorted(table.camera_stamps.items())]
        return text_digest([table.values_stamp[row], *cameras, table.meta_digest[row], self._rule_text])

    @cached_property
    def _rule_text(self) -> str:
        return repr((self.rule.canonical(), card_digest(self.embodiment)))


@dataclass(frozen=True)
class _Made:
    """What came of some rows; `trouble` is what must stop the whole run."""

    heads: Mapping[int, Head | None]
    trouble: GristmillError | None = None

    def __len__(self) -> int:
        return len(self.heads)


class _Featurizing:
    """Resamples and keeps episodes; a work is a tuple of rows (see `gristmill.engine.local.Job`)."""

    def __init__(self, reopen: Callable[[], Corpus] | None, corpus: Resampled | None) -> None:
        self._reopen = reopen
        self._corpus = corpus

    def __getstate__(self) -> dict[str, Any]:
        return {"_reopen": self._reopen, "_corpus": None}

    def __call__(self, work: tuple[int, ...]) -> Iterator[_Made]:
        if self._corpus is None:
            assert self._reopen is not None, "a corpus that cannot be reopened was sent to a worker"
            opened = self._reopen()
            assert isinstance(opened, Resampled)
            self._corpus = opened
        for row, source in zip(work, self._corpus.recordings(work), strict=True):
            try:
                yield _Made({row: self._corpus.head_of(row, source)})
            except (StoreError, UsageError) as error:
                yield _Made({row: None}, trouble=error)

    def rest(self, work: tuple[int, ...], done: int) -> Sequence[tuple[int, ...]]:
        return [(row,) for row in work[done:]] if len(work) - done > 1 else ()

    def lost(self, work: tuple[int, ...], done: int, reason: str) -> _Made:
        return _Made(dict.fromkeys(work[done:]))


def _reopened(
    locator: Any, rule: Resample, kept: tuple[Path, bool] | None, heads: Mapping[int, Head | None]
) -> Resampled:
    from gristmill.sources import open_locator

    place = None if kept is None else FeaturizedEpisodes(kept[0], rule.chunk_frames, writable=kept[1])
    return Resampled(open_locator(locator), rule, place, heads)


def _at_rate(facts: CorpusFacts, rate_hz: float) -> CorpusFacts:
    """As declared, at the new rate. Statistics that are declared are of other frames, so they go."""
    return replace(
        facts,
        format=f"{facts.format}, resampled",
        rate_hz=rate_hz,
        features={key: _undated(feature) for key, feature in facts.features.items()},
        cameras={key: at_rate(camera, rate_hz) for key, camera in facts.cameras.items()},
        declared_stats={},
    )


def _undated(feature: Any) -> Any:
    """A feature without what its declaration says of a video file; frames will be encoded anew."""
    return {k: v for k, v in feature.items() if k not in ("info", "video_info")} if "info" in feature else feature


def _raising(error: RecordingError) -> Callable[[], Mapping[str, Channel]]:
    def load() -> Mapping[str, Channel]:
        raise error

    return load
