"""Tests that every check passes: inherit the class, name the check, give one broken episode."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from gristmill.check import Check, Measured, Reads, stage_key
from gristmill.columns import OWN
from gristmill.episode import Episode
from gristmill.errors import RecordingError
from gristmill.finding import Event, Finding, Kind
from gristmill.manifest import module_name
from gristmill.testing.episodes import facts_of, reaching
from gristmill.testing.hostile import hostile_episodes
from gristmill.testing.judging import judge, manifest_of


class CheckContract:
    """What holds for every check. A subclass whose name begins with `Test` is collected by pytest.

    A subclass gives `check` and `broken_episode`; it overrides `clean_episode` when the check looks at
    more than joints, and the corpora when one episode is not enough to tell.
    """

    check: ClassVar[Any]
    # Where in `broken_corpus` the trouble lies; None for a finding about the corpus as a whole.
    broken_row: ClassVar[int | None] = 3
    # Kinds that count as having found it.
    kinds: ClassVar[tuple[Kind, ...]] = (Kind.DEFECT, Kind.RISK)

    def clean_episode(self, index: int) -> Episode:
        """An episode with nothing wrong; the same index gives the same episode."""
        return reaching(index)

    def broken_episode(self, index: int) -> Episode:
        """An episode in which the check must find something."""
        raise TypeError(f"{type(self).__name__} must define broken_episode")

    def clean_corpus(self) -> Sequence[Episode]:
        """Eight clean episodes."""
        return [self.clean_episode(i) for i in range(8)]

    def broken_corpus(self) -> Sequence[Episode]:
        """The clean corpus with a broken episode at `broken_row`."""
        corpus = list(self.clean_corpus())
        row = 3 if self.broken_row is None else self.broken_row
        corpus[row] = self.broken_episode(row)
        return corpus

    def judge(self, episodes: Sequence[Episode]) -> list[Finding]:
        """Findings over these episodes; override it when the corpus declares something of its own."""
        return judge(self.check, episodes)

    def changed(self, name: str, value: Any) -> Any:
        """Another value for the check's field; override it where the check refuses this one."""
        if isinstance(value, bool):
            return not value
        if isinstance(value, (int, float)):
            return value + 1
        if isinstance(value, str):
            return value + "x"
        if isinstance(value, tuple):
            return (*value, *(value[-1:] or ("x",)))
        raise TypeError(f"override changed() to give another value for {name}")

    # -- what the class says of itself ------------------------------------------------------------

    def test_is_a_documented_frozen_value(self) -> None:
        """A frozen dataclass with a version, what it reads, its documentation, a fix and a source."""
        cls = type(self.check)
        assert is_dataclass(cls)
        assert cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
        assert isinstance(cls.version, int)
        assert cls.version >= 1
        assert isinstance(cls.reads, Reads)
        assert cls.__doc__
        assert not cls.__doc__.startswith(f"{cls.__name__}("), "the docstring is the check's documentation"
        assert cls.fix.strip(), "say what a user does about it"
        assert cls.source.strip(), "say where method and thresholds come from"
        hash(self.check)

    def test_columns_are_declared(self) -> None:
        """Columns have distinct, storable names and say what they hold."""
        names = [column.name for column in self.check.columns]
        assert len(set(names)) == len(names)
        for column in self.check.columns:
            assert column.name.isidentifier(), f"a table cannot hold a column named {column.name!r}"
            assert column.name not in OWN.names, f"every stage has a column named {column.name!r} already"
            assert column.about.strip(), f"column {column.name} says nothing about itself"
            assert column.per == "episode" or column.type != "text", "text columns hold one text an episode"

    def test_thresholds_leave_the_stage_key_alone(self) -> None:
        """A changed threshold makes nothing owed; a changed measuring parameter does."""
        name = module_name(type(self.check))
        for f in fields(self.check):
            other = replace(self.check, **{f.name: self.changed(f.name, getattr(self.check, f.name))})
            same = stage_key(name, other) == stage_key(name, self.check)
            assert same != bool(f.metadata.get("measuring")), f.name

    # -- what it finds ----------------------------------------------------------------------------

    def test_silent_on_a_clean_corpus(self) -> None:
        """No defect and no risk where nothing is wrong."""
        loud = [f for f in self.judge(self.clean_corpus()) if f.kind is not Kind.TRAIT]
        assert loud == []

    def test_finds_the_broken_episode_only(self) -> None:
        """The broken episode is found, and no other."""
        findings = [f for f in self.judge(self.broken_corpus()) if f.kind in self.kinds]
        assert {f.row for f in findings} == {self.broken_row}

    def test_findings_are_well_formed(self) -> None:
        """Findings carry the check's name, one line of text, a fix and plain numbers."""
        episodes = self.broken_corpus()
        for f in self.judge(episodes):
            assert f.check == module_name(type(self.check))
            assert isinstance(f.kind, Kind)
            assert f.row is None or (type(f.row) is int and 0 <= f.row < len(episodes))
            assert f.message.strip()
            assert "\n" not in f.message
            assert f.fix.strip()
            assert all(type(v) is float or v is None for v in (f.measured, f.threshold))
            assert all(type(a) is float and type(b) is float and a <= b for a, b in f.spans_s)

    # -- how it measures --------------------------------------------------------------------------

    def test_what_is_not_asked_of_a_corpus_is_unknown_of_its_episodes(self) -> None:
        """`unfit`, where the check has it, says what `measure` would say of every episode."""
        if not hasattr(self.check, "unfit"):
            return
        episode = reaching(0)  # its card claims nothing
        reason = self.check.unfit(facts_of([episode]), episode.embodiment)
        assert reason
        assert self._measured(episode) == Measured(unknown=reason)
        fitting = self.broken_episode(0)
        assert self.check.unfit(facts_of([fitting]), fitting.embodiment) == ""

    def test_measures_the_same_twice_and_in_any_order(self) -> None:
        """Measuring knows no other episode and no earlier call."""
        forth = [plain(self._measured(e)) for e in self.broken_corpus()]
        back = [plain(self._measured(e)) for e in reversed(self.broken_corpus())]
        assert forth == back[::-1]
        assert self.judge(self.broken_corpus()) == self.judge(self.broken_corpus())

    def test_pickles(self) -> None:
        """Checks and measurements travel between processes."""
        assert pickle.loads(pickle.dumps(self.check)) == self.check
        for episode in self.broken_corpus():
            measured = self._measured(episode)
            assert plain(pickle.loads(pickle.dumps(measured))) == plain(measured)

    def test_returns_what_it_declares(self) -> None:
        """Measured values fit the declared columns."""
        for episode in self.broken_corpus():
            self._conforms(episode, self._measured(episode))

    def test_survives_hostile_episodes(self) -> None:
        """NaN, infinities, nothing, one frame, constants and integers raise and warn of nothing."""
        for base in (self.clean_episode(0), self.broken_episode(0)):
            for name, episode in hostile_episodes(base):
                with warnings.catch_warnings():
                    warnings.simplefilter("error", RuntimeWarning)
                    try:
                        self._conforms(episode, self._measured(episode))
                        corpus = [self.clean_episode(1), episode, self.clean_episode(2)]
                        list(self.check.judge(manifest_of(self.check, corpus)))
                        list(self.check.judge(manifest_of(self.check, [episode])))
                    except Exception as error:
                        error.add_note(f"on an episode with {name}")
                        raise

    def test_judges_an_empty_corpus(self) -> None:
        """A corpus without episodes has no episode's findings."""
        assert [f for f in self.check.judge(manifest_of(self.check, [])) if f.row is not None] == []

    # -- details ----------------------------------------------------------------------------------

    def _measured(self, episode: Episode) -> Measured | None:
        try:
            return self.check.measure(episode)
        except RecordingError:
            return None  # the recording cannot be read; the pipeline lists it as not checked

    def _conforms(self, episode: Episode, measured: Measured | None) -> None:
        if measured is None:
            return
        columns = {column.name: column for column in self.check.columns}
        for name, value in measured.values.items():
            assert name in columns, f"{name} is not a declared column"
            if value is None:
                continue
            column = columns[name]
            if column.type == "text":
                assert isinstance(value, str), name
            elif column.per == "episode":
                assert isinstance(value, (Real, np.bool_, np.number)), name
            else:
                width = len(episode.dims) if column.per == "dim" else len(episode.cameras)
                assert len(value) == width, f"{name} has {len(value)} cells for {width}"
                np.asarray(value, np.float64)
        assert measured.unknown is None or measured.unknown.strip()
        for event in measured.events:
            assert isinstance(event, Event)
            assert np.isfinite([event.start_s, event.end_s]).all(), event
            assert event.start_s <= event.end_s, event
            assert event.camera is None or event.camera in episode.cameras, event


def plain(measured: Measured | None) -> str:
    """A text that two measurements share exactly when they are equal, NaN included."""
    if measured is None:
        return "unreadable"
    values = {k: _plain(v) for k, v in sorted(measured.values.items())}
    return repr((values, [tuple(map(_plain, e)) for e in measured.events], measured.unknown))


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(v) for v in value]
    return value


__all__ = ["Check", "CheckContract", "plain"]
