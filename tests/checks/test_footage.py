from dataclasses import replace

import numpy as np

from gristmill.checks.footage import Footage
from gristmill.finding import Kind
from gristmill.testing import ArrayCamera, CheckContract, judge, make_episode
from gristmill.testing.filming import FRONT, WRIST, filmed, footage

FRAMES = 120


def showing(index, **luma):
    """Episode `index` with other footage behind some of its cameras."""
    base = filmed(index, frames=FRAMES)
    cameras = {
        k: ArrayCamera(luma[k.rsplit(".", 1)[1]], key=k) if k.rsplit(".", 1)[1] in luma else c
        for k, c in base.cameras.items()
    }
    return replace(base, cameras=cameras)


class TestFootage(CheckContract):
    check = Footage()

    def clean_episode(self, index):
        return filmed(index)

    def broken_episode(self, index):
        return showing(index, front=footage(0, FRAMES, FRONT))


def test_the_later_episode_is_named_with_the_earlier_one():
    episodes = [filmed(i) for i in range(4)]
    episodes[2] = showing(2, front=footage(1, FRAMES, FRONT))
    (found,) = judge(Footage(), episodes)
    assert (found.row, found.camera, found.code, found.kind) == (2, FRONT, "same_footage", Kind.DEFECT)
    assert "episode 1" in found.message


def test_a_part_of_a_video_is_found():
    episodes = [filmed(i) for i in range(4)]
    other = footage(2, FRAMES, FRONT).copy()
    other[:60] = footage(0, FRAMES, FRONT)[60:]
    episodes[2] = showing(2, front=other)
    (found,) = judge(Footage(), episodes)
    assert (found.row, found.code) == (2, "shared_footage")
    assert 0.25 <= found.measured < 1


def test_two_views_of_one_episode_with_the_same_video():
    episodes = [filmed(i) for i in range(4)]
    episodes[1] = showing(1, wrist=footage(1, FRAMES, FRONT))
    found = judge(Footage(), episodes)
    # Which of the two is the wrong one, nothing tells.
    assert {(f.row, f.camera, f.code) for f in found} == {(1, WRIST, "same_view"), (1, FRONT, "same_view")}
    assert len(found) == 2


def test_exact_copies_of_whole_episodes_are_left_to_duplicates():
    episodes = [filmed(i) for i in range(4)]
    assert judge(Footage(), [*episodes, replace(filmed(1), index=4, id="made/4")]) == []


def test_copies_of_the_footage_alone_are_not():
    base = filmed(1)
    noisy = base.channels["observation.state"].values + np.float32(1e-3)
    copy = make_episode(state=noisy, index=4, cameras=base.cameras)
    found = judge(Footage(), [*(filmed(i) for i in range(4)), copy])
    assert {(f.row, f.camera) for f in found} == {(4, FRONT), (4, WRIST)}


def test_blank_videos_are_all_alike_and_say_nothing():
    black = np.zeros((FRAMES, 48, 64), np.uint8)
    assert judge(Footage(), [showing(i, front=black) for i in range(4)]) == []


def test_footage_of_another_corpus_is_a_trait():
    episodes = [filmed(i) for i in range(4)]
    digest = episodes[2].cameras[FRONT].packets().digest
    (found,) = judge(Footage(), episodes, elsewhere={digest: "other/000007"})
    assert (found.row, found.kind, found.code) == (None, Kind.TRAIT, "footage_elsewhere")
    assert "corpus other" in found.message
