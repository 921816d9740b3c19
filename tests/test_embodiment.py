"""Cards: what they answer to, what they refuse, and which one a recording gets."""

from __future__ import annotations

import pickle

import pytest

from gristmill.embodiment import (
    Embodiment,
    Gripper,
    Joint,
    card_digest,
    infer,
    is_placeholder,
    load_card,
    plain_name,
    resolve,
    shipped,
    to_toml,
)
from gristmill.episode import Dim
from gristmill.errors import UnknownNameError, UsageError

ARM = Embodiment(
    key="arm",
    title="An arm",
    control_mode="joint_position",
    joints=(
        Joint(name="pan", aliases=("kPan", "pan.pos"), lower=-1.0, upper=1.0, velocity_max=2.5),
        Joint(name="lift"),
        Joint(name="gripper", kind="gripper", unit="percent"),
    ),
    grippers=(Gripper(joint="gripper", closed=0.0, open=100.0),),
    sources={"limits": 'a "data sheet"\nwith two lines', "odd.key": "\x7f \\ ü"},
    notes="says\nmore",
)


def dims(names, role="state", channel="observation.state"):
    return [Dim(channel, i, name, role) for i, name in enumerate(names)]


def names_of(joints):
    return [j and j.name for j in joints]


def write(tmp_path, text):
    path = tmp_path / "card.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_names_match_without_case_and_separators():
    assert names_of(ARM.match(["Lift", "K-PAN", "pan.pos", "elbow", ""])) == ["lift", "pan", "pan", None, None]


@pytest.mark.parametrize("names", [["", "", ""], ["motor_0", "motor_1", "motor_2"], ["0", "1", "2"]])
def test_unnamed_dimensions_match_in_order(names):
    assert names_of(ARM.match(names)) == ["pan", "lift", "gripper"]


def test_order_does_not_help_when_the_count_or_a_name_differs():
    assert names_of(ARM.match(["", ""])) == [None, None]
    assert names_of(ARM.match(["x", "y", "z"])) == [None, None, None]
    assert names_of(ARM.match(["", "lift", ""])) == [None, "lift", None]


def test_dimensions_match_channel_by_channel():
    both = [*dims(["", "", ""]), *dims(["", "", ""], "action", "action")]
    assert names_of(ARM.match_dims(both)) == ["pan", "lift", "gripper"] * 2


def test_steps_and_speeds_are_no_places():
    delta = Embodiment(key="d", title="d", control_mode="joint_delta", joints=ARM.joints)
    both = [*dims(["pan", "lift", "gripper"]), *dims(["pan", "lift", "gripper"], "action", "action")]
    assert names_of(delta.match_dims(both)) == ["pan", "lift", "gripper", None, None, "gripper"]


@pytest.mark.parametrize(
    ("name", "counted"),
    [("", True), ("motor_12", True), ("joint 3", True), ("7", True), ("wrist_1", False), ("x", False), ("..", True)],
)
def test_placeholders(name, counted):
    assert is_placeholder(name) is counted


def test_plain_name():
    assert plain_name("Left/Shoulder_Pan.pos") == "leftshoulderpanpos"


def test_toml_round_trip(tmp_path):
    assert load_card(write(tmp_path, to_toml(ARM))) == ARM


@pytest.mark.parametrize("key", shipped())
def test_shipped_cards_round_trip(tmp_path, key):
    card = load_card(key)
    assert load_card(write(tmp_path, to_toml(card))) == card
    assert pickle.loads(pickle.dumps(card)) == card


