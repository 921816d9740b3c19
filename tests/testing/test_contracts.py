"""The contract accepts a proper check and refuses improper ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from gristmill.check import Column, Measured, Reads, measuring
from gristmill.episode import Episode
from gristmill.finding import Event, Finding, Kind
from gristmill.manifest import Manifest, finding
from gristmill.testing import CheckContract, judge, make_episode, manifest_of, reaching

NAME = __name__.rsplit(".", 1)[-1]


@dataclass(frozen=True, kw_only=True)
class Loudest:
    """Whether any value is large."""

    version: ClassVar[int] = 1
    reads: ClassVar[Reads] = Reads(channels=True)
    columns: ClassVar[tuple[Column, ...]] = (
        Column("peak", about="largest magnitude"),
        Column("peaks", per="dim", about="largest magnitude of each dimension"),
        Column("note", "text", about="a text"),
    )
    fix: ClassVar[str] = "Turn it down."
    source: ClassVar[str] = "Made up for this test."

    power: int = measuring(1)
    loud_above: float = 100.0

    def measure(self, episode: Episode) -> Measured:
        peaks = [
            float(np.max(np.abs(c.values[:, i].astype(float)), initial=0.0)) ** self.power
            for c in episode.channels.values()
            if c.role in ("state", "action")
            for i in range(c.values.shape[1])
        ]
        if not peaks:
            return Measured(unknown="no state and no action")
        events = [Event(0.0, 0.1, max(peaks), channel=episode.dims[0].label)] if max(peaks) > 50 else []
        return Measured({"peak": max(peaks), "peaks": peaks, "note": "seen"}, events)

    def judge(self, manifest: Manifest) -> Iterator[Finding]:
        for row in np.flatnonzero(manifest["peak"] > self.loud_above):
            yield finding(self, Kind.DEFECT, row, f"{manifest.where(row)} is loud.", measured=manifest["peak"][row])


class TestLoudest(CheckContract):
    check = Loudest()

    def broken_episode(self, index):
        return reaching(index, action=np.full((120, 6), 1000.0))


def test_manifest_columns_follow_the_documentation():
    episodes = [
        make_episode(state=[[1.0, 60.0], [2.0, 5.0]], index=4),
        make_episode(length=3, index=5),
        make_episode(state=[[70.0]], index=9),
    ]
    m = manifest_of(Loudest(), episodes)
    assert m.index.tolist() == [4, 5, 9]
    assert m.length.tolist() == [2, 3, 1]
    assert np.array_equal(m["peak"], [60, np.nan, 70], equal_nan=True)
    assert np.array_equal(m["peaks"], [[2, 60], [np.nan, np.nan], [70, np.nan]], equal_nan=True)
    assert m["note"].tolist() == ["seen", None, "seen"]
    assert m.unknown == (None, "no state and no action", None)
    assert m.measured.tolist() == [True, True, True]
    assert m.events.row.tolist() == [0, 2]
    assert m.events.strength.tolist() == [60.0, 70.0]
    assert m.events.channel == ["observation.state[joint_0]"] * 2
    assert len(set(m.values_digest)) == 3


def test_judge_returns_findings_of_the_corpus():
    found = judge(Loudest(), [reaching(0), reaching(1, action=np.full((120, 6), 200.0))])
    assert [(f.check, f.row, f.measured) for f in found] == [(NAME, 1, 200.0)]


def test_the_contract_refuses_what_is_not_declared():
    @dataclass(frozen=True, kw_only=True)
    class Sloppy(Loudest):
        """Returns a column that it does not declare."""

        def measure(self, episode):
            return Measured({"surprise": 1.0})

    class Contract(CheckContract):
        check = Sloppy()
        broken_episode = TestLoudest.broken_episode

    with pytest.raises(AssertionError, match="surprise is not a declared column"):
        Contract().test_returns_what_it_declares()
    with pytest.raises(AssertionError):
        Contract().test_finds_the_broken_episode_only()


def test_the_contract_refuses_a_check_that_dies_of_nan():
    @dataclass(frozen=True, kw_only=True)
    class Fragile(Loudest):
        """Divides by what may be zero."""

        def measure(self, episode):
            return Measured({"peak": np.float64(1.0) / np.ptp(episode.channels["observation.state"].values)})

    class Contract(CheckContract):
        check = Fragile()
        broken_episode = TestLoudest.broken_episode

    with pytest.raises((RuntimeWarning, KeyError, ValueError, TypeError)) as caught:
        Contract().test_survives_hostile_episodes()
    assert "on an episode with" in caught.value.__notes__[0]
