"""Drafts of cards: they load, claim what the numbers support, and leave open what they do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gristmill.cli import run
from gristmill.drafting import draft
from gristmill.embodiment import Embodiment, load_card
from gristmill.episode import CorpusFacts
from gristmill.errors import CorpusError
from gristmill.pipeline.embodying import embody
from gristmill.synth import generate
from gristmill.synth.convention_errors import EXTRA, plant
from gristmill.testing import facts_of, make_episode, reaching

NOBODY = Embodiment(key="nobody", title="no robot", inferred=True)


@pytest.fixture(scope="module")
def posed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("posed") / "arm"
    return generate(folder, episodes=8, seed=2, video=False, jobs=1, extra=EXTRA)


def loaded(text, tmp_path):
    path = tmp_path / "card.toml"
    path.write_text(text, encoding="utf-8")
    return load_card(path)


def plain(text):
    """Comments without their line breaks."""
    return text.replace("\n#  ", "")


def drafted(episodes, tmp_path, **facts):
    text = draft(facts_of(episodes, **facts), episodes)
    return loaded(text, tmp_path), text


def test_the_sample_is_drafted_as_it_is(posed, tmp_path):
    text = embody(posed)
    card = loaded(text, tmp_path)
    assert not card.inferred
    assert (card.robot_types, card.control_mode, card.rate_hz) == (("gristmill_arm",), "joint_position", 30.0)
    assert card.quaternion_order == "xyzw"
    units = {j.name: (j.kind, j.unit) for j in card.joints}
    assert units["elbow_pitch"] == ("revolute", "rad")
    assert units["gripper"] == ("gripper", "normalized")
    assert units["eef_x"] == ("other", "m") and units["eef_qw"] == ("other", "normalized")
    (gripper,) = card.grippers
    assert (gripper.joint, gripper.closed, gripper.open) == ("gripper", 0.0, 1.0)
    assert all(j.lower is None and j.velocity_max is None for j in card.joints), "what was seen is no limit"
    assert "by observation.contact_force, it goes down before contact" in text
    assert "response_s" in text and "actions change with every sample" in text


def renamed(episode, error):
    """An episode with an error, and quaternions whose numbers are only counted."""
    spoilt = plant(error, episode, NOBODY)
    channels = {
        k: replace(c, names=tuple(f"eef_q{i}" if n.startswith("eef_q") else n for i, n in enumerate(c.names)))
        for k, c in spoilt.channels.items()
    }
    return replace(spoilt, load_channels=lambda: channels, embodiment=NOBODY)


@pytest.mark.parametrize(("error", "order"), [("quaternion_order", "wxyz"), ("control_rate", "xyzw")])
def test_the_order_of_quaternions_is_told_by_the_joints(posed, tmp_path, error, order):
    from gristmill.sources import open_path

    episodes = [renamed(e, error) for e in open_path(posed).episodes(range(5))]
    card, text = drafted(episodes, tmp_path)
    assert card.quaternion_order == order
    assert "misses what the joints do" in plain(text)
    assert ("actions change every 3 samples" in plain(text)) == (error == "control_rate")


def test_a_reversed_gripper_is_drafted_reversed(posed, tmp_path):
    from gristmill.sources import open_path

    episodes = [renamed(e, "gripper_polarity") for e in open_path(posed).episodes(range(8))]
    (gripper,) = drafted(episodes, tmp_path)[0].grippers
    assert (gripper.closed, gripper.open) == (1.0, 0.0)


def test_the_draft_is_audited_with_and_accuses_nobody(posed, tmp_path, capfd):
    card = tmp_path / "card.toml"
    assert run(["embody", str(posed), "--out", str(card)]) == 0
    assert (
        run(["audit", str(posed), "--card", str(card), "--store", str(tmp_path / "store"), "-q", "--fail-on", "risk"])
        == 0
    )
    assert "card gristmillarm" in capfd.readouterr().out


def test_an_existing_file_is_not_overwritten(posed, tmp_path, capfd):
    card = tmp_path / "card.toml"
    card.write_text("mine")
    assert run(["embody", str(posed), "--out", str(card)]) == 2
    assert "exists already" in capfd.readouterr().err
    assert card.read_text() == "mine"
    assert run(["embody", str(posed), "--out", str(posed / "card.toml")]) == 2
    assert not (posed / "card.toml").exists()


def test_it_is_printed_without_a_place(posed, tmp_path, capfd):
    assert run(["embody", str(posed), "--episodes", "2"]) == 0
    text = capfd.readouterr().out
    assert "from 2 episodes of arm" in text
    assert loaded(text, tmp_path).key == "gristmillarm"


@pytest.mark.parametrize(
    ("scale", "unit", "said"),
    [
        (1.0, "rad", "full turn in rad"),
        (0.5, "unknown", "-1 to 1 of a calibrated range"),
        (180 / np.pi * 2, "deg", "more than 100 %"),
        (30.0, "unknown", "calibrated range"),
    ],
)
def test_units_of_joints(scale, unit, said, tmp_path):
    made = []
    for i in range(3):
        values = np.clip(reaching(i).channels["observation.state"].values, -1.6, 1.6) * scale
        made.append(make_episode(state=values.astype(np.float32), index=i))
    card, text = drafted(made, tmp_path)
    assert {j.unit for j in card.joints} == {unit}
    assert said in plain(text)


def test_counts_and_grippers_without_a_signal(tmp_path):
    t = np.arange(120) / 30
    jaw = 0.04 * (1 + np.sin(t))
    state = np.stack([np.rint(2048 + 900 * np.sin(t)), jaw], axis=1)
    card, text = drafted([make_episode(state=state, names=["pan", "gripper"])], tmp_path)
    assert [(j.name, j.unit) for j in card.joints] == [("pan", "tick"), ("gripper", "unknown")]
    assert card.grippers == ()
    assert "nothing tells its polarity" in plain(text) and "the other way round" in plain(text)


def test_steps_are_told_from_places(tmp_path):
    places = [reaching(i) for i in range(3)]
    steps = []
    for i, e in enumerate(places):
        state = e.channels["observation.state"].values
        steps.append(make_episode(state=state, action=np.diff(state, axis=0, append=state[-1:]), index=i))
    assert drafted(places, tmp_path)[0].control_mode == "joint_position"
    assert drafted(steps, tmp_path)[0].control_mode == "joint_delta"


@pytest.mark.parametrize(
    "names",
    [
        ("vx", "vy", "wz"),
        ("cube_x", "object.z", "lift_height"),
        ("torso_lift_joint", "base_x", "slide_joint"),
        ("shoulder.vel", "joint1_torque", "elbowEffort_2"),
        ("motor_0", "state_3", "7"),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 900.0])
def test_what_no_name_tells_is_left_open(names, scale, tmp_path):
    t = np.arange(150) / 30
    state = np.rint(scale * np.stack([2 * np.sin(t), 1.5 * np.cos(t), np.sin(2 * t)], axis=1))
    card, text = drafted([make_episode(state=state, action=state, names=names)], tmp_path)
    assert {(j.kind, j.unit) for j in card.joints} == {("other", "unknown")}
    assert card.control_mode == "unknown"
    assert "its name does not tell what it is" in plain(text)
    assert "whether of joints or of an end effector" in plain(text)


def test_speeds_in_a_channel_of_their_own_are_no_joints(tmp_path):
    t = np.arange(150) / 30
    speed = 2 * np.cos(t)[:, None]
    episode = make_episode(
        state=2 * np.sin(t)[:, None], names=["elbow"], extra={"observation.velocity": ("state", speed)}
    )
    channels = dict(episode.channels)
    channels["observation.velocity"] = replace(channels["observation.velocity"], names=("knee",))
    card, _ = drafted([replace(episode, load_channels=lambda: channels)], tmp_path)
    assert {j.name: (j.kind, j.unit) for j in card.joints} == {"elbow": ("revolute", "rad"), "knee": ("other", "unknown")}  # fmt: skip  # noqa: E501


def test_joints_without_names_match_in_order(tmp_path):
    made = [make_episode(state=np.cumsum(np.ones((40, 3)), axis=0) * 0.01, names=["", "", ""], embodiment=NOBODY)]
    card, _ = drafted(made, tmp_path)
    assert [j.name for j in card.joints] == ["joint_0", "joint_1", "joint_2"]
    assert all(card.match(["", "", ""]))


def test_names_that_hide_something_stay_in_their_comments(tmp_path):
    names = ["a\nkey = 'x'", "b\x1b[31m", 'c"""\u202e', "a key = x"]
    episode = make_episode(state=np.random.default_rng(0).normal(size=(40, 4)), names=names)
    card, text = drafted([episode], tmp_path, robot_type="r\n[x]", key="k\n[y]")
    assert [j.name for j in card.joints] == names[:3]  # of names that are one without separators the first counts
    assert "\x1b" not in text and "\u202e" not in text


@pytest.mark.parametrize("name", ["g1_inspire", "gr1_sim_picknplace", "pusht_lowdim"])
def test_drafts_of_real_recordings_load_and_explain_every_dimension(real_data, tmp_path, name):
    from gristmill.sources import open_path

    card = loaded(embody(real_data / name, episodes=5), tmp_path)
    corpus = open_path(real_data / name, card=card)
    for channel in {d.channel for d in corpus.facts.dims}:
        assert all(card.match([d.name for d in corpus.facts.dims if d.channel == channel]))
    assert (card.key == "g1") == (name == "g1_inspire")


def test_nothing_to_draw_from_is_one_line():
    facts = CorpusFacts(
        key="k", root="place", format="f", robot_type="", rate_hz=30.0, features={}, cameras={}, dims=()
    )
    with pytest.raises(CorpusError, match="place: no episode has a state or action"):
        draft(facts, [])
    episode = reaching(0)
    with pytest.raises(CorpusError, match="other dimensions"):
        draft(replace(facts_of([episode]), dims=episode.dims[:3]), [episode])
