"""A check sees what it declares, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from gristmill.check import Reads
from gristmill.embodiment import Embodiment
from gristmill.engine.views import UndeclaredReadError, view
from gristmill.episode import Episode
from gristmill.finding import Issue, Kind
from gristmill.testing import ArrayCamera, make_episode


@pytest.fixture
def episode() -> Episode:
    issue = Issue(check="files", code="c", kind=Kind.DEFECT, message="m", fix="f")
    made = make_episode(
        state=np.arange(12.0).reshape(6, 2),
        cameras={"top": ArrayCamera(np.zeros((6, 4, 4), np.uint8), key="top")},
        embodiment=Embodiment(key="so101", title="SO-101"),
        issues=(issue,),
        declared_stats={"observation.state": {"mean": [5.0, 6.0]}},
    )
    made.load_traces = lambda camera: "traces"  # type: ignore[assignment,return-value]
    _ = made.derived
    return made


def test_what_is_declared_is_the_same_object(episode: Episode) -> None:
    seen = view(episode, Reads(channels=True, packets=True, traces=True, task=True, meta=True, card=True))
    assert seen.channels["observation.state"] is episode.channels["observation.state"]
    assert seen.cameras is episode.cameras
    assert seen.traces("top") == "traces"
    assert seen.tasks == ("pick the cube",)
    assert seen.issues == episode.issues
    assert seen.declared_stats == episode.declared_stats
    assert seen.embodiment.key == "so101"
    assert (seen.index, seen.length, seen.rate_hz, seen.id) == (0, 6, 30.0, "made/000000")


def test_shared_motion_comes_with_channels_and_card_and_is_shared(episode: Episode) -> None:
    seen, other = view(episode, Reads(motion=True)), view(episode, Reads(motion=True, task=True))
    assert seen.embodiment.key == "so101"
    assert seen.frames == 6
    seen.derived["motion"] = "computed"
    assert other.derived["motion"] == "computed"


def test_what_is_not_declared_is_not_there(episode: Episode) -> None:
    assert episode.frames == 6  # loaded before, which must not matter
    seen = view(episode, Reads())
    with pytest.raises(UndeclaredReadError, match=r"set `reads\.channels`"):
        _ = seen.channels
    assert seen.cameras == {}
    assert seen.traces("top") is None
    assert seen.tasks == ()
    assert seen.issues == ()
    assert seen.declared_stats == {}
    assert seen.embodiment.key == ""
    assert episode.tasks == ("pick the cube",)
    assert episode.embodiment.key == "so101"


def test_motion_that_was_not_declared_is_not_left_behind_for_others(episode: Episode) -> None:
    view(episode, Reads(channels=True)).derived["motion"] = "made without a card"
    assert "motion" not in episode.derived
