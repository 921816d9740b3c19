"""Tests that every source passes: inherit the class, name the source, make one small corpus."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from gristmill.digest import text_digest, values_digest
from gristmill.episode import Corpus, Episode


class SourceContract:
    """What holds for every source. A subclass gives `source` and `make_corpus`."""

    source: ClassVar[Any]  # the plug-in's class

    def make_corpus(self, folder: Path) -> Path:
        """Write a corpus of at least three readable episodes under `folder`, or return an existing one."""
        raise TypeError(f"{type(self).__name__} must define make_corpus")

    def open(self, path: Path) -> Corpus:
        """The corpus, opened as the pipeline does."""
        return self.source.open(path, key="contract")

    def test_recognizes_its_corpus_only(self, tmp_path: Path) -> None:
        """The source knows its own corpus and leaves an empty folder alone."""
        assert self.source.recognizes(self.make_corpus(tmp_path / "corpus"))
        empty = tmp_path / "empty"
        empty.mkdir()
        assert not self.source.recognizes(empty)

    def test_tables_agree_in_length(self, tmp_path: Path) -> None:
        """The columns of the table of episodes have one row an episode."""
        corpus = self.open(self.make_corpus(tmp_path / "corpus"))
        table, n = corpus.table, len(corpus.table)
        assert n >= 3
        for column in (table.index, table.length, table.tasks, table.values_stamp, table.meta_digest):
            assert len(column) == n
        assert set(table.camera_stamps) == set(corpus.facts.cameras)
        assert all(len(stamps) == n for stamps in table.camera_stamps.values())
        assert len(set(table.index.tolist())) == n

    def test_episodes_agree_with_the_table(self, tmp_path: Path) -> None:
        """Episodes are what the table promises, and their channels agree among themselves."""
        corpus = self.open(self.make_corpus(tmp_path / "corpus"))
        rows = range(len(corpus.table))
        episodes = list(corpus.episodes(rows))
        assert [e.index for e in episodes] == corpus.table.index.tolist()
        assert [e.length for e in episodes] == corpus.table.length.tolist()
        assert [e.tasks for e in episodes] == list(corpus.table.tasks)
        assert len({e.id for e in episodes}) == len(episodes)
        for e in episodes:
            assert all(len(c.values) == len(c.times_s) == e.frames for c in e.channels.values())
            assert all(len(c.names) == c.values.shape[1] for c in e.channels.values())
            assert len(e.dims) == len(corpus.facts.dims)

    def test_any_order_gives_the_same_content(self, tmp_path: Path) -> None:
        """Content depends on the row asked for, not on the rows before it."""
        corpus = self.open(self.make_corpus(tmp_path / "corpus"))
        n = len(corpus.table)
        forth = self._contents(corpus, range(n))
        back = self._contents(corpus, range(n)[::-1])
        assert forth == back[::-1]
        assert self._contents(corpus, range(n)) == forth
        assert self._contents(corpus, [n - 1]) == forth[-1:]
        assert list(corpus.episodes([])) == []

    def test_reopens_by_its_pickled_locator(self, tmp_path: Path) -> None:
        """A worker that is handed the locator sees the same corpus."""
        from gristmill.sources import open_locator

        corpus = self.open(self.make_corpus(tmp_path / "corpus"))
        again = open_locator(pickle.loads(pickle.dumps(corpus.locator)))  # type: ignore[attr-defined]
        rows = range(len(corpus.table))
        assert self._contents(again, rows) == self._contents(corpus, rows)
        assert again.table.values_stamp == corpus.table.values_stamp
        assert again.table.meta_digest == corpus.table.meta_digest

    def test_writes_nothing_into_the_corpus(self, tmp_path: Path) -> None:
        """Opening and reading leave every file as it was."""
        path = self.make_corpus(tmp_path / "corpus")
        before = _listing(path)
        corpus = self.open(path)
        self._contents(corpus, range(len(corpus.table)))
        assert _listing(path) == before

    def _contents(self, corpus: Corpus, rows: Sequence[int]) -> list[tuple[str, str, str]]:
        return [_content(episode) for episode in corpus.episodes(rows)]


def _content(episode: Episode) -> tuple[str, str, str]:
    return episode.id, values_digest(episode.channels, episode.rate_hz), text_digest(episode.tasks)


def _listing(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for parent, _, files in os.walk(folder):
        for name in files:
            stat = (Path(parent) / name).stat()
            found[str(Path(parent, name).relative_to(folder))] = (stat.st_size, stat.st_mtime_ns)
    return found
