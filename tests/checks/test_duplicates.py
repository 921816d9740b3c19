"""Exact copies, within a corpus and across corpora."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gristmill.checks.duplicates import Duplicates
from gristmill.digest import values_digest
from gristmill.finding import Kind
from gristmill.testing import CheckContract, judge, make_episode, reaching


def copy_of(original, index, **more):
    return replace(reaching(original), index=index, id=f"made/{index}", **more)


class TestDuplicates(CheckContract):
    check = Duplicates()

    def broken_episode(self, index):
        return copy_of(1, index)


def test_the_first_is_the_original_and_every_later_one_a_copy():
    episodes = [reaching(5), reaching(6), copy_of(5, 7), copy_of(6, 8), copy_of(5, 9)]
    found = judge(Duplicates(), episodes)
    assert [(f.row, f.kind, f.code) for f in found] == [(r, Kind.DEFECT, "exact_copy") for r in (2, 3, 4)]
    assert "episode 7 is an exact copy of episode 5: all 1,440 " in found[0].message
    assert "episode 9 is an exact copy of episode 5" in found[2].message


def test_a_copy_under_another_task_says_so():
    (found,) = judge(Duplicates(), [reaching(0), copy_of(0, 1, tasks=("another",))])
    assert "under another task" in found.message


def test_one_number_makes_a_difference():
    state = np.zeros((10, 2))
    other = state.copy()
    other[9, 1] = 1e-12
    assert judge(Duplicates(), [make_episode(state=state), make_episode(state=other, index=1)]) == []


def test_times_make_a_difference():
    state = np.ones((10, 2))
    late = make_episode(state=state, times_s=np.arange(10) / 29, index=1)
    assert judge(Duplicates(), [make_episode(state=state), late]) == []


def test_empty_and_single_frames_are_no_copies():
    for episodes in (
        [make_episode(length=5, index=i) for i in range(3)],
        [make_episode(state=np.zeros((1, 2)), index=i) for i in range(3)],
    ):
        assert judge(Duplicates(), episodes) == []


def test_copies_in_other_corpora_are_told_once_a_corpus():
    episodes = [reaching(i) for i in range(8)]
    digests = [values_digest(e.channels, e.rate_hz) for e in episodes]
    elsewhere = {d: f"lab/a/{i:06d}" for i, d in enumerate(digests[:6])} | {digests[7]: "b/000001"}
    found = judge(Duplicates(), episodes, elsewhere=elsewhere)
    assert [(f.row, f.kind, f.code, f.measured) for f in found] == [
        (None, Kind.TRAIT, "copy_elsewhere", 1.0),
        (None, Kind.TRAIT, "copy_elsewhere", 6.0),
    ]
    assert "1 of 8 episodes (7) are exact copies of episodes of corpus b;" in found[0].message
    assert (
        "6 of 8 episodes (0, 1, 2, 3, 4 and 1 more) are exact copies of episodes of corpus lab/a;" in found[1].message
    )
