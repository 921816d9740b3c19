"""Streams with clocks of their own on one timeline, and what is said of every value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from gristmill.digest import episode_digest
from gristmill.dim_methods import idle_patterns
from gristmill.embodiment import Embodiment, Joint
from gristmill.episode import Channel, CorpusFacts, Episode, Role
from gristmill.errors import RecipeError, RecordingError, VideoError
from gristmill.resample import Provenance, Resample, featurize, provenance_key, resample
from gristmill.testing import ArrayCamera, make_episode, reaching
from gristmill.timeline import matches

MISSING, HELD, INTERPOLATED, OBSERVED = Provenance


def streams(
    given: Mapping[str, tuple[Role, np.ndarray, np.ndarray]],
    names: Mapping[str, tuple[str, ...]] | None = None,
    **more,
) -> Episode:
    """An episode whose channels have clocks of their own: key -> (role, times in s, values)."""
    made = {}
    for key, (role, times, values) in given.items():
        table = values[:, None] if values.ndim == 1 else values
        of = (names or {}).get(key, ("",) * table.shape[1])
        made[key] = Channel(key, role, table, np.asarray(times, np.float64), of)
    base = make_episode(state=np.zeros((2, 1)), **more)
    return replace(base, load_channels=lambda: made)


def codes(episode: Episode, key: str) -> np.ndarray:
    return episode.channels[provenance_key(key)].values[:, 0]


def test_an_episode_on_the_grid_stays_as_it_is() -> None:
    raw = reaching(3, frames=90)
    episode = resample(raw, Resample(rate_hz=30))
    assert episode.length == episode.frames == 90
    np.testing.assert_array_equal(episode.times_s, raw.times_s)
    for key, channel in raw.channels.items():
        found = episode.channels[key]
        assert found.values.dtype == channel.values.dtype
        assert (found.role, found.names) == (channel.role, channel.names)
        np.testing.assert_array_equal(found.values, channel.values)
        np.testing.assert_array_equal(codes(episode, key), OBSERVED)
    assert episode.dims == raw.dims
    assert episode.id == raw.id


def test_marks_of_a_single_sample_survive_a_slower_timeline() -> None:
    times = np.arange(60) / 30
    for at, frame in ((59, 19), (30, 10), (31, 10), (0, 0)):  # at 10 Hz, two of three samples stand in no frame
        done = np.arange(60) == at
        episode = resample(
            streams({"action": ("action", times, times), "next.done": ("done", times, done)}), Resample(rate_hz=10)
        )
        marked = episode.channels["next.done"].values
        assert marked.dtype == bool
        assert np.flatnonzero(marked[:, 0]).tolist() == [frame]


def test_no_companion_is_taken_for_state_or_action_by_its_name() -> None:
    episode = resample(reaching(3, frames=90), Resample(rate_hz=30))
    companions = episode.channels.keys() - reaching(3, frames=90).channels.keys()
    assert companions == {"provenance.observation.state", "provenance.action"}
    assert not any(key.startswith(("observation", "action")) for key in companions)


def test_times_rounded_to_float32_are_still_on_the_grid() -> None:
    raw = reaching(3, frames=300, times_s=(np.arange(300) / 30).astype(np.float32))
    episode = resample(raw, Resample(rate_hz=30))
    np.testing.assert_array_equal(episode.channels["action"].values, raw.channels["action"].values)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.sampled_from([7.0, 30.0, 50.0, 100.0]), st.floats(5, 60))
def test_what_holds_for_all_streams(seed: int, source_hz: float, rate_hz: float) -> None:
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(0, 2, max(3, int(2 * source_hz))))
    times += np.arange(len(times)) * 1e-6
    values = rng.normal(size=(len(times), 2))
    flags = rng.integers(0, 5, len(times))
    held = np.arange(len(times), dtype=np.float64)
    raw = streams({"state": ("state", times, values), "f": ("other", times, flags), "h": ("other", times, held)})
    rule = Resample(rate_hz=rate_hz, methods={"h": "hold"}, max_gap_s=0.2)
    episode = resample(raw, rule)
    # One even clock from 0, within what was recorded.
    assert (np.diff(episode.times_s) > 0).all()
    instants = episode.times_s + times[0]
    assert instants[-1] <= times[-1] + 0.01 / rate_hz + 1e-9
    assert instants[-1] + 1 / rate_hz > times[-1]
    # A line's values lie within those recorded; whole numbers occur in the recording.
    known = np.isfinite(episode.channels["state"].values)
    assert (known.all(axis=1) == (codes(episode, "state") != MISSING)).all()
    assert (episode.channels["state"].values[known] <= values.max() + 1e-12).all()
    assert np.isin(episode.channels["f"].values, flags).all()
    assert episode.channels["f"].values.dtype == flags.dtype
    # Held is the newest sample at or before, up to 1 % of a period.
    fresh = codes(episode, "h") != MISSING
    sample = episode.channels["h"].values[fresh, 0]
    assert (sample >= np.searchsorted(times, instants[fresh], side="right") - 1).all()
    assert (sample <= np.searchsorted(times, instants[fresh] + 0.01 / rate_hz, side="right") - 1).all()
    # The code says how far the nearest sample is.
    distance = np.abs(instants[:, None] - times).min(axis=1)
    state = codes(episode, "state")
    assert (distance[state == OBSERVED] <= 0.51 / rate_hz + 1e-9).all()
    assert (distance[state == INTERPOLATED] <= 0.2 + 0.01 / rate_hz + 1e-9).all()
    assert (distance[state == MISSING] > 0.2).all()


@pytest.mark.parametrize(("source_hz", "rate_hz"), [(30, 30), (100, 30), (60, 20), (50, 50), (200, 60)])
def test_a_hole_is_never_observed_and_the_filled_share_is_the_planted_one(source_hz: int, rate_hz: int) -> None:
    times = np.arange(10 * source_hz + 1) / source_hz
    stays = (times <= 4.0 + 1e-9) | (times >= 4.4 - 1e-9)
    raw = streams({"state": ("state", times[stays], np.sin(times[stays]))})
    episode = resample(raw, Resample(rate_hz=rate_hz))
    grid = episode.times_s
    # Only what is nearer to a sample than half of the stream's own period can be the sample's.
    inside = (grid > 4.0 + 0.51 / source_hz) & (grid < 4.4 - 0.51 / source_hz)
    assert 0.35 * rate_hz <= inside.sum() <= 0.4 * rate_hz
    np.testing.assert_array_equal(codes(episode, "state"), np.where(inside, INTERPOLATED, OBSERVED))
    # Interpolated as a straight line from edge to edge.
    line = np.sin(4.0) + (grid[inside] - 4.0) / 0.4 * (np.sin(4.4) - np.sin(4.0))
    np.testing.assert_allclose(episode.channels["state"].values[inside, 0], line, atol=1e-12)


def test_beyond_the_largest_gap_values_are_missing() -> None:
    times = np.array([0.0, 0.1, 0.2, 1.2, 1.3, 1.4])
    value, flag = np.arange(6.0), np.arange(6)
    raw = streams({"state": ("state", times, value), "flag": ("other", times, flag)})
    episode = resample(raw, Resample(rate_hz=10, max_gap_s=0.2))
    expected = [OBSERVED] * 3 + [INTERPOLATED] * 2 + [MISSING] * 5 + [INTERPOLATED] * 2 + [OBSERVED] * 3
    assert codes(episode, "state").tolist() == expected
    assert np.isnan(episode.channels["state"].values[:, 0]).tolist() == [c == MISSING for c in expected]
    np.testing.assert_allclose(episode.channels["state"].values[[3, 4, 10], 0], [2.1, 2.2, 2.8])
    assert codes(episode, "flag").tolist() == [HELD if c == INTERPOLATED else c for c in expected]
    assert episode.channels["flag"].values[:, 0].tolist() == [0, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 5]


def test_the_timeline_is_what_states_and_actions_cover_and_begins_at_zero() -> None:
    state, action, reward = np.arange(0.5, 3.0, 0.01), np.arange(0.2, 2.6, 0.05), np.arange(1.0, 2.0, 0.1)
    raw = streams(
        {
            "observation.state": ("state", state, state),
            "action": ("action", action, action),
            "reward": ("reward", reward, reward),
        }
    )
    episode = resample(raw, Resample(rate_hz=20, max_gap_s=0.3))
    assert episode.times_s[0] == 0
    assert episode.length == len(np.arange(0.5, 2.55 + 1e-9, 0.05))
    # Each stream's values are its times, so every resampled value must be the instant.
    for key in ("observation.state", "action"):
        np.testing.assert_allclose(episode.channels[key].values[:, 0], episode.times_s + 0.5, atol=1e-9)
    found = codes(episode, "reward")
    assert found[0] == MISSING  # 0.5 s before the first reward
    assert found[4] == HELD  # 0.3 s before it, whose value it has
    assert episode.channels["reward"].values[4, 0] == pytest.approx(1.0)
    assert found[-1] == MISSING
    np.testing.assert_allclose(episode.clocks["reward"]["recorded"], reward - 0.5)


def test_rotations_turn_and_grippers_are_not_averaged() -> None:
    times = np.arange(11) / 10
    turns = Rotation.from_euler("xyz", np.linspace([0, 0, 0], [0.5, 2.0, 3.0], 11))
    quaternions = turns.as_quat() * np.where(np.arange(11) % 3 == 1, -1, 1)[:, None]
    gripper = (np.arange(11) % 2).astype(np.float64)
    values = np.column_stack([np.arange(11.0), quaternions, gripper]).astype(np.float32)
    names = ("x", "qx", "qy", "qz", "qw", "gripper")
    raw = streams(
        {"observation.state": ("state", times, values), "action": ("action", times, values)},
        {"observation.state": names, "action": names},
    )
    episode = resample(raw, Resample(rate_hz=40))
    action, state = (episode.channels[k].values for k in ("action", "observation.state"))
    at = episode.times_s
    np.testing.assert_allclose(action[:, 0], at * 10, atol=1e-5)
    expected = Slerp(times, turns)(at)
    assert (Rotation.from_quat(action[:, 1:5]) * expected.inv()).magnitude().max() < 1e-5
    assert np.isin(action[:, 5], [0, 1]).all()  # a command
    np.testing.assert_allclose(state[:, 5], np.interp(at, times, gripper), atol=1e-6)  # a place
    # A rule that names the dimension is followed.
    averaged = resample(raw, Resample(rate_hz=40, methods={"action[gripper]": "linear"})).channels["action"].values
    np.testing.assert_allclose(averaged[:, 5], np.interp(at, times, gripper), atol=1e-6)
    # One for the whole channel means what may be averaged.
    whole = resample(raw, Resample(rate_hz=40, methods={"action": "linear"})).channels["action"].values
    np.testing.assert_array_equal(whole, action)
    flat = resample(raw, Resample(rate_hz=40, methods={"act*": "hold"})).channels["action"].values
    assert np.isin(flat[:, 0], np.arange(11)).all()


def test_slerp_of_a_channel_means_its_quaternions() -> None:
    times, half = np.array([0.0, 1.0]), np.sqrt(0.5)
    values = np.array([[0, 0, 0, 0, 0, 0, 1.0], [2, 4, 6, half, 0, 0, half]])
    names = ("position.x", "position.y", "position.z", "orientation.x", "orientation.y", "orientation.z")
    raw = streams({"pose": ("state", times, values)}, {"pose": (*names, "orientation.w")})
    expected = [1, 2, 3, np.sin(np.pi / 8), 0, 0, np.cos(np.pi / 8)]
    for methods in ({}, {"pose": "slerp"}, {"pose*": "slerp"}, {"pose[orientation.x]": "slerp"}):
        found = resample(raw, Resample(rate_hz=2, methods=methods)).channels["pose"].values[1]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_gripper_is_also_known_by_its_channel() -> None:
    times = np.arange(5) / 10
    flips = np.array([0.0, 1, 1, 0, 1])
    raw = streams(
        {
            "action.gripper_cmd": ("action", times, flips),
            "action.arm_and_gripper": ("action", times, np.column_stack([times, times])),
            "observation.gripper": ("state", times, flips),
        },
        {"action.gripper_cmd": ("data",), "action.arm_and_gripper": ("data[0]", "data[1]")},
    )
    found = resample(raw, Resample(rate_hz=40)).channels
    assert set(found["action.gripper_cmd"].values[:, 0].tolist()) == {0.0, 1.0}
    np.testing.assert_allclose(found["action.arm_and_gripper"].values[:, 0], np.arange(17) / 40, atol=1e-12)
    assert 0.5 in found["observation.gripper"].values[:, 0].tolist()  # a place


def test_what_is_only_named_like_a_rotation_is_none() -> None:
    times = np.arange(3) / 10
    values = np.array([[0, 0, 0, 8.0], [2, 4, 6, 10], [0, 0, 0, 8]])
    raw = streams({"quat": ("state", times, values)})
    np.testing.assert_allclose(resample(raw, Resample(rate_hz=20)).channels["quat"].values[1], [1, 2, 3, 9])


def test_a_card_says_which_dimensions_are_a_quaternion() -> None:
    from gristmill.embodiment import Arm

    times, half = np.array([0.0, 1.0]), np.sqrt(0.5)
    names = ("r0", "a", "r1", "r2", "r3")
    values = np.array([[1.0, 0, 0, 0, 0], [half, 4, 0, 0, half]])
    arm = Arm(name="arm", rotation=("r0", "r1", "r2", "r3"), rotation_as="quaternion")
    card = Embodiment(key="arm", title="An arm", joints=tuple(Joint(name=n) for n in names), arms=(arm,))
    raw = streams({"state": ("state", times, values)}, {"state": names}, embodiment=card)
    found = resample(raw, Resample(rate_hz=2)).channels["state"].values[1]
    np.testing.assert_allclose(found, [np.cos(np.pi / 8), 2, 0, 0, np.sin(np.pi / 8)], atol=1e-12)


def test_a_pose_without_names_is_a_place_and_a_rotation_when_the_card_has_quaternions() -> None:
    times = np.array([0.0, 1.0])
    half = np.sqrt(0.5)
    pose = np.array([[0, 0, 0, 1, 0, 0, 0], [2, 4, 6, half, 0, 0, half]])
    card = Embodiment(key="arm", title="An arm", joints=(Joint(name="a"),), quaternion_order="wxyz")
    raw = streams({"eef_pose": ("state", times, pose)}, embodiment=card)
    found = resample(raw, Resample(rate_hz=2)).channels["eef_pose"].values[1]
    np.testing.assert_allclose(found, [1, 2, 3, np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)], atol=1e-12)


def test_wrapping_angles_go_the_short_way_in_the_unit_of_the_card() -> None:
    times = np.array([0.0, 1.0])
    values = np.array([[170.0, 170.0], [-170.0, -170.0]])
    card = Embodiment(
        key="arm", title="An arm", joints=(Joint(name="wrist", unit="deg"), Joint(name="base", unit="deg"))
    )
    raw = streams({"state": ("state", times, values)}, {"state": ("wrist", "base")}, embodiment=card)
    found = resample(raw, Resample(rate_hz=4, wrapping=("state[wrist]",))).channels["state"].values
    np.testing.assert_allclose(found[:, 0], [170, 175, -180, -175, -170])
    np.testing.assert_allclose(found[:, 1], [170, 85, 0, -85, -170])


def test_an_average_of_a_flag_is_refused() -> None:
    times = np.arange(5) / 10
    raw = streams({"state": ("state", times, times), "done": ("done", times, times > 0.2)})
    with pytest.raises(RecipeError, match=r"resample\.methods\.do\*: done is discrete \(bool, done\).*hold or nearest"):
        resample(raw, Resample(rate_hz=20, methods={"do*": "linear"}))
    with pytest.raises(RecipeError, match=r"resample\.methods\.state: state has 1 dimensions"):
        resample(raw, Resample(rate_hz=20, methods={"state": "slerp"}))
    card = Embodiment(key="arm", title="An arm", joints=(Joint(name="rail", unit="m"),))
    rail = streams({"state": ("state", times, times)}, {"state": ("rail",)}, embodiment=card)
    with pytest.raises(RecipeError, match=r"resample\.wrapping: state\[rail\] is in m"):
        resample(rail, Resample(rate_hz=20, wrapping=("*",)))


def test_patterns_that_fit_nothing_are_named() -> None:
    features = {
        "state": {"dtype": "float32", "shape": [1], "names": ["rail"]},
        "other.force": {"dtype": "float32", "shape": [3], "names": None},
        "camera": {"dtype": "video", "shape": [4, 4, 3], "names": ["height", "width", "channels"]},
    }
    facts = CorpusFacts(
        key="a", root="a", format="test", robot_type="", rate_hz=10.0, features=features, cameras={}, dims=()
    )
    rule = Resample(
        rate_hz=20,
        methods={"nope.*": "hold", "state[r*]": "hold", "other.force[?]": "hold", "camera*": "hold"},
        wrapping=("stat?", "wrist*", "other.force[3*]"),
    )
    assert idle_patterns(rule, [facts]) == ["methods.'nope.*'", "wrapping.'wrist*'", "wrapping.'other.force[3*]'"]


def test_disorder_gives_an_ordered_timeline() -> None:
    times = np.array([0.0, 0.1, 0.1, 0.05, np.nan, 0.3, 0.2])
    raw = streams({"state": ("state", times, np.arange(7.0))})
    episode = resample(raw, Resample(rate_hz=20))
    np.testing.assert_allclose(episode.channels["state"].values[:, 0], [0, 3, 2, 4, 6, 5.5, 5])


def test_what_no_timeline_covers_is_told() -> None:
    a, b = np.arange(5) / 10, 3 + np.arange(5) / 10
    raw = streams({"state": ("state", a, a), "action": ("action", b, b)}, index=7)
    with pytest.raises(
        RecordingError, match=r"episode 7: channel state ends at 0\.400 s, before action begins at 3\.0"
    ):
        resample(raw, Resample(rate_hz=10))
    none = streams({"state": ("state", a, a), "action": ("action", b[:0], b[:0])})
    with pytest.raises(RecordingError, match="channel action has no samples"):
        resample(none, Resample(rate_hz=10))
    with pytest.raises(RecordingError, match="its times span 1e\\+12 s; correct the clock of state"):
        resample(streams({"state": ("state", np.array([0, 1e12]), np.zeros(2))}), Resample(rate_hz=10))


def test_further_channels_without_samples_are_missing() -> None:
    a = np.arange(5) / 10
    raw = streams(
        {
            "state": ("state", a, a),
            "wrench": ("other", a[:0], np.zeros((0, 6))),
            "n": ("other", a[:0], np.zeros((0, 1), int)),
        }
    )
    episode = resample(raw, Resample(rate_hz=10))
    assert episode.channels["wrench"].values.shape == (5, 6)
    assert np.isnan(episode.channels["wrench"].values).all()
    assert episode.channels["n"].values.tolist() == [[0]] * 5
    assert set(codes(episode, "wrench")) == set(codes(episode, "n")) == {MISSING}


def numbered(frames: int, rate_hz: float, key: str = "observation.images.top") -> ArrayCamera:
    """A camera whose frames show their number."""
    return ArrayCamera(
        np.arange(frames, dtype=np.uint8)[:, None, None] * np.ones((1, 4, 6), np.uint8), key=key, rate_hz=rate_hz
    )


def test_pictures_are_the_nearest_ones_and_say_which_repeat() -> None:
    camera = numbered(10, 10)
    raw = reaching(1, frames=31, cameras={camera.info.key: camera})
    episode = resample(raw, Resample(rate_hz=30))
    seen = episode.cameras[camera.info.key]
    assert seen.path is None
    assert seen.info.rate_hz == 30
    assert seen.frames == 31
    expected = [0, 0, 1, 1, 1, 2, 2, 2, 3]
    assert seen.rows[:9].tolist() == expected
    assert seen.repeats[:5].tolist() == [1, 3, 4, 6, 7]
    assert np.concatenate(list(seen.luma(chunk=4)))[:9, 0, 0].tolist() == expected
    assert seen.rgb([8, 2, 2])[:, 0, 0, 0].tolist() == [3, 1, 1]
    assert len(seen.packets()) == 31
    np.testing.assert_array_equal(seen.packets().times_s, episode.times_s)
    assert (np.diff(seen.packets().hashes.astype(object)) == 0).tolist()[:4] == [True, False, True, True]
    key = "provenance.observation.cameras.top.frames"
    assert provenance_key(camera.info.key, camera=True) == key
    assert episode.channels[key].names == (camera.info.key,)
    assert episode.channels[key].values[:5, 0].tolist() == [OBSERVED, HELD, HELD, OBSERVED, HELD]
    # Another choice of frames is another content.
    slower = resample(raw, Resample(rate_hz=15)).cameras[camera.info.key]
    assert slower.packets().digest != seen.packets().digest
    again = resample(raw, Resample(rate_hz=30)).cameras[camera.info.key]
    assert again.packets().digest == seen.packets().digest
    with pytest.raises(VideoError, match="no frame 31"):
        seen.rgb([31])
    with pytest.raises(RecipeError, match="never averaged"):
        resample(raw, Resample(rate_hz=30, methods={"observation.images.*": "linear"}))


def test_a_camera_that_cannot_be_read_leaves_the_numbers_alone() -> None:
    class Broken(ArrayCamera):
        def packets(self):
            raise VideoError("top.mp4 is broken")

    camera = Broken(np.zeros((5, 4, 6)))
    raw = reaching(1, frames=31, cameras={camera.info.key: camera})
    episode = resample(raw, Resample(rate_hz=30))
    assert set(episode.channels[provenance_key(camera.info.key, camera=True)].values[:, 0]) == {MISSING}
    np.testing.assert_array_equal(codes(episode, "action"), OBSERVED)
    with pytest.raises(VideoError, match=r"top\.mp4 is broken"):
        episode.cameras[camera.info.key].packets()


def test_bookkeeping_is_counted_anew_and_tasks_go_along() -> None:
    columns = {
        "timestamp": np.arange(4) / 10,
        "frame_index": np.arange(4),
        "index": 40 + np.arange(4),
        "task_index": np.array([0, 0, 1, 1]),
    }
    raw = make_episode(state=np.arange(4.0), rate_hz=10, index_columns=columns)
    found = resample(raw, Resample(rate_hz=20)).index_columns
    assert found["frame_index"].tolist() == list(range(7))
    assert found["index"].tolist() == list(range(40, 47))
    np.testing.assert_allclose(found["timestamp"], np.arange(7) / 20)
    assert found["task_index"].tolist() == [0, 0, 0, 0, 1, 1, 1]
    np.testing.assert_array_equal(featurize(raw, Resample(rate_hz=20)).rows, [0, 0, 1, 1, 2, 2, 3])


def test_clocks_of_the_recording_move_with_the_start() -> None:
    times = 5 + np.arange(20) / 10
    raw = streams({"state": ("state", times, times), "action": ("action", times, times)})
    raw = replace(raw, load_clocks=lambda: {"state": {"log": times, "header": times - 0.02}})
    clocks = resample(raw, Resample(rate_hz=10)).clocks
    assert list(clocks) == ["state"]  # the action shares its clock
    np.testing.assert_allclose(clocks["state"]["log"], times - 5)
    np.testing.assert_allclose(clocks["state"]["header"], times - 5.02)
    # Another header is another recording, though all values are equal.
    other = replace(raw, load_clocks=lambda: {"state": {"log": times, "header": times - 0.03}})
    assert episode_digest(resample(raw, Resample(rate_hz=10))) != episode_digest(resample(other, Resample(rate_hz=10)))


def test_patterns_take_brackets_as_they_are() -> None:
    assert matches("action[grip*]", "action[gripper]")
    assert not matches("action[grip]", "actiong")
    assert matches("*", "observation.state[0]")
    assert not matches("action", "action[0]")
    with pytest.raises(ValueError, match="above 0"):
        Resample(rate_hz=0)


def test_resampling_again_founds_nothing_better() -> None:
    times = np.delete(np.arange(91) / 30, np.arange(31, 42))
    camera = numbered(30, 10)
    raw = streams({"state": ("state", times, times)})
    raw = replace(raw, cameras={camera.info.key: camera})
    once = resample(raw, Resample(rate_hz=30))
    twice = resample(once, Resample(rate_hz=60))
    assert list(twice.channels) == list(once.channels)
    hole = (twice.times_s > 30.75 / 30) & (twice.times_s < 41.25 / 30)
    assert set(codes(twice, "state")[hole]) == {INTERPOLATED}
    assert (codes(twice, "state")[::2] == codes(once, "state")).all()
    key = provenance_key(camera.info.key, camera=True)
    assert (twice.channels[key].values[::2] <= once.channels[key].values).all()
    # On its own timeline, nothing changes.
    assert episode_digest(resample(once, Resample(rate_hz=30))) == episode_digest(once)


# -- samples that are no numbers -------------------------------------------------------------------


def test_a_recorded_nan_is_no_sample() -> None:
    """0.4 s of NaN at 100 Hz are a hole: filled up to its middle with max_gap_s = 0.1, and missing there."""
    times = np.arange(201) / 100
    values = times.copy()
    values[80:120] = np.nan  # samples at 0.79 s and 1.20 s stay
    episode = resample(streams({"state": ("state", times, values)}), Resample(rate_hz=20, max_gap_s=0.1))
    expected = np.full(41, OBSERVED)
    expected[16:24] = INTERPOLATED  # 0.80 s to 1.15 s; 0.80 lies 10 ms behind a sample, above half of its period
    expected[18:22] = MISSING  # 0.90 s: 110 ms behind the last sample; 1.05 s: 150 ms before the next
    np.testing.assert_array_equal(codes(episode, "state"), expected)
    found = episode.channels["state"].values[:, 0]
    np.testing.assert_allclose(found[expected != MISSING], episode.times_s[expected != MISSING], atol=1e-12)
    assert np.isnan(found[expected == MISSING]).all()


def test_a_quaternion_that_lacks_a_component_is_no_sample() -> None:
    angle = np.arange(5) * 0.2
    table = np.stack([np.zeros(5), np.zeros(5), np.sin(angle / 2), np.cos(angle / 2)], axis=1)
    table[2, 3] = np.nan
    raw = streams({"rotation": ("other", np.arange(5) / 10, table)})
    episode = resample(raw, Resample(rate_hz=10, methods={"rotation": "slerp"}))
    whole = np.stack([np.zeros(5), np.zeros(5), np.sin(angle / 2), np.cos(angle / 2)], axis=1)
    np.testing.assert_allclose(episode.channels["rotation"].values, whole, atol=1e-12)
    assert codes(episode, "rotation").tolist() == [OBSERVED, OBSERVED, INTERPOLATED, OBSERVED, OBSERVED]


@settings(deadline=None, max_examples=80)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["linear", "nearest", "hold", "slerp"]),
    st.sampled_from([np.nan, np.inf]),
    st.booleans(),
)
def test_nan_and_missing_are_the_same(seed: int, method: str, odd: float, wraps: bool) -> None:
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(0, 3, 40))
    values = rng.normal(size=(40, 4))
    values[rng.random((40, 4)) < rng.uniform(0, 0.9)] = odd
    values[rng.random((40, 4)) < 0.1] *= -1
    rule = Resample(
        rate_hz=20,
        max_gap_s=0.1,
        methods={"x": method},  # type: ignore[arg-type]
        wrapping=("x",) if wraps else (),
    )
    raw = streams({"x": ("other", times, values), "state": ("state", times, np.zeros(40))})
    episode = resample(raw, rule)
    np.testing.assert_array_equal(np.isnan(episode.channels["x"].values).any(axis=1), codes(episode, "x") == MISSING)