def test_the_digest_is_of_claims_not_of_prose():
    from dataclasses import replace

    assert card_digest(replace(ARM, title="t", notes="n", sources={})) == card_digest(ARM)
    assert card_digest(replace(ARM, rate_hz=30.0)) != card_digest(ARM)
    joints = (replace(ARM.joints[0], upper=1.5), *ARM.joints[1:])
    assert card_digest(replace(ARM, joints=joints)) != card_digest(ARM)
    assert len(card_digest(ARM)) == 32


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("colour = 'red'", "colour: unknown key"),
        ("rate_hz = 'fast'", "rate_hz: expected a number, got 'fast'"),
        ("rate_hz = 0", "rate_hz: must be at least 0.001, got 0"),
        ("rate_hz = nan", "rate_hz: must be finite"),
        ("quaternion_order = 'zyxw'", "quaternion_order: 'zyxw' is not one of 'xyzw', 'wxyz', 'unknown'"),
        ("[[joints]]\nname = 'a'\nlowr = 1", "joints[0].lowr: unknown key; did you mean 'lower'?"),
        ("[[joints]]\nname = 'a'\n[[joints]]\nname = 'b'\nunit = 'furlong'", "joints[1].unit: 'furlong'"),
        ("[[joints]]\nname = 'a'\nvelocity_max = -1", "joints[0].velocity_max: must be at least 0, got -1"),
        ("[[joints]]\nname = 'a'\nlower = 2\nupper = 1", "joints[0]: lower: 2.0 is not below upper, 1.0"),
        ("[[joints]]\nname = '--'", "joints[0]: name: '--' has no letter"),
        ("[[joints]]\nname = 'a'\n[[joints]]\nname = 'b'\naliases = ['A']", "'a' and 'b' both answer to 'a'"),
        ("[[grippers]]\njoint = 'jaw'\nclosed = 0\nopen = 1", "grippers[0].joint: no joint is named 'jaw'"),
        ("[[grippers]]\njoint = 'jaw'\nclosed = 1\nopen = 1", "grippers[0]: closed: equals open"),
        ("joints = 'all'", "joints: expected a list"),
    ],
)
def test_a_card_refuses_typos(tmp_path, line, said):
    path = write(tmp_path, f"key = 'k'\ntitle = 't'\n{line}\n")
    with pytest.raises(UsageError) as caught:
        load_card(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_card_must_have_a_key(tmp_path):
    with pytest.raises(UsageError, match="key: missing"):
        load_card(write(tmp_path, "title = 't'"))


def test_broken_toml_and_absent_files_name_the_file(tmp_path):
    with pytest.raises(UsageError, match=r"card\.toml: not valid TOML"):
        load_card(write(tmp_path, "key = "))
    with pytest.raises(UsageError, match=r"absent\.toml: no such file"):
        load_card(tmp_path / "absent.toml")


def test_an_unknown_key_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match="cards has no 'so10'; known: so101, so100"):
        load_card("so10")


SO = ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"]
ALOHA = ["waist", "shoulder", "elbow", "forearm_roll", "wrist_angle", "wrist_rotate", "gripper"]


@pytest.mark.parametrize(
    ("robot_type", "names", "key"),
    [
        ("so101_follower", [f"{n}.pos" for n in SO], "so101"),
        ("so100", [f"main_{n}" for n in SO], "so100"),
        ("SO-100", SO, "so100"),
        ("koch", [f"main_{n}" for n in SO], "koch"),
        ("bi_so100_follower", [f"{s}_{n}.pos" for s in ("left", "right") for n in SO], "so100"),
        ("aloha", [f"{s}_{n}" for s in ("left", "right") for n in ALOHA], "aloha"),
        ("unknown", [f"{s}_{n}" for s in ("left", "right") for n in ALOHA], "aloha"),
        ("widowx", ["x", "y", "z", "roll", "pitch", "yaw", "pad", "gripper"], "widowx"),
        ("xarm7", [f"joint{i}" for i in range(1, 8)], "xarm7"),
        ("Panda", [f"panda_joint{i}" for i in range(1, 8)], "franka"),
        ("unitree_g1", ["kLeftShoulderPitch.q", "kWaistYaw.q"], "g1"),
        # the arm's own names without a type do not tell a ViperX from a WidowX, nor an SO-100 from a Koch
        ("", ALOHA, "inferred"),
        ("", SO, "inferred"),
        # half of the dimensions unexplained: shadow motors, poses, names that only count
        ("aloha", [*ALOHA, "shoulder_shadow", "elbow_shadow"], "inferred"),
        ("franka", ["x", "y", "z", "roll", "pitch", "yaw", "gripper"], "inferred"),
        ("widowx", [*(f"joint_{i}" for i in range(6)), "gripper"], "inferred"),
        ("franka", [f"joint_{i}" for i in range(7)], "inferred"),
        ("unknown", ["motor_0", "motor_1"], "inferred"),
        ("pusht", [], "inferred"),
    ],
)
def test_which_card_a_recording_gets(robot_type, names, key):
    card = resolve(robot_type, dims(names))
    assert card.key == key
    assert card.inferred == (key == "inferred")


def test_without_a_state_the_action_decides():
    assert resolve("so101", dims(SO, "action", "action")).key == "so101"


def test_an_inferred_card_claims_nothing_of_numbers():
    card = infer("mystery", dims(["arm_1", "left_gripper", "kRightHandThumb", "", "arm_1"]))
    assert [(j.name, j.kind, j.unit) for j in card.joints] == [
        ("arm_1", "other", "unknown"),
        ("left_gripper", "gripper", "unknown"),
        ("kRightHandThumb", "hand", "unknown"),
    ]
    assert all(v is None for j in card.joints for v in (j.lower, j.upper, j.velocity_max, j.acceleration_max))
    assert card.inferred
    assert card.robot_types == ("mystery",)


def test_an_inferred_card_survives_names_that_collide(tmp_path):
    card = infer("r", dims(["A", "a", "a_"]))
    assert load_card(write(tmp_path, to_toml(card))) == card
    assert names_of(card.match(["a"])) == ["A"]
