"""Episodes made of arrays behave as a source's do."""

from __future__ import annotations

import numpy as np

from gristmill.testing import ArrayCamera, facts_of, hostile_episodes, make_episode, reaching


def test_channels_keep_dtype_names_and_times():
    state = np.arange(8, dtype=np.int16).reshape(4, 2)
    e = make_episode(state=state, action=np.zeros(4), names=("pan", "lift"), rate_hz=10, index=7)
    assert e.id == "made/000007"
    assert list(e.channels) == ["observation.state", "action"]
    assert e.channels["observation.state"].values.dtype == np.int16
    assert e.channels["action"].values.shape == (4, 1)
    assert [d.label for d in e.dims] == ["observation.state[pan]", "observation.state[lift]", "action[joint_0]"]
    assert np.allclose(e.times_s, [0, 0.1, 0.2, 0.3])
    assert e.index_columns["episode_index"].tolist() == [7, 7, 7, 7]
    assert e.length == e.frames == 4


def test_extra_channels_are_no_dimensions():
    e = make_episode(state=np.zeros((3, 2)), extra={"next.reward": ("reward", np.ones(3))})
    assert e.channels["next.reward"].role == "reward"
    assert len(e.dims) == 2


def test_an_episode_may_have_nothing():
    e = make_episode(length=5)
    assert (e.frames, len(e.dims), e.length) == (5, 0, 5)


def test_reaching_is_reproducible_and_differs_by_index():
    a, b = reaching(1), reaching(1)
    assert np.array_equal(a.channels["action"].values, b.channels["action"].values)
    assert not np.array_equal(a.channels["action"].values, reaching(2).channels["action"].values)


def test_facts_follow_the_widest_episode():
    facts = facts_of([make_episode(state=np.zeros((3, 1))), make_episode(state=np.zeros((3, 2)))], robot_type="so101")
    assert len(facts.dims) == 2
    assert facts.robot_type == "so101"
    assert facts.features["observation.state"]["shape"] == [2]


def test_array_camera_streams_in_chunks():
    frames = np.arange(5, dtype=np.uint8)[:, None, None] * np.ones((5, 2, 3), np.uint8)
    camera = ArrayCamera(frames)
    assert [len(c) for c in camera.luma(chunk=2)] == [2, 2, 1]
    assert camera.rgb([4, 0]).shape == (2, 2, 3, 3)
    assert camera.rgb([4])[0, 0, 0].tolist() == [4, 4, 4]


def test_hostile_episodes_leave_the_original_alone():
    clean = reaching(0)
    before = clean.channels["observation.state"].values.copy()
    names = [name for name, e in hostile_episodes(clean) if e.channels is not None]
    assert len(names) == len(set(names)) >= 20
    assert np.array_equal(clean.channels["observation.state"].values, before)
