"""Twelve conventions side by side: found with their signal, unknown without it, alleged of nothing that is right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gristmill import plugins
from gristmill.embodiment import load_card
from gristmill.sources import open_path
from gristmill.synth.convention_errors import ERRORS, TRUE, truly, without
from gristmill.testing import judge, reaching
from gristmill.testing.judging import measure_all

from .sampled_arm import CARD, COUNT, recorded, spoiled

NAMES = (
    "gripper_polarity", "gripper_range", "quaternion_order", "quaternion_norm", "quaternion_flip", "angle_unit",
    "motor_ticks", "action_mode", "delta_frame", "joint_sign", "action_shift", "control_rate",
)  # fmt: skip
CHECKS = {name: plugins.load("checks", name)() for name in NAMES}


def alleged(episodes):
    return [(f.check, f.row, f.message) for check in CHECKS.values() for f in judge(check, episodes)]


def test_every_convention_has_an_error():
    assert {e.check for e in ERRORS.values()} == set(NAMES)


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_in_every_episode_is_found_by_its_check_alone(name):
    found = alleged(spoiled(name))
    assert {check for check, _, _ in found} == {ERRORS[name].check}
    assert {row for _, row, _ in found} == set(range(COUNT))


@pytest.mark.parametrize("name", ERRORS)
def test_without_its_signal_an_error_is_unknown(name):
    check = CHECKS[ERRORS[name].check]
    blind = spoiled(name, lambda e: without(e, ERRORS[name].needs))
    assert judge(check, blind) == []
    assert all(m is not None and m.unknown for m in measure_all(check, blind))


@pytest.mark.parametrize("name", TRUE)
def test_nothing_is_alleged_of_a_convention_that_the_card_tells(name):
    assert alleged([truly(name, e) for e in recorded()]) == []


def test_an_inferred_card_accuses_nobody():
    card = replace(CARD, inferred=True)
    for name in ERRORS:
        assert alleged([replace(e, embodiment=card) for e in spoiled(name)]) == []
    corpus = [reaching(i) for i in range(4)]
    assert alleged(corpus) == []
    assert all(m and m.unknown for check in CHECKS.values() for m in measure_all(check, corpus))


@pytest.mark.parametrize(
    ("name", "card"), [("g1_inspire", None), ("gr1_sim_picknplace", None), ("pusht_lowdim", "pusht")]
)
def test_nothing_is_alleged_of_real_recordings(real_data, name, card):
    corpus = open_path(real_data / name, card=load_card(card) if card else None)
    episodes = list(corpus.episodes(range(len(corpus.table))))
    assert corpus.embodiment.inferred == (name == "gr1_sim_picknplace")
    assert alleged(episodes) == []


def test_real_recordings_of_the_humanoid_are_really_asked(real_data):
    corpus = open_path(real_data / "g1_inspire")
    (episode,) = corpus.episodes([0])
    asked = {name for name, check in CHECKS.items() if not check.measure(episode).unknown}
    assert asked >= {"angle_unit", "motor_ticks", "action_mode", "joint_sign", "action_shift"}
