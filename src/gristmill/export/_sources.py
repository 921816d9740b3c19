"""The recordings behind a snapshot, opened again and compared with what was frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gristmill.digest import episode_digest, text_digest
from gristmill.episode import Corpus, Episode
from gristmill.errors import RecordingError, SnapshotError
from gristmill.kept import Kept
from gristmill.snapshot import Snapshot
from gristmill.streams import own_clock


class Recording(NamedTuple):
    """One verified recording, and what of it is exported."""

    corpus: Corpus
    row: int  # in the corpus's table
    episode: Episode
    spans: list[Kept]

    def columns(self, keys: Sequence[str]) -> Mapping[str, pa.ChunkedArray]:
        """What no channel holds, as stored.

        Raises:
            RecordingError: a column cannot be read.
        """
        if not keys:
            return {}
        table = self.corpus.raw_columns(self.row, keys)
        return {key: table.column(key) for key in keys}


class Recordings:
    """Opens each corpus once and hands out episodes that still are what they were.

    Args:
        snapshot: what was frozen.
        open_corpus: opens the corpus at a root.
    """

    def __init__(self, snapshot: Snapshot, open_corpus: Callable[[str], Corpus]) -> None:
        self._open = open_corpus
        self._roots = snapshot.roots
        self._corpora: dict[str, Corpus] = {}
        wanted = {span.episode_id for span in snapshot.kept()}
        self._frozen = {e["episode_id"]: e for e in snapshot.episodes.to_pylist() if e["episode_id"] in wanted}

    def corpus(self, key: str) -> Corpus:
        """The corpus of this key, opened when it is first asked for."""
        if key not in self._corpora:
            self._corpora[key] = self._open(self._roots[key])
        return self._corpora[key]

    def episodes(self, spans: Sequence[Kept]) -> Iterator[Recording]:
        """Recordings in the order of the spans, each with its consecutive spans.

        Raises:
            SnapshotError: a recording is gone or was changed; the text names it.
        """
        for key, of_corpus in groupby(spans, lambda span: span.corpus):
            corpus = self.corpus(key)
            runs = [(index, list(run)) for index, run in groupby(of_corpus, lambda span: span.episode_index)]
            places = {int(index): row for row, index in enumerate(np.asarray(corpus.table.index).tolist())}
            gone = [index for index, _ in runs if index not in places]
            if gone:
                raise SnapshotError(
                    f"corpus {key}: episode {gone[0]} is gone since the snapshot was frozen; freeze anew"
                )
            rows = [places[index] for index, _ in runs]
            for row, episode, (_, run) in zip(rows, corpus.episodes(rows), runs, strict=True):
                self._verify(episode, run[0])
                yield Recording(corpus, row, episode, run)

    def _verify(self, episode: Episode, span: Kept) -> None:
        frozen = self._frozen[span.episode_id]
        try:
            several = own_clock(episode)
            now = {"values": episode_digest(episode), "task": text_digest(episode.tasks)}
            now |= {f"camera {k}": episode.cameras[k].packets().digest for k in span.cameras}
        except (RecordingError, KeyError) as error:
            raise SnapshotError(
                f"episode {span.episode_id} cannot be read any more ({error}); restore it or freeze anew"
            ) from error
        if several:
            raise SnapshotError(f"episode {span.episode_id}: {several}; freeze anew with [resample] in the recipe")
        then = {"values": frozen["values_digest"], "task": frozen["task_digest"]}
        then |= {f"camera {c['camera']}": c["digest"] for c in frozen["camera_digests"]}
        changed = [what for what, digest in now.items() if then.get(what) != digest]
        if changed:
            raise SnapshotError(
                f"episode {span.episode_id} changed since the snapshot was frozen ({', '.join(changed)}); "
                "restore it or freeze anew; nothing was exported"
            )
