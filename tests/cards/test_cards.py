"""The cards that ship, against their sources and against recordings."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from gristmill.embodiment import load_card, plain_name, resolve, shipped
from gristmill.episode import Dim


def joints(key):
    return {j.name: j for j in load_card(key).joints}


def test_every_asked_for_robot_has_a_card():
    assert set(shipped()) >= {
        "so100", "so101", "aloha", "koch", "franka", "ur5e", "xarm7", "widowx", "g1", "pusht",
    }  # fmt: skip


@pytest.mark.parametrize("key", shipped())
def test_a_card_is_named_like_its_file_and_sourced(key):
    card = load_card(key)
    assert card.key == key
    assert not card.inferred
    assert card.joints
    assert card.notes.strip()
    claims = " ".join(card.sources)
    limited = [j for j in card.joints if j.lower is not None or j.upper is not None]
    assert not limited or "limits" in claims or "range" in claims
    assert "velocity" in claims or not any(j.velocity_max for j in card.joints)
    assert "acceleration" in claims or not any(j.acceleration_max for j in card.joints)
    assert "polarity" in claims or "gripper" in claims or not card.grippers
    assert card.rate_hz is None or "rate" in claims


def test_no_two_cards_claim_one_robot_type():
    types = [plain_name(t) for key in shipped() for t in load_card(key).robot_types]
    assert len(types) == len(set(types))


@pytest.mark.parametrize("key", shipped())
def test_grippers_lie_within_their_limits(key):
    card = load_card(key)
    by_name = joints(key)
    for gripper in card.grippers:
        joint = by_name[gripper.joint]
        assert joint.kind in ("gripper", "hand")
        for value in (gripper.closed, gripper.open):
            assert joint.lower is None or joint.lower <= value
            assert joint.upper is None or value <= joint.upper


def test_numbers_agree_with_the_makers_tables():
    # degrees from Interbotix's description, radians from Franka's and UFACTORY's, turns from Universal Robots'
    assert joints("aloha")["left_shoulder"].lower == pytest.approx(math.radians(-106), abs=1e-5)
    assert joints("aloha")["right_wrist_angle"].upper == pytest.approx(math.radians(128), abs=1e-5)
    assert joints("widowx")["elbow"].lower == pytest.approx(math.radians(-123), abs=1e-5)
    franka = joints("franka")
    assert (franka["joint4"].lower, franka["joint4"].upper) == (-3.0718, -0.0698)
    assert (franka["joint6"].lower, franka["joint6"].upper) == (-0.0175, 4.5169)
    assert joints("xarm7")["joint4"].upper == 3.927
    assert joints("ur5e")["wrist_3_joint"].upper == pytest.approx(2 * math.pi, abs=1e-5)
    assert joints("ur5e")["elbow_joint"].velocity_max == pytest.approx(math.pi, abs=1e-5)


@pytest.mark.parametrize("limb", ["hip_roll", "shoulder_roll", "hand_thumb_1", "hand_middle_0", "elbow", "hip_pitch"])
def test_left_and_right_mirror_or_equal_each_other(limb):
    g1 = joints("g1")
    left, right = g1[f"left_{limb}"], g1[f"right_{limb}"]
    assert (left.lower, left.upper) in ((right.lower, right.upper), (-right.upper, -right.lower))
    assert left.velocity_max == right.velocity_max


def test_the_g1_card_fits_the_real_recordings(real_data):
    folder = real_data / "g1_inspire"
    info = json.loads((folder / "meta" / "info.json").read_text())
    names = info["features"]["observation.state"]["names"][0]
    dims = [Dim("observation.state", i, name, "state") for i, name in enumerate(names)]
    card = resolve(info["robot_type"], dims)
    assert card.key == "g1"
    found = card.match_dims(dims)
    assert all(found)
    assert [j.kind for j in found if j] == ["revolute"] * 14 + ["hand"] * 12
    for path in sorted(folder.glob("data/*/*.parquet")):
        table = pq.read_table(path)
        for key in ("observation.state", "action"):
            values = np.array(table[key].to_pylist())
            speed = np.abs(np.diff(values, axis=0)) * info["fps"]
            for i, joint in enumerate(found):
                assert joint and joint.lower is not None and joint.upper is not None
                assert joint.lower <= values[:, i].min() <= values[:, i].max() <= joint.upper, (path.name, joint.name)
                assert joint.velocity_max is None or speed[:, i].max() < joint.velocity_max


def test_the_pusht_card_fits_the_real_recordings(real_data):
    folder = real_data / "pusht_lowdim"
    card = load_card("pusht")
    for path in sorted(folder.glob("data/*/*.parquet")):
        table = pq.read_table(path)
        for key in ("observation.state", "action"):
            values = np.array(table[key].to_pylist())
            for i, joint in enumerate(card.match(["motor_0", "motor_1"])):
                assert joint and joint.lower is not None and joint.upper is not None
                assert joint.lower <= values[:, i].min() <= values[:, i].max() <= joint.upper


def test_cards_do_not_claim_the_other_real_robots():
    motors = [Dim("observation.state", i, f"motor_{i}", "state") for i in range(44)]
    assert resolve("GR1ArmsOnly", motors).inferred
    assert resolve("unknown", motors[:2]).inferred


def test_the_docs_list_every_card_and_show_one_that_loads(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "embodiments.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", page, re.M)
    assert listed == sorted(shipped())
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.S)
    path = tmp_path / "my_arm.toml"
    path.write_text(example, encoding="utf-8")
    card = load_card(path)
    assert (card.key, [j.name for j in card.joints], card.grippers[0].open) == ("my_arm", ["shoulder", "jaw"], 0.08)
