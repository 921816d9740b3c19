"""The contract for sources accepts a proper one and refuses improper ones."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import gristmill.sources
from gristmill.embodiment import Embodiment
from gristmill.episode import EpisodeTable
from gristmill.testing import SourceContract, facts_of, make_episode


@dataclass(frozen=True)
class Locator:
    path: Path
    key: str


class Lines:
    """A corpus of one JSON list a line."""

    issues = ()
    embodiment = Embodiment(key="none", title="none", inferred=True)

    def __init__(self, path, key):
        self.locator = Locator(path, key)
        self.rows = [json.loads(line) for line in (path / "all.jsonl").read_text().splitlines()]
        self.facts = facts_of([self._episode(0)], key=key)

    @classmethod
    def recognizes(cls, path):
        return (path / "all.jsonl").exists()

    @classmethod
    def open(cls, path, *, key, card=None):
        return cls(path, key)

    @property
    def table(self):
        n = len(self.rows)
        texts = [f"{row}" for row in self.rows]
        return EpisodeTable(
            index=np.arange(n),
            length=np.array([len(r) for r in self.rows]),
            tasks=[("pick the cube",)] * n,
            values_stamp=texts,
            camera_stamps={},
            meta_digest=texts,
        )

    def episodes(self, rows):
        return (self._episode(row) for row in rows)

    def _episode(self, row):
        return make_episode(state=np.array(self.rows[row], float), index=row, corpus=self.locator.key)


class Proper(SourceContract):
    source = Lines

    def make_corpus(self, folder):
        folder.mkdir(exist_ok=True)
        (folder / "all.jsonl").write_text("[1, 2, 3]\n[4, 5]\n[6]\n")
        return folder


@pytest.fixture(autouse=True)
def reopening(monkeypatch):
    monkeypatch.setattr(gristmill.sources, "open_locator", lambda at: Lines(at.path, at.key), raising=False)


TESTS = sorted(name for name in vars(SourceContract) if name.startswith("test_"))


@pytest.mark.parametrize("name", TESTS)
def test_a_proper_source_passes(name, tmp_path):
    getattr(Proper(), name)(tmp_path)


class Careless(Lines):
    """Counts on being asked in order, promises too much and writes beside what it reads."""

    calls = 0

    def episodes(self, rows):
        (self.locator.path / "cache").write_text("x")
        for row in rows:
            Careless.calls += 1
            episode = self._episode(row)
            yield replace(episode, length=episode.length + 1, tasks=(f"call {Careless.calls}",))


@pytest.mark.parametrize(
    "name",
    [
        "test_episodes_agree_with_the_table",
        "test_any_order_gives_the_same_content",
        "test_writes_nothing_into_the_corpus",
        "test_reopens_by_its_pickled_locator",
    ],
)
def test_a_careless_source_is_refused(name, tmp_path):
    class Contract(Proper):
        source = Careless

    with pytest.raises(AssertionError):
        getattr(Contract(), name)(tmp_path)
