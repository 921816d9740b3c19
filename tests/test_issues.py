"""What a reader found, carried through the store and back."""

from __future__ import annotations

import pytest

from gristmill.checks.files import Files
from gristmill.checks.pointers import Pointers
from gristmill.checks.schema import Schema
from gristmill.finding import Issue, Kind
from gristmill.testing import judge, make_episode, manifest_of, measure_all


def issue(check, code="broken", kind=Kind.DEFECT, **more):
    more = {"message": "episode 3: something is wrong.", "fix": "Mend it."} | more
    return Issue(check=check, code=code, kind=kind, **more)


def test_a_finding_is_rebuilt_from_the_stored_event_alone():
    told = issue(
        "files",
        "video_missing",
        Kind.RISK,
        message="episode 3: videos/a\nb.mp4 is missing,  expected 20 frames.",
        fix="Fetch it.",
        camera="observation.images.top",
        subject="videos/a\nb.mp4",
        measured=0.0,
        threshold=20.0,
        unit="frames",
    )
    (found,) = judge(Files(), [make_episode(length=3, index=3, issues=[told])])
    assert (found.check, found.code, found.kind, found.row) == ("files", "video_missing", Kind.RISK, 0)
    assert found.message == "episode 3: videos/a b.mp4 is missing, expected 20 frames."
    assert (found.fix, found.camera, found.unit) == ("Fetch it.", "observation.images.top", "frames")
    assert (found.measured, found.threshold) == (0.0, 20.0)
    assert found.spans_s == ()


def test_equal_issues_count_once_and_those_of_other_checks_not_at_all():
    episode = make_episode(
        length=3, issues=[issue("schema"), issue("schema"), issue("schema", "other"), issue("files")]
    )
    (measured,) = measure_all(Schema(), [episode])
    assert measured is not None
    assert measured.values == {"issues": 2}
    assert len(measured.events) == 2


def test_issues_of_the_corpus_are_reported_as_such():
    told = [issue("pointers", kind=Kind.TRAIT, message="all templates are odd."), issue("files")]
    (found,) = judge(Pointers(), [make_episode(length=3)], issues=told)
    assert (found.row, found.kind, found.message) == (None, Kind.TRAIT, "all templates are odd.")


def corpus(affected, total, **more):
    return [
        make_episode(length=3, index=i, issues=[issue("schema", message=f"episode {i}: odd.", **more)] * (i < affected))
        for i in range(total)
    ]


@pytest.mark.parametrize("kind", list(Kind))
def test_trouble_of_most_episodes_is_also_told_of_the_corpus(kind):
    found = judge(Schema(), corpus(6, 10, kind=kind))
    whole = [f for f in found if f.row is None]
    assert [f.message for f in whole] == ["6 of 10 episodes share this trouble: episode 0: odd."]
    # each defect decides about its episode; traits and risks are not repeated
    assert [f.row for f in found if f.row is not None] == (list(range(6)) if kind is Kind.DEFECT else [])


@pytest.mark.parametrize(("affected", "total"), [(4, 8), (5, 11), (1, 1)])
def test_trouble_of_few_episodes_is_told_of_each(affected, total):
    found = judge(Schema(), corpus(affected, total))
    assert [f.row for f in found] == list(range(affected))


def test_trouble_of_different_cameras_is_not_lumped_together():
    episodes = [make_episode(length=3, index=i, issues=[issue("files", camera=f"cam{i % 2}")]) for i in range(12)]
    manifest = manifest_of(Files(), episodes)
    whole = [f for f in Files().judge(manifest) if f.row is None]
    assert [(f.camera, f.message[:13]) for f in whole] == [("cam0", "6 of 12 episo"), ("cam1", "6 of 12 episo")]
